"""Compares two golden files that are lists of cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from posvec.vectors.case_golden import CaseGolden


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDifference:
    """How two files of cases differ.

    Attributes:
        kind: ``equal``; ``coverage``: only other cases; ``intervals``: same values, other accept intervals; ``values``:
            other arguments or expected values under the same id; ``suite``: the files are of different suites.
        common: Ids that both hold.
        changed: Of these, the ones whose arguments or expected values differ.
        intervals: Of these, the ones in which only the accept intervals differ.
        only_first, only_second: Ids that only one file holds.

    """

    kind: Literal["equal", "coverage", "intervals", "values", "suite"]
    common: int = 0
    changed: tuple[str, ...] = ()
    intervals: tuple[str, ...] = ()
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()


def diff_cases(first: CaseGolden, second: CaseGolden) -> CaseDifference:
    """Compare two golden files of cases."""
    if first.suite.name != second.suite.name:
        return CaseDifference(kind="suite")
    a, b = ({case.id: case for case in file.cases()} for file in (first, second))
    changed, intervals = [], []
    for name in (name for name in a if name in b):
        one, other = a[name], b[name]
        same = one.must_raise == other.must_raise and all(
            np.array_equal(value, other.args[arg]) for arg, value in one.args.items()
        )
        if same and not one.must_raise:
            known, also = first.known(one), second.known(other)
            same = known.shape == also.shape and known.expected.tobytes() == also.expected.tobytes()
            bounds = zip((known.accept_below, known.accept_above), (also.accept_below, also.accept_above), strict=True)
            if same and not all(np.array_equal(x, y) for x, y in bounds):
                intervals.append(name)
        if not same:
            changed.append(name)
    only = tuple(name for name in a if name not in b), tuple(name for name in b if name not in a)
    kind: Literal["equal", "coverage", "intervals", "values"] = "equal"
    if changed:
        kind = "values"
    elif intervals:
        kind = "intervals"
    elif any(only):
        kind = "coverage"
    return CaseDifference(
        kind=kind,
        common=len(a.keys() & b.keys()),
        changed=tuple(changed),
        intervals=tuple(intervals),
        only_first=only[0],
        only_second=only[1],
    )
