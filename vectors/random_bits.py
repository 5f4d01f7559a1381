"""The two ways in which ``jax.random`` turns a key into an array of 32-bit words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np

from posvec.schemas.build import STREAMS, Stream
from posvec.vectors.threefry import UInt32, threefry2x32

MAX_SIZE: Final = (1 << 32) - 2
"""Above this the original stream splits its key, and the partitionable one needs both counter words."""

_CHUNK: Final = 1 << 17
"""Words worked on at once. Measured: in smaller chunks two threads lose more by handing the interpreter's lock to and
fro than they gain by a warmer cache (1 << 14: 25 M elements/s, 1 << 17: 59 M/s), and larger ones leave the L2 cache."""


def check_stream(stream: str) -> None:
    """Raise ValueError, naming the streams there are, unless ``stream`` is one of them."""
    if stream not in STREAMS:
        raise ValueError(f"stream must be one of {', '.join(STREAMS)}, got {stream!r}")


def random_bits(keys: UInt32, size: int, *, stream: Stream, start: int = 0, stop: int | None = None) -> UInt32:
    """Return words ``start..stop`` of ``jax.random.bits(key, (size,))`` for each key.

    The partitionable word i is the xor of the block of counter ``(0, i)``. The original stream pairs
    counter i with i + ceil(size / 2) in one block; an odd size is padded with a counter 0 whose word is
    dropped (``jax._src.prng.threefry_2x32``), so there a word depends on the size too.

    Args:
        keys: uint32, shape ``(n, 2)``.
        size: how many words the array of a key has.
        stream: which integers.
        start: first flat index.
        stop: flat index after the last; ``size`` if not given.

    Returns:
        uint32, shape ``(n, stop - start)``.

    Raises:
        ValueError: ``stream`` is unknown, or ``size`` is not in 0..2**32 - 2.

    """
    check_stream(stream)
    if not 0 <= size <= MAX_SIZE:
        raise ValueError(f"size must be in 0..{MAX_SIZE}, got {size}")
    stop = size if stop is None else stop
    out = np.empty((len(keys), stop - start), dtype=np.uint32)
    fill = _fill_partitionable if stream == "partitionable" else _fill_original
    fill(np.asarray(keys), size, start, out)
    return out


def _fill_partitionable(keys: UInt32, _size: int, start: int, out: UInt32) -> None:
    scratch = np.empty((3, min(_CHUNK, out.size)), dtype=np.uint32)
    for rows, columns in _tiles(out.shape):
        tile = out[rows, columns]
        x0, x1, turned = (part[: tile.size].reshape(tile.shape) for part in scratch)
        x0[...] = 0
        x1[...] = np.arange(start + columns.start, start + columns.stop, dtype=np.uint32)
        threefry2x32(keys[rows, :1], keys[rows, 1:], x0, x1, turned)
        np.bitwise_xor(x0, x1, out=tile)


def _fill_original(keys: UInt32, size: int, start: int, out: UInt32) -> None:
    half = (size + 1) // 2
    stop = start + out.shape[1]
    pairs = _pairs_needed(start, stop, half)
    scratch = np.empty((3, min(_CHUNK, len(keys) * max(1, len(pairs)))), dtype=np.uint32)
    for rows, columns in _tiles((len(keys), len(pairs))):
        first, last = pairs.start + columns.start, pairs.start + columns.stop
        shape = (rows.stop - rows.start, last - first)
        x0, x1, turned = (part[: shape[0] * shape[1]].reshape(shape) for part in scratch)
        counters = np.arange(first, last, dtype=np.uint32)
        x0[...] = counters
        x1[...] = counters + np.uint32(half)
        if size % 2 and last == half:
            x1[:, -1] = 0
        threefry2x32(keys[rows, :1], keys[rows, 1:], x0, x1, turned)
        for words, offset in ((x0, first), (x1, first + half)):
            begin, end = max(offset, start), min(offset + shape[1], stop)
            if begin < end:
                out[rows, begin - start : end - start] = words[:, begin - offset : end - offset]


def _pairs_needed(start: int, stop: int, half: int) -> range:
    """Return the blocks that hold the words ``start..stop``; block i holds words i and i + half."""
    if start >= stop:
        return range(0)
    if stop <= half:
        return range(start, stop)
    if start >= half:
        return range(start - half, stop - half)
    return range(half)


def _tiles(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Cut a matrix into tiles of at most ``_CHUNK`` elements, whole rows where they fit."""
    n_rows, n_columns = shape
    if not n_rows or not n_columns:
        return
    width = min(n_columns, _CHUNK)
    height = max(1, _CHUNK // width)
    for row, column in itertools.product(range(0, n_rows, height), range(0, n_columns, width)):
        yield slice(row, min(row + height, n_rows)), slice(column, min(column + width, n_columns))
