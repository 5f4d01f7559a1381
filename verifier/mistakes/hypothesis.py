"""A hypothesis: which mistakes were made together, and what a program that makes them returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import Stream
from posvec.vectors.derive import param_key, seed_key
from posvec.vectors.draws import DrawTable
from posvec.vectors.random_bits import random_bits
from posvec.vectors.threefry import UInt32
from posvec.vectors.ulp import Float32
from posvec.verifier.mistakes.distributions import DEFAULT as DEFAULT_VALUES
from posvec.verifier.mistakes.numbers import Bounds, Index, Numbers
from posvec.verifier.mistakes.parts import (
    Args,
    Arguments,
    Flatten,
    Generator,
    Key,
    Mistake,
    OtherStream,
    Rows,
    RunFacts,
    Table,
    Values,
    Variant,
)
from posvec.verifier.mistakes.rows import DEFAULT_FLATTEN, DEFAULT_ROWS, DEFAULT_TABLE

_V = TypeVar("_V", bound=Variant)

DEFAULT_ARGUMENTS = Arguments(phrase="", of=lambda _: lambda args: args)
DEFAULT_KEY = Key(phrase="", of=lambda seeds, _: param_key(seed_key(list(seeds))))


class Part(NamedTuple):
    """One mistake and the way in which it is made."""

    mistake: Mistake
    variant: Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """Mistakes that are made together, each of another step; none means the reference itself."""

    parts: tuple[Part, ...] = ()

    def step(self, kind: type[_V], default: _V) -> _V:
        """Return how the step of this kind is done."""
        for _, variant in self.parts:
            if isinstance(variant, kind):
                return variant
        return default

    @property
    def generator(self) -> Generator | None:
        """The generator in place of JAX's, if any."""
        return next((variant for _, variant in self.parts if isinstance(variant, Generator)), None)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its mistakes."""
        return tuple(mistake.id for mistake, _ in self.parts)


@dataclass(frozen=True, kw_only=True, eq=False)
class Predicted:
    """What stands behind the results of some calls, one after the other in one flat array.

    Attributes:
        numbers: The numbers, flat.
        d_model: The d_model of the table that each element is from.
        lengths: How many elements each call returns.

    """

    numbers: Numbers
    d_model: Index
    lengths: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """What all hypotheses about a run share: the draw table, the stream asked for, and the facts of the run."""

    table: DrawTable
    stream: Stream
    facts: RunFacts = field(default_factory=RunFacts)

    def stream_of(self, hypothesis: Hypothesis) -> Stream:
        """Return the stream of a hypothesis' words."""
        return hypothesis.step(OtherStream, OtherStream(phrase="", stream=self.stream)).stream

    def predict(self, hypothesis: Hypothesis, calls: Sequence[Args]) -> Predicted | None:
        """Return what stands behind the results of these calls; None if the hypothesis does not say."""
        change = hypothesis.step(Arguments, DEFAULT_ARGUMENTS).of(self.facts)
        if change is None:
            return None
        used = [change(args) for args in calls]
        groups: dict[tuple[int, int], list[int]] = {}
        for position, (_, T, d_model) in enumerate(used):
            groups.setdefault((T, d_model), []).append(position)
        drawer = _Drawer(self, hypothesis, used)
        lengths = [0] * len(used)
        pieces: dict[int, Numbers] = {}
        for (T, d_model), positions in groups.items():
            index, size = indices(hypothesis, T, d_model)
            drawn = drawer.draw(tuple(used[position] for position in positions), index, size)
            if drawn is None:
                return None
            for row, position in enumerate(positions):
                lengths[position] = index.size
                pieces[position] = _row(drawn, row)
        return _joined(self, hypothesis, [pieces[position] for position in range(len(used))], used, lengths)

    def bounds(self, hypothesis: Hypothesis, predicted: Predicted) -> Bounds | None:
        """Return within which bounds each element lies if the hypothesis is right; None if it cannot be."""
        bounds = hypothesis.step(Values, DEFAULT_VALUES).of(predicted.numbers, predicted.d_model)
        zero = predicted.numbers.zero
        if bounds is None or zero is None:
            return bounds
        return Bounds(*(np.where(zero, np.float32(0), bound) for bound in bounds))


def indices(hypothesis: Hypothesis, T: int, d_model: int) -> tuple[Index, int]:
    """Return where in the whole flat table each returned element stands (-1: it is zero), and the table's size."""
    rows_step = hypothesis.step(Rows, DEFAULT_ROWS)
    table = hypothesis.step(Table, DEFAULT_TABLE)
    rows = rows_step.of(T).astype(np.intp)
    block = table.flat(rows[:, None], np.arange(d_model)[None, :], T, d_model, rows_step.table_rows)
    block = np.where(rows[:, None] < 0, -1, np.broadcast_to(block, (rows.size, d_model)))
    size = table.size(T, d_model, rows_step.table_rows)
    index = hypothesis.step(Flatten, DEFAULT_FLATTEN).of(block)
    # Where rows are asked for that a smaller table lacks, it must have been larger by just those.
    return index, max(size, int(index.max(initial=-1)) + 1)


class _Drawer:
    """Draws whole tables once and takes elements from them."""

    def __init__(self, world: World, hypothesis: Hypothesis, calls: Sequence[Args]) -> None:
        self._world, self._hypothesis = world, hypothesis
        self._stream = world.stream_of(hypothesis)
        self._key = hypothesis.step(Key, DEFAULT_KEY)
        self._kept: dict[tuple[tuple[int, ...], int], Numbers | None] = {}
        self._tables: dict[tuple[int, ...], NDArray[np.float64] | None] = {}
        # The keys of all seeds at once: one by one they would take longer than all else.
        self._rows = {seed: row for row, seed in enumerate(dict.fromkeys(args.seed for args in calls))}
        self._keys: UInt32 | None = None

    def draw(self, calls: Sequence[Args], index: Index, size: int) -> Numbers | None:
        generator = self._hypothesis.generator
        whole: Numbers | None
        if generator is not None:
            tables = [self._table(generator, args, size) for args in calls]
            if any(table is None for table in tables):
                return None
            stacked = np.stack([table for table in tables if table is not None])
            whole = Numbers(
                table=self._world.table,
                stream=self._stream,
                error=generator.error,
                **{"fixed" if generator.fixed else "normals": stacked},  # type: ignore[arg-type]
            )
        else:
            name = (tuple(args.seed for args in calls), size)
            if name not in self._kept:
                words = random_bits(self._keys_of(name[0]), size, stream=self._stream)
                self._kept[name] = Numbers(table=self._world.table, stream=self._stream, words=words)
            whole = self._kept[name]
        return None if whole is None else _taken(whole, index)

    def _keys_of(self, seeds: Sequence[int]) -> UInt32:
        if self._keys is None:
            self._keys = self._key.of(tuple(self._rows), self._stream)
        return self._keys[[self._rows[seed] for seed in seeds]]

    def _table(self, generator: Generator, args: Args, size: int) -> NDArray[np.float64] | None:
        name = (args.seed, args.d_model, size, *((args.T,) if generator.per_T else ()))
        if name not in self._tables:
            self._tables[name] = generator.of(args, size)
        return self._tables[name]


def _taken(whole: Numbers, index: Index) -> Numbers:
    zero = index < 0
    at = np.where(zero, 0, index)
    return replace(
        whole,
        words=None if whole.words is None else whole.words[:, at],
        normals=None if whole.normals is None else whole.normals[:, at],
        fixed=None if whole.fixed is None else whole.fixed[:, at],
        zero=np.broadcast_to(zero, (_height(whole), zero.size)) if zero.any() else None,
    )


def _height(numbers: Numbers) -> int:
    array = next(a for a in (numbers.words, numbers.normals, numbers.fixed) if a is not None)
    return len(array)


def _row(drawn: Numbers, row: int) -> Numbers:
    return replace(
        drawn,
        words=None if drawn.words is None else drawn.words[row],
        normals=None if drawn.normals is None else drawn.normals[row],
        fixed=None if drawn.fixed is None else drawn.fixed[row],
        zero=None if drawn.zero is None else drawn.zero[row],
    )


def _joined(
    world: World, hypothesis: Hypothesis, pieces: Sequence[Numbers], used: Sequence[Args], lengths: Sequence[int]
) -> Predicted:
    generator = hypothesis.generator

    def join(name: str) -> NDArray[Any] | None:
        parts = [getattr(piece, name) for piece in pieces]
        return np.concatenate(parts) if parts and parts[0] is not None else None

    zero = None
    if any(piece.zero is not None for piece in pieces):
        zero = np.concatenate(
            [np.zeros(n, bool) if p.zero is None else p.zero for p, n in zip(pieces, lengths, strict=True)]
        )
    return Predicted(
        numbers=Numbers(
            table=world.table,
            stream=world.stream_of(hypothesis),
            words=join("words"),
            normals=join("normals"),
            fixed=join("fixed"),
            error=0.0 if generator is None else generator.error,
            zero=zero,
        ),
        d_model=np.repeat(np.array([args.d_model for args in used], np.intp), lengths),
        lengths=tuple(lengths),
    )


def same_length(predicted: Predicted, came: Sequence[Float32]) -> bool:
    """Whether as many elements came for each call as are predicted."""
    return all(values.size == length for values, length in zip(came, predicted.lengths, strict=True))
