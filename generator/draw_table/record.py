"""Runs inside a JAX environment and asks its own initializer for the values of chosen draws.

A script of its own: the interpreter that runs it has jax and numpy, and neither posvec nor Flax. It defines
a PRNG whose "key" is the array of draws and whose random words are ``draw << 9``, and hands that key to the
build's ``jax.nn.initializers.normal``. So uniform, ``erf_inv``, the multiplications, their order and their
compilation are the build's own, and no formula is repeated here.

    XLA_FLAGS=--xla_cpu_max_isa=AVX2 python record.py body OUT.npz
    python record.py probe OUT.npz DRAWS.npy 32x3 32x4
    python record.py full OUT.npz jit 32x4

``body`` records all 2**23 draws in a wide array, eager and jit. ``probe`` puts the given draws through arrays
of other shapes. ``full`` records all draws in a small shape, twice, at different places of the array.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import define_prng_impl

N_DRAWS = 1 << 23
BODY_SHAPE = (32, 16384)
MODES = ("eager", "jit")
STDDEV = 0.02
PROBE_ELEMENTS = 24_000
PROBE_ARRAYS = 32  # at least so many draws go through each place of an array, to tell its arithmetic


def evaluator(shape: tuple[int, int], mode: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from ``prod(shape)`` draws, uint32, to that many float32 values."""
    size = math.prod(shape)

    def random_bits(key: jax.Array, bit_width: int, out_shape: tuple[int, ...]) -> jax.Array:
        if bit_width != 32:
            raise ValueError(f"expected words of 32 bits, got {bit_width}")
        return lax.reshape(lax.shift_left(key, np.uint32(9)), out_shape)

    implementation = define_prng_impl(
        key_shape=(size,),
        seed=lambda _seed: jnp.zeros(size, np.uint32),
        split=lambda key, _shape: key[None],
        random_bits=random_bits,
        fold_in=lambda key, _data: key,
        name=f"draws{size}",
        tag="draws",
    )
    normal = jax.nn.initializers.normal(stddev=STDDEV)

    def init(draws: Any) -> jax.Array:
        return normal(jax.random.wrap_key_data(draws, impl=implementation), shape)

    compiled = jax.jit(init) if mode == "jit" else init
    return lambda draws: np.asarray(compiled(draws), np.float32).reshape(-1)


def all_draws(shape: tuple[int, int], mode: str, first: int = 0) -> np.ndarray:
    """Evaluate every draw, consecutive ones side by side, the first array beginning with draw ``first``."""
    size = math.prod(shape)
    evaluate = evaluator(shape, mode)
    values = np.empty(N_DRAWS, np.float32)
    for start in range(first, first + N_DRAWS, size):
        draws = (np.arange(start, start + size) % N_DRAWS).astype(np.uint32)
        values[draws] = evaluate(draws)
    return values


def probe(draws: np.ndarray, shape: tuple[int, int], mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate ``PROBE_ELEMENTS`` of the draws or more; return draws and values, by array and place in it."""
    size = math.prod(shape)
    n_arrays = max(PROBE_ARRAYS, PROBE_ELEMENTS // size)
    generator = np.random.default_rng(size)
    chosen = generator.choice(draws, (n_arrays, size)).astype(np.uint32)
    evaluate = evaluator(shape, mode)
    return chosen, np.stack([evaluate(row) for row in chosen])


def widest_isa() -> str:
    """Return the widest instruction set that XLA may use: the flag's, or the processor's."""
    for flag in os.environ.get("XLA_FLAGS", "").split():
        if flag.startswith("--xla_cpu_max_isa="):
            return flag.partition("=")[2]
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text().split() if cpuinfo.exists() else []
    for flag, name in (("avx512f", "AVX512"), ("avx2", "AVX2"), ("avx", "AVX"), ("sse4_2", "SSE4_2")):
        if flag in flags:
            return name
    return "native"


def parse_shape(text: str) -> tuple[int, int]:
    """Return ``(32, 3)`` for ``32x3``."""
    rows, columns = text.split("x")
    return int(rows), int(columns)


def main(arguments: list[str]) -> None:
    """Record as the arguments say, into one ``.npz``."""
    command, out, *rest = arguments
    arrays: dict[str, np.ndarray] = {}
    if command == "body":
        arrays = {mode: all_draws(BODY_SHAPE, mode) for mode in MODES}
    elif command == "probe":
        draws = np.load(rest[0])
        for mode in MODES:
            for shape in rest[1:]:
                arrays[f"{mode} {shape} draws"], arrays[f"{mode} {shape} values"] = probe(
                    draws, parse_shape(shape), mode
                )
    elif command == "full":
        mode, shape = rest
        size = math.prod(parse_shape(shape))
        arrays = {f"{mode} {first}": all_draws(parse_shape(shape), mode, first) for first in (0, size // 2 + 1)}
    else:
        raise SystemExit(f"record.py takes body, probe or full, got {command!r}")
    build = {"jax": jax.__version__, "machine": platform.machine(), "isa": widest_isa()}
    arrays["build"] = np.array(json.dumps(build))
    np.savez(out, **arrays)  # type: ignore[arg-type]  # stubs of NumPy 2.4 take ** for allow_pickle


if __name__ == "__main__":
    main(sys.argv[1:])
