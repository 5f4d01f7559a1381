"""Sines and cosines of position times frequency: exactly, and how far from that honest float32 code may be.

The angle of position p in pair i of d features is ``p * base**(-2 * i / d)`` (Vaswani et al. 2017, section 3.5,
https://arxiv.org/abs/1706.03762; Su et al. 2021 for RoPE, https://arxiv.org/abs/2104.09864). What a suite returns is
``a * cos(angle) + b * sin(angle)``: a sine (a = 0, b = 1), a cosine, or one coordinate of a rotated pair.

**Exact.** A frequency comes from mpmath with 120 bits, kept as the sum of two float64; its product with an integer
position is formed without error but for the last product of about 2**-106. The value in float64 is then within 2**-48
of ``|a * cos| + |b * sin|`` (NumPy's float64 sine and cosine are within 4 ULP). Where both ends of that range round to
the same float32, so does the exact value; elsewhere mpmath decides.

**Room.** With u = 2**-24, half a ULP of 1, float32 code gets the relative error of an angle from

- the exponent. ``exp(-k * (log(base) / d))`` and its like round ``log(base)``, a quotient and a product: 3 u of an
  exponent of size L = ``(2 * i / d) * log(base)``, which is a relative error of 3 * L * u in the frequency. The
  paper's own ``base**(2 * i / d)`` rounds the quotient only: 1 * L * u.
- the exponential or power itself, to within 2 ULP: 4 u; a reciprocal or quotient: 1 u; times the position: 1 u.

So an angle may be off by ``angle * (6 + 3 * L) * u``; it moves a value by the derivative times that. The sine and
cosine may be off by 4 ULP, as much as posvec allows for every table, and a rotation rounds two products and a sum in
addition: 1 ULP of ``|a * cos| + |b * sin|``. Positions are exact in float32, so at position 0 there is no room at all.
``below`` and ``above`` are the float32 steps to the ends of that interval.

Measured, with the errors of sine and cosine beyond 2 ULP counted as the angle's: over positions to 4095, 6 to 512
features and bases 100 to 1,000,000, JAX (eager and compiled), NumPy and PyTorch, each with the paper's power, its
reciprocal, ``exp`` of a scaled ``arange``, and ``exp`` of a float32 logarithm, are off by at most 2.9 u at L = 0 (of 6
allowed), 8.5 u at L = 7.5 (XLA's power; of 28) and 9.3 u at L = 12 (of 42). Angles in float16 or bfloat16 are off by
2**13 u and 2**16 u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import mpmath
import numpy as np
from numpy.typing import NDArray

from posvec.generator.case_suite import Expected
from posvec.generator.references.inputs import Float32
from posvec.vectors.ulp import ulp_distance

Float64 = NDArray[np.float64]

UNIT: Final = 2.0**-24
ANGLE_UNITS: Final = 6
"""Units by which an angle may be off, whatever its frequency."""

EXPONENT_UNITS: Final = 3
"""Units for each e-fold between the base's frequency and 1."""

_BITS = 120
_FLOAT64_ERROR = 2.0**-48
_SPLITTER = 2.0**27 + 1
_MAX_POSITION = 2**26


@cache
def _frequencies(base: float, d: int) -> tuple[Float64, Float64]:
    """Return ``base**(-2 * i / d)`` for each pair as the sums of two float64, each of shape (ceil(d / 2),)."""
    with mpmath.workprec(_BITS):
        exact = [mpmath.power(mpmath.mpf(base), -mpmath.mpf(i) / d) for i in range(0, d, 2)]
        high = [float(frequency) for frequency in exact]
        low = [float(frequency - near) for frequency, near in zip(exact, high, strict=True)]
    return np.array(high), np.array(low)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Angles:
    """The angles of some positions in each pair of features.

    Attributes:
        positions: int64 array of any shape, each within 0 to 2**26.
        base: Base of the frequencies.
        d: Features, two in a pair; the last of an odd number has none.
        high, low: Two float64 arrays of shape (*positions.shape, ceil(d / 2)) whose sum is the angle.

    """

    positions: NDArray[np.int64]
    base: float
    d: int
    high: Float64
    low: Float64

    @classmethod
    def of(cls, positions: NDArray[np.integer], base: float, d: int) -> Angles:
        """Return the angles of these positions."""
        whole = np.asarray(positions, dtype=np.int64)
        if whole.size and not 0 <= whole.min() <= whole.max() <= _MAX_POSITION:
            raise ValueError(f"positions must lie within 0 to {_MAX_POSITION}, got {whole.min()} to {whole.max()}")
        near, rest = _frequencies(base, d)
        # Veltkamp's splitting: each half times a position of 26 bits is exact. Then Knuth's sum without error.
        upper = near * _SPLITTER - (near * _SPLITTER - near)
        p = whole.astype(np.float64)[..., None]
        first, second = p * upper, p * (near - upper)
        high = first + second
        low = (first - (high - second)) + (second - (high - (high - second))) + p * rest
        return cls(positions=whole, base=base, d=d, high=high, low=low)

    @property
    def error(self) -> Float64:
        """By how much float32 code may have each angle wrong."""
        exponents = np.arange(0, self.d, 2) / self.d * abs(math.log(self.base))
        return self.high * ((ANGLE_UNITS + EXPONENT_UNITS * exponents) * UNIT)

    def combined(self, a: Float32 | float, b: Float32 | float, *, ulp: int) -> Expected:
        """Return ``a * cos(angle) + b * sin(angle)``, correctly rounded, and the room of float32 code.

        Args:
            a: float32 values, broadcastable to the shape of the angles.
            b: float32, likewise.
            ulp: ULP of ``|a * cos| + |b * sin|`` allowed for all that comes after the angle.

        """
        a64, b64 = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        sine, cosine = np.sin(self.high), np.cos(self.high)
        sine, cosine = sine + self.low * cosine, cosine - self.low * sine
        value = a64 * cosine + b64 * sine
        size = np.abs(a64 * cosine) + np.abs(b64 * sine)
        values = self._rounded(value, size * _FLOAT64_ERROR, a64, b64)
        error = self.error
        moved = np.abs(b64 * cosine - a64 * sine) * np.sin(error) + np.abs(value) * (1 - np.cos(error))
        room = np.where(self.high == 0, 0.0, moved + size * (2 * ulp * UNIT))
        below = -ulp_distance(_towards(value - room, -np.inf), values)
        above = ulp_distance(_towards(value + room, np.inf), values)
        exact = self.high == 0
        return Expected(
            values=values,
            below=np.where(exact, 0, np.maximum(below, 0)).astype(np.uint32),
            above=np.where(exact, 0, np.maximum(above, 0)).astype(np.uint32),
        )

    def _rounded(self, value: Float64, error: Float64, a: Float64, b: Float64) -> Float32:
        lowest, highest = (value - error).astype(np.float32), (value + error).astype(np.float32)
        a, b = np.broadcast_to(a, value.shape), np.broadcast_to(b, value.shape)
        for index in zip(*np.nonzero(lowest != highest), strict=True):
            position, pair = int(self.positions[index[:-1]]), int(index[-1])
            lowest[index] = exactly(position, pair, self.base, self.d, float(a[index]), float(b[index]))
        return lowest


def exactly(position: int, pair: int, base: float, d: int, a: float, b: float) -> np.float32:
    """Return ``a * cos + b * sin`` of one angle, by mpmath alone, rounded once to float32."""
    with mpmath.workprec(_BITS):
        angle = position * mpmath.power(mpmath.mpf(base), -mpmath.mpf(2 * pair) / d)
        value = a * mpmath.cos(angle) + b * mpmath.sin(angle)
        near = np.float32(float(value))  # rounded twice, so the right one is this or a neighbour
        around = [np.float32(near), *np.nextafter(near, np.array([-np.inf, np.inf], dtype=np.float32))]
        return min(around, key=lambda candidate: abs(value - float(candidate)))


def _towards(ends: Float64, infinity: float) -> Float32:
    """Return the float32 nearest to each end that is not inside of it."""
    near = ends.astype(np.float32)
    inside = near > ends if infinity < 0 else near < ends
    return np.where(inside, np.nextafter(near, np.float32(infinity)), near)
