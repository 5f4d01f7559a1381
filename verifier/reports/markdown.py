"""The report for a step summary or a comment: GitHub-flavoured Markdown, far below GitHub's 1 MiB."""

from __future__ import annotations

from collections.abc import Iterator

from posvec.schemas.report import OUTCOMES, Diagnosis, Failure, Report
from posvec.verifier.reports.facts import facts
from posvec.verifier.reports.next_steps import WORDS, next_steps
from posvec.verifier.reports.untrusted import markdown_block, markdown_prose, markdown_text

_MARKS = {0: "✅", 1: "❌"}
_CASES = 20
_DETAIL, _OUTPUT, _LINE = 2000, 8192, 2000


def to_markdown(report: Report) -> bytes:
    """Return the report as Markdown in UTF-8, under 256 KiB."""
    return ("\n\n".join(_parts(report)) + "\n").encode("utf-8")


def _parts(report: Report) -> Iterator[str]:
    mark = _MARKS.get(report.exit_code, "⚠️")
    yield f"## {mark} {WORDS[report.verdict]}: {_text(report.vectors['name'])}"
    yield f"**{_text(report.sentence)}**"
    for note in report.notes:
        yield f"> {_prose(note)}"
    yield "### What to do next"
    for step in next_steps(report):
        yield _prose(step.text)
        if step.code:
            yield markdown_block(step.code, limit=_LINE)
    if report.diagnosis is not None:
        yield from _diagnosis(report.diagnosis)
    if report.failure is not None:
        yield from _failure(report.failure)
    yield from _cases(report)
    lines = "\n".join(f"| {label} | {_text(text)} |" for label, text in facts(report))
    yield f"<details><summary>The run</summary>\n\n| what | value |\n|---|---|\n{lines}\n\n</details>"
    if report.output.strip():
        block = markdown_block(report.output, limit=_OUTPUT)
        yield f"<details><summary>What the submission printed</summary>\n\n{block}\n\n</details>"


def _diagnosis(diagnosis: Diagnosis) -> Iterator[str]:
    yield "### What is wrong"
    yield _prose(diagnosis.sentence)
    for explanation in diagnosis.explanations:
        yield f"- evidence: {_prose(explanation.evidence)}"
        for mistake in explanation.mistakes:
            yield f"- {_prose(mistake.title)}. {_prose(mistake.why)} [More]({mistake.reference})"
    yield from (f"- {_prose(fact)}" for fact in diagnosis.facts)


def _failure(failure: Failure) -> Iterator[str]:
    yield f"### First failure\n\n{_text(failure.case)} ({failure.outcome})"
    if failure.got is not None:
        where = (
            f"position t = {failure.position}, feature d = {failure.feature}"
            if failure.position is not None
            else f"index {list(failure.index or ())}"
        )
        rows = [("expected", failure.expected, failure.expected_hex, failure.expected_bits)] if failure.expected else []
        rows.append(("got", failure.got, failure.got_hex, failure.got_bits))
        lines = "\n".join(f"| {name} | {_text(a or '')} | {b or ''} | {c or ''} |" for name, a, b, c in rows)
        yield f"At {where}:\n\n| | decimal | hexadecimal | bits |\n|---|---|---|---|\n{lines}"
    if failure.detail:
        yield markdown_block(failure.detail, limit=_DETAIL)


def _cases(report: Report) -> Iterator[str]:
    counts = report.counts
    some = [outcome for outcome in OUTCOMES if counts[outcome]]
    if some:
        lines = "\n".join(f"| {outcome} | {counts[outcome]:,} |" for outcome in some)
        yield f"### Cases\n\n| outcome | cases |\n|---|---:|\n{lines}"
    failed = [r for r in report.results if r.outcome not in ("pass", "not-run") and (report.strict or not r.coercion)]
    if failed:
        lines = "\n".join(
            f"| {markdown_text(r.id, limit=200)} | {r.outcome}{' (known)' if r.known_fails else ''} "
            f"| {markdown_text(r.detail, limit=300)} |"
            for r in failed[:_CASES]
        )
        more = f"\n\nand {len(failed) - _CASES:,} more." if len(failed) > _CASES else ""
        yield (
            f"<details><summary>Failing cases</summary>\n\n| case | outcome | detail |\n|---|---|---|\n{lines}{more}"
            "\n\n</details>"
        )


def _text(text: str) -> str:
    return markdown_text(text, limit=_LINE)


def _prose(text: str) -> str:
    return markdown_prose(text, limit=_LINE)
