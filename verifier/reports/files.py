"""The files of ``--report KIND=FILE``: found writable before the run, written whole or not at all after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from posvec.schemas.errors import InvalidArgument, OutputError
from posvec.schemas.report import Report
from posvec.vectors.replace import is_stream, probe_folder, replacing

_REMEDY = "choose another file for --report"
_STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def _writer(module: str, function: str) -> Callable[[Report], bytes]:
    """Return what writes one kind; its module is loaded when it is used, while it would keep the target waiting."""

    def write(report: Report) -> bytes:
        content: bytes = getattr(import_module(f"posvec.verifier.reports.{module}"), function)(report)
        return content

    return write


WRITERS: dict[str, Callable[[Report], bytes]] = {
    "json": _writer("as_json", "to_json"),
    "junit": _writer("junit", "to_junit"),
    "markdown": _writer("markdown", "to_markdown"),
    "gradescope": _writer("gradescope", "to_gradescope"),
    "badge": _writer("badge", "to_badge"),
    "html": _writer("html", "to_html"),
}
"""What writes each kind of report, for the audience that the report is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFile:
    """One report to write: its kind and where."""

    kind: str
    path: Path

    @classmethod
    def parse(cls, text: str) -> ReportFile:
        """Read ``json=FILE``.

        Raises:
            InvalidArgument: No such kind, or no file.

        """
        kind, separator, name = text.partition("=")
        if not separator or not name or kind not in WRITERS:
            kinds = [f"{known}=FILE" for known in WRITERS]
            raise InvalidArgument("--report", text, f"{', '.join(kinds[:-1])} or {kinds[-1]}")
        return cls(kind=kind, path=Path(name))

    @property
    def to_stdout(self) -> bool:
        """Whether it goes to stdout, so that what is for people must go elsewhere."""
        return str(self.path) in _STDOUT

    def is_same(self, path: Path) -> bool:
        """Whether ``path`` is the file of this report."""
        if self.to_stdout or str(path) in _STDOUT:
            return self.to_stdout and str(path) in _STDOUT
        try:
            return self.path.samefile(path)
        except (OSError, ValueError):  # one is not there yet
            return os.path.realpath(self.path) == os.path.realpath(path)

    def check_writable(self, reads: Iterable[Path] = ()) -> None:
        """Find out before the run whether the report can be written; what is there now stays as it is.

        Args:
            reads: Files that the run reads or writes itself, and that no report may replace.

        Raises:
            InvalidArgument: It is one of those.
            OutputError: It cannot be written.

        """
        if self.to_stdout:
            return
        if any(self.is_same(path) for path in reads):
            why = "the report would take its place"
            raise InvalidArgument("--report", str(self.path), "a file that the run does not need", hint=why)
        try:
            if is_stream(self.path):  # opening a pipe waits for its reader, and closing it would end him
                if not os.access(self.path, os.W_OK):
                    raise PermissionError(13, "Permission denied")
                return
            if self.path.is_dir():
                raise IsADirectoryError(21, "it is a directory")
            if self.path.exists():
                with self.path.open("ab"):
                    pass
            probe_folder(self.path)
        except (OSError, ValueError) as error:
            raise OutputError(self.path, getattr(error, "strerror", None) or str(error), remedy=_REMEDY) from error

    def write(self, report: Report) -> None:
        """Write ``report``, whole or not at all; it follows what other steps wrote to GitHub's step summary.

        Raises:
            OutputError: It could not be written.

        """
        try:
            content = WRITERS[self.kind](report)
            if self.to_stdout:
                sys.stdout.flush()
                sys.stdout.buffer.write(content)
                sys.stdout.buffer.flush()
                return
            if self.kind == "markdown" and _is_step_summary(self.path) and self.path.exists():
                before = self.path.read_bytes()
                content = (before.rstrip() + b"\n\n" if before.strip() else b"") + content
            with replacing(self.path) as temporary:
                temporary.write_bytes(content)
        except BrokenPipeError:
            raise  # the reader has seen enough
        except OSError as error:
            raise OutputError(self.path, error.strerror or str(error), remedy=_REMEDY) from error


def _is_step_summary(path: Path) -> bool:
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return bool(summary) and path.resolve() == Path(summary or "").resolve()
