import pytest

from posvec.schemas.build import Build
from posvec.schemas.case import Case
from posvec.schemas.manifest import Recording
from posvec.schemas.report import Behaviour, CaseResult
from posvec.verifier.judge import Judged, judge_run, levels_held
from posvec.verifier.levels import NOT_FINITE, Comparison
from posvec.verifier.match import Match
from posvec.verifier.text import percent
from posvec.verifier.verdict import environment_notes, reach_verdict, run_notes


def build(jax="0.10.2", mode="eager", isa="AVX2"):
    return Build(
        jax=jax,
        jaxlib=jax,
        flax="0.12.8",
        mode=mode,
        platform="linux",
        machine="x86_64",
        backend="cpu",
        isa=isa,
        cpu_isa="AVX512",
    )


RECORDINGS = (
    Recording(id="r00", builds=(build(),), arithmetics=("a",)),
    Recording(id="r01", builds=(build("0.8.3", "jit"),), arithmetics=()),
)


def comparison(**changes):
    same = {"elements": 100, "differing": 0, "unexplained": 0, "other_build": 0, "outside_accept": 0}
    return Comparison(**{**same, "outside_cell": 0, "max_ulp": 0, "explained_by": 0b11, **changes})


def judged(outcome="pass", found=None, coercion=None, number=0):
    case = Case(id=f"s/T={number}", args={"T": number}, coercion=coercion)
    if found is None and outcome in ("pass", "rounding", "value"):
        found = comparison()
    return Judged(case=case, result=CaseResult(id=case.id, outcome=outcome, seconds=0.0), comparison=found)


def verdict(*cases, match="exact", **options):
    run = judge_run(cases, Match.parse(match))
    usual = {"build": None, "recordings": RECORDINGS, "total": len(cases), "behaviour": Behaviour()}
    return reach_verdict(run, match=Match.parse(match), **{**usual, **options})


def test_an_exact_run_names_the_build_that_explains_every_case():
    got = verdict(judged(), judged(found=comparison(explained_by=0b01)))
    assert (got.code, got.exit_code) == ("exact", 0)
    assert got.sentence == "EXACT (bit-identical to JAX 0.10.2 eager, FMA)"


def test_another_build_is_named_if_it_alone_explains_every_case():
    got = verdict(judged(), judged(found=comparison(explained_by=0b10, differing=4, max_ulp=1)))
    assert got.sentence == "EXACT (bit-identical to JAX 0.8.3 jit, FMA)"


def test_no_build_is_named_if_none_alone_explains_every_case():
    got = verdict(judged(found=comparison(explained_by=0b01)), judged(found=comparison(explained_by=0b10)))
    assert (got.sentence, got.exit_code) == ("EXACT (mixed builds)", 0)


def test_same_draws_with_other_rounding_are_said_to_be_so_and_how_to_accept_them():
    found = comparison(differing=27, unexplained=27, max_ulp=2, explained_by=0)
    got = verdict(judged("rounding", found))
    assert (got.code, got.exit_code) == ("rounding", 1)
    assert got.sentence == (
        "SAME DRAWS, OTHER ROUNDING in 27 % of 100 elements, at most 2 ULP: not exact; --match equivalent accepts it"
    )
    accepted = verdict(judged("pass", found), match="equivalent")
    assert (accepted.code, accepted.exit_code) == ("equivalent", 0)


@pytest.mark.parametrize("outcome", ["layout", "value", "error", "timeout", "crash"])
def test_any_failed_case_does_not_conform(outcome):
    got = verdict(judged(), judged(outcome), judged("not-run"))
    assert (got.code, got.exit_code) == ("not-conforming", 1)
    assert got.sentence == f"NOT CONFORMING: 1 of 3 cases fail (1 {outcome}), 1 not run"


def test_cases_that_did_not_run_without_any_failure_cannot_be_judged():
    got = verdict(judged(), judged("not-run"))
    assert (got.code, got.exit_code) == ("could-not-judge", 3)


def test_empty_arrays_alone_prove_nothing():
    got = verdict(judged(found=comparison(elements=0)))
    assert (got.exit_code, got.sentence) == (
        3,
        "COULD NOT JUDGE: only empty arrays were compared, and T = 0 proves only the layout",
    )


def test_nothing_run_is_never_a_pass():
    assert verdict().exit_code == 3


def test_coercion_and_behaviour_decide_only_if_strict():
    failed = judged("coercion", coercion="str", number=9)
    assert verdict(judged(), failed).exit_code == 0
    assert verdict(judged(), failed, strict=True).exit_code == 1
    shared = Behaviour(checked=1, aliasing=("s/T=0",))
    assert verdict(judged(), behaviour=shared).exit_code == 0
    assert verdict(judged(), behaviour=shared, strict=True).exit_code == 1


def test_an_interrupted_run_says_how_far_it_came():
    got = verdict(judged(), judged("not-run"), interrupted=True)
    assert (got.exit_code, got.sentence) == (130, "INTERRUPTED after 1 of 2 cases: 0 failed")


def test_a_subset_is_said_to_be_one():
    assert verdict(judged(), total=2079).sentence.endswith("in 1 of 2,079 cases")


def test_too_many_elements_outside_their_cell_fail_the_run_at_equivalent():
    many = comparison(elements=1000, outside_cell=3, differing=500, unexplained=400, max_ulp=5, explained_by=0)
    got = verdict(judged("pass", many), match="equivalent")
    assert got.exit_code == 1
    run = judge_run([judged("pass", many)], Match.parse("equivalent"))
    assert run.cases[0].result.outcome == "value"
    assert "the uniform behind them is not the 23-bit one" in run_notes(run, Match.parse("equivalent"))[0]
    few = comparison(elements=1000, outside_cell=2, differing=500, unexplained=400, max_ulp=5, explained_by=0)
    assert verdict(judged("pass", few), match="equivalent").exit_code == 0


def test_few_elements_are_said_to_be_too_few_to_tell_uniforms_apart():
    few = judge_run([judged("pass", comparison(elements=31, unexplained=1))], Match.parse("equivalent"))
    assert "too few" in run_notes(few, Match.parse("equivalent"))[0]
    enough = judge_run([judged("pass", comparison(elements=32, unexplained=1))], Match.parse("equivalent"))
    assert run_notes(enough, Match.parse("equivalent")) == []


def test_the_levels_that_hold_are_those_of_all_cases():
    def held(*cases):
        return levels_held(judge_run(cases, Match.parse("exact")))

    assert held(judged()) == ("exact", "equivalent", "ulp:0")
    assert held(judged(), judged("rounding", comparison(unexplained=1, max_ulp=3))) == ("equivalent", "ulp:3")
    assert held(judged(), judged("value", comparison(unexplained=9, outside_accept=1, max_ulp=9))) == ("ulp:9",)
    assert held(judged(), judged("value", comparison(unexplained=9, outside_accept=1, max_ulp=NOT_FINITE))) == ()
    assert held(judged(), judged("layout")) == ()
    assert held(judged(), judged("not-run")) == ()
    assert held() == ()


@pytest.mark.parametrize(
    ("environment", "cause", "mend"),
    [
        ({"jax_enable_x64": True}, "x64", "unset JAX_ENABLE_X64"),
        ({"jax_backend": "gpu"}, "ran on gpu", "JAX_PLATFORMS=cpu"),
        ({"jax_threefry_partitionable": False}, "other stream, original", "--stream original"),
        ({"jax_default_prng_impl": "rbg"}, "PRNG is rbg", "unset JAX_DEFAULT_PRNG_IMPL"),
        ({"jax_random_seed_offset": "5"}, "SEED_OFFSET", "unset JAX_RANDOM_SEED_OFFSET"),
    ],
)
def test_what_the_target_ran_on_is_said_with_the_line_that_mends_it(environment, cause, mend):
    causes, notes = environment_notes(environment, stream="partitionable", recordings=RECORDINGS)
    assert cause in causes[0]
    assert mend in notes[0]
    assert cause in verdict(judged("value"), causes=causes).sentence


def test_an_unrecorded_jax_is_said():
    assert environment_notes({"jax": "0.10.2"}, stream="partitionable", recordings=RECORDINGS) == ([], [])
    _, notes = environment_notes({"jax": "0.99.0"}, stream="partitionable", recordings=RECORDINGS)
    assert "JAX 0.99.0 is in no recording" in notes[0]


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(27, 100, "27 %"), (39, 1000, "3.9 %"), (36, 100_000, "0.036 %"), (0, 5, "0 %"), (5, 5, "100 %"),
     (4656, 465_696, "1 %"), (999_999, 1_000_000, "99 %"), (1, 10**9, "0.0000001 %"), (0, 0, "0 %")],
)  # fmt: skip
def test_percentages_have_two_significant_digits_and_all_means_all(part, whole, text):
    assert percent(part, whole) == text
