"""How processes come to their end: in words for people, and how often."""

from __future__ import annotations

import signal
from itertools import groupby
from pathlib import Path

from posvec.schemas.errors import shorten
from posvec.verifier.running.capture import Output
from posvec.verifier.running.frames import clean

_STACK = "(most recent call first):\n"
_CHILD = f'"{Path(__file__).with_name("child")}'


UNFLUSHED = (
    "its answers came only when its input ended: read it line by line, and flush standard output after every line "
    "(fflush(stdout), print(…, flush=True), stdout.flush())"
)
_SAME = 3
FAILURES_IN_A_ROW = 3
FAILURES_IN_ALL = 10


class Failures:
    """Counts crashes and timeouts, and says when there were enough.

    Attributes:
        in_a_row: How many there were since the last other answer.
        in_all: How many there were.

    """

    def __init__(self) -> None:
        self.in_a_row = 0
        self.in_all = 0

    def another(self) -> str:
        """Count one more; return why nothing more is to be run, or an empty string."""
        self.in_a_row += 1
        self.in_all += 1
        if self.in_a_row >= FAILURES_IN_A_ROW:
            return f"not run after {FAILURES_IN_A_ROW} crashes or timeouts in a row"
        if self.in_all >= FAILURES_IN_ALL:
            return f"not run after {FAILURES_IN_ALL} crashes or timeouts"
        return ""


def describe_status(status: int) -> str:
    """Say how a process with that exit status, or minus the number of a signal, ended."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def describe_garbled(what: object, blame: str) -> str:
    """Say that a process did what ``blame`` says, by sending ``what``."""
    return f"{blame}: {shorten(clean(str(what)), 400)}"


def last_words(output: Output, characters: int = 2000) -> str:
    """Return the end of what a target wrote, without the frames of posvec's own file in a stack.

    The same line many times over, as an endless recursion leaves it, is given once.
    """
    text = output.last(4 * characters)
    lines: list[str] = []
    for line, same in groupby(line for line in text.splitlines() if not _is_ours(line)):
        count = len(list(same))
        lines += [line] * count if count <= _SAME else [line, f"  (the same line {count - 1} times more)"]
    whole = "\n".join(lines).strip()
    return whole if len(whole) <= characters else whole[-characters:].partition("\n")[2] or whole[-characters:]


def where_it_was(output: Output) -> str:
    """Return the stack that the process wrote when it was told to end, or nothing."""
    _, found, stack = output.last(8000).rpartition(_STACK)
    lines = [line for line in stack.splitlines() if line.startswith("  File ") and not _is_ours(line)]
    return "\n".join(lines[:20]) if found else ""


def _is_ours(line: str) -> bool:
    return line.startswith("Extension modules: ") or (line.startswith("  File ") and _CHILD in line)
