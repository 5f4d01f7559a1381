"""Writes reports to files: ``--report json=FILE``, ``--report junit=FILE``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from posvec.schemas.errors import InvalidArgument, OutputError
from posvec.schemas.report import CaseResult, Diagnosis, Report
from posvec.vectors.replace import probe_folder, replacing

_ATTRIBUTE_LIMIT = 1000
_UNDECIDED = ("not-run",)
_FAILED = ("layout", "rounding", "value")


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


def to_json(report: Report) -> bytes:
    """Return the report as ``report.schema.json`` describes it, ASCII with a final line end."""
    return (json.dumps(report.to_dict(), indent=1, ensure_ascii=True) + "\n").encode("ascii")


def to_junit(report: Report) -> bytes:
    """Return the report as JUnit XML: a test case a case; coercion failures count only where they decide."""
    from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

    said = _legal(report.diagnosis.sentence) if report.diagnosis is not None else ""

    def entry(result: CaseResult) -> TestCase:
        case = TestCase(_legal(result.id), classname=_legal(report.vectors["name"]), time=round(result.seconds, 6))
        message, detail = (
            _legal(f"{result.outcome}: {result.detail}")[:_ATTRIBUTE_LIMIT],
            _legal(result.detail),
        )
        repeated = result.coercion and result.outcome not in ("pass", "coercion")
        if repeated:
            element: Error | Failure | Skipped = Skipped("the same arguments fail as plain integers", result.outcome)
        elif result.outcome in _FAILED:
            element = Failure(message, result.outcome)
        elif result.outcome in _UNDECIDED or (result.outcome == "coercion" and report.exit_code != 1):
            element = Skipped(message, result.outcome)
        elif result.outcome == "coercion":
            element = Failure(message, result.outcome)
        elif result.outcome != "pass":
            element = Error(message, result.outcome)
        else:
            return case
        element.text = detail if result.coercion or not said else f"{detail}\n{said}".strip()
        case.result = [element]
        return case

    suite = TestSuite(_legal(f"posvec {report.vectors['name']}"))
    suite.add_property("verdict", _legal(report.sentence))
    suite.add_property("target", _legal(report.target))
    if report.diagnosis is not None:
        suite.add_property("diagnosis", _legal("\n".join(_diagnosis_lines(report.diagnosis))))
    suite.add_property("level_asked", report.level_asked)
    suite.add_property("levels_held", " ".join(report.levels_held))
    suite.add_testcases([entry(result) for result in report.results])
    if report.output:
        suite.add_property("output", _legal(report.output))
    xml = JUnitXml("posvec")
    xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    buffer = BytesIO()
    xml.write(buffer)
    return buffer.getvalue()


def _diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield diagnosis.sentence
    for explanation in diagnosis.explanations:
        yield explanation.evidence
        for mistake in explanation.mistakes:
            yield f"{mistake.id}: {mistake.title}. {mistake.why} {mistake.fix}"
            if mistake.code:
                yield mistake.code
    yield from filter(None, (diagnosis.separate, *diagnosis.facts))


WRITERS: dict[str, Callable[[Report], bytes]] = {"json": to_json, "junit": to_junit}


def _legal(text: str) -> str:
    """Return ``text`` with what XML 1.0 cannot hold as escapes; control characters are escapes already."""
    return "".join(
        c
        if c in "\t\n" or "\x20" <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c >= "\U00010000"
        else f"\\u{ord(c):04x}"
        for c in text
    )
