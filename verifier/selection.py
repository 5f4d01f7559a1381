"""Which cases run, and in which order: the quick ones first, then the rest, then the coercion cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from posvec.schemas.case import Case, Coercion
from posvec.schemas.errors import InvalidArgument
from posvec.schemas.suite import Suite

COERCION_CASES = 8
QUICK_CASES = 100 - COERCION_CASES
_COERCIONS: tuple[Coercion, ...] = ("str", "float", "numpy", "str", "float", "numpy", "numpy", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The cases of a run, in order; ``quick`` of them come first; ``total`` is how many there are to select from."""

    cases: tuple[Case, ...]
    coercion: tuple[Case, ...]
    quick: int
    total: int


def select(
    cases: Sequence[Case],
    suite: Suite,
    *,
    quick: bool = False,
    glob: str | None = None,
    coercion: bool = True,
) -> Selection:
    """Choose and order the cases of a run.

    Args:
        cases: All cases.
        suite: The function under test; its contract says whether arguments may come as ``"3"`` or ``3.0``.
        quick: Only the quick subset, which covers every value of every axis (evenly spaced ones, if an axis is
            longer than the subset).
        glob: Only cases whose whole id matches this :func:`fnmatch.fnmatchcase` pattern.
        coercion: Whether the target takes Python arguments at all.

    Raises:
        InvalidArgument: ``glob`` matches no case.

    """
    first = quick_subset(cases)
    coerced = coercion_cases(first) if coercion and suite.coercion else ()
    chosen = {case.id for case in first}
    rest = () if quick else tuple(case for case in cases if case.id not in chosen)
    if glob is not None:
        matching = tuple(case for case in (*first, *rest) if fnmatchcase(case.id, glob))
        coerced = tuple(case for case in coerced if fnmatchcase(case.id, glob))
        if not matching and not coerced:
            hint = "ids look like " + (cases[min(4, len(cases) - 1)].id if cases else "none: there are no cases")
            raise InvalidArgument("--select", glob, "a pattern that matches a case id", hint=hint)
        return Selection(
            cases=matching,
            coercion=coerced,
            quick=sum(case.id in chosen for case in matching),
            total=len(cases),
        )
    return Selection(cases=(*first, *rest), coercion=coerced, quick=len(first), total=len(cases))


def quick_subset(cases: Sequence[Case], limit: int = QUICK_CASES) -> tuple[Case, ...]:
    """Return at most ``limit`` cases that cover every value of every axis, an unlike one next to each.

    Walks all axes at once, so that after as many cases as the longest axis has values, all have been seen.
    """
    if len(cases) <= limit:
        return tuple(sorted(cases, key=lambda case: case.coordinates.get("T") == 0))
    names = list(cases[0].coordinates)
    values: dict[str, list[Any]] = {
        name: list(dict.fromkeys(case.coordinates.get(name) for case in cases)) for name in names
    }
    if math.prod(map(len, values.values())) != len(cases):
        return _first_to_cover(cases, limit)
    axes = {name: _spread(values[name], limit) for name in names}
    by_args = {tuple(case.coordinates[name] for name in names): case for case in cases}
    chosen: dict[str, Case] = {}
    for step in range(4 * limit):
        # T starts at its second value: T = 0 proves nothing about values, and failures should show at once.
        args = tuple(axes[name][(step + (name == "T")) % len(axes[name])] for name in names)
        case = by_args.get(args)
        if case is not None:
            chosen.setdefault(case.id, case)
        if len(chosen) == limit:
            break
    return tuple(chosen.values())


def _first_to_cover(cases: Sequence[Case], limit: int) -> tuple[Case, ...]:
    """Return the first cases that have an axis value which none before them has: for cases that are no grid.

    Before them come those that must raise, with their neighbours.
    """
    seen: set[tuple[str, object]] = set()
    chosen: list[Case] = []
    raising = {name for case in cases if case.must_raise for name in (case.id, case.neighbour)}
    for case in sorted(cases, key=lambda case: case.id not in raising):
        new = case.id in raising or not seen.issuperset(case.coordinates.items())
        if len(chosen) < limit and new:
            chosen.append(case)
            seen.update(case.coordinates.items())
    return tuple(chosen)


def coercion_cases(cases: Sequence[Case], limit: int = COERCION_CASES) -> tuple[Case, ...]:
    """Return the cases that pass ``"3"``, ``3.0`` and NumPy integers in place of 3.

    Float seeds of 2**53 and more are left out: a float cannot hold them. NumPy integers are int32 where they fit
    and ``T`` is odd, else int64.
    """
    made: list[Case] = []
    usable = [case for case in cases if all(abs(value) < 2**53 for value in case.args.values()) and case.args["T"]]
    for how, case in zip(_COERCIONS[:limit], usable, strict=False):
        fits = all(-(2**31) <= value < 2**31 for value in case.args.values())
        made.append(
            Case(
                id=f"{case.id}/as={how}",
                args=case.args,
                coercion=how,
                numpy_int32=how == "numpy" and fits and case.args["T"] % 2 == 1,
            )
        )
    return tuple(made)


def _spread(values: list[int], limit: int) -> list[int]:
    if len(values) <= limit:
        return values
    return [values[round(i * (len(values) - 1) / (limit - 1))] for i in range(limit)]
