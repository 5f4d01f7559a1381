"""Which call would tell apart hypotheses that explain a run equally well."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.ulp import Float32
from posvec.verifier.mistakes.hypothesis import Hypothesis, World
from posvec.verifier.mistakes.numbers import Bounds
from posvec.verifier.mistakes.parts import Args

_AT_ONCE = 128
_OTHERS = tuple(Args(*args) for args in product((3, 2**31 + 7, -5), (2, 5, 17, 32), (3, 5, 33)))


def separating_call(world: World, hypotheses: Sequence[Hypothesis], calls: Sequence[Args]) -> Args | None:
    """Return a small one of ``calls``, or else of some others, for which most pairs of hypotheses differ."""
    pairs = len(hypotheses) * (len(hypotheses) - 1) // 2
    for candidates in (sorted(calls, key=lambda args: args.T * args.d_model), _OTHERS):
        best, most = None, 0
        for start in range(0, len(candidates), _AT_ONCE):
            some = candidates[start : start + _AT_ONCE]
            differ = _pairs_that_differ(world, hypotheses, some)
            if int(differ.max()) > most:
                best, most = some[int(differ.argmax())], int(differ.max())
            if most == pairs:
                break  # no larger call is needed
        if best is not None:
            return best
    return None


def _pairs_that_differ(world: World, hypotheses: Sequence[Hypothesis], calls: Sequence[Args]) -> NDArray[np.intp]:
    """Return for each call how many pairs of hypotheses give something else."""
    outputs = [outputs_of(world, hypothesis, calls) for hypothesis in hypotheses]
    count = np.zeros(len(calls), np.intp)
    for first, second in combinations(outputs, 2):
        for position, (one, other) in enumerate(zip(first, second, strict=True)):
            count[position] += apart(one, other)
    return count


def outputs_of(world: World, hypothesis: Hypothesis, calls: Sequence[Args]) -> list[Bounds | None]:
    """Return the bounds of what the hypothesis gives for each call; None where it says nothing."""
    predicted = world.predict(hypothesis, calls) if calls else None
    bounds = None if predicted is None else world.bounds(hypothesis, predicted)
    if predicted is None or bounds is None:
        if len(calls) > 1:  # one call of which it says nothing does not hide the others
            return [outputs_of(world, hypothesis, [args])[0] for args in calls]
        return [None] * len(calls)
    cuts = np.cumsum(predicted.lengths)[:-1]
    low, high = (np.split(bound, cuts) for bound in bounds)
    return [Bounds(a, b) for a, b in zip(low, high, strict=True)]


def apart(one: Bounds | None, other: Bounds | None) -> bool:
    """Whether no array lies within both bounds."""
    if one is None or other is None:
        return one is not other
    if one.low.size != other.low.size:
        return True
    return bool(((one.high < other.low) | (other.high < one.low)).any())


def middle(bounds: Bounds) -> Float32:
    """Return an array that lies within bounds."""
    return bounds.low + (bounds.high - bounds.low) / np.float32(2)
