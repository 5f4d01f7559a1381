"""The version of the shipped vectors, and the rule by which it changes.

Major: a reader of the format before cannot read them. Minor: more cases. Patch: corrections to cases that there were,
or to what is said about them. The id of a case never changes, nor does what it asks for.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("releases.json")


@cache
def releases() -> dict[str, dict[str, str]]:
    """Return of each release, oldest first, the content digest of every golden file."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text("ascii"))
    return found


def current() -> str:
    """Return the version of the vectors shipped with this posvec."""
    return list(releases())[-1]


def key(version: str) -> tuple[int, ...]:
    """Return what orders versions."""
    return tuple(int(part) for part in version.split("."))


def step(old: str, new: str) -> str:
    """Say what kind of release lies between two versions."""
    before, after = key(old), key(new)
    if before[0] != after[0]:
        return "major: another format"
    return "minor: more cases" if before[1] != after[1] else "patch: corrections"
