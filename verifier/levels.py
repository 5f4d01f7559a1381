"""Match levels: what "the same" means, and whether an array of floats is the same in each of these senses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from posvec.schemas.errors import InvalidArgument
from posvec.vectors.known import Known
from posvec.vectors.ulp import Float32, ordered

_ULP = re.compile(r"ulp:(\d{1,10})", re.ASCII)
LEVELS = "exact, equivalent or ulp:N"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The level asked for.

    ``exact``: every element is, bit for bit, a value that some recorded arithmetic gives for its draw.
    ``equivalent``: every element lies in its accept interval, and over the run at most
    :func:`cell_allowance` elements lie outside their own cell.
    ``ulp``: every element is within ``ulp`` float32 steps of the expected value.
    """

    kind: Literal["exact", "equivalent", "ulp"]
    ulp: int = 0

    @classmethod
    def parse(cls, text: str) -> Match:
        """Read ``exact``, ``equivalent`` or ``ulp:N``.

        Raises:
            InvalidArgument: It is none of these.

        """
        if text == "exact":
            return cls(kind="exact")
        if text == "equivalent":
            return cls(kind="equivalent")
        match = _ULP.fullmatch(text)
        if match is None:
            raise InvalidArgument("--match", text, f"{LEVELS} (N a whole number)")
        return cls(kind="ulp", ulp=int(match[1]))

    def __str__(self) -> str:
        return f"ulp:{self.ulp}" if self.kind == "ulp" else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one array compares with what is known about its case; counts are elements.

    Attributes:
        elements: How many were compared.
        differing: Not bit-identical to ``expected``.
        unexplained: Given by none of the recordings that were asked for.
        outside_accept: Outside their accept interval.
        outside_cell: Outside the cell of their own draw.
        max_ulp: Largest distance from ``expected`` in float32 steps.
        explained_by: The recordings (bit mask) that alone give the whole array.

    """

    elements: int
    differing: int
    unexplained: int
    outside_accept: int
    outside_cell: int
    max_ulp: int
    explained_by: int

    def holds(self, match: Match) -> bool:
        """Whether the level holds for this array; for ``equivalent`` the run's cell allowance is judged apart."""
        if match.kind == "exact":
            return self.unexplained == 0
        if match.kind == "equivalent":
            return self.outside_accept == 0
        return self.max_ulp <= match.ulp


def compare(got: Float32, known: Known, *, build: int | None = None) -> Comparison:
    """Compare a flat float32 array with what is known about it; ``build`` asks for one recording's bytes alone."""
    n = got.size
    full = (1 << known.recordings.shape[0]) - 1
    if n == 0:
        return Comparison(elements=0, differing=0, unexplained=0, outside_accept=0, outside_cell=0, max_ulp=0,
                          explained_by=full)
    if build is None and got.tobytes() == known.expected.tobytes():
        same = sum(1 << r for r in np.flatnonzero(known.same_until >= n).tolist())
        return Comparison(elements=n, differing=0, unexplained=0, outside_accept=0, outside_cell=0, max_ulp=0,
                          explained_by=same)
    difference = differences(got, known)
    given = known.recordings == difference
    wanted = given if build is None else given[build : build + 1]
    return Comparison(
        elements=n,
        differing=int(np.count_nonzero(difference)),
        unexplained=int(np.count_nonzero(~wanted.any(axis=0))),
        outside_accept=int(np.count_nonzero(outside(difference, known.accept_below, known.accept_above))),
        outside_cell=int(np.count_nonzero(outside(difference, known.cell_below, known.cell_above))),
        max_ulp=int(np.abs(difference).max()),
        explained_by=sum(1 << r for r in np.flatnonzero(given.all(axis=1)).tolist()),
    )


def differences(got: Float32, known: Known) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return ``got - expected`` in float32 steps, int64."""
    return ordered(got).astype(np.int64) - ordered(known.expected)


def outside(
    difference: np.ndarray[tuple[int, ...], np.dtype[np.int64]], below: np.ndarray, above: np.ndarray
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which differences lie outside ``-below … above``."""
    return (difference < -below.astype(np.int64)) | (difference > above)


def failing(got: Float32, known: Known, match: Match, *, build: int | None = None) -> list[int]:
    """Return the indices of the elements that fail the level, in order."""
    difference = differences(got, known)
    if match.kind == "equivalent":
        wrong = outside(difference, known.accept_below, known.accept_above)
    elif match.kind == "ulp":
        wrong = np.abs(difference) > match.ulp
    else:
        given = known.recordings == difference
        wrong = ~(given if build is None else given[build : build + 1]).any(axis=0)
    indices: list[int] = np.flatnonzero(wrong).tolist()
    return indices


def cell_allowance(elements: int) -> int:
    """Return how many elements of a run may lie outside their own cell at ``equivalent``: max(2, 0.1 %)."""
    return max(2, elements // 1000)


TOO_FEW_FOR_CELLS = 32
"""Below this many elements, cells cannot tell a 23-bit uniform from a finer one."""
