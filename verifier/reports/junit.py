"""The report for CI services: JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

from posvec.schemas.report import CaseResult, Diagnosis, Report
from posvec.verifier.reports.untrusted import xml_text

_ATTRIBUTE_LIMIT = 1000
_UNDECIDED = ("not-run",)
_FAILED = ("layout", "rounding", "value")


def to_junit(report: Report) -> bytes:
    """Return the report as JUnit XML: a test case a case; coercion failures count only where they decide."""
    from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

    said = xml_text(report.diagnosis.sentence) if report.diagnosis is not None else ""

    def entry(result: CaseResult) -> TestCase:
        case = TestCase(xml_text(result.id), classname=xml_text(report.vectors["name"]), time=round(result.seconds, 6))
        message, detail = (
            xml_text(f"{result.outcome}: {result.detail}")[:_ATTRIBUTE_LIMIT],
            xml_text(result.detail),
        )
        if result.known_failing is not None and result.outcome != "not-run":
            reason = xml_text(result.known_failing)[:_ATTRIBUTE_LIMIT]
            known = result.known_fails
            listed: Failure | Skipped = (
                Skipped(f"known failure: {reason}", result.outcome)
                if known
                else Failure(f"passes, and is listed as failing: {reason}", "outdated-list")
            )
            listed.text = detail if known else ""
            case.result = [listed]
            return case
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

    suite = TestSuite(xml_text(f"posvec {report.vectors['name']}"))
    suite.add_property("verdict", xml_text(report.sentence))
    suite.add_property("target", xml_text(report.target))
    if report.diagnosis is not None:
        suite.add_property("diagnosis", xml_text("\n".join(_diagnosis_lines(report.diagnosis))))
    suite.add_property("level_asked", report.level_asked)
    suite.add_property("levels_held", " ".join(report.levels_held))
    suite.add_testcases([entry(result) for result in report.results])
    if report.output:
        suite.add_property("output", xml_text(report.output))
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
