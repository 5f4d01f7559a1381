"""The batch as one HTML page: what the class has in common, and each submission with its detail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posvec.schemas.batch import PROBLEMS, VERDICTS, Row
from posvec.verifier.batch.statistics import Statistics
from posvec.verifier.batch.table import headline
from posvec.verifier.batch.task import Result
from posvec.verifier.reports.page import page
from posvec.verifier.reports.untrusted import html_text

_OUTPUT = 4000
_BAR = 1000
_LOOKS = {"exact": "good", "equivalent": "good", "ulp": "good", "could-not-judge": "unsure"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What the page says of a submission beside its row: advice, the first failure, what it printed."""

    advice: tuple[tuple[str, str, str], ...] = ()
    facts: tuple[str, ...] = ()
    failure: str = ""
    reproduce: str = ""
    output: str = ""

    @classmethod
    def of(cls, result: Result) -> Detail:
        """Return the detail of a result: the page needs no more of a report, which may be long."""
        report = result.report
        if report is None:
            return cls()
        diagnosis = report["diagnosis"] or {"explanations": [], "facts": []}
        mistakes = [mistake for explanation in diagnosis["explanations"] for mistake in explanation["mistakes"]]
        failure = report["failure"]
        output = str(report["output"]).rstrip()
        left = len(output) - _OUTPUT
        return cls(
            advice=tuple((m["title"], m["why"], f"{m['fix']}\n{m['code']}".rstrip()) for m in mistakes),
            facts=tuple(diagnosis["facts"]),
            failure="" if failure is None else _failure(failure),
            reproduce="" if failure is None else failure["reproduce"],
            output=output if left <= 0 else f"… {left:,} characters before …\n{output[-_OUTPUT:]}",
        )


def to_html(
    rows: Sequence[tuple[Row, Detail]], found: Statistics, facts: Mapping[str, str], *, complete: bool
) -> bytes:
    """Return the page; ``facts`` are what was asked, label by label."""
    return page(f"posvec batch: {headline(found)}", "\n".join(_body(rows, found, facts, complete=complete)))


def _body(
    rows: Sequence[tuple[Row, Detail]], found: Statistics, facts: Mapping[str, str], *, complete: bool
) -> Iterator[str]:
    yield f"<h1>{html_text(headline(found))}</h1>"
    if not complete:
        yield '<p class="unsure">Interrupted: the submissions that had not run are missing. Run again to go on.</p>'
    yield _bar(found)
    yield "<p>" + ", ".join(
        f'<span class="{_look(verdict)}">{count:,} {html_text(VERDICTS[verdict])}</span>'
        for verdict, count in found.verdicts.items()
    ) + "</p>"  # fmt: skip
    if found.by_mistake:
        yield from _counts("Mistakes", "submissions", found.by_mistake)
    if found.problems:
        yield from _counts("Not judged", "submissions", {PROBLEMS[name]: n for name, n in found.problems.items()})
    if found.slowest:
        yield "<h2>Slowest</h2><p>" + ", ".join(
            f"{html_text(name)} {seconds:.1f} s" for name, seconds in found.slowest
        ) + "</p>"  # fmt: skip
    if found.same:
        yield "<h2>Files that are byte for byte the same</h2><ul>"
        yield from (f"<li>{html_text(', '.join(names))}</li>" for names in found.same)
        yield "</ul>"
    yield "<h2>Submissions</h2>"
    yield '<table class="rows"><tr><th>name</th><th>verdict</th><th class="number">seconds</th></tr>'
    for row, detail in rows:
        yield "".join(_submission(row, detail))
    yield "</table>"
    yield "<h2>What was asked</h2><dl>"
    yield from (f"<dt>{html_text(name)}</dt><dd>{html_text(value)}</dd>" for name, value in facts.items())
    yield "</dl>"


def _bar(found: Statistics) -> str:
    """Draw the verdicts as one bar; its colours are those of the text, light and dark."""
    shares, start = [], 0.0
    for verdict, count in found.verdicts.items():
        width = _BAR * count / max(1, found.submissions)
        words = html_text(f"{count:,} {VERDICTS[verdict]}")
        shares.append(
            f'<rect class="{_look(verdict)}" x="{start:.2f}" y="0" width="{max(1.0, width - 2):.2f}" height="24" '
            f'fill="currentColor"><title>{words}</title></rect>'
        )
        start += width
    return (
        f'<svg role="img" aria-label="{html_text(headline(found))}" width="100%" height="24" '
        f'viewBox="0 0 {_BAR} 24" preserveAspectRatio="none">{"".join(shares)}</svg>'
    )


def _counts(title: str, what: str, counts: Mapping[str, int]) -> Iterator[str]:
    yield f'<h2>{title}</h2><table><tr><th class="number">{what}</th><th></th></tr>'
    for name, count in counts.items():
        yield f'<tr><td class="number">{count:,}</td><td>{html_text(name)}</td></tr>'
    yield "</table>"


def _submission(row: Row, detail: Detail) -> Iterator[str]:
    yield f'<tr><td class="name">{html_text(row.name, limit=300)}</td>'
    verdict = f'<span class="{_look(row.verdict)}">{html_text(row.verdict_text)}</span>'
    yield f"<td><details><summary>{verdict} {html_text(row.reason)}</summary>"
    yield f"<p>{html_text(row.sentence)}</p>"
    for note in row.notes:
        yield f'<p class="unsure">{html_text(note)}</p>'
    if row.diagnosis:
        yield f"<p>{html_text(row.diagnosis)}</p>"
    for title, why, change in detail.advice:
        yield f"<p><b>{html_text(title)}.</b> {html_text(why)}</p><pre>{html_text(change)}</pre>"
    if detail.facts:
        yield f"<ul>{''.join(f'<li>{html_text(fact)}</li>' for fact in detail.facts)}</ul>"
    if detail.failure:
        yield f"<p>The first failure:</p><pre>{html_text(detail.failure)}</pre>"
        yield f"<p>Reproduce just this:</p><pre>{html_text(detail.reproduce)}</pre>"
    if detail.output:
        yield f"<p>It printed:</p><pre>{html_text(detail.output)}</pre>"
    yield f'<p class="faint">{html_text(row.target or row.path)}</p></details></td>'
    yield f'<td class="number">{row.seconds:.2f}</td></tr>\n'


def _look(verdict: str) -> str:
    return _LOOKS.get(verdict, "bad")


def _failure(failure: Mapping[str, Any]) -> str:
    lines = [f"{failure['case']} ({failure['outcome']})"]
    if failure["expected"] is not None:
        where = f"position t={failure['position']}, feature d={failure['feature']}"
        lines += [
            where if failure["position"] is not None else f"index {failure['index']}",
            f"expected  {failure['expected']}  {failure['expected_hex']}",
            f"got       {failure['got']}  {failure['got_hex']}",
        ]
    detail = str(failure["detail"])
    return "\n".join([*lines, detail if len(detail) <= _OUTPUT else f"{detail[:_OUTPUT]}…"]).rstrip()
