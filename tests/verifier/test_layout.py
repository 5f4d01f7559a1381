from dataclasses import replace

import numpy as np
import pytest

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.vectors.suites import LEARNED_POS_EMBED
from posvec.verifier.layout import judge_layout

CASE = Case(id="learned_pos_embed/seed=0/d_model=4/T=3", args={"seed": 0, "T": 3, "d_model": 4})


WHOLE = replace(LEARNED_POS_EMBED, output=replace(LEARNED_POS_EMBED.output, dtype="int32"))


def judge(array=None, *, suite=LEARNED_POS_EMBED, due=(12,), **changes):
    if array is not None:
        changes = {"dtype": array.dtype.str, "shape": array.shape, "data": array.tobytes(), **changes}
    answer = Answer(**{"case_id": CASE.id, "kind": "array", "type_name": "numpy.ndarray", **changes})
    return judge_layout(answer, suite=suite, case=CASE, shape=due)


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


@pytest.mark.parametrize(
    ("array", "lossless"),
    [
        (np.linspace(0, 1, 12, dtype="<f4").reshape(3, 4), True),
        (np.linspace(0, 1, 7, dtype="<f4"), True),
        (np.float64([0.5, 0.25]), True),
        (np.float64([0.1, 0.25]), False),
        (np.linspace(0, 1, 12, dtype=">f4"), True),
        (np.linspace(0, 1, 12, dtype="<f2"), True),
        (np.arange(12), True),
        (np.arange(12, dtype=np.uint8), True),
        (np.array([2**24 + 1]), False),
        (np.float32(3).reshape(()).astype("<f4"), True),
    ],
)
def test_what_came_in_a_wrong_layout_is_read_as_far_as_it_goes(array, lossless):
    came = judge(array).came
    assert (came.type_name, came.dtype, came.shape) == ("numpy.ndarray", array.dtype.str, array.shape)
    assert came.values.tobytes() == array.astype(np.float32).tobytes()
    assert came.lossless is lossless


def test_bfloat16_is_read_as_the_upper_half_of_a_float32():
    upper = np.array([0x3F80, 0xBF00, 0x4040, 0, 0x3F00], "<u2").tobytes()
    came = judge(dtype="bfloat16", shape=(5,), data=upper).came
    assert came.values.tolist() == [1.0, -0.5, 3.0, 0.0, 0.5]
    assert came.lossless is True
    for rest in (b"", b"x"):
        assert judge(dtype="bfloat16", shape=(5,), data=upper + rest).came.values.size == 5


@pytest.mark.parametrize(
    ("dtype", "data"),
    [("<c8", bytes(96)), ("|b1", bytes(12)), ("float8", bytes(12)), ("<f8", bytes(95)), ("<f8", None)],
)
def test_what_holds_no_numbers_to_read_is_kept_unread(dtype, data):
    came = judge(dtype=dtype, shape=(12,), data=data).came
    assert (came.dtype, came.shape, came.values) == (dtype, (12,), None)


def test_what_is_no_array_is_kept_by_its_type_and_a_right_layout_is_not_kept():
    other = judge(kind="other", type_name="list", detail="a list of 12 float")
    assert (other.came.type_name, other.came.dtype, other.came.values) == ("list", None, None)
    assert judge(np.zeros(12, "<f4")).came is None


def test_only_as_many_values_as_are_due_are_taken_for_them():
    assert judge(np.zeros((3, 4), "<f8")).loosely.size == 12
    assert [judge(np.zeros(n, "<f8")).loosely for n in (11, 13)] == [None, None]


def test_each_wrong_layout_is_said_in_full():
    wanted = "return a one-dimensional float32 array of shape (12,)"
    assert {
        "list": judge(kind="other", type_name="list").problem,
        "f8": judge(np.zeros(12, "<f8")).problem,
        "f2": judge(np.zeros(12, "<f2")).problem,
        "bf16": judge(dtype="bfloat16", shape=(12,), data=bytes(24)).problem,
        "?": judge(dtype=None, shape=(12,), data=bytes(48)).problem,
        "one": judge(np.zeros(1, "<f4")).problem,
        "thousands": judge(np.zeros(2000, "<f4")).problem,
        "rank 3": judge(np.zeros((3, 2, 2), "<f4")).problem,
        "rank 2": judge(np.zeros((3, 1000), "<f4")).problem,
        "rank 8": judge(np.zeros((1,) * 8, "<f4")).problem,
        "rank 9": judge(np.zeros((1,) * 9, "<f4")).problem,
        "no bytes": judge(np.zeros(12, "<f4"), data=bytes(47)).problem,
    } == {
        "list": f"an object of type list came, not an array: {wanted} (NumPy, JAX or Torch)",
        "f8": "dtype float64 came, not float32 (x64 mode, or a NumPy default: add .astype('float32') only if the draws "
        f"are float32 draws): {wanted}",
        "f2": f"dtype float16 came, not float32 (a parameter of lower precision has other values too): {wanted}",
        "bf16": f"dtype bfloat16 came, not float32 (a parameter of lower precision has other values too): {wanted}",
        "?": f"dtype unknown came, not float32: {wanted}",
        "one": f"1 elements came instead of 12 (T * d_model = 3 * 4): {wanted}",
        "thousands": f"2,000 elements came instead of 12 (T * d_model = 3 * 4): {wanted}",
        "rank 3": f"shape (3, 2, 2) came, which has 3 dimensions instead of 1: {wanted}",
        "rank 2": f"shape (3, 1000) came, 3,000 elements instead of 12: {wanted}",
        "rank 8": f"shape (1, 1, 1, 1, 1, 1, 1, 1) came, 1 elements instead of 12: {wanted}",
        "rank 9": f"a wrong rank came: {wanted}",
        "no bytes": f"no bytes came with the array: {wanted}",
    }


@pytest.mark.parametrize(
    ("array", "suite", "due", "problem"),
    [
        (np.zeros((3, 4), "<f4"), LEARNED_POS_EMBED, (3, 4), None),
        (np.zeros((), "<f4"), LEARNED_POS_EMBED, (), None),
        (np.zeros(12, "<i4"), WHOLE, (12,), None),
        (
            np.zeros(12, "<f4"),
            LEARNED_POS_EMBED,
            (3, 4),
            "shape (12,) came, not (3, 4): return a float32 array of shape (3, 4)",
        ),
        (np.zeros(2, "<f4"), LEARNED_POS_EMBED, (), "shape (2,) came, not (): return a float32 array of shape ()"),
        (
            np.zeros((1,) * 8, "<f4"),
            LEARNED_POS_EMBED,
            (1, 1),
            "shape (1, 1, 1, 1, 1, 1, 1, 1) came, not (1, 1): return a float32 array of shape (1, 1)",
        ),
        (
            np.zeros((1,) * 9, "<f4"),
            LEARNED_POS_EMBED,
            (1, 1),
            "a wrong rank came: return a float32 array of shape (1, 1)",
        ),
        (
            np.zeros((3, 4), "<f8"),
            WHOLE,
            (3, 4),
            "dtype float64 came, not int32: return an int32 array of shape (3, 4)",
        ),
        (
            np.zeros(12, "<f8"),
            WHOLE,
            (12,),
            "dtype float64 came, not int32: return a one-dimensional int32 array of shape (12,)",
        ),
    ],
)
def test_other_suites_ask_for_other_shapes_and_dtypes(array, suite, due, problem):
    layout = judge(array, suite=suite, due=due)
    assert layout.problem == problem
    assert (layout.values is None) == (problem is not None)


def test_numbers_of_a_program_are_taken_if_they_are_as_many_as_are_due():
    half = np.full(12, 0.5)
    for name in ("values", "stdout"):
        for due in ((12,), (3, 4)):
            taken = judge(half, from_program=True, type_name=name, due=due)
            assert (taken.problem, taken.values.tobytes()) == (None, half.astype(np.float32).tobytes())
        for wrong in (half[:11], np.full(13, 0.5), half.reshape(4, 3)):
            assert judge(wrong, from_program=True, type_name=name).problem is not None
    assert judge(half, from_program=True, type_name="array").problem.startswith("dtype float64 came")
    assert judge(half, type_name="values").problem.startswith("dtype float64 came")


def test_numbers_of_a_program_are_whole_where_integers_are_due():
    whole = judge(np.arange(12.0), suite=WHOLE, from_program=True, type_name="values")
    assert (whole.problem, whole.values.dtype, whole.values.tolist()) == (None, np.int32, list(range(12)))
    broken = judge(np.arange(12.0) / 2, suite=WHOLE, from_program=True, type_name="values")
    assert broken.problem == "a number that is no 32-bit integer came: answer with integers"
    assert broken.values is None


def test_what_is_wrong_with_an_answer_of_a_program_is_said_once_and_cut():
    other = judge(kind="other", from_program=True, detail="x" * 401)
    assert other.problem == f"{'x' * 400}…; 12 numbers must come"
    wanted = "answer with a one-dimensional float32 array of shape (12,)"
    short = judge(np.zeros(2, "<f4"), from_program=True)
    assert short.problem == f"2 elements came instead of 12 (T * d_model = 3 * 4): {wanted}"
    detailed = judge(np.zeros((3, 4), "<f4"), detail="told by a callable")
    assert "told by" not in detailed.problem


def test_large_arrays_are_judged_as_small_ones_are():
    case = Case(id="learned_pos_embed/seed=0/d_model=64/T=32", args={"seed": 0, "T": 32, "d_model": 64})

    def of(array):
        answer = Answer(case_id=case.id, kind="array", dtype=array.dtype.str, shape=array.shape, data=array.tobytes())
        return judge_layout(answer, suite=LEARNED_POS_EMBED, case=case, shape=(2048,))

    assert of(np.zeros(2048, "<f4")).values.size == 2048
    assert of(np.zeros((32, 64), "<f4")).loosely.size == 2048
    assert "not flattened" in of(np.zeros((32, 64), "<f4")).problem
    assert "3 dimensions instead of 1" in of(np.zeros((32, 8, 8), "<f4")).problem


@pytest.mark.parametrize("size", [0, 44, 47, 49, 52])
def test_bytes_that_do_not_belong_to_the_shape_are_not_taken(size):
    assert judge(dtype="<f4", shape=(12,), data=bytes(size)).problem.startswith("no bytes came with the array")
