import numpy as np
import pytest

from posvec.verifier.mistakes.catalogue import BY_ID, CATALOGUE
from posvec.verifier.mistakes.evidence import Evidence, fits, level
from posvec.verifier.mistakes.hypothesis import Hypothesis, Part
from posvec.verifier.mistakes.parts import Args, Container, Dtype, Observed, OtherStream, Shape
from posvec.verifier.mistakes.search import search
from posvec.verifier.mistakes.separate import apart, middle, outputs_of, separating_call


def part(name, way=0):
    return Part(BY_ID[name], BY_ID[name].variants[way])


def hypothesis(*parts):
    return Hypothesis(parts=tuple(part(p) if isinstance(p, str) else part(*p) for p in parts))


def computed(stream):
    for mistake in CATALOGUE:
        if stream in mistake.streams and not isinstance(mistake.variants[0], Container | Dtype | Observed | Shape):
            ways = [v for v in mistake.variants if not (isinstance(v, OtherStream) and v.stream == stream)]
            yield from (Part(mistake, way) for way in {ways[0].phrase: ways[0], ways[-1].phrase: ways[-1]}.values())


def outputs(world, made, calls, *, exactly=False):
    """Return what a hypothesis gives for the calls of which it says something: evidence."""
    known = outputs_of(world, made, calls)
    kept = [position for position, bounds in enumerate(known) if bounds is not None]
    calls = [calls[position] for position in kept]
    came = [middle(known[position]) for position in kept]
    if exactly:
        predicted = world.predict(made, calls)
        values = world.table.values_at(world.table.canonical, predicted.numbers.draws)
        came = np.split(values, np.cumsum(predicted.lengths)[:-1])
    return Evidence(calls=calls, came=came, failed=[True] * len(calls))


@pytest.mark.parametrize("made", list(computed("partitionable")), ids=lambda p: f"{p.mistake.id}: {p.variant.phrase}")
def test_each_mistake_is_found_from_what_it_gives(made, world, calls):
    around = world(calls, jax_random_seed_offset="5")
    found = search(around, outputs(around, Hypothesis(parts=(made,)), calls))
    assert [one.hypothesis.ids for one in found] == [(made.mistake.id,)]


@pytest.mark.parametrize(
    "made", [p for p in computed("original") if p.mistake.kind in ("key", "table", "stream", "rows")],
    ids=lambda p: f"{p.mistake.id}: {p.variant.phrase}",
)  # fmt: skip
def test_in_the_original_stream_too(made, world, calls):
    around = world(calls, "original")
    found = search(around, outputs(around, Hypothesis(parts=(made,)), calls))
    assert [one.hypothesis.ids for one in found] == [(made.mistake.id,)]


@pytest.mark.parametrize(
    "names",
    [
        ("unfolded-key", "rows-from-one"),
        ("unfolded-key", "not-scaled"),
        ("seed-plus-one", "feature-major"),
        ("other-stream", "stddev"),
        ("nested-module", "rows-from-two"),
        ("torch-generator", "not-scaled"),
        ("numpy-legacy", "reversed-rows"),
        ("unfolded-key", "truncated-normal", "feature-major"),
        ("seed-plus-one", "unfolded-key", "all-rows"),
        ("transposed-table", "rows-from-one", "feature-major"),
    ],
)
def test_mistakes_of_different_steps_are_found_together(names, world, calls):
    around = world(calls)
    found = search(around, outputs(around, hypothesis(*names), calls))
    assert [sorted(one.hypothesis.ids) for one in found] == [sorted(names)]


def test_values_of_a_recorded_arithmetic_are_found_bit_for_bit_and_others_draw_for_draw(world, calls):
    around = world(calls)
    made = hypothesis("unfolded-key")
    exact = outputs(around, made, calls, exactly=True)
    assert [one.level for one in search(around, exact)] == ["exact"]
    nudged = [np.nextafter(values, np.float32(1)) for values in exact.came]
    moved = Evidence(calls=exact.calls, came=nudged, failed=exact.failed)
    assert [(one.hypothesis.ids, one.level) for one in search(around, moved)] == [(("unfolded-key",), "draws")]


def test_rounded_reading_is_never_bit_for_bit(world, calls):
    around = world(calls)
    exact = outputs(around, hypothesis("unfolded-key"), calls, exactly=True)
    rounded = Evidence(calls=exact.calls, came=exact.came, failed=exact.failed, lossless=False)
    assert [one.level for one in search(around, rounded)] == ["draws"]


@pytest.mark.parametrize("stream", ["partitionable", "original"])
def test_every_recorded_arithmetic_is_the_reference_itself(world, calls, stream):
    around = world(calls, stream)
    predicted = around.predict(Hypothesis(), calls)
    for arithmetic in around.table.arithmetics:
        values = around.table.values_at(arithmetic.id, predicted.numbers.draws)
        came = np.split(values, np.cumsum(predicted.lengths)[:-1])
        found = search(around, Evidence(calls=calls, came=came, failed=[True] * len(calls)))
        assert [(one.hypothesis.ids, one.level) for one in found] == [((), "exact")]


@pytest.mark.parametrize("spoiled", [0, 3, 15])
def test_one_value_of_one_call_refutes(world, calls, spoiled):
    around = world(calls)
    evidence = outputs(around, hypothesis("unfolded-key"), calls, exactly=True)
    came = [values.copy() for values in evidence.came]
    if not came[spoiled].size:
        pytest.skip("an empty array has no value")
    came[spoiled][-1] *= np.float32(1.001)
    changed = Evidence(calls=calls, came=came, failed=evidence.failed)
    assert not fits(around, hypothesis("unfolded-key"), changed)
    assert level(around, hypothesis("unfolded-key"), changed) is None
    assert search(around, changed) == []


def test_one_element_too_many_or_too_few_refutes(world, calls):
    around = world(calls)
    evidence = outputs(around, hypothesis("unfolded-key"), calls, exactly=True)
    for last in (evidence.came[-1][:-1], np.append(evidence.came[-1], np.float32(0))):
        changed = Evidence(calls=calls, came=[*evidence.came[:-1], last], failed=evidence.failed)
        assert search(around, changed) == []


def test_random_numbers_are_not_explained(world, calls):
    state = np.random.default_rng(3)
    came = [(0.02 * state.standard_normal(args.T * args.d_model)).astype(np.float32) for args in calls]
    assert search(world(calls), Evidence(calls=calls, came=came, failed=[True] * len(calls))) == []


def test_one_value_is_enough_for_one_mistake_and_not_for_two(world):
    calls = [Args(7, 1, 1)]
    around = world(calls)
    single = search(around, outputs(around, hypothesis("unfolded-key"), calls, exactly=True))
    assert [one.hypothesis.ids for one in single] == [("unfolded-key",)]
    both = outputs(around, hypothesis("seed-plus-one", "unfolded-key"), calls, exactly=True)
    assert search(around, both) == []


def test_calls_that_cannot_tell_mistakes_apart_give_all_of_them_and_one_that_can_is_found(world, calls):
    seen = [Args(0, 3, 4), Args(0, 2, 3)]
    around = world(seen)
    found = search(around, outputs(around, hypothesis("unfolded-key"), seen, exactly=True))
    assert sorted(one.hypothesis.ids for one in found) == [("keras-seed",), ("unfolded-key",)]
    made = [one.hypothesis for one in found]
    assert separating_call(around, made, seen) is not None  # one of its own, as these do not tell
    assert separating_call(around, made, [*seen, *calls]) == Args(1, 4, 1)


def test_what_no_call_tells_apart_is_known(world, calls):
    around = world(calls)
    assert separating_call(around, [hypothesis("zeros"), hypothesis("zeros")], calls) is None


def test_outputs_are_apart_if_no_array_is_both(world):
    around = world([])
    one, same, other = (
        outputs_of(around, made, [Args(7, 3, 4)])[0]
        for made in (Hypothesis(), Hypothesis(), hypothesis("unfolded-key"))
    )
    shorter = outputs_of(around, Hypothesis(), [Args(7, 2, 4)])[0]
    assert [apart(one, same), apart(one, other), apart(one, shorter), apart(one, None)] == [False, True, True, True]
    assert apart(None, None) is False


@pytest.mark.parametrize("seed", [2**63 - 1, -(2**63)])
def test_the_outermost_seeds_are_no_obstacle(world, seed):
    seen = [Args(seed, 3, 4), Args(5, 2, 3)]
    around = world(seen, jax_random_seed_offset="99999999999999999999")
    found = search(around, outputs(around, hypothesis("seed-plus-one"), seen, exactly=True))
    assert ("seed-plus-one",) in [one.hypothesis.ids for one in found]
    random = [np.linspace(0.01, 0.03, args.T * args.d_model, dtype=np.float32) for args in seen]
    assert search(around, Evidence(calls=seen, came=random, failed=[True, True])) == []


def test_long_runs_are_looked_at_in_parts(world, monkeypatch, calls):
    monkeypatch.setattr("posvec.verifier.mistakes.evidence._CHUNK", 100)
    around = world(calls)
    evidence = outputs(around, hypothesis("unfolded-key"), calls, exactly=True)
    parts = list(evidence.chunks())
    assert len(parts) > 3
    assert [args for each in parts for args in each.calls] == calls
    assert [one.hypothesis.ids for one in search(around, evidence)] == [("unfolded-key",)]
