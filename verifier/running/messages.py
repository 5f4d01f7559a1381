"""What a program answered, as an array or as what is wrong with it. Nothing in it is believed."""

from __future__ import annotations

import binascii
import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from posvec.schemas import protocol
from posvec.schemas.answer import Answer
from posvec.schemas.errors import shorten
from posvec.vectors.ulp import Float32
from posvec.verifier.running.frames import MAX_DATA, clean

_KINDS = [
    *("float16", "float32", "float64", "complex64", "complex128", "bool", "bfloat16"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]
_SIZES = {name: 2 if name == "bfloat16" else np.dtype(name).itemsize for name in _KINDS}
_DTYPES = {name: name if name == "bfloat16" else np.dtype(name).newbyteorder("<").str for name in _KINDS}
_MAX_RANK = 64

Texts = Callable[[], Sequence[str]]


class _Unfit(ValueError):
    """An answer that is no array of numbers; the message says what it is instead."""


def answer_from_message(message: Mapping[str, Any], line: bytes, case_id: str, *, seconds: float) -> Answer:
    """Return the answer in a message that has the right id; ``line`` is its text, for numbers as they are written."""
    keys = frozenset(message) - {"id"}
    try:
        if keys not in protocol.ANSWERS:
            raise _Unfit(_wrong_keys(keys))
        if "error" in message:
            if type(message["error"]) is not str:
                raise _Unfit(f"error is {_kind(message['error'])}, not a text")
            detail = clean(message["error"])
            return Answer(case_id=case_id, kind="raised", detail=detail, seconds=seconds, from_program=True)
        if "data" in message:
            return _from_data(message, case_id, seconds)
        return array(case_id, "values", float32_of(message["values"], line), seconds=seconds)
    except _Unfit as error:
        return other(case_id, str(error), seconds=seconds)


def answer_from_text(text: bytes, case_id: str, *, seconds: float) -> Answer:
    """Return the answer that a program printed: numbers parted by white space, or one JSON list."""
    try:
        values = _of_json(text) if text.lstrip().startswith(b"[") else _of_words(text)
    except _Unfit as error:
        return other(case_id, str(error), seconds=seconds)
    return array(case_id, "stdout", values, seconds=seconds)


def array(case_id: str, where: str, values: Float32, *, seconds: float) -> Answer:
    """Return the answer that is this flat array."""
    return Answer(
        case_id=case_id,
        kind="array",
        type_name=where,
        dtype="<f4",
        shape=values.shape,
        data=values.tobytes(),
        memory_order="C",
        seconds=seconds,
        from_program=True,
    )


def other(case_id: str, what: str, *, seconds: float) -> Answer:
    """Return the answer that is no array, for the reason ``what``."""
    return Answer(case_id=case_id, kind="other", detail=what, seconds=seconds, from_program=True)


# --- Numbers as text ---------------------------------------------------------------------------------------


def float32_of(values: object, line: bytes) -> Float32:
    """Return a flat JSON list as float32, each number rounded once; ``line`` is the text that it was read from."""
    if type(values) is not list:
        raise _Unfit(f"values is {_kind(values)}, not a list of numbers")
    if not set(map(type, values)) <= {float, int}:
        _refuse(values)
    return _rounded([_double(value) for value in values] if int in map(type, values) else values, lambda: _texts(line))


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # copysign, too, would make a double of it


def _refuse(values: Sequence[object]) -> NoReturn:
    index = next(i for i, value in enumerate(values) if type(value) not in (float, int))
    value = values[index]
    if type(value) is list:
        raise _Unfit(f"values is a list of lists (values[{index}] is {_kind(value)}), not flat")
    hint = " (JSON.stringify writes NaN and Infinity so)" if value is None else ""
    raise _Unfit(f"values[{index}] is {_kind(value)}{hint}, not a number")


def _of_json(text: bytes) -> Float32:
    line = b'{"values":' + b" ".join(text.split()) + b"}"
    message = protocol.parse_object(line)
    if message is None:
        raise _Unfit(
            f"what it printed begins like a JSON list and is none: {_shown(text)} (print numbers alone, or with commas)"
        )
    return float32_of(message.get("values"), line)


def _of_words(text: bytes) -> Float32:
    words = text.split()
    for index, word in enumerate(words):
        if not _is_number(word):
            raise _Unfit(f"word {index + 1:,} of what it printed is no number: {_shown(word)}{_advice(word)}")
    return _rounded([float(word) for word in words], lambda: [word.decode() for word in words])


def _advice(word: bytes) -> str:
    """Return what to do about a word that is no number, if it is one of the classics."""
    if word.startswith(b'{"protocol"'):
        return " (it speaks the protocol: leave out --per-case)"
    if word.startswith(b"\xef\xbb\xbf"):
        return " (a byte order mark: write UTF-8 without one)"
    return " (part numbers by white space alone)" if b"," in word else ""


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word


def _rounded(doubles: Sequence[float], texts: Texts) -> Float32:
    """Round doubles to float32 as if each had been rounded from its text at once.

    A double that lies halfway between two float32 may itself have been rounded: then the text decides.
    ``texts()`` returns the numbers as they were written.
    """
    wide = np.array(doubles, np.float64)
    with np.errstate(over="ignore"):
        values = wide.astype(np.float32)
    # The low 28 bits are zero in every double halfway between two float32, subnormal ones included.
    halfway = ((wide.view(np.uint64) & np.uint64(0x0FFFFFFF)) == 0) & (values != wide) & np.isfinite(wide)
    for index in np.flatnonzero(halfway).tolist():
        values[index] = _nearest(texts()[index], float(wide[index]), values[index])
    for index in np.flatnonzero(np.isinf(values)).tolist():
        text = texts()[index]
        if any(character.isdigit() for character in text):
            raise _Unfit(f"number {index + 1:,} is {shorten(text, 40)}, which is beyond the largest float32")
    return values


def _nearest(text: str, wide: float, rounded: np.float32) -> np.float32:
    """Return the float32 nearest to ``text``, given the double nearest to it and the float32 nearest to that."""
    neighbour = np.nextafter(rounded, np.float32(math.copysign(math.inf, wide - float(rounded))))
    low, high = sorted((rounded, neighbour))
    if not math.isinf(high) and not math.isinf(low) and wide - float(low) != float(high) - wide:
        return rounded
    exact, middle = Decimal(text), Decimal(wide)  # comparing Decimals is exact, however long they are
    return rounded if exact == middle else high if exact > middle else low


def _texts(line: bytes) -> list[str]:
    values = protocol.parse_texts(line)["values"]
    return [text for text in values if type(text) is str]


# --- Numbers as bytes --------------------------------------------------------------------------------------


def _from_data(message: Mapping[str, Any], case_id: str, seconds: float) -> Answer:
    text, dtype, shape = message["data"], message["dtype"], message["shape"]
    if type(text) is not str:
        raise _Unfit(f"data is {_kind(text)}, not a text in base64")
    if type(dtype) is not str or dtype not in _DTYPES:
        shown = repr(shorten(clean(dtype), 40)) if type(dtype) is str else _kind(dtype)
        raise _Unfit(f"{shown} is no dtype (float32, float64, int32 and so on are)")
    if type(shape) is not list or len(shape) > _MAX_RANK or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise _Unfit(f"shape is {shorten(repr(shape), 60)}, not a list of lengths")
    if len(text) > MAX_DATA * 4 // 3 + 4:
        raise _Unfit(f"data has {len(text):,} characters, more than the 64 MiB that are read")
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise _Unfit(f"data is not base64: {str(error).lower()}") from None
    size = math.prod(shape) * _SIZES[dtype]
    if len(data) != size:
        raise _Unfit(f"data holds {len(data):,} bytes, and {dtype} of shape {shape} takes {size:,}")
    return Answer(
        case_id=case_id,
        kind="array",
        type_name="data",
        dtype=_DTYPES[dtype],
        shape=tuple(shape),
        data=data,
        memory_order="C",
        seconds=seconds,
        from_program=True,
    )


# --- What else came ----------------------------------------------------------------------------------------


def _wrong_keys(keys: frozenset[str]) -> str:
    known = frozenset().union(*protocol.ANSWERS)
    if extra := sorted(keys - known):
        return f"the answer has the unknown key {shorten(clean(extra[0]), 40)!r}"
    if not keys:
        return "the answer has an id and nothing else"
    if "values" in keys and "data" in keys:
        return "the answer has both values and data"
    missing = sorted(protocol.ANSWERS[1] - keys)
    if keys <= protocol.ANSWERS[1]:
        return f"the answer has {' and '.join(sorted(keys))} without {' and '.join(missing)}"
    return f"the answer has {', '.join(sorted(keys))} at once"


def _kind(value: object) -> str:
    if type(value) is list:
        return f"a list of {len(value)}"
    if type(value) is str:
        return f"the text {shorten(clean(value), 40)!r}"
    if type(value) is dict:
        return "an object"
    return json.dumps(value)[:40] if value is None or type(value) in (bool, int, float) else "something else"


def _shown(text: bytes) -> str:
    return f"'{shorten(clean(text[:200].decode('utf-8', 'backslashreplace').strip(), 200), 80)}'"
