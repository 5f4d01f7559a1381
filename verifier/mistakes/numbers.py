"""What stands behind the elements of a table: random words, or numbers that another generator drew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import Stream
from posvec.vectors.draws import DrawTable
from posvec.vectors.threefry import UInt32, encrypt
from posvec.vectors.ulp import Float32, from_ordered

Float64 = NDArray[np.float64]
Index = NDArray[np.intp]


class Bounds(NamedTuple):
    """The lowest and the highest float32 that an element may be, both included; arrays of one shape."""

    low: Float32
    high: Float32

    def hold(self, values: Float32) -> NDArray[np.bool_]:
        """Return which values lie within; NaN lies nowhere."""
        return (self.low <= values) & (values <= self.high)


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """Numbers behind some elements, of any shape. Exactly one of ``words``, ``normals`` and ``fixed`` is set.

    Attributes:
        table: The draw table, which knows the values of draws.
        stream: The stream of ``words``.
        words: uint32, from which a draw is the upper 23 bits.
        normals: float64, numbers of a standard normal distribution that did not come from draws.
        fixed: float64, values that no distribution changes: constants, sines.
        error: How far ``normals`` or ``fixed`` may be from what a float32 program computes.
        zero: Elements that are 0 whatever stands behind them.

    """

    table: DrawTable
    stream: Stream = "partitionable"
    words: UInt32 | None = None
    normals: Float64 | None = None
    fixed: Float64 | None = None
    error: Any = 0.0
    zero: NDArray[np.bool_] | None = None

    @cached_property
    def draws(self) -> NDArray[np.intp]:
        """The draw of each word."""
        assert self.words is not None  # noqa: S101 - asked only of words
        return (self.words >> np.uint32(9)).astype(np.intp)

    @cached_property
    def accepted(self) -> Bounds:
        """The accept interval of each draw, at standard deviation 0.02."""
        low, high = self.table.accept(self.draws)
        return Bounds(from_ordered(low), from_ordered(high))

    def between(self, draws: NDArray[Any]) -> Bounds:
        """Return bounds of the values at fractional draws, at standard deviation 0.02.

        Every arithmetic increases strictly with the draw, so a value between two draws lies between theirs.
        """
        below = np.clip(np.floor(draws), 0, (1 << 23) - 1).astype(np.intp)
        above = np.clip(np.ceil(draws), 0, (1 << 23) - 1).astype(np.intp)
        return Bounds(from_ordered(self.table.accept(below)[0]), from_ordered(self.table.accept(above)[1]))


def around(centre: Float64, error: Any) -> Bounds:
    """Return bounds ``error`` (absolute) and a few float32 roundings around real numbers."""
    slack = np.abs(centre) * 4e-7 + error
    with np.errstate(over="ignore"):
        return Bounds((centre - slack).astype(np.float32), (centre + slack).astype(np.float32))


def scaled(bounds: Bounds, factor: Any) -> Bounds:
    """Return bounds times a positive factor, one float32 wider on each side: a product rounds."""
    low = (bounds.low.astype(np.float64) * factor).astype(np.float32)
    high = (bounds.high.astype(np.float64) * factor).astype(np.float32)
    return Bounds(np.nextafter(low, np.float32(-np.inf)), np.nextafter(high, np.float32(np.inf)))


def words_at(keys: UInt32, size: int, positions: Index, stream: Stream) -> UInt32:
    """Return the words at some flat positions of ``jax.random.bits(key, (size,))`` for each key.

    The counters are those of :func:`posvec.vectors.random_bits.random_bits`; only the words asked for are computed.

    Args:
        keys: uint32, shape ``(n, 2)``.
        size: words of a whole array.
        positions: flat indices, shape ``(p,)``.
        stream: which integers.

    Returns:
        uint32, shape ``(n, p)``.

    """
    if stream == "partitionable":
        words = encrypt(keys[:, None, :], 0, positions.astype(np.uint32))
        return words[..., 0] ^ words[..., 1]
    half = (size + 1) // 2
    first = positions % half
    second = np.where(first + half < size, first + half, 0)
    words = encrypt(keys[:, None, :], first.astype(np.uint32), second.astype(np.uint32))
    return np.where(positions < half, words[..., 0], words[..., 1])


def split(keys: UInt32, stream: Stream, number: int = 2) -> UInt32:
    """Return ``jax.random.split(key, number)``: uint32 of shape ``(n, number, 2)``.

    ``partitionable``: key i is the block of counter ``(0, i)`` (``jax._src.prng._threefry_split_foldlike``).
    ``original``: the words of counters 0 … 2 * number - 1, two by two (``_threefry_split_original``).
    """
    if stream == "partitionable":
        return encrypt(keys[:, None, :], 0, np.arange(number, dtype=np.uint32))
    size = 2 * number
    return words_at(keys, size, np.arange(size), "original").reshape(len(keys), number, 2)
