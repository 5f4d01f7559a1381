"""Integer axes of a sweep: lists and inclusive ranges such as ``0..31,42,-1``, kept as ranges however long."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from posvec.schemas.errors import InvalidArgument

_ITEM = re.compile(r"\s*([+-]?\d+)\s*(?:\.\.\s*([+-]?\d+)\s*)?", re.ASCII)
_LONGEST_NUMBER = 40
_MOST_RANGES = 100_000


@dataclass(frozen=True, slots=True)
class Axis:
    """Distinct integers in the order given, as inclusive ranges: memory does not grow with their number.

    ``str(axis)`` is the normal form: what :meth:`parse` accepts, equal for equal sequences.
    """

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str, *, name: str, minimum: int, maximum: int) -> Axis:
        """Read ``0..31,42,-1``; a value listed twice counts once.

        Raises:
            InvalidArgument: ``text`` is empty, no such list, has a descending range, or leaves
                ``minimum..maximum``.

        """
        ranges: list[tuple[int, int]] = []
        covered = _Covered()
        if text.count(",") >= _MOST_RANGES:
            raise InvalidArgument(name, text, f"at most {_MOST_RANGES:,} integers and ranges")
        for item in text.split(","):
            match = _ITEM.fullmatch(item)
            if match is None or len(item) > 2 * _LONGEST_NUMBER:
                allowed = f"integers and inclusive ranges within {minimum}..{maximum}, such as 0..31,42,-1"
                raise InvalidArgument(name, text, allowed)
            first = int(match[1])
            last = int(match[2]) if match[2] is not None else first
            if last < first:
                raise InvalidArgument(name, item.strip(), "an ascending range", hint=f"write {last}..{first}")
            if first < minimum or last > maximum:
                raise InvalidArgument(name, item.strip(), f"within {minimum}..{maximum}")
            covered.add(first, last, ranges)
        return cls(_joined(ranges))

    @classmethod
    def of(cls, values: Iterator[int] | list[int] | tuple[int, ...]) -> Axis:
        """Return the axis of these integers."""
        ranges: list[tuple[int, int]] = []
        covered = _Covered()
        for value in values:
            covered.add(value, value, ranges)
        return cls(_joined(ranges))

    def __str__(self) -> str:
        parts = []
        for first, last in self.ranges:
            if last - first >= 2:
                parts.append(f"{first}..{last}")
            else:
                parts += [str(value) for value in range(first, last + 1)]
        return ",".join(parts)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    @property
    def lowest(self) -> int:
        """The lowest value."""
        return min(first for first, _ in self.ranges)

    @property
    def highest(self) -> int:
        """The highest value."""
        return max(last for _, last in self.ranges)

    @property
    def total(self) -> int:
        """The sum of the values, which takes no longer if there are many."""
        return sum((first + last) * (last - first + 1) // 2 for first, last in self.ranges)

    def __iter__(self) -> Iterator[int]:
        for first, last in self.ranges:
            yield from range(first, last + 1)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and any(first <= value <= last for first, last in self.ranges)

    def index(self, value: int) -> int:
        """Return the position of ``value``; ValueError if it is not on the axis."""
        before = 0
        for first, last in self.ranges:
            if first <= value <= last:
                return before + value - first
            before += last - first + 1
        raise ValueError(value)

    def slice(self, start: int, stop: int) -> list[int]:
        """Return the values at positions ``start`` to ``stop`` (exclusive)."""
        ends = list(accumulate(last - first + 1 for first, last in self.ranges))
        values: list[int] = []
        for position in range(start, min(stop, len(self))):
            which = bisect_right(ends, position)
            values.append(self.ranges[which][1] + 1 - (ends[which] - position))
        return values


class _Covered:
    """The values listed so far, as sorted ranges, so that a list of many ranges is read in little time."""

    def __init__(self) -> None:
        self._first: list[int] = []
        self._last: list[int] = []

    def add(self, first: int, last: int, ranges: list[tuple[int, int]]) -> None:
        """Append to ``ranges`` the parts of ``first..last`` that are new."""
        start = bisect_left(self._last, first - 1)  # from here on, ranges overlap or touch it, or lie beyond
        stop = bisect_right(self._first, last + 1)
        at = first
        for a, b in zip(self._first[start:stop], self._last[start:stop], strict=True):
            if at < a:
                ranges.append((at, a - 1))
            at = max(at, b + 1)
        if at <= last:
            ranges.append((at, last))
        self._last[start:stop] = [max(last, self._last[stop - 1]) if stop > start else last]
        self._first[start:stop] = [min(first, self._first[start]) if stop > start else first]


def _joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return tuple(joined)
