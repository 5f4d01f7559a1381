"""float32 as integers: bits, order and distance in ULP.

Floats are compared only here, and only as integers: ``==`` would call 0.0 and -0.0 the same, and a
relative tolerance would change with magnitude.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Values = Float32 | Int32
"""What functions under test return."""


def ordered(values: NDArray[Any]) -> Int32:
    """Map float32 to int32 so that a step of 1 is a step of one float32, across zero too.

    Negative floats map to negative integers; 0.0 maps to 0 and -0.0 to -1, so that the two are told apart.
    NaNs map beyond the infinities of their sign.

    >>> ordered(np.array([-0.0, 0.0], np.float32))
    array([-1,  0], dtype=int32)
    """
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)


def from_ordered(order: NDArray[Any]) -> Float32:
    """Return the float32 that :func:`ordered` maps to each integer (its exact inverse)."""
    order32 = np.asarray(order, dtype=np.int32)
    return np.where(order32 < 0, order32 ^ np.int32(0x7FFFFFFF), order32).view(np.float32)


def ulp_distance(got: NDArray[Any], expected: NDArray[Any]) -> Int64:
    """Return ``got - expected`` in units of last place, signed, int64 (it cannot wrap)."""
    return ordered(got).astype(np.int64) - ordered(expected).astype(np.int64)
