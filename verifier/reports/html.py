"""The report for people: one HTML page with the verdict, what to do next, and pictures of what came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from posvec.schemas.case_table import CaseTable, Grid
from posvec.schemas.report import CaseResult, Diagnosis, Failure, Report
from posvec.verifier.levels import NOT_FINITE
from posvec.verifier.reports.facts import facts
from posvec.verifier.reports.grid import outcome_grid
from posvec.verifier.reports.heatmap import Scale, heat_map, mask_map
from posvec.verifier.reports.next_steps import WORDS, next_steps
from posvec.verifier.reports.page import page, scrolling
from posvec.verifier.reports.tables import MOST, wrong_places
from posvec.verifier.reports.untrusted import html_prose, html_text
from posvec.verifier.text import counted, percent

_CLASSES = {0: "good", 1: "bad"}
_MARKS = {0: "✓", 1: "✗"}
_FINE = 1024  # ULP: up to here distances are shown in ULP, beyond it as values
_CASES = 100
_PLACES = 12


def to_html(report: Report) -> bytes:
    """Return the report as one page that needs nothing else: no script, no network."""
    title = f"{WORDS[report.verdict]}: {report.target}"
    return page(title, "\n".join(_sections(report)))


def _sections(report: Report) -> Iterator[str]:
    state = _CLASSES.get(report.exit_code, "unsure")
    yield (
        f'<header class="verdict {state}"><p class="word"><span aria-hidden="true">'
        f"{_MARKS.get(report.exit_code, '?')}</span> {WORDS[report.verdict]}</p>"
        f"<h1>{html_text(report.sentence)}</h1><p><code>{html_text(report.target)}</code></p></header>"
    )
    if report.notes:
        yield f'<ul class="notes">{"".join(f"<li>{html_prose(note)}</li>" for note in report.notes)}</ul>'
    yield _section("What to do next", "".join(_next(report)))
    if report.diagnosis is not None:
        yield _section("What is wrong", "".join(_diagnosis(report.diagnosis)))
    if report.failure is not None:
        yield _section("The first failure", "".join(_failure(report.failure)))
    if report.tables:
        # One scale for all: what was due where that may be seen, so that a wild value does not pale the rest.
        shown = [(table.got if table.expected is None else table.expected).values for table in report.tables]
        scale = Scale.around_zero(*shown)
        yield _section("What came", "".join(_table(table, scale) for table in report.tables))
    if grid := outcome_grid(report):
        yield _section("Which cases", grid + _failing(report))
    if report.audience == "instructor" and report.elements.compared:
        yield _section("How far from the expected values", _histogram(report))
    rows = "".join(f"<dt>{label}</dt><dd>{html_text(text)}</dd>" for label, text in facts(report))
    yield _section("The run", f"<dl>{rows}</dl>")
    if report.output.strip():
        lines = counted(len(report.output.splitlines()), "line")
        unfolded = " open" if report.exit_code == 3 else ""
        printed = f"<details{unfolded}><summary>{lines}</summary><pre>{html_text(report.output)}</pre></details>"
        yield _section("What the submission printed", printed)


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"


def _code(text: str) -> str:
    return f"<pre><code>{html_text(text)}</code></pre>"


def _next(report: Report) -> Iterator[str]:
    yield '<ol class="next">'
    for step in next_steps(report):
        yield f"<li>{html_prose(step.text)}{_code(step.code) if step.code else ''}</li>"
    yield "</ol>"


def _diagnosis(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"<p><strong>{html_prose(diagnosis.sentence)}</strong></p>"
    for explanation in diagnosis.explanations:
        yield f"<p>{html_prose(explanation.evidence)}</p>"
        for mistake in explanation.mistakes:
            named = len(diagnosis.explanations) > 1 or len(explanation.mistakes) > 1
            title = f"<strong>{html_prose(mistake.title)}.</strong> " if named else ""
            yield f"<p>{title}{html_prose(mistake.why)}</p>"
            if named and len(diagnosis.explanations) > 1:
                yield f"<p>{html_prose(mistake.fix)}</p>{_code(mistake.code) if mistake.code else ''}"
            yield (
                f'<p class="faint"><code>posvec mistakes {html_text(mistake.id)}</code> says more. '
                f'<a href="{html_text(mistake.reference)}" rel="noreferrer">Where it is documented</a></p>'
            )
    if diagnosis.separate:
        yield f"<p>{html_prose(diagnosis.separate)}</p>"
    if diagnosis.facts:
        yield f"<ul>{''.join(f'<li>{html_prose(fact)}</li>' for fact in diagnosis.facts)}</ul>"


def _failure(failure: Failure) -> Iterator[str]:
    where = f"<code>{html_text(failure.case)}</code> ({html_text(failure.outcome)})"
    if failure.position is not None:
        where += f", at position <var>t</var> = {failure.position}, feature <var>d</var> = {failure.feature}"
    elif failure.index is not None:
        where += f", at index {list(failure.index)}"
    yield f"<p>{where}</p>"
    if failure.got is not None:
        rows = [("expected", failure.expected, failure.expected_hex, failure.expected_bits)]
        rows.append(("got", failure.got, failure.got_hex, failure.got_bits))
        cells = "".join(
            f'<tr><th scope="row">{name}</th>' + "".join(f"<td><code>{html_text(v or '')}</code></td>" for v in values)
            for name, *values in rows
            if values[0] is not None
        )
        head = "".join(f'<th scope="col">{name}</th>' for name in ("decimal", "hexadecimal", "bits"))
        table = f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{cells}</tbody></table>"
        yield scrolling("The first wrong element", table)
        if failure.ulp is not None and abs(failure.ulp) < NOT_FINITE:
            whole = "p" not in (failure.got_hex or "")  # int32, whose steps are ones
            yield f"<p>Distance: {failure.ulp:+,}{'' if whole else ' ULP (steps of float32)'}</p>"
    if failure.detail:
        yield f"<pre>{html_text(failure.detail)}</pre>"
    more = [counted(failure.more_elements, "more element") + " of this case"] if failure.more_elements else []
    more += [counted(failure.more_cases, "more case")] if failure.more_cases else []
    if more:
        yield f"<p>And {' and '.join(more)}.</p>"


def _table(table: CaseTable, scale: Scale) -> str:
    """Return the maps of one case: expected and got in the same colours, and their difference in its own."""
    maps = [] if table.expected is None else [heat_map("Expected", table.expected, scale)]
    maps.append(heat_map("Got", table.got, scale))
    if table.distance is not None and table.expected is not None:
        maps.append(_difference(table, table.expected))
    if table.wrong is not None and table.wrong.any() and not table.wrong.all():
        maps.append(mask_map("Where it is wrong", _like(table.got, table.wrong)))
    about = [f"<code>{html_text(table.case)}</code> ({html_text(table.outcome)}), {html_text(table.why)}"]
    about += [html_text(table.where)] if table.where else []
    about += [f"{html_text(table.came)} came, shown as it came"] if table.came else []
    rows, columns = table.got.whole
    if rows > MOST or columns > MOST:
        about.append(f"a part of {rows:,} rows and {columns:,} columns")
    return f'<div class="case"><p>{"; ".join(about)}.</p><div class="maps">{"".join(maps)}</div>{_places(table)}</div>'


def _like(grid: Grid, values: np.ndarray) -> Grid:
    return Grid(
        values=values,
        rows=grid.rows,
        columns=grid.columns,
        first_row=grid.first_row,
        first_column=grid.first_column,
        whole=grid.whole,
    )


def _difference(table: CaseTable, expected: Grid) -> str:
    assert table.distance is not None  # noqa: S101 - asked only then
    got = table.got.values
    finite = np.isfinite(got)
    farthest = int(np.abs(table.distance[finite]).max()) if finite.any() else 0
    if got.dtype.kind != "i" and farthest <= _FINE:
        values = np.where(finite, table.distance.astype(np.float64), got.astype(np.float64))
        return heat_map("Got less expected, in ULP", _like(table.got, values), Scale.around_zero(values, unit=" ULP"))
    values = got.astype(np.float64) - expected.values.astype(np.float64)
    return heat_map("Got less expected", _like(table.got, values), Scale.around_zero(values))


def _places(table: CaseTable) -> str:
    """Return the first wrong elements in numbers, for whoever does not see colours."""
    places = list(wrong_places(table, _PLACES))
    if not places or table.wrong is None:
        return ""
    number = int(np.count_nonzero(table.wrong))
    head = f'<th scope="col">{html_text(table.got.rows)}</th><th scope="col">{html_text(table.got.columns)}</th>'
    head += "" if table.expected is None else '<th scope="col">expected</th>'
    head += '<th scope="col">got</th>'
    rows = "".join(
        f'<tr><td class="number">{r + table.got.first_row}</td><td class="number">{c + table.got.first_column}</td>'
        + ("" if table.expected is None else f'<td class="number">{table.expected.values[r, c]!s}</td>')
        + f'<td class="number">{table.got.values[r, c]!s}</td></tr>'
        for r, c in places
    )
    first = "" if number <= len(places) else f", the first {len(places)}"
    cells = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        f"<details><summary>{counted(number, 'wrong element')} of {table.wrong.size:,}{first} in numbers</summary>"
        f"{scrolling('Wrong elements', cells)}</details>"
    )


def _histogram(report: Report) -> str:
    counts = (report.elements.compared - report.elements.differing, *report.elements.ulp_histogram)
    whole = max(1, report.elements.compared)
    names = ("0", "1", "2", "3", "4", "5 and more")
    kinds = ("ok", "near", "near", "near", "near", "far")
    rows = "".join(_bar_row(*one, whole) for one in zip(names, counts, kinds, strict=True))
    head = "".join(f'<th scope="col">{name}</th>' for name in ("ULP", "elements", "share"))
    table = f'<table class="histogram"><thead><tr>{head}<td></td></tr></thead><tbody>{rows}</tbody></table>'
    said = "ULP: steps of float32 between what came and what was due. A wrong draw is often millions off."
    return f'{scrolling("Elements by distance", table)}<p class="faint">{said}</p>'


def _bar_row(name: str, count: int, kind: str, whole: int) -> str:
    width = max(200 * count / whole, 1 if count else 0)
    return (
        f'<tr><th scope="row">{name}</th><td class="number">{count:,}</td>'
        f'<td class="number">{percent(count, whole)}</td>'
        '<td><svg class="bar" width="200" height="12" viewBox="0 0 200 12" aria-hidden="true">'
        f'<rect width="{width:.1f}" height="12" class="{kind}"/></svg></td></tr>'
    )


def _failing(report: Report) -> str:
    """Return the failing cases in words; apart from them those that fail with arguments of other types only."""
    failed = [r for r in report.results if not r.coercion and r.outcome not in ("pass", "not-run")]
    coerced = [r for r in report.results if r.outcome == "coercion"]
    return _cases(failed, "failing case") + _cases(coerced, "failing with arguments of other types")


def _cases(results: Sequence[CaseResult], noun: str) -> str:
    if not results:
        return ""
    rows = "".join(
        f"<tr><td><code>{html_text(r.id, limit=1000)}</code></td><td>{r.outcome}</td>"
        f'<td class="detail">{html_text(r.detail, limit=500)}</td></tr>'
        for r in results[:_CASES]
    )
    more = f"<p>{len(results) - _CASES:,} more are in the JSON report.</p>" if len(results) > _CASES else ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("case", "outcome", "detail"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    first = f", the first {_CASES}" if more else ""
    number = counted(len(results), noun) if noun.endswith("case") else f"{len(results):,} {noun}"
    return f"<details><summary>{number}{first}, in words</summary>{scrolling('Cases', table)}{more}</details>"
