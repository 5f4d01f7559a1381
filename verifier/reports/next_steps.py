"""What to do next, as a report for people says it right under its verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from posvec.schemas.report import Diagnosis, Report

WORDS = {
    "exact": "Exact",
    "equivalent": "Equivalent",
    "ulp": "Within the distance asked for",
    "known-failures": "Only known failures",
    "outdated-list": "Known failures out of date",
    "rounding": "Same draws, other rounding",
    "not-conforming": "Not conforming",
    "could-not-judge": "Could not judge",
    "interrupted": "Interrupted",
}
"""The verdict in a few words."""

_WITHOUT_DIAGNOSIS: dict[str, str] = {
    "error": "Mend what it raises; the first failure below has the traceback.",
    "timeout": "Make it answer within the time limit, or allow it more with --timeout.",
    "crash": "Find out why its process ended; what it printed last is below.",
    "layout": "Return what the first failure below asks for.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do: a sentence, and what to write or run, if anything. Both may hold text of a submission."""

    text: str
    code: str = ""


def next_steps(report: Report) -> tuple[Step, ...]:
    """Return what to do next, the most useful first."""
    steps: dict[str, Step] = {}
    for step in _steps(report):
        steps.setdefault(step.code or step.text, step)  # two mistakes may be mended by the same line
    return tuple(steps.values())


def _steps(report: Report) -> Iterator[Step]:
    selected = sum(not result.coercion for result in report.results)
    if report.exit_code == 0:
        if selected < report.total:
            yield Step(text=f"Run all {report.total:,} cases for a verdict on the whole; {selected:,} ran.")
        elif report.verdict == "known-failures":
            yield Step(text="Nothing new: what fails is listed. Mend it when you can, and take it off the list.")
        else:
            yield Step(text="Nothing: it conforms.")
        if report.behaviour.failed or report.counts["coercion"]:
            yield Step(text="What is noted below does not decide without --strict, and is worth mending.")
        return
    if report.verdict == "interrupted":
        yield Step(text="Run the same command again: only the cases that ran are judged here.")
    elif report.verdict == "could-not-judge" and report.failure is None:
        yield Step(text="Mend what the verdict says, with the help of the output below, and run the command again.")
    if report.verdict == "outdated-list":
        yield Step(text="Take what passes off the list of known failures, or write it anew with --write-known-failing.")
    if report.verdict == "rounding" and report.level_asked != "equivalent":
        yield Step(text="If the last bits may differ, as they do between libraries, ask for --match equivalent.")
    if report.diagnosis is not None:
        yield from _of(report.diagnosis)
    if report.failure is not None:
        if report.diagnosis is None and report.failure.outcome in _WITHOUT_DIAGNOSIS:
            yield Step(text=_WITHOUT_DIAGNOSIS[report.failure.outcome])
        yield Step(text="See the first failing case alone:", code=report.failure.reproduce)


def _of(diagnosis: Diagnosis) -> Iterator[Step]:
    if len(diagnosis.explanations) > 1:
        yield Step(text=f"Find out which of the mistakes below it is. {diagnosis.separate}".rstrip())
        return
    for explanation in diagnosis.explanations:
        for mistake in explanation.mistakes:
            yield Step(text=mistake.fix, code=mistake.code)
    if not diagnosis.explanations and diagnosis.facts:
        yield Step(text="No known mistake explains it; the facts below narrow it down.")
