"""The files of ``--report KIND=FILE``: found writable before the run, written whole or not at all after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from posvec.schemas.errors import InvalidArgument, OutputError
from posvec.schemas.report import Report
from posvec.vectors.replace import probe_folder, replacing

_REMEDY = "choose another file for --report"


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

    def check_writable(self) -> None:
        """Find out before the run whether the report can be written; what is there now stays as it is.

        Raises:
            OutputError: It cannot.

        """
        try:
            if self.path.is_dir():
                raise IsADirectoryError(21, "it is a directory")
            if self.path.exists():
                with self.path.open("ab"):
                    pass
            if self.path.is_file() or not self.path.exists():
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
            if self.kind == "markdown" and _is_step_summary(self.path) and self.path.exists():
                before = self.path.read_bytes()
                content = (before.rstrip() + b"\n\n" if before.strip() else b"") + content
            with replacing(self.path) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            raise OutputError(self.path, error.strerror or str(error), remedy=_REMEDY) from error


def _is_step_summary(path: Path) -> bool:
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return bool(summary) and path.resolve() == Path(summary or "").resolve()
