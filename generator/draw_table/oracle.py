"""The correctly rounded value of each draw, from SciPy and mpmath: no code of JAX or XLA is involved.

What is rounded is the exact real ``stddev * sqrt(2) * erfinv(u)``: ``u`` the draw's uniform, which float32
holds exactly, and ``stddev`` the decimal 0.02 of the exercise. (The builds multiply by float32(0.02), 2.2e-8
less, and by float32(sqrt(2)), 1.7e-8 less, and round again: on average over all draws the decimal lies nearer
to them, and it is what a float64 port computes.)
SciPy's float64 value decides, unless it lies so near the middle between two float32 that its error could
matter; those few draws are decided by mpmath at 40 digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import special

from posvec.vectors.derive import N_DRAWS

STDDEV: Final = Fraction(1, 50)

TIE_MARGIN: Final = 1e-12
"""Relative distance from a rounding tie under which float64 is not trusted."""

_DIGITS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CorrectlyRounded:
    """What the oracle found.

    Attributes:
        values: float32, shape ``(2**23,)``, indexed by draw.
        n_near_ties: draws that mpmath decided.
        worst_residual: largest relative correction that one Newton step makes to SciPy's value: its measured
            error, which must be far below ``TIE_MARGIN``.

    """

    values: NDArray[np.float32]
    n_near_ties: int
    worst_residual: float


def correctly_rounded(stddev: Fraction = STDDEV) -> CorrectlyRounded:
    """Evaluate all 2**23 draws.

    Raises:
        ArithmeticError: SciPy's ``erfinv`` is less accurate here than the margin around ties allows for.

    """
    uniform = (4.0 * np.arange(N_DRAWS) + 1 - 2**24) / 2**24
    inverse = special.erfinv(uniform)
    worst = float(np.max(np.abs(_newton_correction(uniform, inverse) / inverse)))
    if worst > TIE_MARGIN / 50:
        raise ArithmeticError(f"scipy.special.erfinv is off by {worst:.1e}, more than ties at {TIE_MARGIN} allow")
    exact = float(stddev) * np.sqrt(2.0) * inverse
    values = exact.astype(np.float32)
    near = np.flatnonzero(_distance_from_tie(exact, values) < TIE_MARGIN)
    for draw in near:
        values[draw] = round_exactly(int(draw), stddev)
    return CorrectlyRounded(values=values, n_near_ties=len(near), worst_residual=worst)


def _newton_correction(uniform: NDArray[np.float64], inverse: NDArray[np.float64]) -> NDArray[Any]:
    """Return ``(erf(x) - u) / erf'(x)``, from ``erfc`` where ``erf`` nears 1 and loses digits."""
    magnitude, x = np.abs(uniform), np.abs(inverse)
    residual = np.where(magnitude < 0.5, special.erf(x) - magnitude, (1 - magnitude) - special.erfc(x))
    correction: NDArray[np.float64] = residual * (np.sqrt(np.pi) / 2) * np.exp(x * x)
    return correction


def _distance_from_tie(exact: NDArray[np.float64], rounded: NDArray[np.float32]) -> NDArray[Any]:
    """Return how far, relatively, each value lies from the middle between the float32 it is between."""
    toward = np.where(exact > rounded, np.inf, -np.inf).astype(np.float32)
    middle = (rounded.astype(np.float64) + np.nextafter(rounded, toward)) / 2
    distance: NDArray[np.float64] = np.abs((exact - middle) / exact)
    return distance


def exact_value(draw: int, stddev: Fraction = STDDEV, digits: int = _DIGITS) -> Any:
    """Return ``stddev * sqrt(2) * erfinv(u)`` of a draw as an mpmath number with ``digits`` good digits."""
    with mpmath.workdps(digits + 10):
        uniform = mpmath.mpf(4 * draw + 1 - 2**24) / 2**24
        scale = mpmath.mpf(stddev.numerator) / stddev.denominator
        return scale * mpmath.sqrt(2) * mpmath.erfinv(uniform)


def round_exactly(draw: int, stddev: Fraction = STDDEV) -> np.float32:
    """Return the float32 nearest to the exact value of one draw, decided in rational arithmetic.

    Raises:
        ArithmeticError: even 40 digits do not tell which side of the tie it is on.

    """
    exact = exact_value(draw, stddev)
    sign, mantissa, exponent, _ = exact._mpf_
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent) * (-1 if sign else 1)
    guess = np.float32(float(exact))
    candidates = [np.nextafter(guess, np.float32(-1)), guess, np.nextafter(guess, np.float32(1))]
    distances = [abs(Fraction(float(candidate)) - value) for candidate in candidates]
    nearest, second = sorted(distances)[:2]
    if second - nearest < abs(value) / Fraction(10) ** (_DIGITS - 2):
        raise ArithmeticError(f"draw {draw} is too near a rounding tie for {_DIGITS} digits")
    return np.float32(candidates[distances.index(nearest)])
