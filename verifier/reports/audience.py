"""A report for students: without expected values, and without anything they could be computed from."""

from __future__ import annotations

import re
from dataclasses import replace

from posvec.schemas.audience import Audience
from posvec.schemas.report import CaseResult, Diagnosis, Failure, Report

_OF_VALUES = ("value", "rounding", "coercion")
# Sentences of posvec's own that say how far values are from the right ones.
_DISTANCES = (
    (re.compile(r", (?:at most [\d,]+ ULP|not finite)(?: from the expected values)?"), ""),
    (re.compile(r"the right draw times \S+: the scale"), "the right draw times a constant: the scale"),
    (re.compile(r"within \S+ of the right one"), "close to the right one"),
)


def for_audience(report: Report, audience: Audience) -> Report:
    """Return the report for ``audience``.

    A student keeps what they returned, where it is wrong, the outcomes, the named mistake and the command that
    repeats it. Left out are expected values, the draws that were due, distances, and their maxima and counts: got less
    distance is the expected value.
    """
    if audience == "instructor" or report.audience == "student":
        return report
    return replace(
        report,
        audience="student",
        sentence=_without_distances(report.sentence),
        levels_held=tuple(level for level in report.levels_held if not level.startswith("ulp:")),
        elements=replace(report.elements, max_ulp=0, ulp_histogram=(0, 0, 0, 0, 0)),
        results=tuple(_result(result) for result in report.results),
        failure=None if report.failure is None else _failure(report.failure),
        diagnosis=None if report.diagnosis is None else _diagnosis(report.diagnosis),
        tables=tuple(replace(table, expected=None, distance=None) for table in report.tables),
    )


def _result(result: CaseResult) -> CaseResult:
    return replace(result, max_ulp=None, detail=_detail(result.outcome, result.detail))


def _detail(outcome: str, detail: str) -> str:
    return detail.partition(": expected ")[0] if outcome in _OF_VALUES else detail


def _failure(failure: Failure) -> Failure:
    return replace(
        failure,
        # With an element, the detail tells which draw was due.
        detail=_detail(failure.outcome, failure.detail) if failure.expected is None else "",
        reproduce=_for_student(failure.reproduce),
        expected=None,
        expected_hex=None,
        expected_bits=None,
        ulp=None,
    )


def _for_student(command: str) -> str:
    """Return the command with the audience, so that repeating it shows no more than this report."""
    start = "posvec verify "
    if not command.startswith(start):
        return command
    return f"{start}--audience student {command.removeprefix(start)}"


def _diagnosis(diagnosis: Diagnosis) -> Diagnosis:
    return replace(diagnosis, facts=tuple(map(_without_distances, diagnosis.facts)))


def _without_distances(text: str) -> str:
    for pattern, instead in _DISTANCES:
        text = pattern.sub(instead, text)
    return text
