"""Judges the layout of what a target returned: type, dtype, byte order, rank, shape; apart from its values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import shorten
from posvec.schemas.suite import Suite
from posvec.vectors.ulp import Float32


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
        values: The answer as a flat float32 array, where the layout is right.
        loosely: The answer's values as flat float32 where they are as many as expected but the layout is wrong,
            so that a report can say whether they would have been right.
        came: What came, where the layout is wrong.

    """

    problem: str | None
    values: Float32 | None = None
    loosely: Float32 | None = None
    came: Came | None = None


def judge_layout(answer: Answer, *, suite: Suite, case: Case, length: int) -> Layout:
    """Judge ``answer``, which is an array or something else that was returned; ``length`` is the expected size."""
    wanted = f"a one-dimensional {suite.output.dtype} array of shape ({length},)"
    if answer.kind == "other":
        what = answer.detail or f"an object of type {answer.type_name}"
        problem = f"{shorten(what)} came, not an array: return {wanted} (NumPy, JAX or Torch)"
        return Layout(problem=problem, came=Came(type_name=answer.type_name))
    shape, dtype = answer.shape or (), answer.dtype or "unknown"
    problems = []
    if dtype != "<f4":
        problems.append(_dtype_problem(dtype))
    if shape != (length,):
        problems.append(_shape_problem(shape, length, case))
    if not problems:
        if answer.data is None or len(answer.data) != 4 * length:
            return Layout(problem=f"no bytes came with the array: return {wanted}")
        return Layout(problem=None, values=np.frombuffer(answer.data, "<f4"))
    came = _read_loosely(answer)
    loosely = came.values if came.values is not None and came.values.size == length else None
    return Layout(problem=f"{' and '.join(problems)}: return {wanted}", loosely=loosely, came=came)


def _dtype_problem(dtype: str) -> str:
    if dtype == ">f4":
        return "big-endian float32 came (dtype '>f4'), not the native little-endian"
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = shorten(dtype)
    why = {
        "float64": " (x64 mode, or a NumPy default: add .astype('float32') only if the draws are float32 draws)",
        "bfloat16": " (a parameter of lower precision has other values too)",
        "float16": " (a parameter of lower precision has other values too)",
    }.get(name, "")
    return f"dtype {name} came, not float32{why}"


def _shape_problem(shape: tuple[int, ...], length: int, case: Case) -> str:
    size = 1
    for n in shape:
        size *= n
    T, d_model = case.args.get("T"), case.args.get("d_model")
    if not shape:
        return "a 0-dimensional array came"
    if size == length and shape in ((T, d_model), (1, T, d_model)):
        return f"shape {shape} came, which is not flattened (add .reshape(-1))"
    if size == length and len(shape) > 1:
        return f"shape {shape} came, which has {len(shape)} dimensions instead of 1"
    if len(shape) == 1:
        return f"{shape[0]:,} elements came instead of {length:,} (T * d_model = {T} * {d_model})"
    return f"shape {shape} came, {size:,} elements instead of {length:,}" if len(shape) <= 8 else "a wrong rank came"


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
