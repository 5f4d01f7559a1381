"""Judges the layout of what a target returned: type, dtype, byte order, rank, shape; apart from its values."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import shorten
from posvec.schemas.suite import DTYPES, Suite
from posvec.vectors.ulp import Float32, Values
from posvec.verifier.text import counted

MAX_RANK = 8
TEXT = ("values", "stdout")
"""What an answer is called that came as numbers only, without dtype and shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came in a wrong layout, so that it can still be told what it is.

    Attributes:
        type_name: Type of what was returned, e.g. ``numpy.ndarray``, ``list``.
        dtype: NumPy's dtype string, or a name such as ``bfloat16``; None for what is no array.
        shape: Shape of the array.
        values: Its numbers as flat float32, as many as came; None where they cannot be read as numbers.
        lossless: Whether no number was rounded to read it as float32.

    """

    type_name: str
    dtype: str | None = None
    shape: tuple[int, ...] = ()
    values: Float32 | None = None
    lossless: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The verdict on one answer's layout.

    Attributes:
        problem: One sentence that says what came and what must come; None where the layout is right.
        values: The answer as a flat array, where the layout is right.
        loosely: The answer's values as flat float32 where they are as many as expected but the layout is wrong,
            so that a report can say whether they would have been right.
        came: What came, where the layout is wrong.

    """

    problem: str | None
    values: Values | None = None
    loosely: Float32 | None = None
    came: Came | None = None


def judge_layout(answer: Answer, *, suite: Suite, case: Case, shape: tuple[int, ...]) -> Layout:
    """Judge ``answer``, which is an array or something else that was returned; ``shape`` is the expected one."""
    due, length, dtype_due = shape, math.prod(shape), DTYPES[suite.output.dtype]
    kind = "a one-dimensional" if len(due) == 1 else "an" if suite.output.dtype.startswith("int") else "a"
    wanted = f"{kind} {suite.output.dtype} array of shape {due}"
    if answer.kind == "other" and answer.from_program:
        return Layout(problem=f"{shorten(answer.detail, 400)}; {counted(length, 'number')} must come")
    if answer.kind == "other":
        what = answer.detail or f"an object of type {answer.type_name}"
        problem = f"{shorten(what)} came, not an array: return {wanted} (NumPy, JAX or Torch)"
        return Layout(problem=problem, came=Came(type_name=answer.type_name))
    shape, dtype = answer.shape or (), answer.dtype or "unknown"
    problems = []
    if answer.from_program and answer.type_name in TEXT and shape == (length,):
        return _of_numbers(_read_loosely(answer).values, dtype_due)
    if dtype != dtype_due:
        problems.append(_dtype_problem(dtype, suite.output.dtype, python=not answer.from_program))
    if shape != due:
        problem = _shape_problem(shape, due, case, python=not answer.from_program)
        problems.append(f"{problem}, and {answer.detail}" if answer.from_program and answer.detail else problem)
    if not problems:
        if answer.data is None or len(answer.data) != 4 * length:
            return Layout(problem=f"no bytes came with the array: return {wanted}")
        return Layout(problem=None, values=np.frombuffer(answer.data, dtype_due))
    came = _read_loosely(answer)
    loosely = came.values if came.values is not None and came.values.size == length else None
    ask = "answer with" if answer.from_program else "return"
    return Layout(problem=f"{' and '.join(problems)}: {ask} {wanted}", loosely=loosely, came=came)


def _of_numbers(values: Float32 | None, dtype: str) -> Layout:
    """Judge a flat list of numbers, of which a program can say no more: its length is right."""
    if values is None or dtype == "<f4":
        return Layout(problem=None, values=values)
    whole = values.astype(np.int32)
    if not np.array_equal(whole, values):
        return Layout(problem="a number that is no 32-bit integer came: answer with integers")
    return Layout(problem=None, values=whole)


def _dtype_problem(dtype: str, due: str, *, python: bool) -> str:
    if dtype == ">f4":
        return "big-endian float32 came (dtype '>f4'), not the native little-endian"
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = shorten(dtype)
    if name.startswith("void"):
        return f"a structured or void dtype came ({dtype}), not float32"
    why = {
        "float64": " (x64 mode, or a NumPy default: add .astype('float32') only if the draws are float32 draws)"
        if python
        else "",
        "bfloat16": " (a parameter of lower precision has other values too)",
        "float16": " (a parameter of lower precision has other values too)",
    }.get(name, "")
    return f"dtype {name} came, not {due}{why if due == 'float32' else ''}"


def _shape_problem(shape: tuple[int, ...], due: tuple[int, ...], case: Case, *, python: bool) -> str:
    size, length = math.prod(shape), math.prod(due)
    if len(due) != 1:
        return f"shape {shape} came, not {due}" if len(shape) <= MAX_RANK else "a wrong rank came"
    T, d_model = case.args.get("T"), case.args.get("d_model")
    if not shape:
        return "a 0-dimensional array came"
    if size == length and shape in ((T, d_model), (1, T, d_model)):
        return f"shape {shape} came, which is not flattened{' (add .reshape(-1))' if python else ''}"
    if size == length and len(shape) > 1:
        return f"shape {shape} came, which has {len(shape)} dimensions instead of 1"
    if len(shape) == 1:
        return f"{shape[0]:,} elements came instead of {length:,} (T * d_model = {T} * {d_model})"
    return (
        f"shape {shape} came, {size:,} elements instead of {length:,}"
        if len(shape) <= MAX_RANK
        else "a wrong rank came"
    )


def _read_loosely(answer: Answer) -> Came:
    """Read the numbers of an array of any shape and any real dtype as flat float32."""
    shape, dtype = answer.shape or (), answer.dtype
    unread = Came(type_name=answer.type_name, dtype=dtype, shape=shape)
    if answer.data is None or dtype is None:
        return unread
    if dtype == "bfloat16":  # the upper half of a float32
        halves = np.frombuffer(answer.data[: len(answer.data) // 2 * 2], "<u2").astype(np.uint32)
        return replace(unread, values=(halves << np.uint32(16)).view(np.float32))
    try:
        kind = np.dtype(dtype)
    except TypeError:
        return unread
    if kind.kind not in "fiu" or len(answer.data) % kind.itemsize:
        return unread
    raw = np.frombuffer(answer.data, kind)
    with np.errstate(all="ignore"):
        values = raw.astype(np.float32)
    return replace(unread, values=values, lossless=bool((values == raw).all()))
