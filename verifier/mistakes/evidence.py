"""What came back in a run, as evidence for or against hypotheses, and how well a hypothesis explains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from posvec.vectors.ulp import Float32, ordered
from posvec.verifier.levels import cell_allowance
from posvec.verifier.mistakes.distributions import DEFAULT
from posvec.verifier.mistakes.hypothesis import Hypothesis, World, same_length
from posvec.verifier.mistakes.numbers import Index, Numbers
from posvec.verifier.mistakes.parts import Args, Values

Level = Literal["exact", "draws"]

_CHUNK = 1 << 20
_SECOND_LOOK = 24


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Calls, and what came for each as a flat float32 array.

    Attributes:
        calls: The arguments of each call.
        came: What came, in the same order.
        failed: Which calls did not give what they should.
        lossless: Whether the arrays came as float32, or as wider floats of which none was rounded to read it.

    """

    calls: Sequence[Args]
    came: Sequence[Float32]
    failed: Sequence[bool]
    lossless: bool = True

    @cached_property
    def flat(self) -> Float32:
        """All that came, one array after the other."""
        return np.concatenate(self.came) if self.came else np.empty(0, np.float32)

    def part(self, positions: Sequence[int]) -> Evidence:
        """Return some of the calls."""
        return Evidence(
            calls=[self.calls[position] for position in positions],
            came=[self.came[position] for position in positions],
            failed=[self.failed[position] for position in positions],
            lossless=self.lossless,
        )

    def chunks(self) -> Iterator[Evidence]:
        """Yield all calls in parts of a bounded number of elements."""
        start, size = 0, 0
        for position, values in enumerate(self.came):
            if size and size + values.size > _CHUNK:
                yield self.part(range(start, position))
                start, size = position, 0
            size += values.size
        if start < len(self.came):
            yield self if start == 0 else self.part(range(start, len(self.came)))

    def probe(self) -> int | None:
        """Return the position of the call that refutes most: it failed, is small, and is in every way unlike others."""

        def rank(position: int) -> tuple[bool, bool, bool, int]:
            args, size = self.calls[position], self.came[position].size
            plain = args.d_model == args.T or min(args.T, args.d_model) < 2 or args.T == 32 or args.seed in (0, 1)
            return not self.failed[position], size < 4, plain, size

        positions = [position for position in range(len(self.calls)) if self.came[position].size]
        return min(positions, key=rank, default=None)

    def second_look(self) -> list[int]:
        """Return a few small calls that together have many values of each argument."""
        seen: set[tuple[str, int]] = set()
        chosen: list[int] = []
        for position in sorted(range(len(self.calls)), key=lambda p: (not self.failed[p], self.came[p].size)):
            args = self.calls[position]
            new = {("seed", args.seed), ("d_model", args.d_model), ("T", args.T)} - seen
            if new and len(chosen) < _SECOND_LOOK:
                seen |= new
                chosen.append(position)
        return chosen


def fits(world: World, hypothesis: Hypothesis, evidence: Evidence) -> bool:
    """Whether every element lies within the bounds of the hypothesis, and as many came as it says."""
    predicted = world.predict(hypothesis, evidence.calls)
    if predicted is None or not same_length(predicted, evidence.came):
        return False
    if not evidence.flat.size:
        return True
    bounds = world.bounds(hypothesis, predicted)
    return bounds is not None and bool(bounds.hold(evidence.flat).all())


def level(world: World, hypothesis: Hypothesis, evidence: Evidence) -> Level | None:
    """Return how well a hypothesis explains everything: bit for bit, draw for draw, or not at all.

    Draw for draw is what ``equivalent`` asks: all elements in their bounds, and few outside their own cells.
    """
    outside = elements = 0
    exact = evidence.lossless
    for part in evidence.chunks():
        predicted = world.predict(hypothesis, part.calls)
        if predicted is None or not same_length(predicted, part.came):
            return None
        if not part.flat.size:
            continue
        bounds = world.bounds(hypothesis, predicted)
        if bounds is None or not bounds.hold(part.flat).all():
            return None
        numbers, values = predicted.numbers, hypothesis.step(Values, DEFAULT)
        exact = exact and _exact(values, numbers, predicted.d_model, part.flat)
        elements += part.flat.size
        if not exact and values is DEFAULT and numbers.words is not None:
            outside += _outside_cells(numbers, part.flat)
    if outside > cell_allowance(elements):
        return None
    return "exact" if exact else "draws"


def _exact(values: Values, numbers: Numbers, d_model: Index, came: Float32) -> bool:
    """Whether each element is, bit for bit, what some build gives."""
    if values.exact is None:
        return False
    if values is DEFAULT and numbers.words is not None:
        # What lies beyond all recorded values is none of them: no need to read all arithmetics.
        low, high = numbers.table.accept(numbers.draws)
        slack = numbers.table.slack_ulp
        order = ordered(came)
        inside = (order >= low + slack) & (order <= high - slack)
        if numbers.zero is not None:
            inside |= numbers.zero
        if not inside.all():
            return False
    left = np.ones(came.size, bool) if numbers.zero is None else ~numbers.zero
    bits = came.view(np.uint32)
    for given in values.exact(numbers, d_model):
        left &= np.ascontiguousarray(given, np.float32).view(np.uint32) != bits
        if not left.any():
            return True
    return False


def _outside_cells(numbers: Numbers, came: Float32) -> int:
    low, high = numbers.table.cell(numbers.draws)
    order = ordered(came)
    beyond = (order < low) | (order > high)
    if numbers.zero is not None:
        beyond &= ~numbers.zero
    return int(np.count_nonzero(beyond))
