import numpy as np
import pytest

from posvec.vectors.ulp import from_ordered, ordered
from posvec.verifier.mistakes.catalogue import BY_ID
from posvec.verifier.mistakes.evidence import Evidence, fits, level
from posvec.verifier.mistakes.hypothesis import Hypothesis, Part
from posvec.verifier.mistakes.parts import Args

RIGHT = Hypothesis()


def made(*names):
    return Hypothesis(parts=tuple(Part(BY_ID[name], BY_ID[name].variants[0]) for name in names))


def given(world, hypothesis, calls, arithmetic=None, **changes):
    """Return what a build gives for a hypothesis of draws."""
    predicted = world.predict(hypothesis, calls)
    values = world.table.values_at(arithmetic or world.table.canonical, predicted.numbers.draws)
    if predicted.numbers.zero is not None:
        values = np.where(predicted.numbers.zero, np.float32(0), values)
    came = np.split(values, np.cumsum(predicted.lengths)[:-1])
    return Evidence(**{"calls": calls, "came": came, "failed": [True] * len(calls), **changes})


def moved(evidence, steps):
    """Return evidence with every value moved by so many float32 steps, an array for each element or a number."""
    flat = from_ordered(ordered(evidence.flat) + np.asarray(steps, np.int32))
    cuts = np.cumsum([values.size for values in evidence.came])[:-1]
    return Evidence(calls=evidence.calls, came=np.split(flat, cuts), failed=evidence.failed)


def empty(*calls, failed=None, sizes=None):
    sizes = sizes or [args.T * args.d_model for args in calls]
    came = [np.zeros(size, np.float32) for size in sizes]
    return Evidence(calls=list(calls), came=came, failed=failed or [True] * len(calls))


def test_chunks_end_before_they_are_too_large_and_hold_every_call_once(monkeypatch):
    monkeypatch.setattr("posvec.verifier.mistakes.evidence._CHUNK", 10)
    evidence = empty(Args(1, 2, 3), Args(2, 2, 2), Args(3, 1, 1), Args(4, 9, 9), Args(5, 1, 9), Args(6, 1, 1))
    assert [[args.seed for args in part.calls] for part in evidence.chunks()] == [[1, 2], [3], [4], [5, 6]]
    assert [part.flat.size for part in evidence.chunks()] == [10, 1, 81, 10]
    uneven = empty(Args(1, 7, 1), Args(2, 5, 1), Args(3, 2, 1), Args(4, 1, 1))
    assert [[args.seed for args in part.calls] for part in uneven.chunks()] == [[1], [2, 3, 4]]
    assert next(empty(Args(1, 1, 1)).chunks()).calls == [Args(1, 1, 1)]
    assert list(Evidence(calls=[], came=[], failed=[]).chunks()) == []
    assert Evidence(calls=[], came=[], failed=[]).flat.size == 0


def test_a_part_keeps_all_that_belongs_to_its_calls():
    evidence = empty(Args(1, 1, 1), Args(2, 2, 1), Args(3, 3, 1), failed=[True, False, True])
    part = evidence.part([2, 1])
    assert (part.calls, part.failed) == ([Args(3, 3, 1), Args(2, 2, 1)], [True, False])
    assert [values.size for values in part.came] == [3, 2]
    assert Evidence(calls=[], came=[], failed=[], lossless=False).part([]).lossless is False


@pytest.mark.parametrize(
    ("calls", "failed", "best"),
    [
        ([Args(7, 3, 2), Args(7, 2, 3)], [False, True], 1),  # one that failed
        ([Args(7, 3, 4), Args(7, 3, 2)], [True, True], 1),  # the smaller
        ([Args(7, 2, 2), Args(7, 3, 2)], [True, True], 1),  # T and d_model differ, whichever is larger
        ([Args(7, 2, 2), Args(7, 2, 3)], [True, True], 1),
        ([Args(7, 4, 3), Args(7, 2, 3)], [True, True], 1),
        ([Args(7, 5, 1), Args(7, 3, 2)], [True, True], 1),  # several features
        ([Args(7, 1, 5), Args(7, 3, 2)], [True, True], 1),  # several rows
        ([Args(7, 32, 2), Args(7, 31, 3)], [True, True], 1),  # not the whole table
        ([Args(1, 3, 2), Args(7, 3, 4)], [True, True], 1),  # a seed that nobody writes into a program
        ([Args(0, 3, 2), Args(7, 3, 4)], [True, True], 1),
        ([Args(7, 0, 2), Args(7, 1, 1)], [True, True], 1),  # not empty
        ([Args(7, 1, 3), Args(7, 1, 4)], [True, True], 1),  # four elements at least
        ([Args(7, 1, 5), Args(7, 1, 3)], [False, True], 1),
    ],
)
def test_the_probe_is_the_call_that_refutes_most(calls, failed, best):
    assert empty(*calls, failed=failed).probe() == best
    assert empty(*calls[::-1], failed=failed[::-1]).probe() == 1 - best


def test_without_any_value_there_is_no_probe():
    assert empty(Args(7, 0, 2)).probe() is None
    assert Evidence(calls=[], came=[], failed=[]).probe() is None


def test_the_second_look_has_each_value_of_each_argument_and_failures_first():
    evidence = empty(
        Args(1, 2, 3), Args(1, 2, 3), Args(1, 3, 3), Args(2, 2, 3), Args(1, 2, 4), Args(3, 1, 1), Args(1, 2, 4),
        failed=[True, True, True, True, True, False, True],
    )  # fmt: skip
    assert evidence.second_look() == [0, 3, 4, 2, 5]
    many = empty(*(Args(seed, 2, 3) for seed in range(100)))
    assert len(many.second_look()) == 24


def test_a_hypothesis_fits_only_if_lengths_and_every_value_do(world, calls):
    around = world(calls)
    evidence = given(around, RIGHT, calls)
    assert fits(around, RIGHT, evidence)
    assert not fits(around, made("unfolded-key"), evidence)
    assert not fits(around, made("all-rows"), evidence)
    assert fits(around, RIGHT, empty(Args(7, 0, 2)))
    assert not fits(around, made("all-rows"), empty(Args(7, 0, 2)))
    assert not fits(world(calls), made("seed-offset"), evidence)  # of which nothing is known
    assert not fits(around, made("stddev", "zeros"), given(around, RIGHT, calls))  # a distribution of no numbers


@pytest.mark.parametrize("name", ["unfolded-key", "padded-with-zeros", "rows-from-two"])
def test_every_recorded_arithmetic_explains_bit_for_bit_and_so_do_several_together(world, calls, name):
    around = world(calls)
    first, *others = (given(around, made(name), calls, a.id) for a in around.table.arithmetics)
    assert level(around, made(name), first) == "exact"
    assert [level(around, made(name), evidence) for evidence in others] == ["exact"] * len(others)
    mixed = [one if n % 2 else other for n, (one, other) in enumerate(zip(first.came, others[3].came, strict=True))]
    assert level(around, made(name), Evidence(calls=calls, came=mixed, failed=first.failed)) == "exact"


def test_one_value_that_no_arithmetic_gives_makes_it_draw_for_draw(world, calls):
    around = world(calls)
    evidence = given(around, RIGHT, calls)
    draws = around.predict(RIGHT, calls).numbers.draws
    known = np.stack([ordered(around.table.values_at(a.id, draws)) for a in around.table.arithmetics])
    low, high = around.table.accept(draws)
    order = ordered(evidence.flat)

    def between(n, v):
        return known[:, n].min() < v < known[:, n].max() and v not in known[:, n]

    def beyond(n, v):
        return v == high[n]

    for wanted in (between, beyond):
        found = ((n, v) for n in range(draws.size) for v in range(low[n], high[n] + 1) if wanted(n, v))
        element, value = next(found)
        steps = np.zeros(draws.size, int)
        steps[element] = value - order[element]
        assert level(around, RIGHT, moved(evidence, steps)) == "draws"


def test_accept_intervals_bound_what_is_explained(world, calls):
    around = world(calls)
    evidence = given(around, RIGHT, calls)
    low, high = around.table.accept(around.predict(RIGHT, calls).numbers.draws)
    order = ordered(evidence.flat).astype(int)
    for bound, beyond in ((low, -1), (high, 1)):
        steps = np.zeros(order.size, int)
        steps[5] = bound[5] - order[5]
        assert level(around, RIGHT, moved(evidence, steps)) == "draws"
        steps[5] += beyond
        assert level(around, RIGHT, moved(evidence, steps)) is None


def test_few_values_may_lie_outside_their_cells(world, calls):
    around = world(calls)
    evidence = given(around, RIGHT, calls)
    draws = around.predict(RIGHT, calls).numbers.draws
    (low, high), (first, last) = around.table.accept(draws), around.table.cell(draws)
    order = ordered(evidence.flat).astype(int)
    outside = np.flatnonzero((high > last) | (low < first))
    assert outside.size > 3
    allowed = 2  # of fewer than 3,000 elements
    for count, held in ((allowed, "draws"), (allowed + 1, None)):
        steps = np.zeros(order.size, int)
        for n in outside[:count]:
            steps[n] = (last[n] + 1 if high[n] > last[n] else first[n] - 1) - order[n]
        assert level(around, RIGHT, moved(evidence, steps)) == held


def test_nothing_that_was_rounded_to_be_read_is_bit_for_bit(world, calls):
    around = world(calls)
    assert level(around, RIGHT, given(around, RIGHT, calls)) == "exact"
    assert level(around, RIGHT, given(around, RIGHT, calls, lossless=False)) == "draws"


def test_a_distribution_of_which_no_build_is_recorded_is_draw_for_draw(world, calls):
    around = world(calls)
    predicted = around.predict(made("stddev"), calls)
    bounds = around.bounds(made("stddev"), predicted)
    came = np.split(bounds.low, np.cumsum(predicted.lengths)[:-1])
    assert level(around, made("stddev"), Evidence(calls=calls, came=came, failed=[True] * len(calls))) == "draws"


def test_padding_must_be_zero(world):
    calls = [Args(7, 3, 2)]
    around = world(calls)
    evidence = given(around, made("padded-with-zeros"), calls)
    assert level(around, made("padded-with-zeros"), evidence) == "exact"
    steps = np.zeros(64, int)
    steps[-1] = 1
    assert level(around, made("padded-with-zeros"), moved(evidence, steps)) is None


def test_levels_hold_over_all_chunks(world, calls, monkeypatch):
    monkeypatch.setattr("posvec.verifier.mistakes.evidence._CHUNK", 50)
    around = world(calls)
    evidence = given(around, made("unfolded-key"), calls)
    assert level(around, made("unfolded-key"), evidence) == "exact"
    steps = np.zeros(evidence.flat.size, int)
    steps[-1] = 1_000_000
    assert level(around, made("unfolded-key"), moved(evidence, steps)) is None
    assert level(around, made("unfolded-key"), empty(Args(7, 0, 2))) == "exact"


def test_the_lower_end_of_a_cell_belongs_to_it(world, calls):
    around = world(calls)
    evidence = given(around, RIGHT, calls)
    draws = around.predict(RIGHT, calls).numbers.draws
    (low, _), (first, _) = around.table.accept(draws), around.table.cell(draws)
    order = ordered(evidence.flat).astype(int)
    below = np.flatnonzero(low < first)[:3]
    assert below.size == 3
    for beyond, held in ((0, "draws"), (1, None)):
        steps = np.zeros(order.size, int)
        steps[below] = first[below] - beyond - order[below]
        assert level(around, RIGHT, moved(evidence, steps)) == held


def test_padding_has_no_cell(world, calls):
    around = world(calls)
    evidence = given(around, made("padded-with-zeros"), calls)
    zero = around.predict(made("padded-with-zeros"), calls).numbers.zero
    assert level(around, made("padded-with-zeros"), moved(evidence, np.where(zero, 0, 1))) == "draws"


def test_rounded_and_foreign_numbers_are_explained_bit_for_bit_too(world, calls):
    around = world(calls)
    right = given(around, RIGHT, calls)
    bits = right.flat.view(np.uint32)
    brain = (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    cuts = np.cumsum([values.size for values in right.came])[:-1]
    rounded = Evidence(calls=calls, came=np.split(brain, cuts), failed=right.failed)
    assert level(around, made("rounded-to-bfloat16"), rounded) == "exact"
    seeds = [args for args in calls if args.seed >= 0]

    def numpy(seed, T, d_model):
        return (0.02 * np.random.RandomState(seed & 0xFFFFFFFF).standard_normal((32, d_model))).astype(np.float32)[:T]

    came = [numpy(*args).reshape(-1) for args in seeds]
    foreign = Evidence(calls=seeds, came=came, failed=[True] * len(seeds))
    assert level(around, made("numpy-legacy"), foreign) == "exact"


def test_what_a_hypothesis_does_not_say_or_says_in_another_length_is_not_explained(world, calls):
    around = world(calls)
    evidence = given(around, RIGHT, calls)
    assert level(around, made("seed-offset"), evidence) is None
    assert level(around, made("all-rows"), evidence) is None
    assert level(around, made("stddev", "zeros"), evidence) is None
