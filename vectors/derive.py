"""From a seed to the uniforms of a Flax parameter, in NumPy alone: all integers that ``jax.random`` makes.

seed -> key -> Flax's folded key -> random words -> draw -> uniform. Nothing here rounds: all stages are
exact, and the same in every JAX version, on every instruction set, in every mode. Two streams exist:
``partitionable`` (the default since JAX 0.5.0) and ``original``; only the counters of a word differ.
"""

from __future__ import annotations

import collections
import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posvec.schemas.build import Stream
from posvec.vectors.random_bits import MAX_SIZE, check_stream, random_bits
from posvec.vectors.suites import MAX_T
from posvec.vectors.threefry import UInt32, encrypt

_A = TypeVar("_A")
_R = TypeVar("_R")

DRAW_BITS: Final = 23
"""How many of a word's 32 bits ``jax.random.uniform`` uses for float32: its mantissa."""

N_DRAWS: Final = 1 << DRAW_BITS
SEED_MIN: Final = -(1 << 63)
SEED_MAX: Final = (1 << 63) - 1


def seed_key(seeds: int | ArrayLike | Sequence[int]) -> UInt32:
    """Return ``jax.random.PRNGKey(seed)`` as its two words.

    Without ``jax_enable_x64`` JAX keeps the low 32 bits of the seed and zeroes the first word
    (``jax._src.prng.threefry_seed``), so -1 and 2**32 - 1 are one seed.

    Args:
        seeds: one integer, or a sequence or integer array of n, each in -2**63..2**63 - 1.

    Returns:
        uint32, shape ``(2,)`` for one integer, ``(n, 2)`` otherwise.

    Raises:
        TypeError: a seed is not an integer.
        ValueError: a seed lies outside the range.

    """
    low = _low_words(seeds)
    return np.stack([np.zeros_like(low), low], axis=-1)


def _low_words(seeds: Any) -> UInt32:
    if not isinstance(seeds, np.ndarray):
        scalar = not isinstance(seeds, Sequence)
        integers = np.array([seeds] if scalar else seeds, dtype=object)
        for seed in integers.flat:
            if isinstance(seed, bool | np.bool_) or not isinstance(seed, int | np.integer):
                raise TypeError(f"seed must be an integer, got {seed!r}")
            if not SEED_MIN <= seed <= SEED_MAX:
                raise ValueError(f"seed must be in -2**63..2**63-1, got {seed}")
        words = np.array([int(seed) & 0xFFFFFFFF for seed in integers.flat], dtype=np.uint32)
        return words[0] if scalar else words.reshape(integers.shape)
    if not np.issubdtype(seeds.dtype, np.integer):
        raise TypeError(f"seed must be an integer, got an array of {seeds.dtype}")
    if seeds.dtype == np.uint64 and seeds.size and seeds.max() > SEED_MAX:
        raise ValueError(f"seed must be in -2**63..2**63-1, got {seeds.max()}")
    return seeds.astype(np.uint32)


def fold_in(keys: UInt32, data: int) -> UInt32:
    """Return ``jax.random.fold_in(key, data)``: the block of counters ``(0, data)`` is the new key.

    Args:
        keys: uint32, shape ``(..., 2)``.
        data: an integer in 0..2**32 - 1.

    Returns:
        uint32, the shape of ``keys``.

    """
    return encrypt(keys, 0, data)


def fold_word(*, path: Sequence[str] = (), index: int = 1, fix_rng_separator: bool = False) -> int:
    """Return the integer that Flax folds into the key of a module's parameter.

    It is the first four bytes, big endian, of the SHA-1 of the names of the modules around the parameter,
    outermost first and without the top module, and of the running number of the parameter
    (``flax.core.scope._fold_in_static``).

    Args:
        path: names of the nested modules that lead to the parameter; empty in a top-level module.
        index: the parameter is the n-th random one, from 1, that its module creates.
        fix_rng_separator: the Flax option ``flax_fix_rng_separator``: a zero byte before each item.

    Returns:
        An integer in 0..2**32 - 1; 0xBF8B4530 for the first parameter of a top-level module.

    Raises:
        ValueError: ``index`` is less than 1.

    """
    if index < 1:
        raise ValueError(f"index must be at least 1, got {index}")
    items = [name.encode() for name in path]
    items.append(index.to_bytes((index.bit_length() + 7) // 8, "big"))
    separator = b"\x00" if fix_rng_separator else b""
    digest = hashlib.sha1(b"".join(separator + item for item in items), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


def param_key(keys: UInt32, *, path: Sequence[str] = (), index: int = 1, fix_rng_separator: bool = False) -> UInt32:
    """Return the key that Flax Linen hands to a parameter's initializer.

    Args:
        keys: the keys given to ``Module.init``, uint32, shape ``(..., 2)``.
        path: see :func:`fold_word`.
        index: see :func:`fold_word`.
        fix_rng_separator: see :func:`fold_word`.

    Returns:
        uint32, the shape of ``keys``.

    """
    return fold_in(keys, fold_word(path=path, index=index, fix_rng_separator=fix_rng_separator))


def table_bits(seeds: ArrayLike | Sequence[int], d_model: int, *, stream: Stream, rows: int = MAX_T) -> UInt32:
    """Return the 32-bit words behind the first parameter of a top-level module, of shape ``(rows, d_model)``.

    Args:
        seeds: n integers in -2**63..2**63 - 1, a sequence or an integer array.
        d_model: features, at least 1.
        stream: which integers.
        rows: rows of the parameter.

    Returns:
        uint32, shape ``(n, rows, d_model)``.

    Raises:
        TypeError: a seed is not an integer.
        ValueError: a seed, ``d_model``, ``rows`` or ``stream`` is out of range.

    """
    low, size = _checked(seeds, d_model, rows, stream)
    out = np.empty((low.size, rows, d_model), dtype=np.uint32)
    for block in _blocks(low, size, stream, 1 << 20, shift=0):
        out.reshape(low.size, size)[block.seeds, block.flat] = block.draws
    return out


def table_draws(seeds: ArrayLike | Sequence[int], d_model: int, *, stream: Stream, rows: int = MAX_T) -> UInt32:
    """Return :func:`table_bits` shifted right by nine: the 23-bit integers that alone decide the values.

    Returns:
        uint32 in 0..2**23 - 1, shape ``(n, rows, d_model)``.

    """
    draws = table_bits(seeds, d_model, stream=stream, rows=rows)
    draws >>= np.uint32(32 - DRAW_BITS)
    return draws


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawBlock:
    """Some of the draws of a sweep: rows are seeds, columns are flat indices of the table.

    Attributes:
        seeds: which of the sweep's seeds.
        flat: which flat indices of each table.
        draws: uint32, shape ``(len(seeds), len(flat))``.

    """

    seeds: slice
    flat: slice
    draws: UInt32


def stream_draws(
    seeds: ArrayLike | Sequence[int],
    d_model: int,
    *,
    stream: Stream,
    rows: int = MAX_T,
    block_elements: int = 1 << 20,
) -> Iterator[DrawBlock]:
    """Yield the tables of :func:`table_draws` in blocks, in order, with memory bounded whatever the sweep.

    A block is several whole tables or a part of one. Up to as many blocks as there are threads are held.

    Args:
        seeds: as in :func:`table_draws`.
        d_model: as in :func:`table_draws`.
        stream: as in :func:`table_draws`.
        rows: as in :func:`table_draws`.
        block_elements: the most elements a block has, at least 1.

    Raises:
        TypeError: as in :func:`table_draws`, when called, not when first advanced.
        ValueError: likewise.

    """
    if block_elements < 1:
        raise ValueError(f"block_elements must be at least 1, got {block_elements}")
    low, size = _checked(seeds, d_model, rows, stream)
    return _blocks(low, size, stream, block_elements, shift=32 - DRAW_BITS)


def uniform(draws: NDArray[Any]) -> NDArray[np.float32]:
    """Return the float32 uniform in (-1, 1) of each draw, as ``jax.random.normal`` makes it.

    ``max(lo, f * 2 + lo)`` with ``f = draw * 2**-23`` and ``lo = nextafter(-1, 0)`` (``jax.random.uniform``
    with ``minval=lo, maxval=1``, whose width rounds to 2). That is ``(4 * draw + 1 - 2**24) * 2**-24``
    exactly: 24 bits, so nothing rounds, ``max`` never acts, and no build can differ.

    Args:
        draws: integers in 0..2**23 - 1, any shape.

    Returns:
        float32, same shape.

    """
    low = np.nextafter(np.float32(-1), np.float32(0))
    doubled = np.asarray(draws).astype(np.float32) * np.float32(2.0**-22)
    values: NDArray[np.float32] = np.maximum(low, doubled + low)
    return values


def _checked(seeds: Any, d_model: int, rows: int, stream: str) -> tuple[UInt32, int]:
    check_stream(stream)
    for name, value in (("d_model", d_model), ("rows", rows)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"{name} must be an integer, got {value!r}")
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    if not 1 <= d_model <= MAX_SIZE // rows:
        raise ValueError(f"d_model must be in 1..{MAX_SIZE // rows}, got {d_model}")
    low = _low_words(seeds if isinstance(seeds, np.ndarray | Sequence) else [seeds])
    return low.reshape(-1), int(rows) * int(d_model)


def _plan(n_seeds: int, size: int, block_elements: int) -> Iterator[tuple[slice, slice]]:
    width = min(size, block_elements)
    height = max(1, block_elements // width) if width == size else 1
    for seed, flat in itertools.product(range(0, n_seeds, height), range(0, size, width)):
        yield slice(seed, min(seed + height, n_seeds)), slice(flat, min(flat + width, size))


def _blocks(low: UInt32, size: int, stream: Stream, block_elements: int, shift: int) -> Iterator[DrawBlock]:
    keys = param_key(np.stack([np.zeros_like(low), low], axis=-1))

    def block(plan: tuple[slice, slice]) -> DrawBlock:
        seeds, flat = plan
        words = random_bits(keys[seeds], size, stream=stream, start=flat.start, stop=flat.stop)
        if shift:
            words >>= np.uint32(shift)
        return DrawBlock(seeds=seeds, flat=flat, draws=words)

    return _ahead(block, _plan(low.size, size, block_elements))


def _ahead(function: Callable[[_A], _R], arguments: Iterator[_A]) -> Iterator[_R]:
    """Map over threads in order, never more than one argument a thread ahead of the consumer.

    NumPy releases the interpreter lock inside its loops, so threads do share the work.
    """
    threads = min(4, os.cpu_count() or 1)
    first = list(itertools.islice(arguments, threads))
    if len(first) < 2:
        yield from map(function, first)
        yield from map(function, arguments)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting = collections.deque(pool.submit(function, argument) for argument in first)
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(function, argument) for argument in itertools.islice(arguments, 1))
