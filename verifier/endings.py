"""How a process came to its end, in words for people."""

from __future__ import annotations

import signal
from pathlib import Path

from posvec.schemas.errors import shorten
from posvec.verifier.capture import Output
from posvec.verifier.frames import clean

_STACK = "(most recent call first):\n"
_CHILD = f'"{Path(__file__).with_name("child.py")}"'


def describe_status(status: int) -> str:
    """Say how a process with that exit status, or minus the number of a signal, ended."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def describe_garbled(what: object) -> str:
    """Say that a process sent what no honest one sends."""
    return f"wrote to posvec's private channel: {shorten(clean(str(what)))}"


def last_words(output: Output, characters: int = 2000) -> str:
    """Return the end of what a target wrote, without the frames of posvec's own file in a stack."""
    lines = output.last(characters).splitlines()
    return "\n".join(line for line in lines if not _is_ours(line)).strip()


def where_it_was(output: Output) -> str:
    """Return the stack that the process wrote when it was told to end, or nothing."""
    _, found, stack = output.last(8000).rpartition(_STACK)
    lines = [line for line in stack.splitlines() if line.startswith("  File ") and not _is_ours(line)]
    return "\n".join(lines[:20]) if found else ""


def _is_ours(line: str) -> bool:
    return line.startswith("Extension modules: ") or (line.startswith("  File ") and _CHILD in line)
