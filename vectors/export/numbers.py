"""Numbers as text, from which every bit can be read back."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray


def decimals(array: NDArray[Any]) -> list[str]:
    """Return every element in decimal, in row-major order.

    Of a float32 it is the shortest text that reads back as the same float32, through a float64 as well; ``NaN``,
    ``Infinity`` and ``-Infinity`` where it is none.
    """
    flat = array.reshape(-1)
    if flat.dtype.kind != "f":
        return [str(value) for value in flat.tolist()]
    texts = [str(value) for value in flat]
    again = np.array([float(text) for text in texts], np.float64).astype("<f4")
    same = again.view("<u4") == np.ascontiguousarray(flat, "<f4").view("<u4")
    for i in np.flatnonzero(~same).tolist():
        texts[i] = repr(float(flat[i]))
    for i in np.flatnonzero(~np.isfinite(flat)).tolist():
        texts[i] = _named(float(flat[i]))
    return texts


def float_bits(array: NDArray[Any]) -> list[str]:
    """Return the bits of every float32 in hexadecimal: ``0x3c23d70a``."""
    return [f"0x{bits:08x}" for bits in np.ascontiguousarray(array.reshape(-1), "<f4").view("<u4").tolist()]


def double_text(value: float) -> str:
    """Return a Python float in decimal: the shortest text that reads back as it."""
    return repr(value) if math.isfinite(value) else _named(value)


def double_bits(value: float) -> str:
    """Return the bits of a Python float in hexadecimal, 16 digits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"


def _named(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
