"""Runs inside a JAX and Flax environment and evaluates the literal module, compiled and not, at many shapes.

A script of its own, like ``record.py``: ``python literal.py OUT.npz``. Each array is named by mode, stream,
d_model and T, and holds one row per seed.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import numpy as np

D_MODELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 33, 64, 70, 128, 997)
"""Widths at which whole tables are made."""

PREFIXES = ((1, 1), (1, 7), (2, 5), (3, 1), (3, 5), (5, 3), (6, 16), (8, 31), (17, 3), (64, 7))
"""Pairs of d_model and T < 32, for which a compiled function may compute only T rows."""

ELEMENTS = 12_000
LITERAL_SEEDS = 2
"""The literal function under ``jax.jit`` compiles for every seed, so it gets few."""


class LearnedPos(nn.Module):
    """The module of the exercise."""

    max_T: int  # noqa: N815  (the name the exercise gives it)
    d_model: int

    @nn.compact
    def __call__(self, T: int) -> Any:
        """Return the first T rows of the table."""
        table = self.param("pos_embed", nn.initializers.normal(stddev=0.02), (self.max_T, self.d_model))
        return table[:T]


def forward(seed: int, T: int, d_model: int) -> Any:
    """Return what the exercise asks for."""
    return forward_from_key(jax.random.PRNGKey(seed), T, d_model)


def forward_from_key(key: Any, T: int, d_model: int) -> Any:
    """Return the same from a key, which need not be a constant of the compiled program."""
    module: Any = LearnedPos(max_T=32, d_model=d_model)
    return module.apply(module.init(key, T), T).reshape(-1)


def main(out: str) -> None:
    """Evaluate everything into one ``.npz``."""
    generator = np.random.default_rng(1)
    literal = jax.jit(forward, static_argnums=(0, 1, 2))
    from_key = jax.jit(forward_from_key, static_argnums=(1, 2))
    arrays: dict[str, np.ndarray] = {}

    def add(mode: str, stream: str, d_model: int, T: int, seeds: np.ndarray, rows: Any) -> None:
        name = f"{mode} {stream} {d_model} {T}"
        arrays[f"{name} seeds"], arrays[f"{name} values"] = seeds, np.asarray(rows)

    for stream in ("partitionable", "original"):
        configuration: Any = jax.config
        configuration.update("jax_threefry_partitionable", stream == "partitionable")
        for d_model in D_MODELS if stream == "partitionable" else (3, 4, 17):
            seeds = generator.integers(0, 2**31, max(2, ELEMENTS // (32 * d_model)))
            keys = np.stack([np.zeros_like(seeds), seeds], axis=1).astype(np.uint32)
            add("eager", stream, d_model, 32, seeds, [forward_from_key(key, 32, d_model) for key in keys])
            add("jit", stream, d_model, 32, seeds, [from_key(key, 32, d_model) for key in keys])
            mapped: Any = jax.vmap(partial(forward_from_key, T=32, d_model=d_model))
            add("vmap", stream, d_model, 32, seeds, mapped(keys))
            add("jit vmap", stream, d_model, 32, seeds, jax.jit(mapped)(keys))
        for d_model, T in PREFIXES if stream == "partitionable" else ((3, 5),):
            seeds = generator.integers(0, 2**31, min(1000, ELEMENTS // (T * d_model)))
            keys = np.stack([np.zeros_like(seeds), seeds], axis=1).astype(np.uint32)
            add("jit", stream, d_model, T, seeds, [from_key(key, T, d_model) for key in keys])
            few = seeds[:LITERAL_SEEDS]
            add("literal jit", stream, d_model, T, few, [literal(int(seed), T, d_model) for seed in few])
    arrays["build"] = np.array(json.dumps({"jax": jax.__version__}))
    np.savez(out, **arrays)  # type: ignore[arg-type]  # stubs of NumPy 2.4 take ** for allow_pickle


if __name__ == "__main__":
    main(sys.argv[1])
