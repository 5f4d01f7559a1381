"""float32 values as narrower types hold them: for mistakes that compute in one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.generator.references.inputs import Float32


def bfloat16(values: NDArray[Any]) -> Float32:
    """Return finite values rounded to bfloat16 (the upper half of a float32, to nearest, ties to even), as float32."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    halfway = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return ((bits + halfway) & np.uint32(0xFFFF0000)).view(np.float32)


def float16(values: NDArray[Any]) -> Float32:
    """Return values rounded to float16, as float32."""
    return np.asarray(values, dtype=np.float32).astype(np.float16).astype(np.float32)
