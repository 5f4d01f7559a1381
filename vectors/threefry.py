"""threefry-2x32 with 20 rounds, the block function under every ``jax.random`` key and draw.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11), as published in Random123
and as ``jax._src.prng.threefry2x32`` computes it. All arithmetic is modulo 2**32.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

UInt32 = NDArray[np.uint32]

_PARITY: Final = np.uint32(0x1BD11BDA)
"""``SKEIN_KS_PARITY32``: the third key word is the given two xor this, so that no schedule is all zero."""

_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
"""``R_32x2``: the left rotations of the even and of the odd groups of four rounds."""

_GROUPS: Final = 5
"""Five groups of four rounds: the 20 rounds that JAX uses."""


def threefry2x32(key0: UInt32, key1: UInt32, x0: UInt32, x1: UInt32, scratch: UInt32 | None = None) -> None:
    """Encrypt the counters ``(x0, x1)`` under the keys ``(key0, key1)``, in place.

    Args:
        key0: first key words, uint32, broadcastable to the shape of ``x0``.
        key1: second key words, likewise.
        x0: first counter words, a uint32 array of any shape; holds the first output words afterwards.
        x1: second counter words, same shape; holds the second output words afterwards.
        scratch: a uint32 array of the same shape to work in, so that a caller who loops allocates once.

    Raises:
        TypeError: an array is not uint32 (NumPy would otherwise widen and never wrap).

    """
    if any(array.dtype != np.uint32 for array in (key0, key1, x0, x1)):
        raise TypeError("threefry2x32 takes uint32 arrays only")
    turned = np.empty_like(x0) if scratch is None else scratch
    schedule = (key0, key1, key0 ^ key1 ^ _PARITY)
    x0 += schedule[0]
    x1 += schedule[1]
    for group in range(_GROUPS):
        for rotation in _ROTATIONS[group % 2]:
            x0 += x1
            np.left_shift(x1, np.uint32(rotation), out=turned)
            x1 >>= np.uint32(32 - rotation)
            x1 |= turned
            x1 ^= x0
        x0 += schedule[(group + 1) % 3]
        x1 += schedule[(group + 2) % 3] + np.uint32(group + 1)


def encrypt(keys: NDArray[Any], counter0: ArrayLike, counter1: ArrayLike) -> UInt32:
    """Return the two output words of each block as a new array; a convenience for few blocks.

    Args:
        keys: uint32, shape ``(..., 2)``.
        counter0: first counter words, integers in 0..2**32-1, broadcastable to ``keys.shape[:-1]``.
        counter1: second counter words, likewise.

    Returns:
        uint32, shape ``(..., 2)`` of the common broadcast shape.

    """
    words = np.asarray(keys, dtype=np.uint32)
    shape = np.broadcast_shapes(words.shape[:-1], np.shape(counter0), np.shape(counter1))
    # at least one dimension: in-place arithmetic on NumPy scalars would make new scalars and lose the result
    x0 = np.array(np.broadcast_to(np.asarray(counter0, dtype=np.uint32), shape), ndmin=1)
    x1 = np.array(np.broadcast_to(np.asarray(counter1, dtype=np.uint32), shape), ndmin=1)
    threefry2x32(np.atleast_1d(words[..., 0]), np.atleast_1d(words[..., 1]), x0, x1)
    return np.stack([x0, x1], axis=-1).reshape((*shape, 2))
