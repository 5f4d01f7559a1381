"""What is said of a failing run: names only where all that came is explained, else facts."""

import numpy as np
import pytest

from posvec.schemas.errors import VectorsError
from posvec.schemas.report import Behaviour
from posvec.vectors.derive import fold_in, seed_key, table_draws
from posvec.vectors.random_bits import random_bits
from posvec.verifier.mistakes.diagnose import NOTHING_KNOWN

FEW = "*/d_model=[134]/T=[0-5]"


@pytest.fixture(scope="module")
def right(draw_table):
    def forward(seed, T, d_model):
        table = draw_table.values_at(draw_table.canonical, table_draws([seed], d_model, stream="partitionable")[0])
        return table[:T].reshape(-1)

    return forward


@pytest.fixture(scope="module")
def of_key(draw_table):
    """Return the table of a key."""

    def forward(key, T, d_model):
        words = random_bits(np.asarray(key, np.uint32).reshape(1, 2), 32 * d_model, stream="partitionable")[0]
        return draw_table.values_at(draw_table.canonical, words >> np.uint32(9)).reshape(32, d_model)[:T].reshape(-1)

    return forward


@pytest.fixture
def unfolded(of_key):
    return lambda seed, T, d_model: of_key(seed_key([seed]), T, d_model)


def ids(diagnosis):
    return [[mistake.id for mistake in one.mistakes] for one in diagnosis.explanations]


def test_a_named_mistake_comes_with_its_evidence_and_all_that_helps(diagnosed, unfolded):
    found = diagnosed(unfolded, FEW)
    assert found.sentence == "The mistake: The seed's key is used without Flax's key folding."
    (explanation,) = found.explanations
    assert (explanation.level, explanation.cases, explanation.elements) == ("exact", 9 * 3 * 6, 9 * 8 * 15)
    assert explanation.evidence == (
        "All 162 cases (1,080 values) are, bit for bit, what the reference returns with the key of the seed itself, "
        "unfolded: `normal(PRNGKey(seed), …)`."
    )
    (mistake,) = explanation.mistakes
    assert mistake.code == "key = jax.random.fold_in(jax.random.PRNGKey(seed), 0xBF8B4530)"
    assert (found.separate, found.facts) == ("", ())


def test_evidence_of_one_case_is_said_of_one(diagnosed, unfolded):
    (explanation,) = diagnosed(unfolded, "*/seed=42/d_model=4/T=3").explanations
    assert explanation.evidence.startswith("The one case (12 values) is, bit for bit, what the reference returns with")


def test_a_wrong_layout_is_named_beside_wrong_values(diagnosed, unfolded):
    def both(seed, T, d_model):
        return unfolded(seed, T, d_model).reshape(T, d_model).astype(np.float64)

    found = diagnosed(both, FEW)
    assert ids(found) == [["unfolded-key", "float64", "not-flattened"]]
    assert found.sentence.startswith("Three mistakes together: The seed's key is used")
    assert found.explanations[0].evidence.endswith("dtype float64 and shape (T, d_model).")
    assert found.explanations[0].level == "exact"


def test_right_values_in_a_wrong_layout_have_the_layouts_mistake_alone(diagnosed, right):
    found = diagnosed(lambda s, T, d: right(s, T, d).reshape(1, T, d), FEW)
    assert ids(found) == [["not-flattened"]]
    assert "shape (1, T, d_model)" in found.explanations[0].evidence


def test_a_float64_that_holds_more_than_float32_is_explained_draw_for_draw(diagnosed, right):
    found = diagnosed(lambda s, T, d: right(s, T, d).astype(np.float64) * (1 + 1e-9), FEW)
    assert [one.level for one in found.explanations] == ["draws"]
    assert found.explanations[0].evidence.startswith("All 162 cases (1,080 values) are, draw for draw, what the")


@pytest.mark.parametrize("shift", [0, 1])
def test_right_draws_in_the_right_layout_are_accused_of_nothing(diagnosed, right, shift):
    def nudged(seed, T, d_model):
        values = right(seed, T, d_model)
        return (values.view(np.int32) + np.int32(shift * (T == 3))).view(np.float32)

    assert diagnosed(nudged, FEW, match="exact") is None


def test_cases_that_raise_are_left_out_and_said_to_be(diagnosed, unfolded):
    def raising(seed, T, d_model):
        if T == 0:
            raise ValueError("T must be positive")
        return unfolded(seed, T, d_model)

    found = diagnosed(raising, FEW)
    assert ids(found) == [["unfolded-key"]]
    assert "All 135 cases that returned something (1,080 values)" in found.explanations[0].evidence
    assert found.facts == ("27 more cases returned nothing (error), which this does not explain.",)


def test_right_values_are_not_accused_because_other_cases_raise(diagnosed, right):
    def raising(seed, T, d_model):
        if T == 0:
            raise ValueError("T must be positive")
        return right(seed, T, d_model)

    assert diagnosed(raising, FEW) is None


def test_nothing_is_named_where_one_case_is_not_explained(diagnosed, unfolded):
    def spoiled(seed, T, d_model):
        values = unfolded(seed, T, d_model)
        return -values if (seed, T, d_model) == (42, 5, 4) else values

    found = diagnosed(spoiled, FEW)
    assert (found.sentence, found.explanations) == (NOTHING_KNOWN, ())


def test_a_passing_case_that_the_mistake_gets_wrong_refutes_it(diagnosed, right, unfolded):
    found = diagnosed(lambda s, T, d: right(s, T, d) if (s, T, d) == (2, 4, 4) else unfolded(s, T, d), FEW)
    assert found.explanations == ()


def test_cases_with_other_kinds_of_arguments_do_not_count(diagnosed, unfolded, right):
    found = diagnosed(unfolded, "*/d_model=[1234]/T=?*", coerced=right)
    assert ids(found) == [["unfolded-key"]]
    assert found.explanations[0].cases == 9 * 4 * 33


def test_mistakes_that_the_cases_cannot_tell_apart_are_all_named_with_a_case_that_can(diagnosed, unfolded):
    found = diagnosed(unfolded, "*/seed=0/d_model=4/T=[23]")
    assert sorted(ids(found)) == [["keras-seed"], ["unfolded-key"]]
    assert found.sentence.startswith("One of 2 mistakes, which these cases cannot tell apart: ")
    assert found.separate.startswith("This case tells them apart: --select learned_pos_embed/seed=")
    telling = found.separate.rpartition(" ")[2]
    assert ids(diagnosed(unfolded, telling)) == [["unfolded-key"]]


def test_empty_arrays_alone_explain_nothing(diagnosed, right):
    found = diagnosed(lambda s, T, d: right(s, T, d).reshape(T, d), "*/T=0")
    assert (found.explanations, found.facts) == ((), ("Every case came with shape (T, d_model).",))


# What is told where nothing is named


def test_nan_infinities_and_constants_have_sentences_of_their_own(diagnosed, right):
    nan = diagnosed(lambda s, T, d: right(s, T, d) * np.float32("nan"), FEW)
    assert nan.facts == ("Every value of the failing cases is NaN.",)
    half = diagnosed(
        lambda s, T, d: np.where(np.arange(T * d) % 2, right(s, T, d), np.float32("inf")), "*d_model=4/T=2"
    )
    assert half.facts[0] == "36 of the 72 values of failing cases (50 %) are infinite."
    constant = diagnosed(lambda _, T, d: np.full(T * d, np.float32(0.25)), FEW)
    assert constant.facts == ("Every element of the failing cases is 0.25.",)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda v, s, T, d: v if d == 1 else v[::-1], "Right for d_model = 1 only."),
        (lambda v, s, T, d: v if T == 5 else v * 3, "Right for T = 5 only."),
        (lambda v, s, T, d: v * 3 if s == 42 else v, "Wrong for seed = 42 only."),
        (lambda v, s, T, d: v if d == T else v[::-1], "Right where T = d_model only: the two are exchanged somewhere."),
        (lambda v, s, T, d: v * np.float32(3.25), "Every element of the failing cases is the right draw times 3.25"),
        (
            lambda v, s, T, d: v[np.arange(T * d) // 2],
            "92 % of the draws are of the right table, but in the wrong place",
        ),
    ],
)
def test_facts_say_what_narrows_it_down(diagnosed, right, change, says):
    found = diagnosed(lambda s, T, d: change(right(s, T, d), s, T, d).astype(np.float32), "*/d_model=[134]/T=[1-5]")
    assert found.sentence == NOTHING_KNOWN
    assert says in " ".join(found.facts)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda v, T, d: np.where(np.arange(T * d) < d, 0, v), "of the 1,080 values of failing cases (33 %) are zero"),
        (
            lambda v, T, d: np.where(np.arange(T * d) < d, v * 3, v),
            "In the failing cases only position t = 0 is wrong.",
        ),
        (lambda v, T, d: np.where(np.arange(T * d) >= (T - 1) * d, v * 3, v), "only position T - t = 1 is wrong."),
        (
            lambda v, T, d: np.where(np.arange(T * d) % d == 1, -v, v),
            "In the failing cases only feature d = 1 is wrong.",
        ),
        (
            lambda v, T, d: np.where(np.arange(T * d) % d == 0, v, -v),
            "In the failing cases only feature d = 0 is right.",
        ),
        (
            lambda v, T, d: v + 4e-5 * np.cos(np.arange(T * d)),
            "Every value is within 4e-05 of the right one: something rounds, or adds",
        ),
    ],
)
def test_facts_say_where_values_are_right(diagnosed, right, change, says):
    found = diagnosed(lambda s, T, d: change(right(s, T, d), T, d).astype(np.float32), "*/d_model=[134]/T=[0-5]")
    assert (found.sentence, found.explanations) == (NOTHING_KNOWN, ())
    assert says in " ".join(found.facts)


def test_a_dtype_that_all_share_and_that_is_no_known_mistake_is_said(diagnosed, right):
    found = diagnosed(lambda s, T, d: right(s, T, d).astype(">f8"), FEW)
    assert found.facts == ("Every case came with dtype >f8.", "Read as flat float32, the values are right.")


def test_another_key_that_is_not_known_is_told_from_another_generator(diagnosed, of_key):
    key = diagnosed(lambda s, T, d: of_key(fold_in(seed_key([s]), 12345), T, d), "*/d_model=[48]/T=*")
    assert "The draws are those of another random stream" in key.facts[0]

    def own(seed, T, d_model):
        state = np.random.RandomState([seed & 0xFFFFFFFF, 9])
        return (0.02 * state.standard_normal(32 * d_model)).astype(np.float32)[: T * d_model]

    other = diagnosed(own, "*/d_model=[48]/T=*")
    assert [fact.split(",")[0] for fact in other.facts] == [
        "Few of the values are ones that jax.random.normal gives to any draw",
        "The values look normally distributed",
        "That is the right distribution",
    ]


def test_values_that_do_not_depend_on_the_seed_are_said_to_be_so(diagnosed, right):
    found = diagnosed(lambda s, T, d: right(987654, T, d), FEW)
    assert "The values do not depend on the seed: all seeds give the same." in found.facts


def test_a_layout_that_differs_from_case_to_case_is_said(diagnosed, right):
    found = diagnosed(lambda s, T, d: right(s, T, d).reshape(T, d) if T == 2 else right(s, T, d).astype("f8"), FEW)
    assert found.facts == ("The layout differs from case to case.", "Read as flat float32, the values are right.")
    dtypes = diagnosed(lambda s, T, d: right(s, T, d) if T == 2 else right(s, T, d).astype("f8"), FEW)
    assert (dtypes.explanations, dtypes.facts) == ((), found.facts)


def test_axes_of_length_one_that_are_lost_leave_some_arrays_as_they_must_be(diagnosed, right):
    found = diagnosed(lambda s, T, d: right(s, T, d).reshape(T, d).squeeze(), FEW)
    assert ids(found) == [["not-flattened"]]
    assert found.explanations[0].evidence.endswith("shape (T, d_model) without its axes of length 1.")


def test_wrong_values_in_one_wrong_layout_keep_the_fact_of_the_layout(diagnosed, right):
    found = diagnosed(lambda s, T, d: (right(s, T, d)[::-1] * 3).reshape(T, d), "*/d_model=[34]/T=[1-5]")
    assert found.facts[0] == "Every case came with shape (T, d_model)."


# What values do not tell


def test_lists_and_single_numbers_are_named_by_what_they_are(diagnosed, right):
    assert ids(diagnosed(lambda s, T, d: right(s, T, d).tolist(), FEW)) == [["list"]]
    assert ids(diagnosed(lambda s, T, d: (right(s, T, d),), FEW)) == [["tuple"]]
    scalar = diagnosed(lambda s, T, d: np.float32(right(s, T, d).sum()), FEW)
    assert ids(scalar) == [["scalar"]]
    assert scalar.explanations[0].evidence == "Each of 162 cases returned a 0-dimensional array."
    assert diagnosed(lambda s, T, d: None, FEW) is None
    assert diagnosed(lambda s, T, d: [0.5] if T == 2 else (0.5,), FEW) is None


def test_some_arrays_and_some_lists_are_not_named(diagnosed, right):
    found = diagnosed(lambda s, T, d: right(s, T, d).tolist() if T == 2 else right(s, T, d), FEW)
    assert found.explanations == ()
    assert found.facts[0] == "Some cases returned an array, others something that is none."


def test_output_that_changes_from_call_to_call_is_told_so_and_not_diagnosed(diagnosed, unfolded):
    repeat = diagnosed(unfolded, FEW, behaviour=Behaviour(checked=32, repeat=("a", "b"), order=("a",)))
    assert ids(repeat) == [["not-repeatable"]]
    assert repeat.sentence.startswith("The output changes from call to call, so its values were not diagnosed.")
    assert repeat.explanations[0].evidence == "2 of the 32 cases called again gave other bytes."
    assert ids(diagnosed(unfolded, FEW, behaviour=Behaviour(checked=32, order=("a",)))) == [["depends-on-calls"]]


def test_a_shared_buffer_is_named_only_if_nothing_else_is_wrong(diagnosed, right, unfolded):
    shared = Behaviour(checked=32, aliasing=("a",))
    assert ids(diagnosed(right, FEW, behaviour=shared)) == [["shared-buffer"]]
    assert ids(diagnosed(unfolded, FEW, behaviour=shared)) == [["unfolded-key"]]


def test_what_the_target_says_of_itself_is_not_believed_without_evidence(diagnosed, right, of_key):
    said = {"jax_random_seed_offset": "5"}
    moved = diagnosed(lambda s, T, d: right(s + 5, T, d), FEW, **said)
    assert ids(moved) == [["seed-offset"]]
    assert diagnosed(right, FEW, match="exact", **said) is None
    assert ids(diagnosed(lambda s, T, d: of_key(seed_key([s]), T, d), FEW, **said)) == [["unfolded-key"]]


# Counts and corners


def test_four_and_five_mistakes_are_counted_in_words(diagnosed, of_key):
    def block(seed, T, d_model):
        return of_key(seed_key([seed]), 32, d_model).reshape(32, d_model)[1 : T + 1]

    four = diagnosed(lambda s, T, d: block(s, T, d).T.reshape(-1).astype("f8"), "*/d_model=[34]/T=3*")
    assert ids(four) == [["unfolded-key", "rows-from-one", "feature-major", "float64"]]
    assert four.sentence.startswith("Four mistakes together: The seed's key")
    five = diagnosed(lambda s, T, d: block(s, T, d).T.astype("f8"), "*/d_model=[34]/T=3*")
    assert ids(five) == [["unfolded-key", "rows-from-one", "feature-major", "float64", "not-flattened"]]
    assert five.sentence.startswith("Five mistakes together: The seed's key")


def test_two_mistakes_together_are_counted_in_words(diagnosed, unfolded):
    two = diagnosed(lambda s, T, d: unfolded(s, T, d).astype(np.float64), "*/d_model=[34]/T=3*")
    assert ids(two) == [["unfolded-key", "float64"]]
    assert two.sentence.startswith("Two mistakes together: The seed's key")


def test_too_few_digits_are_named_if_nothing_else_is_wrong(diagnosed, right):
    def printed(seed, T, d_model):
        return np.round(right(seed, T, d_model).astype(np.float64), 4).astype(np.float32)

    assert ids(diagnosed(printed, FEW)) == [["too-few-digits"]]
    shaped = diagnosed(lambda s, T, d: printed(s, T, d).reshape(T, d), FEW)
    assert (shaped.sentence, shaped.explanations) == (NOTHING_KNOWN, ())


def test_a_finer_uniform_is_named_if_nothing_else_is_wrong(diagnosed):
    from scipy.special import erfinv

    def finer(seed, T, d_model):
        key = fold_in(seed_key([seed]), 0xBF8B4530)
        words = random_bits(key, 32 * d_model, stream="partitionable")[0].astype(np.float64)
        values = np.sqrt(2) * erfinv((words + 0.5) * 2.0**-31 - 1) * 0.02
        return values.astype(np.float32)[: T * d_model]

    assert ids(diagnosed(finer, "*/d_model=[34]/T=3?")) == [["finer-uniform"]]
    shaped = diagnosed(lambda s, T, d: finer(s, T, d).reshape(T, d), "*/d_model=[34]/T=3?")
    assert (shaped.sentence, shaped.explanations) == (NOTHING_KNOWN, ())


def test_many_cases_are_all_cases(diagnosed, unfolded):
    found = diagnosed(unfolded, "*/d_model=[134]/T=?")
    assert found.explanations[0].evidence.startswith("All 270 cases (3,240 values) are, bit for bit, what")


def test_what_holds_no_values_counts_none(diagnosed, right):
    for function in (lambda s, T, d: [1.0], lambda s, T, d: np.float32(T)):
        (explanation,) = diagnosed(function, FEW).explanations
        assert (explanation.level, explanation.cases, explanation.elements) == ("layout", 162, 0)
    shared = diagnosed(right, FEW, behaviour=Behaviour(checked=32, aliasing=("a", "b")))
    (explanation,) = shared.explanations
    assert (explanation.level, explanation.cases, explanation.elements) == ("behaviour", 2, 0)
    assert explanation.evidence == "In 2 of the 32 cases called again, a later call changed an earlier result."
    unsteady = diagnosed(right, FEW, behaviour=Behaviour(checked=9, repeat=("a",)))
    assert (unsteady.explanations[0].cases, unsteady.explanations[0].elements) == (1, 0)


def test_a_run_in_which_all_cases_raise_is_not_diagnosed(diagnosed):
    def raising(*arguments):
        raise ValueError(arguments)

    assert diagnosed(raising, FEW) is None


def test_a_run_without_failures_is_not_diagnosed(diagnosed, right):
    assert diagnosed(right, FEW) is None


def test_facts_are_told_of_arrays_of_any_length(diagnosed, right):
    wide = diagnosed(lambda s, T, d: right(s, T, d) * np.float32(3.25), "*/d_model=64/T=3?")
    assert "the right draw times 3.25" in wide.facts[0]
    longer = diagnosed(lambda s, T, d: np.append(right(s, T, d) * np.float32(3.25), np.float32([1, 2])), FEW)
    assert (longer.sentence, longer.explanations) == (NOTHING_KNOWN, ())
    some = diagnosed(
        lambda s, T, d: right(s, T, d) if d == 1 else np.append(right(s, T, d) * np.float32(3.25), np.float32([1, 2])),
        FEW,
    )
    assert "Right for d_model = 1 only." in some.facts
    shorter = diagnosed(lambda s, T, d: (right(s, T, d) * np.float32(3.25))[:-1], "*/d_model=[34]/T=[1-5]")
    assert (shorter.sentence, shorter.explanations) == (NOTHING_KNOWN, ())


def test_values_in_a_wrong_layout_are_right_or_wrong_as_others_are(diagnosed, right):
    found = diagnosed(
        lambda s, T, d: (right(s, T, d) * np.float32(1 if d == 1 else 3.25)).reshape(T, d), "*/d_model=[134]/T=[1-5]"
    )
    assert found.facts == (
        "Every case came with shape (T, d_model).",
        "Every element of the failing cases is the right draw times 3.25: the scale differs.",
        "Right for d_model = 1 only.",
    )
    large = diagnosed(
        lambda s, T, d: (right(s, T, d) * np.float32(1 if d == 64 else 3.25)).reshape(T, d), "*/d_model=*[14]/T=[1-5]"
    )
    assert large.facts[-1] == "Right for d_model = 64 only."


def test_the_environment_and_the_order_of_calls_reach_the_search(diagnosed, right):
    kept = {}

    def cached(seed, T, d_model):
        return kept.setdefault((T, d_model), right(seed, T, d_model))

    assert ids(diagnosed(cached, "*/d_model=[34]/T=[1-5]")) == [["cached"]]


def test_a_missing_draw_table_costs_the_diagnosis_only(diagnosed, unfolded, monkeypatch):
    monkeypatch.setattr("posvec.verifier.mistakes.diagnose.draw_table", lambda: None)
    assert diagnosed(unfolded, FEW) is None


def test_a_damaged_draw_table_costs_the_diagnosis_only(diagnosed, unfolded, monkeypatch):
    def damaged(*_):
        raise VectorsError("draws.h5", "is damaged", remedy="copy it again")

    monkeypatch.setattr("posvec.vectors.draws.DrawTable.accept", damaged)
    assert diagnosed(unfolded, FEW) is None
