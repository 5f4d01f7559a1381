"""Finds the hypotheses that explain a run: one small case refutes nearly all at once, the rest is recomputed whole.

Fewer mistakes come first: hypotheses of two are looked for only if none of one explains the run, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import Stream
from posvec.vectors.derive import N_DRAWS
from posvec.vectors.draws import DrawTable
from posvec.vectors.ulp import Float32
from posvec.verifier.mistakes.blocks import Block, Blocks, element_index
from posvec.verifier.mistakes.distributions import DEFAULT
from posvec.verifier.mistakes.evidence import Evidence, Level, fits, level
from posvec.verifier.mistakes.hypothesis import Hypothesis, Part, World
from posvec.verifier.mistakes.numbers import Numbers
from posvec.verifier.mistakes.parts import Args, RunFacts, Values

MOST_MISTAKES = 3
_MOST_NAMED = 6
_SPARE_BITS = 16
_TRIED = 256
_LARGEST_PROBE = 1 << 18
"""Elements of the smallest useful call, beyond which a search would take minutes: a table 8,192 wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A hypothesis that explains every call, and how well."""

    hypothesis: Hypothesis
    level: Level


def search(world: World, evidence: Evidence) -> list[Found]:
    """Return the hypotheses of fewest mistakes that explain all evidence; the reference itself has none."""
    itself = Hypothesis()
    second = evidence.part(evidence.second_look())
    if fits(world, itself, second):
        held = level(world, itself, evidence)
        if held is not None:
            return [Found(hypothesis=itself, level=held)]
    probe = evidence.probe()
    if probe is None or evidence.came[probe].size > _LARGEST_PROBE:
        return []
    candidates = _Candidates(world, evidence.calls[probe], evidence.came[probe])
    for number in range(1, MOST_MISTAKES + 1):
        found: list[Found] = []
        for hypothesis in candidates.of(number):
            if not _told(hypothesis, evidence, candidates.examined) or not fits(world, hypothesis, second):
                continue
            held = level(world, hypothesis, evidence)
            if held is not None and all(other.hypothesis.ids != hypothesis.ids for other in found):
                found.append(Found(hypothesis=hypothesis, level=held))
                if len(found) == _MOST_NAMED:
                    break
        if found:
            return found
    return []


def _told(hypothesis: Hypothesis, evidence: Evidence, examined: int) -> bool:
    """Whether the evidence says more than that, among so many hypotheses, one fits by chance."""
    distinct = np.unique(evidence.flat[: 1 << 12]).size
    bits = distinct * hypothesis.step(Values, DEFAULT).bits
    return bits >= math.log2(max(2, examined)) + (_SPARE_BITS if len(hypothesis.parts) > 1 else 8)


@lru_cache(maxsize=2)
def _blocks(
    table: DrawTable,
    stream: Stream,
    order: tuple[Args, ...],
    environment: tuple[tuple[str, str | bool | None], ...],
    args: Args,
    length: int,
) -> Blocks:
    """Return the blocks of a call, kept for the next run: a class is asked the same of each submission."""
    facts = RunFacts(order=order, environment=dict(environment))
    return Blocks(World(table=table, stream=stream, facts=facts), args, length)


class _Candidates:
    """The hypotheses that explain one call."""

    def __init__(self, world: World, args: Args, came: Float32) -> None:
        self._world = world
        self._one = Evidence(calls=[args], came=[came], failed=[True])
        facts = world.facts
        environment = tuple(sorted((facts.environment or {}).items(), key=lambda item: item[0]))
        self._blocks = _blocks(world.table, world.stream, tuple(facts.order), environment, args, came.size)
        self._looked = came[self._blocks.picked]
        self._tests: dict[tuple[str, str, int, int], _Test] = {}
        self.examined = 0

    def of(self, number: int) -> Iterator[Hypothesis]:
        """Yield the hypotheses of so many mistakes that explain the call."""
        for values in (None, *self._blocks.values):
            left = number - (values is not None)
            for places in range(left + 1):
                for block in self._blocks.of(left - places, places):
                    self.examined += len(block.sources) * len(block.places)
                    for parts in self._hits(block, values):
                        hypothesis = Hypothesis(parts=parts)
                        if fits(self._world, hypothesis, self._one):
                            yield hypothesis

    def _hits(self, block: Block, values: Part | None) -> Iterator[tuple[Part, ...]]:
        """Yield sources and places in which all elements that are looked at are as they came."""
        step = DEFAULT if values is None else values.variant
        assert isinstance(step, Values)  # noqa: S101 - that is how they are filed
        tests = self._tested(step, block)
        first = next(tests, None)
        if first is None:
            return
        held = first(block.numbers)
        rows = np.flatnonzero(held.any(axis=1))
        if not rows.size:
            return
        hit = held[rows][:, element_index(block, 0)]
        for element, test in enumerate(tests, start=1):
            columns = element_index(block, element)
            hit &= test(block.numbers)[rows][:, columns] | (columns < 0)  # padding holds no number
        for row, place in np.argwhere(hit):
            yield (*block.sources[rows[row]], *(() if values is None else (values,)), *block.places[place][0].parts)

    def _tested(self, step: Values, block: Block) -> Iterator[_Test]:
        """Yield a test for each element that is looked at; none if the distribution is of no such numbers."""
        numbers = block.numbers
        if numbers.words is None:
            bounds = step.of(numbers, np.full(1, block.d_model, np.intp))
            if bounds is not None:
                yield from (_within(bounds.hold(value)) for value in self._looked)
            return
        for element, value in enumerate(self._looked):
            name = (step.phrase, numbers.stream, block.d_model, element)
            if name not in self._tests:
                self._tests[name] = _test(step, numbers, block.d_model, value)
            yield self._tests[name]


_Test = Callable[[Numbers], NDArray[np.bool_]]


def _within(held: NDArray[np.bool_]) -> _Test:
    return lambda _: held


def _test(step: Values, numbers: Numbers, d_model: int, value: Any) -> _Test:
    """Return what tells which words give ``value``; found once, so that many words cost one comparison each.

    Values increase with the draw, so they are those of one range of draws; or else few bits of a word count.
    """
    width = np.full(1, d_model, np.intp)

    def bounds(words: NDArray[Any]) -> Any:
        few = Numbers(table=numbers.table, stream=numbers.stream, words=words.astype(np.uint32))
        return step.of(few, width)

    if step.used is not None:
        mask = step.used
        held = bounds(np.arange(mask + 1))
        table = np.zeros(mask + 1, bool) if held is None else held.hold(value)
        if held is None:
            return lambda block: np.zeros(block.words.shape, bool)  # type: ignore[union-attr]
        return lambda block: table[block.words & np.uint32(mask)]  # type: ignore[operator]
    # Of all draws those from the first whose upper bound reaches the value, to the first whose lower bound is beyond.
    first = _first(lambda draws: bounds(draws << 9).high >= value)
    last = _first(lambda draws: bounds(draws << 9).low > value)
    return lambda block: (block.draws >= first) & (block.draws < last)


def _first(holds: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> int:
    """Return the first draw for which ``holds``, which holds for all after it too; the number of draws if none."""
    low, high = 0, N_DRAWS
    while low < high:
        tried = np.unique(np.linspace(low, high - 1, _TRIED).astype(np.int64))
        held = holds(tried)
        at = int(held.argmax()) if held.any() else len(tried)
        high = int(tried[at]) if at < len(tried) else high
        low = int(tried[at - 1]) + 1 if at else low
    return low
