"""Running the reference over seeds and widths: the literal function's bytes, but not its time.

What counts is the literal call, ``learned_pos_embed_forward(seed, 32, d_model)``. It is called itself for
few seeds. For many, one program stands in for it, and at least one literal call for each d_model is compared:

- eager: ``jax.vmap`` of ``init`` over a batch of keys, without an outer ``jit``, so that each primitive is
  compiled on its own as in the literal call;
- jit: ``init`` and ``apply`` of *one* table under ``jit`` with the key as an argument, so that one
  compilation serves all seeds. It is not vmapped: a batch is another shape, and XLA rounds some shapes
  differently.

All 32 rows are drawn once for all T. In eager mode fewer rows are a prefix of them by construction. Under
``jit`` they were in every build tried but JAX 0.7.2 and 0.8.0, whose literal program for a T below 32 rounds
one element here and there differently.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from posvec.schemas.axes import Axis
from posvec.schemas.build import Build, Mode
from posvec.schemas.errors import ReferenceDisagrees
from posvec.vectors.suites import MAX_T
from posvec.vectors.ulp import Float32

LITERAL_SEEDS = 16
"""Up to this many seeds the literal function is called for each, which costs less than compiling a batch."""

_LITERAL_SAMPLE: dict[Mode, int] = {"eager": 2, "jit": 1}
# JAX 0.7 rounds some elements of a batch differently from the same element alone (stream ``original``,
# d_model 6, 7 and 12: 0.2 % of the elements), too few for a sample to find them surely.
_BATCH_DEPENDENT = ("0.7.", "0.8.0", "0.8.1", "0.8.2")
_BATCH_ELEMENTS = 1 << 20
_BATCH_SEEDS = 1024
# A literal call under jit compiles a program of its own, 2.7 MB each.
_PROGRAMS_KEPT = 32

Advance = Callable[[int], None]


@dataclass(slots=True, kw_only=True)
class Sweep:
    """The tables of one build and mode in raw files, one for each d_model, to be read back in any order.

    Attributes:
        build: The build that returned them.
        seeds: Seed axis.
        folder: Where the files lie.
        not_batched: The widths for which the batch did not have the literal call's bytes.

    """

    build: Build
    seeds: Axis
    folder: Path
    not_batched: list[int] = field(default_factory=list)

    def path(self, d_model: int) -> Path:
        """Return the file of ``d_model``: little-endian float32, shape (seeds, 32, d_model), row-major."""
        return self.folder / f"{self.build.mode}-{d_model}.f32"

    def read(self, d_model: int, start: int, stop: int) -> Float32:
        """Return the tables at positions ``start`` to ``stop`` of the seed axis.

        Returns:
            float32 array of shape (stop - start, 32, d_model).

        """
        size = MAX_T * d_model
        flat = np.fromfile(self.path(d_model), dtype="<f4", count=(stop - start) * size, offset=4 * start * size)
        return flat.reshape(stop - start, MAX_T, d_model).astype(np.float32, copy=False)


def sweep(
    *,
    build: Build,
    reference: str,
    seeds: Axis,
    d_models: Axis,
    folder: Path,
    advance: Advance = lambda _: None,
) -> Sweep:
    """Run the reference for every seed and d_model, in memory bounded whatever their number.

    Args:
        build: The running build; its mode says whether the function runs under ``jit``.
        reference: Name of the module that defines ``LearnedPos`` and ``learned_pos_embed_forward``.
        seeds: Seed axis.
        d_models: Width axis.
        folder: Where to put the raw files.
        advance: Called with the number of tables finished since the last call.

    Raises:
        ReferenceDisagrees: The reference returned another dtype or shape than its contract says.
        OSError: The files could not be written.

    """
    result = Sweep(build=build, seeds=seeds, folder=folder)
    module = importlib.import_module(reference)
    for d_model in d_models:
        _Width(result, module, d_model, advance).run()
    return result


class _Width:
    def __init__(self, result: Sweep, reference: Any, d_model: int, advance: Advance) -> None:
        self._result, self._reference, self._d_model, self._advance = result, reference, d_model, advance
        self._seeds, self._mode = result.seeds, result.build.mode
        self._literal_calls = 0

    def run(self) -> None:
        path = self._result.path(self._d_model)
        if self._is_literal():
            self._write(path, self._literal_tables())
            return
        self._write(path, self._batched_tables())
        if not self._agrees():
            self._result.not_batched.append(self._d_model)
            self._advance(-len(self._seeds))
            self._write(path, self._literal_tables())

    def _is_literal(self) -> bool:
        few = len(self._seeds) <= (LITERAL_SEEDS if self._mode == "eager" else _LITERAL_SAMPLE["jit"])
        return few or (self._mode == "eager" and self._result.build.jax.startswith(_BATCH_DEPENDENT))

    def _write(self, path: Path, tables: Iterator[Float32]) -> None:
        with path.open("wb") as file:
            for block in tables:
                file.write(np.ascontiguousarray(block, dtype="<f4").data)
                self._advance(len(block))

    def _literal_tables(self) -> Iterator[Float32]:
        for seed in self._seeds:
            yield self._literal(seed)[None]

    def _literal(self, seed: int) -> Float32:
        reference = self._reference
        jitted = self._mode == "jit"
        call = reference.learned_pos_embed_forward_jit if jitted else reference.learned_pos_embed_forward
        self._literal_calls += 1
        if jitted and self._literal_calls % _PROGRAMS_KEPT == 0:
            call.clear_cache()
        one: Float32 = self._checked(np.asarray(call(seed, MAX_T, self._d_model)), tables=1)[0]
        return one

    def _batched_tables(self) -> Iterator[Float32]:
        size = max(1, min(_BATCH_SEEDS, _BATCH_ELEMENTS // (MAX_T * self._d_model), len(self._seeds)))
        run = self._eager_batch() if self._mode == "eager" else self._jit_batch()
        for start in range(0, len(self._seeds), size):
            seeds = self._seeds.slice(start, start + size)
            # The last batch is filled up with its last seed: another length would be compiled anew.
            keys = prng_keys(seeds + seeds[-1:] * (size - len(seeds)))
            yield run(keys)[: len(seeds)]

    def _eager_batch(self) -> Callable[[Any], Float32]:
        import jax

        d_model = self._d_model
        module = self._reference.LearnedPos(max_T=MAX_T, d_model=d_model)
        init: Any = jax.vmap(lambda key: module.init(key, MAX_T)["params"]["pos_embed"])
        return lambda keys: self._checked(np.asarray(init(keys)), tables=len(keys))

    def _jit_batch(self) -> Callable[[Any], Float32]:
        import jax

        d_model = self._d_model
        module = self._reference.LearnedPos(max_T=MAX_T, d_model=d_model)

        def one_table(key: Any) -> Any:
            return module.apply(module.init(key, MAX_T), MAX_T).reshape(-1)

        one: Any = jax.jit(one_table)
        return lambda keys: self._checked(np.stack([one(key) for key in keys]), tables=len(keys))

    def _checked(self, values: Any, *, tables: int) -> Float32:
        if values.dtype != np.float32 or values.size != tables * MAX_T * self._d_model:
            raise ReferenceDisagrees(
                f"The reference returned {values.dtype} of shape {values.shape} for {tables} tables with "
                f"d_model {self._d_model}, which must be float32 of {MAX_T} rows each; nothing was written."
            )
        return np.asarray(values, np.float32).reshape(tables, MAX_T, self._d_model)

    def _agrees(self) -> bool:
        return all(
            self._literal(self._seeds.slice(at, at + 1)[0]).tobytes()
            == self._result.read(self._d_model, at, at + 1).tobytes()
            for at in self._sample()
        )

    def _sample(self) -> list[int]:
        """Positions on the seed axis, spread over it, and others for another d_model."""
        count = _LITERAL_SAMPLE[self._mode]
        step = len(self._seeds) / count
        return [int(step * number + self._d_model) % len(self._seeds) for number in range(count)]


def prng_keys(seeds: list[int]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return ``jax.random.PRNGKey`` of each seed without x64: zero, and the low 32 bits.

    Source: ``jax._src.prng.threefry_seed``. The literal calls compared with each batch make their keys by
    ``PRNGKey`` itself.

    Returns:
        uint32 array of shape (seeds, 2).

    """
    keys = np.zeros((len(seeds), 2), np.uint32)
    keys[:, 1] = [seed & 0xFFFFFFFF for seed in seeds]
    return keys
