"""What is known about the output of one case: the expected bytes, all other known bytes, and the intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import Stream
from posvec.schemas.case import Case
from posvec.schemas.manifest import Recording
from posvec.schemas.suite import Suite
from posvec.vectors.ulp import Float32


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Everything known about the elements of one expected array, flat, in row-major order.

    The integer arrays count float32 steps (ULP) from ``expected``; ``below`` is towards negative infinity.

    Attributes:
        expected: float32 (of some suites int32), shape ``(n,)``.
        shape: Shape of the array that the function returns.
        features: Elements per position (``d_model``), so that an index can be shown as position and feature.
        draw: uint32, shape ``(n,)``: the 23-bit draw behind each element; empty where there are no random draws.
        accept_below, accept_above: shape ``(n,)``: the accept interval is
            ``expected - accept_below … expected + accept_above``.
        cell_below, cell_above: shape ``(n,)``: the part of the draw's own cell inside the accept interval.
        recordings: shape ``(R, n)``: each recording's value, as a signed difference from ``expected``.
        same_until: shape ``(R,)``: index of the first element at which a recording differs from ``expected``;
            at least ``n`` where none does.

    """

    expected: Float32
    shape: tuple[int, ...]
    features: int
    draw: NDArray[np.uint32]
    accept_below: NDArray[Any]
    accept_above: NDArray[Any]
    cell_below: NDArray[Any]
    cell_above: NDArray[Any]
    recordings: NDArray[Any]
    same_until: NDArray[np.int64]


class Vectors(Protocol):
    """Where cases and their known outputs come from: a golden file, or fresh derivation."""

    @property
    def suite(self) -> Suite:
        """The function under test and its contract."""

    @property
    def stream(self) -> Stream | None:
        """Which integers a seed gives; None where no random draws are behind the values."""

    @property
    def name(self) -> str:
        """What case ids begin with."""

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """What the rows of :attr:`Known.recordings` are; the first is ``expected``."""

    def cases(self) -> Sequence[Case]:
        """Return every case, in the order of the axes."""

    def known(self, case: Case) -> Known:
        """Return what is known about the output of ``case``."""
