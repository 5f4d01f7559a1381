"""The frames that a target's process sends: taken apart and checked. Nothing in them is believed.

A frame is ``<token: 16 bytes> <header length: u32> <data length: u32> <JSON header> <data>``, little endian
(``posvec.verifier.running.child`` writes them).
"""

from __future__ import annotations

import json
import math
import re
import struct
from typing import Any, NamedTuple, cast

from posvec.schemas.answer import Answer, AnswerKind

TOKEN_SIZE = 16
MAX_HEADER = 2**20
MAX_DATA = 64 * 2**20
MAX_TEXT = 32 * 1024
_PREFIX = TOKEN_SIZE + 8
_LENGTHS = struct.Struct("<II")
_PLAIN_DTYPE = re.compile(r"[<>|=][biufc](\d{1,2})")
_KINDS = frozenset({"array", "other", "raised", "not-run"})


class Garbled(ValueError):
    """The channel holds something that no honest child sends."""


class Frame(NamedTuple):
    """One frame: its header, not yet checked, and its data."""

    header: dict[str, Any]
    data: bytes


class FrameReader:
    """Cuts a stream of bytes into frames.

    Attributes:
        problem: What in the stream is no frame; nothing after it is looked at. Empty: all is well.

    """

    def __init__(self, token: bytes) -> None:
        self.problem = ""
        self._token = token
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Take in ``data`` and return the frames that are complete now, up to the first that is none."""
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        start = 0
        try:
            while len(buffer) - start >= _PREFIX and not self.problem:
                if buffer[start : start + TOKEN_SIZE] != self._token:
                    raise Garbled("bytes that are no answer")
                header_size, data_size = _LENGTHS.unpack_from(buffer, start + TOKEN_SIZE)
                if header_size > MAX_HEADER or data_size > MAX_DATA:
                    raise Garbled(f"an answer of {header_size + data_size} bytes")
                middle = start + _PREFIX + header_size
                end = middle + data_size
                if len(buffer) < end:
                    break
                frames.append(Frame(_header(buffer[start + _PREFIX : middle]), bytes(buffer[middle:end])))
                start = end
        except Garbled as error:
            self.problem = str(error)
        del buffer[:start]
        return frames


def _header(text: bytearray) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise Garbled("an answer whose header is no JSON") from None
    if type(header) is not dict:
        raise Garbled("an answer whose header is no JSON object")
    return cast(dict[str, Any], header)


def answer_from(frame: Frame, case_id: str) -> Answer:
    """Return the answer that a frame holds.

    Raises:
        Garbled: A field is missing, of another type, or does not agree with the others.

    """
    header, data = frame
    kind = header.get("k")
    if type(kind) is not str or kind not in _KINDS:
        raise Garbled("an answer of no known kind")
    seconds = header.get("e", 0.0)
    if type(seconds) not in (float, int) or not 0 <= seconds < math.inf:
        raise Garbled("an answer without a time")
    dtype = shape = None
    order = ""
    if kind == "array":
        dtype, shape, order = _text(header, "d"), _shape(header.get("s")), _text(header, "o")
        if header.get("b") is True:
            _check_size(dtype, shape, data)
        elif data:
            raise Garbled("data that the header does not announce")
    elif data:
        raise Garbled("data with an answer that has none")
    elif header.get("s") is not None:
        shape = _shape(header["s"])
    return Answer(
        case_id=case_id,
        kind=cast(AnswerKind, kind),
        type_name=_text(header, "t"),
        dtype=dtype,
        shape=shape,
        data=data if header.get("b") is True else None,
        memory_order=order,
        detail=_text(header, "x"),
        seconds=float(seconds),
    )


def _text(header: dict[str, Any], name: str) -> str:
    value = header.get(name, "")
    if type(value) is not str:
        raise Garbled(f"an answer whose field {name!r} is no text")
    return clean(value)


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """Return untrusted text cut to ``limit`` and without lone surrogates, which no file or terminal takes."""
    if text.isascii() and len(text) <= limit:
        return text
    return text[:limit].encode("utf-8", "backslashreplace").decode("utf-8")


def _shape(value: Any) -> tuple[int, ...]:
    if type(value) is not list or len(value) > 64:
        raise Garbled("an answer whose shape is no list of lengths")
    if any(type(length) is not int or not 0 <= length < 2**63 for length in value):
        raise Garbled("an answer whose shape is no list of lengths")
    return tuple(value)


def _check_size(dtype: str, shape: tuple[int, ...], data: bytes) -> None:
    elements = math.prod(shape)
    plain = _PLAIN_DTYPE.fullmatch(dtype)
    if plain is not None:
        fits = len(data) == elements * int(plain[1])
    elif elements:
        fits = len(data) % elements == 0
    else:
        fits = not data
    if not fits:
        raise Garbled(f"{len(data)} bytes for shape {shape} of dtype {dtype[:40]}")


def environment_from(value: Any) -> dict[str, str | bool | None]:
    """Return the entries of an environment report that have the right types, at most 64, each cut."""
    if type(value) is not dict:
        return {}
    found: dict[str, str | bool | None] = {}
    for name, item in list(value.items())[:64]:
        if type(item) is str:
            found[clean(name, 100)] = clean(item, 2000)
        elif item is None or type(item) is bool:
            found[clean(name, 100)] = item
    return found
