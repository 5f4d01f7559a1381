"""Recognises numbers that were printed with too few digits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.known import Known
from posvec.vectors.ulp import Float32

_FEWEST = 8  # elements: one float in a few is short by chance
_ROUNDING = 8  # ULP by which a right value may be off before it is printed
_MOST = 8  # digits: nine carry every float32


def short_digits(pairs: Sequence[tuple[Float32, Known]]) -> str | None:
    """Say with how many digits failing arrays were printed, if that is all that is wrong with them.

    They are, where each value is the float32 nearest to a decimal so short, and that decimal is the expected value
    as far as it goes.
    """
    if not pairs:
        return None
    got = np.concatenate([values for values, _ in pairs]).astype(np.float64)
    expected = np.concatenate([known.expected for _, known in pairs]).astype(np.float64)
    if got.size < _FEWEST or not np.isfinite(got).all():
        return None
    for digits in range(1, _MOST + 1):
        if _fits(got, expected, np.full(got.size, 10.0**digits)):
            return _sentence(f"{digits} digits after the point", f"%.{digits}f")
    scale = np.where(expected == 0, 1.0, np.abs(expected))
    for digits in range(1, _MOST + 1):
        if _fits(got, expected, 10.0 ** (digits - 1 - np.floor(np.log10(scale)))):
            return _sentence(f"{digits} significant digits", f"%.{digits}g")
    return None


def _fits(got: NDArray[np.float64], expected: NDArray[np.float64], scale: NDArray[np.float64]) -> bool:
    """Whether every value is the float32 nearest to a multiple of ``1 / scale``, at most half of one off."""
    short = np.rint(got * scale) / scale
    rounding = _ROUNDING * np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    near = np.abs(got - expected) <= 0.5 / scale + rounding
    return bool(np.all(near) and np.array_equal(short.astype(np.float32), got.astype(np.float32)))


def _sentence(what: str, format_: str) -> str:
    return (
        f"Every number of the failing cases has at most {what} ({format_} of printf), and is right as far as it goes: "
        "print 9 significant digits (%.9g), which carry every float32."
    )
