import numpy as np
import pytest

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.vectors.suites import LEARNED_POS_EMBED
from posvec.verifier.layout import judge_layout

CASE = Case(id="learned_pos_embed/seed=0/d_model=4/T=3", args={"seed": 0, "T": 3, "d_model": 4})


def judge(array=None, **changes):
    if array is not None:
        changes = {"dtype": array.dtype.str, "shape": array.shape, "data": array.tobytes(), **changes}
    answer = Answer(**{"case_id": CASE.id, "kind": "array", "type_name": "numpy.ndarray", **changes})
    return judge_layout(answer, suite=LEARNED_POS_EMBED, case=CASE, length=12)


def test_a_flat_float32_array_of_the_right_length_is_taken_as_it_is():
    values = np.arange(12, dtype="<f4")
    layout = judge(values)
    assert layout.problem is None
    assert layout.values.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.zeros((3, 4), "<f4"), r"shape \(3, 4\) came, which is not flattened \(add \.reshape\(-1\)\)"),
        (np.zeros((1, 3, 4), "<f4"), r"shape \(1, 3, 4\) came, which is not flattened"),
        (np.zeros((12, 1), "<f4"), r"shape \(12, 1\) came, which has 2 dimensions instead of 1"),
        (np.zeros(11, "<f4"), r"11 elements came instead of 12 \(T \* d_model = 3 \* 4\)"),
        (np.zeros(128, "<f4"), r"128 elements came instead of 12"),
        (np.zeros((), "<f4"), "a 0-dimensional array came"),
        (np.zeros(12, "<f8"), "dtype float64 came, not float32"),
        (np.zeros(12, ">f4"), "big-endian float32 came"),
        (np.zeros(12, "<f2"), "dtype float16 came, not float32"),
        (np.zeros(12, "<i4"), "dtype int32 came, not float32"),
        (np.zeros(12, "<c8"), "dtype complex64 came, not float32"),
        (np.zeros(12, "f4,i4"), r"a structured or void dtype came \(\|V8\), not float32"),
        (np.zeros((3, 4), "<f8"), r"dtype float64 came.* and shape \(3, 4\) came"),
    ],
)
def test_each_wrong_layout_is_said_with_what_must_come(array, says):
    layout = judge(array)
    assert layout.values is None
    import re

    assert re.search(says, layout.problem)
    assert layout.problem.endswith("return a one-dimensional float32 array of shape (12,)")


def test_a_program_that_printed_nothing_but_to_standard_error_is_told_so():
    layout = judge(np.zeros(0, "<f4"), from_program=True, detail="it wrote to standard error alone")
    assert layout.problem.startswith(
        "0 elements came instead of 12 (T * d_model = 3 * 4), and it wrote to standard error"
    )


def test_something_that_is_no_array_is_said_by_what_it_is():
    layout = judge(kind="other", type_name="list", detail="a list of 12 float")
    assert layout.problem.startswith("a list of 12 float came, not an array: return a one-dimensional float32 array")


def test_a_dtype_that_numpy_does_not_know_is_said_too():
    layout = judge(dtype="bfloat16", shape=(12,), data=bytes(24))
    assert "dtype bfloat16 came, not float32" in layout.problem


def test_values_in_a_wrong_layout_are_kept_apart_so_that_they_can_still_be_compared():
    values = np.linspace(0, 1, 12, dtype="<f4")
    assert judge(values.reshape(3, 4)).loosely.tobytes() == values.tobytes()
    assert judge(values.astype("<f8")).loosely.tobytes() == values.tobytes()
    assert judge(values[:11]).loosely is None


def test_an_array_whose_bytes_did_not_come_is_no_right_layout():
    assert judge(dtype="<f4", shape=(12,), data=None).problem is not None
    assert judge(dtype="<f4", shape=(12,), data=bytes(40)).problem is not None
