"""The files of ``--report KIND=FILE``: found writable before the run, written whole or not at all after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from posvec.schemas.errors import InvalidArgument, OutputError
from posvec.schemas.report import Report
from posvec.vectors.replace import probe_folder, replacing
from posvec.verifier.reports.as_json import to_json
from posvec.verifier.reports.junit import to_junit

WRITERS: dict[str, Callable[[Report], bytes]] = {"json": to_json, "junit": to_junit}
"""What writes each kind of report."""


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
            kinds = " or ".join(f"{known}=FILE" for known in WRITERS)
            raise InvalidArgument("--report", text, kinds)
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
        except OSError as error:
            raise OutputError(
                self.path, error.strerror or str(error), remedy="choose another file for --report"
            ) from error

    def write(self, report: Report) -> None:
        """Write ``report``, whole or not at all.

        Raises:
            OutputError: It could not be written.

        """
        try:
            content = WRITERS[self.kind](report)
            with replacing(self.path) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            raise OutputError(
                self.path, error.strerror or str(error), remedy="choose another file for --report"
            ) from error
