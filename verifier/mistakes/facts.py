"""What narrows a failure down where no known mistake explains it: facts about the run, and no guess."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import Stream
from posvec.vectors.ulp import Float32
from posvec.verifier.decode import Pair, explain_run
from posvec.verifier.levels import differences, outside
from posvec.verifier.mistakes.evidence import Evidence
from posvec.verifier.text import percent

_NAMES = ("seed", "T", "d_model")
_ENOUGH = 200
"""Values of which a standard deviation is known to within some 5 %."""
_SHOWN = 6
_UNRELATED = "jax.random.normal gives"  # part of a sentence of explain_run
_NEAR = 0.002
"""A tenth of the standard deviation."""


def find_facts(evidence: Evidence, pairs: Sequence[Pair], stream: Stream) -> list[str]:
    """Return facts about arrays that failed; ``pairs`` are those that can be compared element by element."""
    facts = list(_not_finite(evidence))
    if not facts and pairs:
        facts = explain_run(pairs, stream=stream)
        unrelated = not facts or any(_UNRELATED in fact for fact in facts)
        near = list(_near(pairs)) if unrelated else []
        facts = near or facts
        facts += _zeros(pairs)
    facts += _right_only(evidence)
    facts += _right_places(pairs)
    facts += _same_for_every_seed(evidence)
    if any(_UNRELATED in fact for fact in facts) or not pairs:
        facts += _spread(evidence)
    return facts


def _failed(evidence: Evidence) -> list[Float32]:
    return [v for v, wrong in zip(evidence.came, evidence.failed, strict=True) if wrong and v.size]


def _not_finite(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence of its own for NaN, and one for infinities."""
    failed = _failed(evidence)
    values = np.concatenate(failed) if failed else np.empty(0, np.float32)
    for wrong, what in ((np.isnan(values), "NaN"), (np.isinf(values), "infinite")):
        count = int(np.count_nonzero(wrong))
        if count == values.size > 0:
            yield f"Every value of the failing cases is {what}."
        elif count:
            share = percent(count, values.size)
            yield f"{count:,} of the {values.size:,} values of failing cases ({share}) are {what}."


def _right_only(evidence: Evidence) -> Iterator[str]:
    """Say which values of one argument, if any, tell right cases from failing ones."""
    told = [p for p, values in enumerate(evidence.came) if values.size]
    right = [evidence.calls[p] for p in told if not evidence.failed[p]]
    wrong = [evidence.calls[p] for p in told if evidence.failed[p]]
    if not right or not wrong:
        return
    for axis, name in enumerate(_NAMES):
        good, bad = ({int(args[axis]) for args in calls} for calls in (right, wrong))
        if good & bad:
            continue
        if len(good) <= len(bad):
            yield f"Right for {name} = {_listed(good)} only."
        else:
            yield f"Wrong for {name} = {_listed(bad)} only."
        return
    if all(args.d_model == args.T for args in right) and all(args.d_model != args.T for args in wrong):
        yield "Right where T = d_model only: the two are exchanged somewhere."


def _listed(values: set[int]) -> str:
    some = sorted(values)
    shown = ", ".join(map(str, some[:_SHOWN]))
    return f"{shown} and {len(some) - _SHOWN} more" if len(some) > _SHOWN else shown


def _zeros(pairs: Sequence[Pair]) -> Iterator[str]:
    """Say how many values are exactly zero, which no draw gives."""
    zeros = sum(int(np.count_nonzero(values == 0)) for _, values, _ in pairs)
    size = sum(values.size for _, values, _ in pairs)
    if 0 < zeros < size:
        share = percent(zeros, size)
        yield f"{zeros:,} of the {size:,} values of failing cases ({share}) are zero, which no draw gives."


def _near(pairs: Sequence[Pair]) -> Iterator[str]:
    """Say how far values are from the right ones, if that is little."""
    apart = [np.abs(values.astype(np.float64) - known.expected) for _, values, known in pairs if values.size]
    farthest = max((float(distance.max()) for distance in apart), default=np.inf)
    if farthest < _NEAR:
        yield f"Every value is within {farthest:.2g} of the right one: something rounds, or adds a little."


def _right_places(pairs: Sequence[Pair]) -> Iterator[str]:
    """Say at which positions, or in which features, values of failing cases are right."""
    right: dict[str, set[int]] = {}
    wrong: dict[str, set[int]] = {}
    for case, values, known in pairs:
        if not values.size:
            continue
        bad = outside(differences(values, known), known.accept_below, known.accept_above)
        index = np.arange(values.size)
        position = index // known.features
        for name, places in (
            ("t", position),
            ("T - t", case.args["T"] - position),
            ("d", index % known.features),
        ):
            right.setdefault(name, set()).update(np.unique(places[~bad]).tolist())
            wrong.setdefault(name, set()).update(np.unique(places[bad]).tolist())
    for name, what in (("t", "position"), ("T - t", "position"), ("d", "feature")):
        good, bad_ones = right.get(name, set()), wrong.get(name, set())
        if good and bad_ones and not good & bad_ones:
            one = len(good) <= len(bad_ones)
            kind, places = ("right", good) if one else ("wrong", bad_ones)
            yield f"In the failing cases only {what} {name} = {_listed(places)} is {kind}."
            return


def _same_for_every_seed(evidence: Evidence) -> Iterator[str]:
    """Say if arrays for the same T and d_model do not differ from seed to seed."""
    flat = evidence.flat
    if not flat.size or not np.isfinite(flat).all() or (flat == flat[0]).all():
        return  # NaN and constants have sentences of their own
    first: dict[tuple[int, int], tuple[int, bytes]] = {}
    compared = 0
    for args, values in zip(evidence.calls, evidence.came, strict=True):
        if not values.size:
            continue
        seed, data = first.setdefault((args.T, args.d_model), (args.seed, values.tobytes()))
        if seed != args.seed and (seed - args.seed) % 2**32:
            if data != values.tobytes():
                return
            compared += 1
    if compared:
        yield "The values do not depend on the seed: all seeds give the same."


def _spread(evidence: Evidence) -> Iterator[str]:
    """Say what distribution the values of failing cases look like, from the longest array of each seed and width."""
    longest: dict[tuple[int, int], Float32] = {}
    for args, came, wrong in zip(evidence.calls, evidence.came, evidence.failed, strict=True):
        name = (args.seed, args.d_model)
        if wrong and came.size > longest.get(name, came[:0]).size:
            longest[name] = came
    together: NDArray[Any] = np.concatenate(list(longest.values())).astype(np.float64) if longest else np.empty(0)
    values = np.unique(together)
    if values.size < _ENOUGH or not np.isfinite(values).all():
        return
    mean, sigma = float(values.mean()), float(values.std())
    if sigma == 0:
        return
    fourth = float(np.mean(((values - mean) / sigma) ** 4))  # 3 for a normal distribution, 1.8 for a uniform one
    noise = 5 * float(np.sqrt(24 / values.size))
    kind = "normal" if abs(fourth - 3) <= noise else "uniform" if abs(fourth - 1.8) <= noise / 4 else ""
    if not kind:
        yield f"The values have mean {mean:.3g} and standard deviation {sigma:.3g}, and are not normally distributed."
        return
    yield f"The values look {kind}ly distributed, with mean {mean:.2g} and standard deviation {sigma:.3g}."
    if kind == "normal" and abs(sigma / 0.02 - 1) < 0.05 and abs(mean) < 0.002:
        yield (
            "That is the right distribution, from other random numbers than JAX's threefry gives for any key tried: "
            "another generator, such as JAX's own rbg (JAX_DEFAULT_PRNG_IMPL), or a key made in a way of its own."
        )
