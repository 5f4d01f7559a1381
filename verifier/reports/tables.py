"""Chooses the few cases whose arrays a person looks at, and cuts them to tables of positions and features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.case_table import CaseTable, Grid
from posvec.schemas.errors import shorten
from posvec.vectors.known import Known
from posvec.verifier.judge import FAILURES, Judged
from posvec.verifier.levels import differences, failing
from posvec.verifier.match import Match
from posvec.verifier.plan import Plan

MOST = 128
"""Rows and columns of a table that are shown; around the first wrong element, if there are more."""
_GOOD_SIZE = 512
_SMALLEST_SQUARE = 4
_AXES = {"T": "position t", "L": "position l", "N + 1": "position n", "Q": "query q", "K": "key k", "D": "feature d"}
_POSITIONS = ("T", "L", "N + 1", "N", "Q")
_FEATURES = ("d_model", "D", "K")


def case_tables(plan: Plan, cases: Sequence[Judged]) -> tuple[CaseTable, ...]:
    """Return tables of the first failing case, of a large one, and of a square one; of right cases if none fails.

    In a table as wide as it is high, a transposed one is seen. Golden values are looked up here, so this is called only
    after the answers are in.
    """
    shown = [one for one in cases if one.case.coercion is None and _size(one)]
    failed = [one for one in shown if one.result.outcome in FAILURES]
    pool = failed or shown
    if not pool:
        return ()
    kind = "failing" if failed else "passing"
    large = max(pool, key=lambda one: (-abs(_area(one) - _GOOD_SIZE), _along(one, *_POSITIONS)))
    square = [one for one in pool if _SMALLEST_SQUARE <= _along(one, *_POSITIONS) == _along(one, *_FEATURES)]
    chosen = {large.case.id: (large, f"a {kind} case of a good size")}
    if square:
        best = max(square, key=lambda one: -abs(_size(one) - _GOOD_SIZE // 2))
        chosen.setdefault(best.case.id, (best, f"a {kind} case as wide as it is high, in which a transposed one shows"))
    if failed:
        chosen.setdefault(failed[0].case.id, (failed[0], "the first failing case"))
    return tuple(_table(plan, one, why) for one, why in chosen.values())


def _size(one: Judged) -> int:
    values = one.values if one.came is None else one.came.values
    return 0 if values is None else values.size


def _area(one: Judged) -> int:
    """Return how many elements the table of a case has: one position and feature of an array with more axes."""
    return _along(one, *_POSITIONS) * _along(one, *_FEATURES) or _size(one)


def _along(one: Judged, *names: str) -> int:
    found = (one.case.coordinates.get(name) for name in names)
    return next((number for number in found if isinstance(number, int)), 0)


def _table(plan: Plan, one: Judged, why: str) -> CaseTable:
    known = plan.known(one.case)
    letters = [part.strip() for part in plan.suite.output.shape.strip("()").split(",") if part.strip()]
    if one.values is None:
        return _of_wrong_layout(one, known, letters, why)
    distance = differences(one.values, known)
    wrong = np.zeros(one.values.size, bool)
    level = plan.request.match
    indices = failing(one.values, known, level, build=plan.build_index)
    if not indices and one.result.outcome in FAILURES:  # only the run's cells are wrong
        indices = failing(one.values, known, Match(kind="ulp"))
    wrong[indices] = True
    first = np.unravel_index(indices[0] if indices else 0, known.shape)
    part = _Part(known, letters, tuple(map(int, first)))
    return CaseTable(
        case=one.case.id,
        outcome=one.result.outcome,
        why=why,
        where=part.where,
        came="",
        got=part.grid(one.values),
        expected=part.grid(known.expected),
        distance=part.cut(distance),
        wrong=part.cut(wrong),
    )


def _of_wrong_layout(one: Judged, known: Known, letters: Sequence[str], why: str) -> CaseTable:
    """Show numbers that came in a wrong layout as they came; they are set apart from those due, not compared."""
    came = one.came
    assert came is not None  # noqa: S101 - a case is chosen only if numbers came
    assert came.values is not None  # noqa: S101
    part = _Part(known, letters, (0,) * len(known.shape))
    what = f"{_dtype(came.dtype or came.type_name)} of shape {came.shape}"
    values, shape = came.values, tuple(n for n in came.shape if n != 1)
    due = known.shape if len(known.shape) > 1 else (known.expected.size // known.features, known.features)
    if len(shape) > 1 and values.size == np.prod(shape):
        table = values.reshape(-1, shape[-1])
        names = ("axis 0", "axis 1") if len(shape) == 2 else ("all axes but the last", "last axis")
    else:
        width = due[-1] if values.size >= due[-1] > 0 else values.size
        table = values[: values.size // width * width].reshape(-1, width)
        names = ("row", "column") if len(shape) > 1 else (part.rows, part.columns)
    got = Grid(values=table[:MOST, :MOST], rows=names[0], columns=names[1], whole=table.shape)
    return CaseTable(
        case=one.case.id,
        outcome=one.result.outcome,
        why=why,
        where=part.where,
        came=what,
        got=got,
        expected=part.grid(known.expected) if known.expected.size else None,
    )


def _dtype(name: str) -> str:
    try:
        dtype = np.dtype(name)
    except TypeError:
        return shorten(name)
    return f"big-endian {dtype.name}" if name.startswith(">") else dtype.name


class _Part:
    """Which two axes of an array are shown, and which rows and columns of them."""

    def __init__(self, known: Known, letters: Sequence[str], first: tuple[int, ...]) -> None:
        if len(known.shape) == 1:
            self._shape: tuple[int, ...] = (known.expected.size // max(1, known.features), known.features)
            letters, first = ("T", "D"), (first[0] // known.features, first[0] % known.features)
        else:
            self._shape = known.shape
        named = len(letters) == len(self._shape)
        last = len(self._shape) - 1
        row = next((a for a in range(last) if named and letters[a] in _POSITIONS), last - 1)
        square = named and letters[row] == letters[last] == "T"  # ALiBi's: queries and keys are positions both
        self.rows = "query q" if square else _name(letters[row] if named else "", row)
        self.columns = "key k" if square else _name(letters[last] if named else "", last)
        self._take: list[int | slice] = [*first]
        self._take[row] = self._take[last] = slice(None)
        self.where = ", ".join(
            f"{letters[a].lower() if named else f'axis {a}'} = {at}"
            for a, at in enumerate(self._take)
            if isinstance(at, int)
        )
        self._whole = (self._shape[row], self._shape[last])
        self._start = tuple(
            max(0, min(at - MOST // 4, size - MOST))
            for at, size in zip((first[row], first[last]), self._whole, strict=True)
        )

    def cut(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the part of a flat array."""
        (r, c), table = self._start, values.reshape(self._shape)[tuple(self._take)]
        return table[r : r + MOST, c : c + MOST].copy()

    def grid(self, values: NDArray[Any]) -> Grid:
        """Return the part of a flat array with its place."""
        r, c = self._start
        return Grid(
            values=self.cut(values),
            rows=self.rows,
            columns=self.columns,
            first_row=r,
            first_column=c,
            whole=self._whole,
        )


def _name(letter: str, axis: int) -> str:
    return _AXES.get("D" if letter == "d_model" else letter, f"axis {axis}")


def wrong_places(table: CaseTable, most: int) -> Iterator[tuple[int, int]]:
    """Yield row and column, in the table shown, of its first wrong elements."""
    if table.wrong is not None:
        yield from map(tuple, np.argwhere(table.wrong)[:most].tolist())
