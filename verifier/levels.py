"""Whether an array of floats is the same as the known ones, in the sense of each match level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.known import Known
from posvec.vectors.ulp import Int64, Values, ulp_distance
from posvec.verifier.match import Match

NOT_FINITE: Final = 1 << 40
"""Distance of NaN and infinity from any expected value: beyond every N of ``ulp:N``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one array compares with what is known about its case; counts are elements.

    Attributes:
        elements: How many were compared.
        differing: Not bit-identical to ``expected``.
        unexplained: Given by no recording for their draw.
        other_build: Not what the one build gives whose bytes were asked for; 0 if none was asked for.
        outside_accept: Outside their accept interval.
        outside_cell: Inside their accept interval, but outside the cell of their own draw.
        max_ulp: Largest distance from ``expected`` in float32 steps.
        explained_by: The recordings (bit mask) that alone give the whole array.
        ulp_histogram: How many are 1, 2, 3, 4 and more float32 steps from ``expected``.

    """

    elements: int
    differing: int
    unexplained: int
    other_build: int
    outside_accept: int
    outside_cell: int
    max_ulp: int
    explained_by: int
    ulp_histogram: tuple[int, ...] = (0, 0, 0, 0, 0)

    def holds(self, match: Match) -> bool:
        """Whether the level holds for this array; for ``equivalent`` the run's cell allowance is judged apart."""
        if match.kind == "exact":
            return self.unexplained == 0 and self.other_build == 0
        if match.kind == "equivalent":
            return self.outside_accept == 0
        return self.max_ulp <= match.ulp


def compare(got: Values, known: Known, *, build: int | None = None) -> Comparison:
    """Compare a flat float32 array with what is known about it; ``build`` asks for one recording's bytes alone."""
    n = got.size
    if n == 0:
        return _identical(0, explained_by=(1 << known.recordings.shape[0]) - 1)
    if build is None and got.tobytes() == known.expected.tobytes():
        return _identical(n, explained_by=_mask(known.same_until >= n))
    difference = differences(got, known)
    given = known.recordings == difference
    beyond = outside(difference, known.accept_below, known.accept_above)
    return Comparison(
        elements=n,
        differing=int(np.count_nonzero(difference)),
        unexplained=int(np.count_nonzero(~given.any(axis=0))),
        other_build=0 if build is None else int(np.count_nonzero(~given[build])),
        outside_accept=int(np.count_nonzero(beyond)),
        outside_cell=int(np.count_nonzero(outside(difference, known.cell_below, known.cell_above) & ~beyond)),
        max_ulp=int(np.abs(difference).max()),
        explained_by=_mask(given.all(axis=1)),
        ulp_histogram=tuple(np.bincount(np.minimum(np.abs(difference), 5), minlength=6)[1:].tolist()),
    )


def _identical(elements: int, *, explained_by: int) -> Comparison:
    return Comparison(
        elements=elements,
        differing=0,
        unexplained=0,
        other_build=0,
        outside_accept=0,
        outside_cell=0,
        max_ulp=0,
        explained_by=explained_by,
    )


def _mask(flags: NDArray[np.bool_]) -> int:
    return sum(1 << index for index in np.flatnonzero(flags).tolist())


def differences(got: Values, known: Known) -> Int64:
    """Return ``got - expected`` in float32 steps, or in ones; :data:`NOT_FINITE` where ``got`` is not finite."""
    if known.expected.dtype.kind == "i":
        whole: Int64 = got.astype(np.int64) - known.expected.astype(np.int64)
        return whole
    return np.where(np.isfinite(got), ulp_distance(got, known.expected), NOT_FINITE)


def outside(difference: Int64, below: NDArray[Any], above: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which differences lie outside ``-below … above``."""
    return (difference < -below.astype(np.int64)) | (difference > above)


def failing(got: Values, known: Known, match: Match, *, build: int | None = None) -> list[int]:
    """Return the indices of the elements that fail the level, in order."""
    difference = differences(got, known)
    if match.kind == "equivalent":
        wrong = outside(difference, known.accept_below, known.accept_above)
    elif match.kind == "ulp":
        wrong = np.abs(difference) > match.ulp
    else:
        given = known.recordings == difference
        wrong = ~(given.any(axis=0) if build is None else given[build])
    indices: list[int] = np.flatnonzero(wrong).tolist()
    return indices


def cell_allowance(elements: int) -> int:
    """Return how many elements of a run may lie outside their own cell at ``equivalent``: max(2, 0.1 %)."""
    return max(2, elements // 1000)


TOO_FEW_FOR_CELLS: Final = 32
"""Below this many elements, cells cannot tell a 23-bit uniform from a finer one."""
