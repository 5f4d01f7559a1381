"""Which mistakes the shipped golden files can tell apart: what each gives for every case of the default sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import STREAMS, Stream
from posvec.vectors.draws import DrawTable
from posvec.vectors.files import locate
from posvec.vectors.golden import Golden
from posvec.verifier.mistakes.catalogue import CATALOGUE
from posvec.verifier.mistakes.hypothesis import Hypothesis, Part, World
from posvec.verifier.mistakes.numbers import Bounds
from posvec.verifier.mistakes.parts import (
    Args,
    Container,
    Dtype,
    Mistake,
    Observed,
    OtherStream,
    RunFacts,
    Shape,
)
from posvec.verifier.mistakes.separate import apart, outputs_of
from posvec.verifier.selection import select

_MOST_WAYS = 16
"""Of a mistake with more ways than this, only the first is compared: they differ in a name that is hashed."""
_FEW = 208
"""A tenth of the sweep's cases: pairs that fewer tell apart are listed."""

SAME: Final[Mapping[frozenset[str], str]] = {}
"""Pairs of mistakes that no case of the default sweep tells apart, with the reason."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Confusion:
    """Of each pair of mistakes, in how many cases they give something else, whichever way each is made.

    Attributes:
        stream: The stream of the golden file.
        cases: Its cases.
        mistakes: The mistakes that can be computed.
        differ: Integers, ``(n, n)``: the fewest cases in which any two ways of the two mistakes differ.
        wrong: For each mistake the fewest cases in which any way of it differs from the reference.

    """

    stream: Stream
    cases: int
    mistakes: Sequence[Mistake]
    differ: NDArray[np.int64]
    wrong: Sequence[int]


def confuse(stream: Stream) -> Confusion:
    """Compute what every mistake gives for every case of the shipped golden file of a stream."""
    golden = Golden.open(locate(None, stream))
    calls = [
        Args(case.args["seed"], case.args["T"], case.args["d_model"])
        for case in select(golden.cases(), golden.suite).cases
    ]
    facts = RunFacts(order=calls, environment={"jax_random_seed_offset": "5"})
    world = World(table=DrawTable.load(), stream=stream, facts=facts)
    mistakes = [mistake for mistake in CATALOGUE if _computed(mistake, stream)]
    right = _outputs(world, Hypothesis(), calls)
    ways = [[_outputs(world, Hypothesis(parts=(part,)), calls) for part in _ways(m, stream)] for m in mistakes]
    differ = np.full((len(mistakes), len(mistakes)), len(calls), np.int64)
    for i in range(len(mistakes)):
        for j in range(i):
            differ[i, j] = differ[j, i] = min(_differing(a, b) for a in ways[i] for b in ways[j])
    return Confusion(
        stream=stream,
        cases=len(calls),
        mistakes=mistakes,
        differ=differ,
        wrong=[min(_differing(way, right) for way in outputs) for outputs in ways],
    )


def confusion_lines() -> Iterator[str]:
    """Yield the matrix of both streams as text: for each mistake its nearest one, then the pairs that are near."""
    for stream in STREAMS:
        found = confuse(stream)
        yield f"{stream}: {found.cases:,} cases; in how many of them each mistake fails, and is told from the nearest"
        yield f"  {'mistake':<23}{'fails':>6}{'told':>7}  nearest"
        for row, mistake in enumerate(found.mistakes):
            others = np.delete(found.differ[row], row)
            told = int(others.min())
            ids = [other.id for other, differ in zip(found.mistakes, found.differ[row], strict=True) if differ == told]
            nearest = ids[0] if len(ids) == 1 else f"{len(ids)} others"
            yield f"  {mistake.id:<23}{found.wrong[row]:>6,}{told:>7,}  {nearest}"
        yield from _near(found)
        yield ""
    yield "Layout and behaviour are told by what came and by calling again, not by values, and are not in this list."


def _near(found: Confusion) -> Iterator[str]:
    pairs = [
        (int(found.differ[i, j]), found.mistakes[j].id, found.mistakes[i].id)
        for i in range(len(found.mistakes))
        for j in range(i)
        if found.differ[i, j] < _FEW
    ]
    same = [(a, b) for count, a, b in pairs if not count]
    yield f"  pairs that no case tells apart: {len(same) or 'none'}"
    for a, b in same:
        yield f"    {a} and {b}: {SAME.get(frozenset((a, b)), 'no reason is known')}"
    rest = sorted(pair for pair in pairs if pair[0])
    yield f"  pairs that fewer than {_FEW} cases tell apart: {len(rest) or 'none'}"
    for count, a, b in rest:
        yield f"    {count:>5,}  {a}, {b}"


_Outputs = tuple[NDArray[np.float64], list[Bounds | None]]


def _outputs(world: World, hypothesis: Hypothesis, calls: Sequence[Args]) -> _Outputs:
    """Return what comes for each call, and of it the length, the first and the last value, to compare first."""
    bounds = outputs_of(world, hypothesis, calls)
    marks = np.full((len(calls), 3), np.nan)
    for row, output in enumerate(bounds):
        if output is not None:
            marks[row, 0] = output.low.size
            if output.low.size:
                marks[row, 1:] = output.low[0], output.low[-1]
    return marks, bounds


def _differing(one: _Outputs, other: _Outputs) -> int:
    """Return for how many calls two outputs differ."""
    # A thousandth is far more than any bounds are wide, and far less than two draws are mostly apart.
    near: NDArray[np.bool_] = np.all(np.isclose(one[0], other[0], rtol=1e-3, atol=1e-4, equal_nan=True), axis=1)
    close = sum(not apart(one[1][row], other[1][row]) for row in np.flatnonzero(near))
    return len(near) - close


def _computed(mistake: Mistake, stream: Stream) -> bool:
    kinds = (Dtype, Shape, Container, Observed)
    return stream in mistake.streams and not isinstance(mistake.variants[0], kinds)


def _ways(mistake: Mistake, stream: Stream) -> list[Part]:
    variants = [v for v in mistake.variants if not (isinstance(v, OtherStream) and v.stream == stream)]
    chosen = variants if len(variants) <= _MOST_WAYS else variants[:1]
    return [Part(mistake, variant) for variant in chosen]
