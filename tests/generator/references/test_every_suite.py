"""What holds of every suite of cases."""

from __future__ import annotations

import inspect
import warnings

import jax
import numpy as np
import pytest

from posvec.generator.case_generate import case_id
from posvec.generator.suites import CASE_SUITES
from posvec.vectors.case_golden import open_golden
from posvec.vectors.files import locate
from tests.generator.references.conftest import accepts, copied, golden, refusals, suite_of

NAMES = tuple(CASE_SUITES)
MISTAKES = [(name, mistake) for name in NAMES for mistake in suite_of(name).mistakes]


@pytest.mark.parametrize("name", NAMES)
def test_the_signature_is_the_suites(name: str):
    suite = suite_of(name)
    assert suite.suite.name == suite.suite.function == suite.reference.__name__ == name
    parameters = tuple(parameter.name for parameter in suite.suite.parameters)
    for function in (suite.reference, *suite.mistakes.values()):
        assert tuple(inspect.signature(function).parameters) == parameters
    for case, _ in golden(name):
        assert tuple(case.args) == parameters


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_file_holds_these_cases_and_values(name: str):
    """`make vectors` makes it anew."""
    shipped = open_golden(locate(None, None, suite=name))
    assert shipped.suite == suite_of(name).suite
    held = {case.id: case for case in shipped.cases()}
    assert list(held) == [case_id(suite_of(name), case.axes) for case, _ in golden(name)]
    for case, expected in golden(name):
        one = held[case_id(suite_of(name), case.axes)]
        assert all(np.asarray(one.args[key]).tobytes() == np.asarray(case.args[key]).tobytes() for key in case.args)
        assert one.must_raise == (expected is None)
        if expected is not None:
            known = shipped.known(one)
            assert (known.shape, known.expected.tobytes()) == (expected.values.shape, expected.values.tobytes())
            for bound, stored in ((expected.below, known.accept_below), (expected.above, known.accept_above)):
                assert np.array_equal(np.zeros(known.shape) if bound is None else bound, stored.reshape(known.shape))


@pytest.mark.parametrize("name", NAMES)
def test_arguments_have_the_kinds_and_bounds_that_the_suite_states(name: str):
    for case, _ in golden(name):
        for parameter in suite_of(name).suite.parameters:
            value = case.args[parameter.name]
            if parameter.kind == "array":
                assert (value.dtype.name, value.ndim) == (
                    parameter.dtype,
                    parameter.shape.count(",") + 1 - (",)" in parameter.shape),
                )
                assert value.flags.c_contiguous
            elif parameter.kind == "int":
                assert type(value) is int
                assert parameter.minimum <= value <= parameter.maximum
            else:
                assert type(value) is float


@pytest.mark.parametrize("name", NAMES)
def test_one_letter_is_one_length_in_a_case(name: str):
    suite = suite_of(name).suite
    for case, expected in golden(name):
        lengths = {key: value for key, value in case.args.items() if isinstance(value, int)}
        lengths |= {key: value for key, value in case.axes.items() if isinstance(value, int)}
        arrays = [(parameter.shape, case.args[parameter.name]) for parameter in suite.parameters if parameter.shape]
        if expected is not None:
            arrays.append((suite.output.shape, expected.values))
        for shape, array in arrays:
            assert tuple(eval(length, {}, lengths) for length in shape.strip("()").split(",") if length) == array.shape  # noqa: S307 - the suite's own letters


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_are_the_same_every_time_and_each_has_a_name_of_its_own(name: str):
    first, second = list(suite_of(name).cases()), list(suite_of(name).cases())
    assert [case.axes for case in first] == [case.axes for case in second]
    for one, other in zip(first, second, strict=True):
        for key in one.args:
            assert np.asarray(one.args[key]).tobytes() == np.asarray(other.args[key]).tobytes()
    assert len({tuple(case.axes.items()) for case in first}) == len(first)
    assert 40 <= len(first) <= 200


@pytest.mark.parametrize("name", NAMES)
def test_a_case_that_must_raise_has_a_neighbour_that_must_not(name: str):
    allowed = [case.axes for case, expected in golden(name) if expected is not None]
    for case, expected in golden(name):
        assert (case.neighbour is not None) == case.must_raise == (expected is None)
        if case.neighbour is not None:
            assert list(case.neighbour) == list(case.axes)
            assert case.neighbour in allowed


@pytest.mark.parametrize("name", NAMES)
def test_no_value_is_subnormal_or_a_nan_and_no_array_is_constant(name: str):
    for case, expected in golden(name):
        arrays = [value for value in case.args.values() if isinstance(value, np.ndarray)]
        for array in [*arrays, *([] if expected is None else [expected.values])]:
            if array.dtype == np.float32:
                assert np.isfinite(array).all()
                assert not ((array != 0) & (np.abs(array) < np.finfo(np.float32).tiny)).any()
        for array in arrays:
            assert array.size < 3 or array.min() < array.max()


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_conforms(name: str):
    assert [case.axes for case in refusals(name, suite_of(name).reference)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if suite_of(name).suite.default_match == "exact"])
def test_the_reference_returns_the_same_bytes_eager_and_compiled(name: str):
    suite = suite_of(name)
    static = [parameter.name for parameter in suite.suite.parameters if parameter.kind != "array"]
    compiled = jax.jit(suite.reference, static_argnames=static)
    for case, expected in list(golden(name))[::3]:
        if expected is not None:
            assert accepts(expected, compiled(**copied(case)), "exact"), case.axes
            with jax.disable_jit():
                assert accepts(expected, suite.reference(**copied(case)), "exact"), case.axes


@pytest.mark.parametrize(("name", "mistake"), MISTAKES)
def test_a_known_mistake_is_refused(name: str, mistake: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a wrong angle may overflow
        refused = list(refusals(name, suite_of(name).mistakes[mistake]))
    assert refused


@pytest.mark.parametrize("name", NAMES)
def test_no_two_mistakes_return_the_same(name: str):
    returned: dict[bytes, str] = {}
    for mistake, function in suite_of(name).mistakes.items():
        answers = []
        for case, _ in golden(name):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)
                    answer = np.asarray(function(**copied(case)))
                answers.append(str((answer.dtype, answer.shape)).encode() + answer.tobytes())
            except Exception:
                answers.append(b"raised")
        assert returned.setdefault(b"|".join(answers), mistake) == mistake
