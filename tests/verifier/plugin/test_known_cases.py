import copy

import numpy as np
import pytest

import posvec.verifier
from posvec.schemas.errors import InvalidArgument
from posvec.verifier.known_cases import NotConforming


@pytest.fixture(scope="module")
def case():
    (found,) = posvec.verifier.cases(select="*/seed=0/d_model=4/T=3")
    return found


def test_a_case_has_an_id_its_arguments_and_the_expected_array(case):
    assert (str(case), case.id) == ("learned_pos_embed/seed=0/d_model=4/T=3",) * 2
    assert (case.args, case.seed, case.T, case.d_model) == ({"seed": 0, "T": 3, "d_model": 4}, 0, 3, 4)
    assert (case.expected.shape, case.expected.dtype) == ((12,), np.float32)
    case.expected[:] = 0  # a copy
    case.check(case.expected)
    assert copy.copy(case).id == case.id
    with pytest.raises(AttributeError, match="has no argument 'D': it has seed, T, d_model"):
        _ = case.D


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda right: right.reshape(3, 4), "not flattened"),
        (lambda right: right.tolist(), "list of 12 float came, not an array"),
        (lambda right: right.astype(np.float64), "dtype float64 came, not float32"),
        (lambda right: right.astype(">f4"), "big-endian"),
        (lambda right: right[:-1], "11 elements came instead of 12"),
        (lambda right: np.where(np.arange(12) == 5, np.float32("nan"), right), "got       nan"),
        (lambda right: right * np.float32(2), "One of 2 mistakes, which these cases cannot tell apart: stddev;"),
        (lambda _: None, "NoneType came, not an array"),
    ],
)
def test_what_a_wrong_result_is_is_said(case, change, says):
    with pytest.raises(NotConforming) as caught:
        case.check(change(case.expected))
    said = " ".join(str(caught.value).split())
    assert " ".join(says.split()) in said
    assert said.startswith("NOT CONFORMING: 1 of 1 cases fail")


def test_a_rounding_of_its_own_is_equivalent_and_not_exact(case):
    (close,) = posvec.verifier.cases(select=case.id, match="equivalent")
    moved = np.nextafter(case.expected, np.float32(1))
    close.check(moved)
    with pytest.raises(NotConforming, match="OTHER ROUNDING"):
        case.check(moved)


def test_a_call_is_judged_with_what_it_raises(case):
    case.check_call(lambda seed, T, d_model: case.expected)
    with pytest.raises(NotConforming, match="ValueError: no seed") as caught:
        case.check_call(raising)
    assert isinstance(caught.value.__cause__, ValueError)


def raising(*_):
    raise ValueError("no seed")


def test_a_function_that_must_raise_is_called_for_that():
    must = next(c for c in posvec.verifier.cases(suite="learned_pos_embed_decode") if c.must_raise)
    assert must.expected is None
    must.check_call(lambda *given: 1 / 0)
    with pytest.raises(NotConforming, match="must raise"):
        must.check_call(lambda *given: given[0])


def test_the_quick_cases_are_those_of_the_command():
    quick = posvec.verifier.cases(quick=True)
    assert (len(quick), quick[0].id) == (92, "learned_pos_embed/seed=0/d_model=1/T=1")


@pytest.mark.parametrize("wrong", [{"stream": "new"}, {"match": "close"}, {"select": "*/T=99"}])
def test_a_wrong_argument_is_one_sentence(wrong):
    with pytest.raises(InvalidArgument):
        posvec.verifier.cases(**wrong)


def test_an_error_has_a_short_name_lines_that_fit_and_no_frame_of_posvec(case):
    assert f"{NotConforming.__module__}.{NotConforming.__qualname__}" == "posvec.verifier.NotConforming"
    assert posvec.verifier.NotConforming is NotConforming
    with pytest.raises(NotConforming) as raised:
        case.check_call(raising)
    with pytest.raises(NotConforming, match="takes 0 positional") as called_wrongly:
        case.check_call(lambda: None)
    with pytest.raises(NotConforming) as wrong:
        case.check(-case.expected)
    for error in (raised, called_wrongly, wrong):
        assert "verifier/known_cases.py" not in str(error.value)
        assert max(map(len, str(error.value).splitlines())) <= 80 - len("E       ")
    assert called_wrongly.value.__suppress_context__
