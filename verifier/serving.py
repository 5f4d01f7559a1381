"""Turns a Python function into a program that talks to posvec (docs/protocol.md). Standard library only."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from posvec.schemas.protocol import VERSION
from posvec.verifier.running.child.calling import coerce
from posvec.verifier.running.child.describe import describe, describe_raised

_NAMES = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


def serve(function: Callable[..., object], *, name: str = "", version: str = "") -> None:
    """Answer requests on standard input by calling ``function`` until there are no more; write answers to stdout.

    What the function prints goes to standard error, and it has no standard input. What it returns is described as
    it is, so that the verdict is the one that the function would get as ``file.py:function``.

    Args:
        function: Called with the arguments of a case, by position: plain integers, floats and NumPy arrays.
        name: What the program is called in reports. Default: the function's name.
        version: Which version of it this is.

    """
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"This talks to posvec: posvec verify --exec {sys.executable} {sys.argv[0]}", file=sys.stderr)  # noqa: T201
        raise SystemExit(2)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    sys.stdout.flush()
    os.dup2(2, 1)
    greeting = {
        "protocol": VERSION,
        "name": name or getattr(function, "__name__", type(function).__name__),
        "version": version,
        "language": f"Python {sys.version.split()[0]}",
    }
    for line in requests:
        message = json.loads(line)
        answer = greeting if "protocol" in message else {"id": message.pop("id"), **_call(function, message)}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _call(function: Callable[..., object], arguments: dict[str, Any]) -> dict[str, Any]:
    """Call the function and return what of the answer follows from it."""
    halves = {f"{name}_{half}" for name in arguments for half in ("lo", "hi")}
    try:
        given = coerce([value for name, value in arguments.items() if name not in halves], None)
        header, data = describe(function(*given))
    except BaseException as error:  # sys.exit in a function under test is its answer too
        return {"error": describe_raised(error)["x"]}
    if header["k"] != "array" or not header["b"]:
        # No dtype of the protocol, so that it is refused, by the name of what came.
        return {"data": "", "dtype": header.get("x") or header["t"], "shape": []}
    shape = [int(length) for length in header["s"]]
    return {"data": base64.b64encode(data).decode(), "dtype": _dtype(header["d"]), "shape": shape}


def _dtype(name: str) -> str:
    """Return the protocol's name for NumPy's ``<f4`` and so on; others, big-endian ones too, stay as they are."""
    if name == "|b1":
        return "bool"
    if len(name) >= 3 and name[0] in "<|" and name[1] in _NAMES and name[2:].isdigit():
        return f"{_NAMES[name[1]]}{8 * int(name[2:])}"
    return name
