"""The messages between posvec and a program: what posvec says, and what it reads of what a program says.

``protocol.schema.json`` describes each, docs/protocol.md explains them. One message is one line of JSON.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

VERSION: Final = 1
SCHEMA_FILE: Final = "protocol.schema.json"
ANSWERS: Final = (frozenset({"values"}), frozenset({"data", "dtype", "shape"}), frozenset({"error"}))
"""The keys of an answer beside its id."""
_EXACT_IN_DOUBLE = 2**53
_WORD = 2**32
_PRINTF = re.compile(rb"(?<=[\[,:\s])([+-]?)(?:(nan)(?:\([^)\"]*\))?|inf(?:inity)?)(?=[\s,\]}])", re.IGNORECASE)


def hello(suite: str, stream: str | None) -> dict[str, Any]:
    """Return posvec's first message; ``stream`` is None for suites without random draws."""
    return {"protocol": VERSION, "suite": suite, **({} if stream is None else {"stream": stream})}


def request(number: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message that asks for one case; an integer that no double holds comes in two halves too.

    An array is an object of ``data``, ``dtype`` and ``shape``, as in an answer.
    """
    message: dict[str, Any] = {"id": number}
    for name, value in arguments.items():
        message[name] = array(value) if hasattr(value, "dtype") else value
    for name, value in arguments.items():
        if type(value) is int and not -_EXACT_IN_DOUBLE <= value <= _EXACT_IN_DOUBLE:
            message |= {f"{name}_lo": value % _WORD, f"{name}_hi": (value // _WORD) % _WORD}
    return message


def array(value: Any) -> dict[str, Any]:
    """Return a NumPy array of float32 or int32 as JSON values."""
    little = value.astype(value.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(little.tobytes()).decode()
    return {"data": data, "dtype": value.dtype.name, "shape": list(value.shape)}


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line."""
    return json.dumps(message).encode() + b"\n"


def parse_object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line is, or None if it is anything else.

    Beside JSON's own numbers, ``NaN``, ``Infinity`` and what C's ``printf`` makes of them are taken.
    """
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = _load(line)
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, Any], value) if type(value) is dict else None


def parse_texts(line: bytes) -> dict[str, Any]:
    """Return the object in a line that :func:`parse_object` reads, with each number as it is written."""
    return cast(dict[str, Any], _load(line, parse_float=str, parse_int=str, parse_constant=str))


def _load(line: bytes, **hooks: Any) -> object:
    try:
        return json.loads(line, **hooks)
    except ValueError:
        # Integers of thousands of digits are more than Python takes; as floats they are infinite.
        return json.loads(_PRINTF.sub(_as_json, line), **{"parse_int": _integer, **hooks})


def _as_json(match: re.Match[bytes]) -> bytes:
    if match[2]:
        return b"NaN"
    return b"-Infinity" if match[1] == b"-" else b"Infinity"


def _integer(text: str) -> int | float:
    return int(text) if len(text) < 400 else float(text)
