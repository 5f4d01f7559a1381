"""Arrays to call a function with: the same on every machine, under every NumPy, and unlike in every element.

They come from threefry-2x32 alone, keyed by a text, and from integer arithmetic; no float is computed that could round
in two ways. No array is constant, none holds a zero, a subnormal, an infinity or a NaN.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.random_bits import random_bits

Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]

_SUMMANDS = 6
"""Uniforms in a value of :func:`bell`."""


def words(salt: str, *shape: int) -> NDArray[np.uint32]:
    """Return the random 32-bit words of a text: the partitionable stream of a key cut from its SHA-256.

    Args:
        salt: Any text; another one gives unrelated words.
        *shape: Shape of the result.

    Returns:
        uint32 array of that shape, in row-major order of the stream.

    """
    key = np.frombuffer(hashlib.sha256(salt.encode()).digest()[:8], dtype=">u4").astype(np.uint32)
    return random_bits(key[None, :], math.prod(shape), stream="partitionable").reshape(shape)


def dyadic(salt: str, *shape: int, bits: int = 12, denominator: int = 256) -> Float32:
    """Return fractions k / ``denominator``, k odd and ``-2**bits < k < 2**bits``, so small that sums of them are exact.

    With the defaults even a sum of 2**12 such values is exact in float32, in any order of its additions.

    Args:
        salt: The text that the values come from.
        *shape: Shape of the result.
        bits: Size of the numerator.
        denominator: A power of two.

    Returns:
        float32 array of that shape.

    """
    drawn = words(salt, *shape)
    odd = (drawn >> np.uint32(32 - bits)).astype(np.int64) | 1
    signed = np.where(drawn & 1, odd, -odd)
    return (signed / denominator).astype(np.float32)


def bell(salt: str, *shape: int, scale: float = 1.0) -> Float32:
    """Return values that use all 24 bits of a float32, distributed almost like a normal with deviation ``scale``.

    Each is the sum of six uniform integers, made odd, times a float64 constant, rounded once to float32.

    Args:
        salt: The text that the values come from.
        *shape: Shape of the result.
        scale: Standard deviation. No value lies beyond 4.3 of them.

    Returns:
        float32 array of that shape.

    """
    drawn = words(salt, *shape, _SUMMANDS).astype(np.int64)
    centred = (2 * drawn - (2**32 - 1)).sum(axis=-1) | 1  # in steps of half a unit, so that the mean is exactly 0
    deviation = 2**32 * math.sqrt(_SUMMANDS / 3)
    values: Float32 = (centred * (scale / deviation)).astype(np.float32)
    return values


def ids(salt: str, *shape: int, count: int) -> Int32:
    """Return integers in 0..``count - 1``, e.g. token ids.

    Args:
        salt: The text that they come from.
        *shape: Shape of the result.
        count: How many ids there are, at least 1.

    Returns:
        int32 array of that shape.

    """
    return (words(salt, *shape) % np.uint32(count)).astype(np.int32)
