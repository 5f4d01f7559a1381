"""Lines that a program meant as messages and that are none: the classics, and what to do about each."""

from __future__ import annotations

import json
import re

from posvec.schemas import protocol
from posvec.schemas.errors import shorten
from posvec.verifier.running.frames import clean

_BOM, _UTF16 = b"\xef\xbb\xbf", b"\xff\xfe"
BEGINNINGS = (b"{", _BOM, _UTF16)
"""What a line begins with that is a message, or was meant as one."""
_ANSWERED = frozenset({"values", "data", "error"})
_ID = re.compile(rb"""["']id["']\s*:\s*(\d{1,18})""")
_LONGEST = 2**20  # of a line that is looked into

SPREAD = "its JSON is spread over several lines: write each message on one line, without indentation"
ON_STDERR = "it wrote messages to standard error: write them to standard output"


def why_no_message(line: bytes) -> str:
    """Return why a line that begins as messages do is none, or an empty text if it does not begin so.

    ``line`` is none that :func:`protocol.parse_object` reads.
    """
    text = line[:_LONGEST].strip()
    if text.startswith((_UTF16, b"{\0")):
        return "it writes UTF-16: write UTF-8"
    if text.startswith(_BOM) and text[3:].lstrip().startswith(b"{"):
        return "its output begins with a byte order mark: write UTF-8 without one"
    if not text.startswith(b"{"):
        return ""
    if text == b"{":
        return SPREAD
    if text.startswith((b"{'", b'{b"', b"{b'")):
        return "it writes a dict as Python prints it, with single quotes, which is no JSON: print json.dumps(…)"
    shown = shorten(clean(text.decode("utf-8", "backslashreplace"), 200), 100)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return f"more than one JSON object came on a line: end each with a line end: {shown}"
        return f"a line came that is no JSON, from its column {error.colno:,} on: {shown}"
    except (ValueError, RecursionError):
        return f"a line came that is no JSON: {shown}"
    return ""


def is_hello(line: bytes) -> bool:
    """Whether a line that is no message was meant as the hello, or as a part of one."""
    text = line.replace(b"\0", b"")
    return b'"protocol"' in text or b"'protocol'" in text


def begins_with_key(line: bytes) -> bool:
    """Whether a line is what stands second in an object that is spread over lines."""
    return line.lstrip().startswith(b'"')


def ids_in(line: bytes) -> set[int | None]:
    """Return the ids of the answers that a line was meant as; None where it names none."""
    return {int(digits) for digits in _ID.findall(line[:_LONGEST].replace(b"\0", b""))} or {None}


def strayed(data: bytes) -> set[int | None]:
    """Return the ids of the answers in what was written to standard error; None: the hello is there."""
    found: set[int | None] = set()
    if b'"id"' in data or b'"protocol"' in data:
        for line in data.splitlines():
            message = protocol.parse_object(line) or {}
            if "id" in message and _ANSWERED & set(message):
                found |= ids_in(line)
            elif {"protocol", "name"} <= set(message):
                found.add(None)
    return found
