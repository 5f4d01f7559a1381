import itertools

import pytest

from posvec.schemas.errors import InvalidArgument
from posvec.vectors.golden import table_case
from posvec.vectors.suites import LEARNED_POS_EMBED
from posvec.verifier.selection import select

SEEDS = (0, 1, 2, 42, 2**31 - 1, 2**31, 2**32 - 1, -1, 2**32 + 5)
WIDTHS = (1, 2, 3, 4, 8, 16, 64)


def cases(seeds=SEEDS, widths=WIDTHS, lengths=range(33)):
    return [
        table_case("learned_pos_embed", seed=seed, d_model=d_model, T=T)
        for seed, d_model, T in itertools.product(seeds, widths, lengths)
    ]


def test_quick_is_at_most_100_cases_and_covers_every_value_of_every_axis():
    chosen = select(cases(), LEARNED_POS_EMBED, quick=True)
    everything = (*chosen.cases, *chosen.coercion)
    assert len(everything) <= 100
    for name, values in (("seed", SEEDS), ("d_model", WIDTHS), ("T", range(33))):
        assert {case.args[name] for case in chosen.cases} == set(values)


@pytest.mark.parametrize(
    "axes",
    [
        {"seeds": range(1000)},
        {"seeds": range(64), "widths": range(1, 65), "lengths": range(32)},
        {"seeds": (5,), "widths": (3,)},
        {"seeds": (5,), "widths": (3,), "lengths": (0,)},
        {"seeds": range(11), "widths": (1,), "lengths": range(33)},
    ],
)
def test_quick_stays_small_on_any_sweep_and_covers_what_it_can(axes):
    all_cases = cases(**axes)
    chosen = select(all_cases, LEARNED_POS_EMBED, quick=True).cases
    assert len({case.id for case in chosen}) == len(chosen) <= 92
    for name in ("seed", "d_model", "T"):
        values = {case.args[name] for case in all_cases}
        assert len({case.args[name] for case in chosen}) == min(len(values), 92)


def test_quick_covers_what_is_no_grid_as_well():
    golden = cases(seeds=(0, 1), widths=(3, 5))
    fresh = [table_case("learned_pos_embed", seed=100 + i, d_model=1 + i % 7, T=1 + i % 32) for i in range(40)]
    chosen = select([*golden, *fresh], LEARNED_POS_EMBED, quick=True).cases
    assert len(chosen) <= 92
    assert {case.args["T"] for case in chosen} == set(range(33))
    assert {case.args["seed"] for case in chosen} == {0, 1, *range(100, 140)}


def test_every_case_runs_once_with_the_quick_ones_first():
    everything = cases()
    chosen = select(everything, LEARNED_POS_EMBED)
    assert sorted(case.id for case in chosen.cases) == sorted(case.id for case in everything)
    quick = select(everything, LEARNED_POS_EMBED, quick=True).cases
    assert chosen.cases[: len(quick)] == quick


def test_the_first_case_has_elements_so_that_a_failure_shows_at_once():
    assert select(cases(), LEARNED_POS_EMBED).cases[0].args["T"] > 0


def test_a_glob_is_matched_against_the_whole_id_and_its_case_matters():
    assert {c.args["T"] for c in select(cases(), LEARNED_POS_EMBED, glob="*/T=3").cases} == {3}
    assert len(select(cases(), LEARNED_POS_EMBED, glob="learned_pos_embed/seed=0/d_model=4/T=3").cases) == 1
    for glob in ("T=3", "*/t=3", "", "*T=99"):
        with pytest.raises(InvalidArgument, match="--select must be a pattern that matches a case id"):
            select(cases(), LEARNED_POS_EMBED, glob=glob)


def test_coercion_cases_can_be_selected_by_their_own_id():
    coerced = select(cases(), LEARNED_POS_EMBED).coercion
    alone = select(cases(), LEARNED_POS_EMBED, glob=coerced[0].id)
    assert (alone.cases, alone.coercion) == ((), coerced[:1])


def test_at_most_eight_coercion_cases_pass_strings_floats_and_both_numpy_integers():
    coerced = select(cases(), LEARNED_POS_EMBED).coercion
    assert len(coerced) == 8
    assert {case.coercion for case in coerced} == {"str", "float", "numpy"}
    assert {case.numpy_int32 for case in coerced if case.coercion == "numpy"} == {True, False}
    assert all(case.id.endswith(f"/as={case.coercion}") for case in coerced)
    for case in coerced:
        assert abs(case.args["seed"]) < 2**53
        assert not case.numpy_int32 or -(2**31) <= case.args["seed"] < 2**31


def test_seeds_that_a_float_cannot_hold_are_not_coerced():
    huge = cases(seeds=(2**53, -(2**53), 2**63 - 1), widths=(2,), lengths=(1, 2))
    assert select(huge, LEARNED_POS_EMBED).coercion == ()
