"""Which cases run, and in which order: the quick ones first, then the rest, then the coercion cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from posvec.schemas.case import Case, Coercion
from posvec.schemas.errors import InvalidArgument
from posvec.schemas.suite import Suite
from posvec.vectors.quick import COERCION_CASES, quick_subset

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
