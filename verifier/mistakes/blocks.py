"""Many hypotheses at once about one call: what stands behind a few of its elements, for every source of numbers.

A source is other arguments, the other stream and another key, or another generator; its rows of a block are drawn
together. Which elements are looked at depends on the place: table, rows and order of elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posvec.schemas.build import Stream
from posvec.vectors.derive import seed_key
from posvec.vectors.threefry import UInt32, encrypt
from posvec.verifier.mistakes.catalogue import CATALOGUE
from posvec.verifier.mistakes.hypothesis import DEFAULT_KEY, Hypothesis, Part, World, indices
from posvec.verifier.mistakes.numbers import Index, Numbers, words_at
from posvec.verifier.mistakes.parts import (
    Args,
    Arguments,
    Flatten,
    Generator,
    Key,
    OtherStream,
    Rows,
    Table,
    Values,
    Variant,
)

_LOOKED_AT = 3
_RARE = 100
"""A key mistake with more variants than this is looked for only where nothing else is wrong with the source."""


class Place(NamedTuple):
    """Mistakes of place, the size of the table, and where in it the elements stand that are looked at."""

    parts: tuple[Part, ...]
    size: int
    at: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """What stands behind some elements, by source and place.

    Attributes:
        sources: The mistakes of each row.
        places: The places, each with the columns of the elements that are looked at.
        numbers: One row a source, one column a position of the table.
        d_model: The d_model of the table.

    """

    sources: Sequence[tuple[Part, ...]]
    places: Sequence[tuple[Place, tuple[int, ...]]]
    numbers: Numbers
    d_model: int


class Blocks:
    """The blocks of one call that returned ``length`` elements; whatever these are, the blocks are the same."""

    def __init__(self, world: World, args: Args, length: int) -> None:
        self._world, self._args, self._length = world, args, length
        self.picked = sorted({0, 1 % length, length - 1})[:_LOOKED_AT]
        self._parts: dict[type[Variant], list[Part]] = {}
        for mistake in CATALOGUE:
            if world.stream in mistake.streams:
                for variant in mistake.variants:
                    self._parts.setdefault(type(variant), []).append(Part(mistake, variant))
        self._places: dict[tuple[int, int, int], list[Place]] = {}
        self._blocks: dict[tuple[int, int], list[Block]] = {}
        self._keys: dict[tuple[int, tuple[int, ...], Stream], UInt32] = {}

    @property
    def values(self) -> Sequence[Part]:
        """The mistakes of distribution."""
        return self._parts[Values]

    def of(self, sources: int, places: int) -> list[Block]:
        """Return the blocks of sources with so many mistakes, at places with so many."""
        if (sources, places) not in self._blocks:
            self._blocks[sources, places] = list(self._make(sources, places))
        return self._blocks[sources, places]

    def _make(self, sources: int, places: int) -> Iterator[Block]:
        for (T, d_model), shifted in self._shifted().items():
            found = self._placed(places, T, d_model)
            if not found:
                continue
            plain = [(before, args) for before, args in shifted if len(before) == sources]
            one_less = [(before, args) for before, args in shifted if len(before) == sources - 1]
            two_less = [(before, args) for before, args in shifted if len(before) == sources - 2]
            keys = [p for p in self._parts[Key] if sources == 1 or len(p.mistake.variants) < _RARE]
            other = [p for p in self._parts[OtherStream] if self._other(p)]
            if plain:
                yield from self._words(plain, [None], None, found, d_model)
            if one_less:
                yield from self._words(one_less, keys, None, found, d_model)
                yield from self._words(one_less, [None], other[0], found, d_model)
                yield from self._generated(one_less, found, d_model)
            if two_less:
                common = [p for p in keys if len(p.mistake.variants) < _RARE]
                yield from self._words(two_less, common, other[0], found, d_model)

    def _other(self, part: Part) -> bool:
        return isinstance(part.variant, OtherStream) and part.variant.stream != self._world.stream

    def _shifted(self) -> dict[tuple[int, int], list[tuple[tuple[Part, ...], Args]]]:
        """Return the mistakes of arguments, and the arguments that they use, by T and d_model."""
        groups: dict[tuple[int, int], list[tuple[tuple[Part, ...], Args]]] = {}
        groups[self._args.T, self._args.d_model] = [((), self._args)]
        for part in self._parts[Arguments]:
            assert isinstance(part.variant, Arguments)  # noqa: S101 - that is how they are filed
            change = part.variant.of(self._world.facts)
            if change is not None:
                args = change(self._args)
                groups.setdefault((args.T, args.d_model), []).append(((part,), args))
        return groups

    def _placed(self, number: int, T: int, d_model: int) -> list[Place]:
        """Return the places with so many mistakes that give as many elements as came."""
        name = (number, T, d_model)
        if name not in self._places:
            self._places[name] = []
            for parts in self._placements(number):
                index, size = indices(Hypothesis(parts=parts), T, d_model)
                if index.size == self._length:
                    at = tuple(int(index[position]) for position in self.picked)
                    self._places[name].append(Place(parts, size, at))
        return self._places[name]

    def _placements(self, number: int) -> Iterator[tuple[Part, ...]]:
        tables, rows, orders = (self._parts[kind] for kind in (Table, Rows, Flatten))
        if number == 0:
            yield ()
        elif number == 1:
            yield from ((part,) for part in (*tables, *rows, *orders))
        elif number == 2:
            for first, second in ((tables, rows), (tables, orders), (rows, orders)):
                yield from ((a, b) for a in first for b in second)
        else:
            yield from ((a, b, c) for a in tables for b in rows for c in orders)

    def _words(
        self,
        shifted: Sequence[tuple[tuple[Part, ...], Args]],
        keys: Sequence[Part | None],
        other: Part | None,
        places: Sequence[Place],
        d_model: int,
    ) -> Iterator[Block]:
        stream: Stream = self._world.stream
        if other is not None:
            assert isinstance(other.variant, OtherStream)  # noqa: S101 - see _other
            stream = other.variant.stream
        seeds = [args.seed for _, args in shifted]
        after = () if other is None else (other,)
        sources = [(*before, *((part,) if part else ()), *after) for part in keys for before, _ in shifted]
        # In the partitionable stream a word does not depend on the table's size.
        sizes = {place.size: place.size if stream == "original" else 0 for place in places}
        columns, looked = _columns(places, sizes)
        table_sizes = np.array([place_size for place_size, _ in columns])
        positions = np.array([position for _, position in columns])
        all_keys = self._drawn_keys(keys, tuple(seeds), stream)
        words = np.empty((len(all_keys), len(columns)), np.uint32)
        for size in np.unique(table_sizes):
            at = table_sizes == size
            words[:, at] = words_at(all_keys, int(size), positions[at], stream)
        numbers = Numbers(table=self._world.table, stream=stream, words=words)
        yield Block(sources=sources, places=looked, numbers=numbers, d_model=d_model)

    def _drawn_keys(self, parts: Sequence[Part | None], seeds: tuple[int, ...], stream: Stream) -> UInt32:
        name = (len(parts), seeds, stream)  # of the lists of keys that there are, no two are of one length
        if name not in self._keys:
            steps = [_key(part) for part in parts]
            keys = np.empty((len(steps), len(seeds), 2), np.uint32)
            folded = [row for row, step in enumerate(steps) if step.word is not None]
            if folded:
                words = np.array([steps[row].word for row in folded], np.uint32)
                keys[folded] = encrypt(seed_key(list(seeds))[None], 0, words[:, None])
            for row, step in enumerate(steps):
                if step.word is None:
                    keys[row] = step.of(seeds, stream)
            self._keys[name] = keys.reshape(-1, 2)
        return self._keys[name]

    def _generated(
        self, shifted: Sequence[tuple[tuple[Part, ...], Args]], places: Sequence[Place], d_model: int
    ) -> Iterator[Block]:
        columns, looked = _columns(places, {place.size: place.size for place in places})
        for fixed in (False, True):
            sources, drawn, errors = [], [], []
            for part in self._parts[Generator]:
                generator = part.variant
                assert isinstance(generator, Generator)  # noqa: S101 - that is how they are filed
                if generator.fixed is not fixed:
                    continue
                for before, args in shifted:
                    if before and generator is not part.mistake.variants[0]:
                        continue  # other arguments are rare enough
                    most = max(size for size, _ in columns)
                    sizes = {size: size if generator.sized else most for size, _ in columns}
                    tables = {size: generator.of(args, size) for size in set(sizes.values())}
                    if all(table is not None for table in tables.values()):
                        drawn.append([tables[sizes[size]][position] for size, position in columns])  # type: ignore[index]
                        errors.append(generator.error)
                        sources.append((*before, part))
            if drawn:
                numbers = Numbers(
                    table=self._world.table,
                    stream=self._world.stream,
                    normals=None if fixed else np.array(drawn),
                    fixed=np.array(drawn) if fixed else None,
                    error=np.array(errors)[:, None],
                )
                yield Block(sources=sources, places=looked, numbers=numbers, d_model=d_model)


def _key(part: Part | None) -> Key:
    step = DEFAULT_KEY if part is None else part.variant
    assert isinstance(step, Key)  # noqa: S101 - that is how they are filed
    return step


def _columns(
    places: Sequence[Place], sizes: dict[int, int]
) -> tuple[list[tuple[int, int]], list[tuple[Place, tuple[int, ...]]]]:
    """Return the positions that are looked at, each with a size of table, and for each place its columns."""
    columns: dict[tuple[int, int], int] = {}
    looked = []
    for place in places:
        names = [(sizes[place.size], position) for position in place.at]
        looked.append((place, tuple(columns.setdefault(n, len(columns)) if n[1] >= 0 else -1 for n in names)))
    return list(columns), looked


def element_index(block: Block, element: int) -> Index:
    """Return, for each place, the column in which one of the elements looked at stands; -1 for padding."""
    return np.array([columns[element] for _, columns in block.places], np.intp)
