"""What a mistake is made of: one entry of the catalogue, and the part of the computation that it changes.

The reference computes in steps, and each mistake changes one: which arguments, which key, which random stream or
another generator, which distribution, how the table is stored, which rows, in which order they are flattened, and in
which layout the result is returned. Mistakes of different steps compose as they do in real programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import STREAMS, Stream
from posvec.vectors.threefry import UInt32
from posvec.vectors.ulp import Float32
from posvec.verifier.mistakes.numbers import Bounds, Index, Numbers


class Args(NamedTuple):
    """The arguments of one call."""

    seed: int
    T: int
    d_model: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a mistake may depend on besides its arguments.

    Attributes:
        order: The arguments of all calls, in the order in which they were made.
        environment: What the target ran on, as its process said: untrusted.

    """

    order: Sequence[Args] = ()
    environment: Mapping[str, str | bool | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to make a mistake. ``phrase`` completes "what the reference returns with …"."""

    phrase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Variant):
    """Other arguments are used than were given; ``of`` returns the function that maps them, or None if unknown."""

    of: Callable[[RunFacts], Callable[[Args], Args] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Variant):
    """Another key; ``of`` returns the keys of some seeds, uint32 of shape ``(n, 2)``.

    ``word`` is set where that is no more than folding one word into the key of the seed: many are computed at once.
    """

    of: Callable[[Sequence[int], Stream], UInt32]
    word: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherStream(Variant):
    """The counters of the other stream."""

    stream: Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator(Variant):
    """Another generator of numbers; ``of`` returns them for one call, or None if it raises for these arguments.

    It is given the arguments and the number of elements of the whole table, and returns a whole flat table.
    ``sized`` tells that a number depends on how many are drawn, ``per_T`` that it depends on T.
    """

    of: Callable[[Args, int], NDArray[np.float64] | None]
    fixed: bool = False
    sized: bool = False
    per_T: bool = False  # noqa: N815 - T is the field's own name
    error: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Values(Variant):
    """Another distribution.

    ``of`` returns bounds for numbers, given the d_model of each element, or None if it does not apply to such
    numbers. ``exact`` yields arrays of values that some build may give, bit for bit. ``bits`` is how much one element
    tells, at least: what few elements fit is no evidence. ``used`` is the mask of the bits of a word that count, where
    values do not increase with the draw.
    """

    of: Callable[[Numbers, Index], Bounds | None]
    exact: Callable[[Numbers, Index], Iterator[Float32]] | None = None
    bits: int = 20
    used: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Variant):
    """Another table: ``size`` is its number of elements, ``flat`` where the element of a row and column stands.

    Both are given T, d_model and the number of rows that the table needs; ``flat`` rows and columns too.
    """

    size: Callable[[int, int, int], int]
    flat: Callable[[Index, Index, int, int, int], Index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Variant):
    """Other rows: ``of`` returns, for T, the rows of the table that are returned; -1 is a row of zeros.

    ``table_rows`` is the number of rows the table has.
    """

    of: Callable[[int], Index]
    table_rows: int = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Flatten(Variant):
    """Another order of elements: ``of`` turns a block of indices, of shape ``(rows, d_model)``, into a flat array."""

    of: Callable[[Index], Index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dtype(Variant):
    """Another dtype: its NumPy string or name."""

    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(Variant):
    """Another shape: ``fits`` tells whether a shape is that, given the arguments."""

    fits: Callable[[tuple[int, ...], Args], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Container(Variant):
    """Something other than an array: the name of its type."""

    type_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed(Variant):
    """Nothing to compute: it is seen by calling again, or in where values lie between draws, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One entry of the catalogue.

    Attributes:
        id: What it is called on the command line and in reports; it never changes.
        title: What is wrong, in a clause that begins with a capital letter.
        why: Why that gives other results, in one or two sentences.
        fix: What to change.
        code: The right line, where one helps.
        example: The wrong program, in the lines that matter.
        reference: Where people met it, or where the behaviour is documented: a public URL.
        variants: The ways to make it; the first is the usual one.
        streams: The streams in which it gives something else than the reference.
        implies: Ids of layout mistakes that come of it and are not named beside it.

    """

    id: str
    title: str
    why: str
    fix: str
    example: str
    reference: str
    variants: Sequence[Variant]
    code: str = ""
    streams: tuple[Stream, ...] = STREAMS
    implies: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The step that it changes, for lists."""
        return _KINDS[type(self.variants[0])]


_KINDS = {
    Arguments: "arguments",
    Key: "key",
    OtherStream: "stream",
    Generator: "generator",
    Values: "distribution",
    Table: "table",
    Rows: "rows",
    Flatten: "order",
    Dtype: "dtype",
    Shape: "shape",
    Container: "type",
    Observed: "behaviour",
}
