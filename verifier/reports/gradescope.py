"""The report for Gradescope: ``results.json`` with a score of 100 points, shared out over a few tests.

See https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format. What students see has no expected
values, whatever the audience; an instructor's report has one more test with them, which is hidden from students.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posvec.schemas.report import CaseResult, Report, safe_text
from posvec.verifier.reports.audience import for_audience
from posvec.verifier.reports.facts import facts
from posvec.verifier.reports.next_steps import next_steps
from posvec.verifier.text import counted

WEIGHTS = {"runs": 10, "layout": 20, "values": 50, "level": 20}
"""Points for each test where only cases decide."""
WEIGHTS_STRICT = {"runs": 10, "layout": 20, "values": 40, "level": 20, "arguments": 10}
"""Points with ``--strict``, under which arguments of other types and behaviour decide too."""
_TEXT = 16 * 1024
_SHOWN = 5
_ALMOST = 99.99


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    name: str
    points: int
    reached: int
    of: int
    failing: Sequence[CaseResult] = ()

    @property
    def score(self) -> float:
        return int(10_000 * self.points * self.reached / self.of) / 10_000 if self.of else 0.0


def to_gradescope(report: Report) -> bytes:
    """Return ``results.json``, in UTF-8, a few hundred KiB at most."""
    shown = for_audience(report, "student")
    tests = _tests(shown)
    score = sum(test.score for test in tests)
    if report.exit_code in (3, 130) and not any(r.outcome != "not-run" for r in report.results):
        score = 0.0
    results = {
        "score": round(score if report.exit_code == 0 else min(score, _ALMOST), 4),
        "execution_time": round(report.seconds.get("total", 0.0), 3),
        "output": _output(shown),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # the screen of an instructor's run shows expected values
        "tests": [*(_entry(test) for test in tests), *_hidden(report)],
        "extra_data": {"verdict": report.verdict, "exit_code": report.exit_code, "suite": _cut(report.vectors["name"])},
    }
    return (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def _tests(report: Report) -> list[_Test]:
    plain = [result for result in report.results if not result.coercion]
    # An empty array has no values: a case that passes without any must earn no points for them.
    valued = [r for r in plain if r.elements or r.outcome != "pass"]
    right = ("pass",) if report.level_asked == "equivalent" else ("pass", "rounding")

    def test(name: str, key: str, cases: Sequence[CaseResult], *good: str) -> _Test:
        bad = [result for result in cases if result.outcome not in good]
        return _Test(name=name, points=weights[key], reached=len(cases) - len(bad), of=len(cases), failing=bad)

    weights = WEIGHTS_STRICT if report.strict else WEIGHTS
    tests = [
        test("It runs: no exception, time-out or crash", "runs", plain, "pass", "layout", "rounding", "value"),
        test("Layout: type, dtype and shape", "layout", plain, "pass", "rounding", "value"),
        test("Values: the right draws", "values", valued, *right),
        test(f"Level asked for: {report.level_asked}", "level", valued, "pass"),
    ]
    if report.strict:
        coerced = [result for result in report.results if result.coercion]
        bad = [result for result in coerced if result.outcome != "pass"]
        good = not bad and not report.behaviour.failed and any(r.outcome != "not-run" for r in plain)
        name = "Arguments of other types, and behaviour"
        tests.append(_Test(name=name, points=weights["arguments"], reached=int(good), of=1, failing=bad))
    return tests


def _entry(test: _Test) -> dict[str, Any]:
    lines = [f"{test.reached:,} of {counted(test.of, 'case')}." if test.of else "No case tells."]
    lines += [f"{r.id}: {r.outcome}. {r.detail}".rstrip() for r in test.failing[:_SHOWN]]
    if len(test.failing) > _SHOWN:
        lines.append(f"and {counted(len(test.failing) - _SHOWN, 'more case')}")
    return {
        "name": test.name,
        "name_format": "text",
        "score": test.score,
        "max_score": test.points,
        "status": "passed" if test.of and test.reached == test.of else "failed",
        "output": _cut("\n".join(lines)),
        "output_format": "text",
        "visibility": "visible",
    }


def _output(report: Report) -> str:
    parts = [report.sentence, *report.notes]
    if report.diagnosis is not None:
        parts.append(report.diagnosis.sentence)
        for explanation in report.diagnosis.explanations:
            parts += [explanation.evidence, *(mistake.why for mistake in explanation.mistakes)]
        parts += [part for part in (report.diagnosis.separate, *report.diagnosis.facts) if part]
    parts += [f"Next: {step.text}\n{step.code}".rstrip() for step in next_steps(report)]
    if report.output.strip() and report.exit_code:
        parts.append(f"From the program:\n{safe_text(report.output, limit=_TEXT // 2)}")
    return safe_text("\n\n".join(parts), limit=2 * _TEXT)


def _hidden(report: Report) -> list[dict[str, Any]]:
    """Return the test that only instructors see: it has expected values, and no points."""
    if report.audience == "student":
        return []
    lines = [f"{label}: {text}" for label, text in facts(report)]
    failure = report.failure
    if failure is not None:
        lines += [f"first failure: {failure.case} ({failure.outcome})", failure.detail]
        if failure.expected is not None:
            place = list(failure.index or ()) if failure.position is None else [failure.position, failure.feature]
            lines += [
                f"at {place}: expected {failure.expected} {failure.expected_bits}, got {failure.got} {failure.got_bits}"
            ]
    return [
        {
            "name": "For instructors: expected values",
            "name_format": "text",
            "output": _cut("\n".join(lines)),
            "output_format": "text",
            "visibility": "hidden",
        }
    ]


def _cut(text: str) -> str:
    return safe_text(text, limit=_TEXT)
