"""Why a target could not be loaded, in the words of whoever has to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from posvec.schemas.errors import TargetUnavailable, shorten
from posvec.verifier.running.capture import Output
from posvec.verifier.running.endings import last_words
from posvec.verifier.running.frames import clean
from posvec.verifier.running.target import Target


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
    names = [clean(name, 200) for name in header.get("names") or () if type(name) is str][:50]
    if reason == "no-attribute":
        missing = shorten(_text(header, "missing"))
        return TargetUnavailable(
            target.text, f"it has no {missing!r}", remedy=_suggest(missing, names), details=details
        )
    if reason == "not-callable":
        kind = shorten(_text(header, "type"))
        return TargetUnavailable(
            target.text, f"{attribute!r} is no function but {kind}", remedy=_suggest(attribute, names)
        )
    details += _printed(output)
    if reason == "syntax":
        return TargetUnavailable(target.text, "is not valid Python for this interpreter", details=details)
    kind = shorten(_text(header, "type"))
    if kind == "SystemExit":
        return TargetUnavailable(
            target.text,
            "ended the program while it was imported",
            details=details,
            remedy='keep what it does as a program under if __name__ == "__main__"',
        )
    remedy = ""
    if "attempted relative import with no known parent package" in details:
        remedy = "name it as package.module:function instead"
    return TargetUnavailable(
        target.text, f"raised {kind or 'an exception'} while it was imported", remedy=remedy, details=details
    )


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
