"""Every error that posvec raises on purpose: what, where, got, allowed and what to do next, in one sentence.

Each class carries its fields, renders itself with ``str()`` and knows the exit status of a command that
ends with it: 2 for usage, 3 where posvec could not do what was asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal


class PosvecError(Exception):
    """Root of all errors raised on purpose; ``exit_code`` is the status a command ends with."""

    exit_code = 3


class InvalidArgument(PosvecError, ValueError):
    """An argument outside what is allowed (exit 2)."""

    exit_code = 2

    def __init__(self, name: str, got: object, allowed: str, *, hint: str = "") -> None:
        super().__init__(name, got, allowed, hint)
        self.name, self.got, self.allowed, self.hint = name, got, allowed, hint

    def __str__(self) -> str:
        got = self.got if isinstance(self.got, str) else repr(self.got)
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.name} must be {self.allowed}, got {shorten(got)!r}{hint}."


class InvalidTarget(InvalidArgument):
    """A target that is not ``module:function`` or ``path/file.py:function`` (exit 2)."""


class AboutPath(PosvecError):
    """What is wrong with a file or a folder, and what to do about it."""

    def __init__(self, path: Path | str, problem: str, *, remedy: str) -> None:
        super().__init__(str(path), problem, remedy)
        self.path, self.problem, self.remedy = Path(path), problem, remedy


class VectorsError(AboutPath, OSError):
    """A golden file or draw table that is missing, damaged or of an unknown format (exit 3)."""

    def __str__(self) -> str:
        return _ended(f"{self.path}: {self.problem}; {self.remedy}")


class TargetUnavailable(PosvecError, ImportError):
    """A target that could not be loaded: file, module or attribute missing, import raises or hangs (exit 3).

    ``details`` is the target's own traceback or output, untrusted text; ``kind`` tells a Python target that has no such
    function (``no-function``), is no Python (``syntax``), raises (``import``), hangs (``start``) or ends its process.
    """

    def __init__(
        self,
        target: str,
        problem: str,
        *,
        remedy: str = "",
        details: str = "",
        kind: Literal["no-function", "syntax", "import", "start", "crash"] = "crash",
    ) -> None:
        super().__init__(target, problem, remedy, details)
        self.target, self.problem, self.remedy, self.details, self.kind = target, problem, remedy, details, kind

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return _ended(f"target {shorten(self.target)}: {self.problem}{remedy}")


class EnvironmentRefused(PosvecError, RuntimeError):
    """A JAX set up so that the vectors would silently differ (exit 3)."""

    def __init__(self, setting: str, got: object, *, needed: str, why: str) -> None:
        super().__init__(setting, got, needed, why)
        self.setting, self.got, self.needed, self.why = setting, got, needed, why

    def __str__(self) -> str:
        return f"{self.setting} is {self.got}, but {self.why}: {self.needed}."


class ClusterUnavailable(PosvecError, ConnectionError):
    """A cluster that cannot be used: not reachable, or what it takes is not installed (exit 3)."""

    def __init__(self, address: str, problem: str, *, remedy: str) -> None:
        super().__init__(address, problem, remedy)
        self.address, self.problem, self.remedy = address, problem, remedy

    def __str__(self) -> str:
        return f"--scheduler {shorten(self.address)}: {self.problem}; {self.remedy}."


class ReferenceDisagrees(PosvecError, RuntimeError):
    """What the reference returned is not what was derived independently; nothing is written (exit 3)."""


class OutputError(AboutPath, OSError):
    """A file that could not be written; what stood there before is untouched (exit 3)."""

    def __str__(self) -> str:
        return f"{self.path} could not be written: {self.problem}; {self.remedy}."


class OverwriteRefused(AboutPath, FileExistsError):
    """A folder with files that posvec did not write, or that were changed since; nothing is written (exit 1)."""

    exit_code = 1

    def __str__(self) -> str:
        return f"{self.path} is left as it is: {self.problem}; {self.remedy}."


class InputError(AboutPath, OSError):
    """A file of the user's that could not be read (exit 3)."""

    def __str__(self) -> str:
        return f"{self.path} could not be read: {self.problem}; {self.remedy}."


class InvalidLine(PosvecError, ValueError):
    """A line of a file of the user's that does not say what it must (exit 2)."""

    exit_code = 2

    def __init__(self, path: Path | str, line: int, problem: str, allowed: str) -> None:
        super().__init__(str(path), line, problem, allowed)
        self.path, self.line, self.problem, self.allowed = Path(path), line, problem, allowed

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.problem}; write {self.allowed}."


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith("?") else f"{sentence}."


def shorten(text: str, limit: int = 120) -> str:
    """Return ``text`` cut to ``limit`` characters with control characters as escapes: it may be untrusted."""
    shown = printable(text[: limit + 1])
    return shown if len(text) <= limit else shown[:limit] + "…"


def first_line(error: BaseException) -> str:
    """Return the first line of what an exception says, or its type where it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def printable(text: str, *, keep: str = "") -> str:
    """Return ``text`` with every character that is not printable, except those in ``keep``, as an escape."""
    if text.isprintable():
        return text
    return "".join(
        c
        if c.isprintable() or c in keep
        else c.encode("unicode_escape").decode("ascii")
        if not "\ud800" <= c <= "\udfff"
        else f"\\u{ord(c):04x}"
        for c in text
    )
