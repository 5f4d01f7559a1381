"""The quick subset: at most 92 cases that cover every value of every axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from posvec.schemas.case import Case

COERCION_CASES = 8
QUICK_CASES = 100 - COERCION_CASES
"""With the coercion cases, that pass ``"3"`` for 3, at most 100."""


def quick_subset(cases: Sequence[Case], limit: int = QUICK_CASES) -> tuple[Case, ...]:
    """Return at most ``limit`` cases that cover every value of every axis, an unlike one next to each.

    Walks all axes at once, so that after as many cases as the longest axis has values, all have been seen.
    """
    if len(cases) <= limit:
        return tuple(sorted(cases, key=lambda case: case.coordinates.get("T") == 0))
    names = list(cases[0].coordinates)
    coordinates = [case.coordinates for case in cases]
    values: dict[str, list[Any]] = {name: list(dict.fromkeys(at.get(name) for at in coordinates)) for name in names}
    if math.prod(map(len, values.values())) != len(cases):
        return _first_to_cover(cases, limit)
    axes = {name: _spread(values[name], limit) for name in names}
    by_args = {tuple([at[name] for name in names]): case for at, case in zip(coordinates, cases, strict=True)}
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


def _spread(values: list[int], limit: int) -> list[int]:
    if len(values) <= limit:
        return values
    return [values[round(i * (len(values) - 1) / (limit - 1))] for i in range(limit)]
