"""Why a target could not be loaded, in the words of whoever has to mend it."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posvec.schemas.errors import TargetUnavailable, shorten
from posvec.verifier.running.capture import Output
from posvec.verifier.running.endings import describe_status, last_words
from posvec.verifier.running.frames import clean
from posvec.verifier.running.program import Program
from posvec.verifier.running.target import Target

_LEARN = "a program talks as docs/protocol.md says, or is run with --per-case if it only prints numbers"


def explain_unavailable(target: Target, attribute: str, header: Mapping[str, Any], output: Output) -> TargetUnavailable:
    """Return the error for what a target's process said of its start; ``header`` is untrusted."""
    reason = header.get("reason")
    details = _text(header, "detail")
    if reason == "no-module":
        missing = shorten(_text(header, "missing"))
        return TargetUnavailable(
            target.text,
            f"there is no module {missing!r} for this interpreter",
            remedy="it is looked for in the current directory, then on PYTHONPATH",
            details=details,
        )
    said = header.get("names")
    names = [clean(name, 200) for name in said if type(name) is str][:50] if type(said) is list else []
    if reason == "no-attribute":
        missing = shorten(_text(header, "missing"))
        return TargetUnavailable(
            target.text,
            f"it has no {missing!r}",
            remedy=_suggest(missing, names),
            details=details,
            kind="no-function",
        )
    if reason == "not-callable":
        kind = shorten(_text(header, "type"))
        return TargetUnavailable(
            target.text,
            f"{attribute!r} is no function but {kind}",
            remedy=_suggest(attribute, names),
            kind="no-function",
        )
    details += _printed(output)
    if reason == "syntax":
        problem = "is not valid Python for this interpreter"
        return TargetUnavailable(target.text, problem, details=details, kind="syntax")
    kind = shorten(_text(header, "type"))
    if kind == "SystemExit":
        return TargetUnavailable(
            target.text,
            "ended the program while it was imported",
            details=details,
            remedy='keep what it does as a program under if __name__ == "__main__"',
            kind="import",
        )
    remedy = _shadowed(target, details)
    if "attempted relative import with no known parent package" in details:
        remedy = "name it as package.module:function instead"
    return TargetUnavailable(
        target.text,
        f"raised {kind or 'an exception'} while it was imported",
        remedy=remedy,
        details=details,
        kind="import",
    )


def explain_unavailable_program(program: Program, header: Mapping[str, Any], output: Output) -> TargetUnavailable:
    """Return the error for a program that did not start, or that greeted as no program of the protocol does."""
    detail = _text(header, "detail")
    if header.get("reason") == "exec":
        return TargetUnavailable(program.text, f"it could not be started: {detail}", remedy=_first_line(program))
    remedy = _LEARN if header.get("reason") == "hello" else ""
    return TargetUnavailable(program.text, detail, remedy=remedy, details=_printed(output))


def _first_line(program: Program) -> str:
    """Return what to do about a file that the system does not start, judging by how it begins."""
    try:
        with Path(program.path).open("rb") as file:
            first = file.readline(200)
    except OSError:
        first = b""
    if first.startswith(b"#!"):
        if first.endswith(b"\r\n"):
            return "its first line ends with a carriage return: save it with Unix line ends"
        interpreter = clean(first[2:].decode("utf-8", "backslashreplace")).split()[:1]
        return f"its first line names {shorten(''.join(interpreter)) or 'no interpreter'}: is that here?"
    return "a script names its interpreter in its first line (#!), or in --exec INTERPRETER FILE"


def not_started(target: Target | Program, seconds: float, output: Output, hint: str) -> TargetUnavailable:
    """Return the error for a target that was not ready in time; ``hint``: why, if a program's output tells."""
    if isinstance(target, Target):
        return TargetUnavailable(
            target.text,
            f"was not ready after {seconds:g} s",
            remedy="if its import is slow, raise --start-timeout",
            details=last_words(output),
            kind="start",
        )
    if hint:
        return TargetUnavailable(target.text, f"no hello within {seconds:g} s: {hint}", details=_printed(output))
    return TargetUnavailable(
        target.text,
        f"it did not answer the hello within {seconds:g} s",
        remedy=f"if it is slow to start, raise --start-timeout; {_LEARN}",
        details=_printed(output),
    )


def crashed_at_start(target: Target | Program, how: str, words: str, *, loading: bool) -> TargetUnavailable:
    """Return the error for a target whose process ended before it was ready."""
    if isinstance(target, Program):
        when, remedy = "before it answered the hello", _LEARN
        if target.per_case or not loading:
            when, remedy = "before the program ran", ""
        elif how == describe_status(0):
            remedy = f"it must stay, in the foreground, until its input ends; {_LEARN}"
    else:
        when = "while the target was imported" if loading else "before it could load it"
        remedy = "" if loading else "check that --python is Python 3.8 or later"
    who = "it" if isinstance(target, Program) else "its process"
    return TargetUnavailable(target.text, f"{who} {how} {when}", details=words, remedy=remedy)


def _shadowed(target: Target, details: str) -> str:
    """Name the file beside the target that the failing import took for a module of the standard library."""
    found = re.search(r" \((\S*?)(\w+)\.py\)\s*$", details)
    if target.path is None or found is None or found[2] not in sys.stdlib_module_names:
        return ""
    beside = Path(target.path).parent / f"{found[2]}.py"
    return f"rename {beside}: it hides Python's own {found[2]}" if beside.is_file() else ""


def _suggest(missing: str, names: list[str]) -> str:
    if not names:
        return "it defines no function"
    close = difflib.get_close_matches(missing, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(shorten(name) for name in close)}?"
    return "it defines " + shorten(", ".join(names), 300)


def _text(header: Mapping[str, Any], name: str) -> str:
    value = header.get(name, "")
    return clean(value) if type(value) is str else ""


def _printed(output: Output) -> str:
    text = last_words(output)
    return f"\nIt wrote:\n{text}\n" if text else ""
