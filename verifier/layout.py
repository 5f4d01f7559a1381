"""Judges the layout of what a target returned: type, dtype, byte order, rank, shape; apart from its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import shorten
from posvec.schemas.suite import Suite
from posvec.vectors.ulp import Float32
from posvec.verifier.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The verdict on one answer's layout.

    Attributes:
        problem: One sentence that says what came and what must come; None where the layout is right.
        values: The answer as a flat float32 array, where the layout is right.
        loosely: The answer's values as flat float32 where they are as many as expected but the layout is wrong,
            so that a report can say whether they would have been right.

    """

    problem: str | None
    values: Float32 | None = None
    loosely: Float32 | None = None


def judge_layout(answer: Answer, *, suite: Suite, case: Case, length: int) -> Layout:
    """Judge ``answer``, which is an array or something else that was returned; ``length`` is the expected size."""
    wanted = f"a one-dimensional {suite.output.dtype} array of shape ({length},)"
    if answer.kind == "other" and answer.from_program:
        return Layout(problem=f"{shorten(answer.detail, 400)}; {counted(length, 'number')} must come")
    if answer.kind == "other":
        what = answer.detail or f"an object of type {answer.type_name}"
        return Layout(problem=f"{shorten(what)} came, not an array: return {wanted} (NumPy, JAX or Torch)")
    shape, dtype = answer.shape or (), answer.dtype or "?"
    values = _loose_values(answer, length)
    problems = []
    if dtype != "<f4":
        problems.append(_dtype_problem(dtype, python=not answer.from_program))
    if shape != (length,):
        problem = _shape_problem(shape, length, case, python=not answer.from_program)
        problems.append(f"{problem}, and {answer.detail}" if answer.from_program and answer.detail else problem)
    if not problems:
        if answer.data is None or len(answer.data) != 4 * length:
            return Layout(problem=f"no bytes came with the array: return {wanted}")
        return Layout(problem=None, values=np.frombuffer(answer.data, "<f4"))
    ask = "answer with" if answer.from_program else "return"
    return Layout(problem=f"{' and '.join(problems)}: {ask} {wanted}", loosely=values)


def _dtype_problem(dtype: str, *, python: bool) -> str:
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
    return f"dtype {name} came, not float32{why}"


def _shape_problem(shape: tuple[int, ...], length: int, case: Case, *, python: bool) -> str:
    size = 1
    for n in shape:
        size *= n
    T, d_model = case.args.get("T"), case.args.get("d_model")
    if not shape:
        return "a 0-dimensional array came"
    if size == length and shape in ((T, d_model), (1, T, d_model)):
        return f"shape {shape} came, which is not flattened{' (add .reshape(-1))' if python else ''}"
    if size == length and len(shape) > 1:
        return f"shape {shape} came, which has {len(shape)} dimensions instead of 1"
    if len(shape) == 1:
        return f"{shape[0]:,} elements came instead of {length:,} (T * d_model = {T} * {d_model})"
    return f"shape {shape} came, {size:,} elements instead of {length:,}" if len(shape) <= 8 else "a wrong rank came"


def _loose_values(answer: Answer, length: int) -> Float32 | None:
    if answer.data is None or answer.dtype is None:
        return None
    try:
        dtype = np.dtype(answer.dtype)
    except TypeError:
        return None
    if dtype.kind not in "f" or len(answer.data) != dtype.itemsize * length:
        return None
    with np.errstate(all="ignore"):
        return np.frombuffer(answer.data, dtype).astype(np.float32)
