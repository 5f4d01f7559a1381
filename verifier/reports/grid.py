"""The outcome of every case at a glance: a table of two axes for each value of the others, or counts by axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from posvec.schemas.report import OUTCOMES, CaseResult, Outcome, Report
from posvec.verifier.reports.page import scrolling
from posvec.verifier.reports.untrusted import html_text

MARKS: dict[Outcome, str] = {
    "pass": "·",
    "layout": "L",
    "rounding": "r",
    "value": "V",
    "coercion": "C",
    "error": "E",
    "timeout": "T",
    "crash": "X",
    "not-run": "-",
}
"""One character an outcome, beside its colour."""
_MOST_CELLS = 30_000
_MOST_EMPTY = 5_000  # a quick subset of the default sweep leaves most of 2,079 cells empty
_MOST_COLUMNS = 40
_MOST_LISTED = 400
_MOST_VALUES = 64


@dataclass(frozen=True, slots=True)
class _Placed:
    """A case at its coordinates, as its id has them."""

    result: CaseResult
    at: dict[str, str]


def outcome_grid(report: Report) -> str:
    """Return HTML: the legend with counts, and where each outcome lies."""
    placed = [_Placed(result, _coordinates(result.id)) for result in report.results if not result.coercion]
    if all(one.result.outcome == "not-run" for one in placed):
        return _legend(report) if placed else ""
    down, across = _axes(placed)
    body = _grids(placed, down, across) if down and across else _list_or_counts(placed)
    return f"{_legend(report)}\n{body}"


def _coordinates(case_id: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in case_id.split("/")[1:] if "=" in part)


def _axes(placed: Sequence[_Placed]) -> tuple[str, str]:
    """Return the axes that go down and across: T and d_model, or the last two that fill a third of their grids."""
    names = set(placed[0].at)
    if len(placed) < 12 or any(set(one.at) != names for one in placed) or len(placed) > _MOST_CELLS:
        return "", ""
    values = {name: {one.at[name] for one in placed} for name in placed[0].at}
    varying = [name for name in values if len(values[name]) > 1]
    usual = ("T", "d_model")
    for down, across in (usual, (varying[-1], varying[-2]) if len(varying) > 1 else ("", "")):
        if down not in values or across not in values or len(values[across]) > _MOST_COLUMNS:
            continue
        cells = len({_rest(one, down, across) for one in placed}) * len(values[down]) * len(values[across])
        if 3 * len(placed) >= cells or ((down, across) == usual and cells <= _MOST_EMPTY):
            return down, across
    return "", ""


def _rest(one: _Placed, *without: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in one.at.items() if name not in without)


def _legend(report: Report) -> str:
    counts = report.counts
    entries = "".join(
        f'<li><span class="o {name}">{MARKS[name]}</span> {name} {counts[name]:,}</li>'
        for name in OUTCOMES
        if counts[name]
    )
    return f'<ul class="legend">{entries}</ul>'


def _grids(placed: Sequence[_Placed], down: str, across: str) -> str:
    groups: dict[tuple[tuple[str, str], ...], dict[tuple[str, str], Outcome]] = {}
    for one in placed:
        cell = (one.at[down], one.at[across])
        groups.setdefault(_rest(one, down, across), {})[cell] = one.result.outcome
    columns = _sorted(dict.fromkeys(one.at[across] for one in placed))
    rows = _sorted(dict.fromkeys(one.at[down] for one in placed))
    several = len(set(groups)) > 1
    tables = "".join(_table(rest, cells, rows, columns, down, across, several) for rest, cells in groups.items())
    return f'<div class="grids">{tables}</div>'


def _table(
    rest: tuple[tuple[str, str], ...],
    cells: dict[tuple[str, str], Outcome],
    rows: Sequence[str],
    columns: Sequence[str],
    down: str,
    across: str,
    several: bool,
) -> str:
    name = ", ".join(f"{axis} {value}" for axis, value in rest) if several or rest else "all cases"
    head = "".join(f'<th scope="col">{html_text(value)}</th>' for value in columns)
    lines = []
    for row in rows:
        outcomes = [cells.get((row, column)) for column in columns]
        if any(outcomes):
            inner = "".join(f'<td class="o {o}">{MARKS[o]}</td>' if o else "<td></td>" for o in outcomes)
            lines.append(f'<tr><th scope="row">{html_text(row)}</th>{inner}</tr>')
    head = f'<th scope="col">{html_text(down)} ↓ {html_text(across)} →</th>{head}'
    return scrolling(
        f"Outcomes, {name}",
        f'<table class="grid"><caption>{html_text(name)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>",
    )


def _sorted(values: dict[str, None]) -> list[str]:
    """Return the values in their order in the run, or by number where all are numbers."""
    found = list(values)
    return sorted(found, key=int) if all(value.lstrip("-").isdecimal() for value in found) else found


def _list_or_counts(placed: Sequence[_Placed]) -> str:
    if len(placed) <= _MOST_LISTED:
        items = "".join(
            f'<li><span class="o {one.result.outcome}">{MARKS[one.result.outcome]}</span> '
            f"{html_text(', '.join(f'{k}={v}' for k, v in one.at.items()) or one.result.id, limit=1000)}</li>"
            for one in placed
        )
        return f'<ul class="cases">{items}</ul>'
    return "".join(_counts(placed))


def _counts(placed: Sequence[_Placed]) -> Iterator[str]:
    """Yield for each axis a table of its values with the outcomes at each."""
    some = [name for name in OUTCOMES if any(one.result.outcome == name for one in placed)]
    for axis in dict.fromkeys(name for one in placed for name in one.at):
        counted = Counter((one.at.get(axis, ""), one.result.outcome) for one in placed)
        values = _sorted(dict.fromkeys(value for value, _ in counted))
        if not 1 < len(values) <= _MOST_VALUES:
            continue
        head = "".join(f'<th scope="col"><span class="o {name}">{MARKS[name]}</span> {name}</th>' for name in some)
        rows = "".join(
            f'<tr><th scope="row">{html_text(value)}</th>'
            + "".join(f'<td class="number">{counted[value, name] or ""}</td>' for name in some)
            + "</tr>"
            for value in values
        )
        table = (
            f'<table><thead><tr><th scope="col">{html_text(axis)}</th>{head}</tr></thead><tbody>{rows}</tbody></table>'
        )
        yield f"<details><summary>By {html_text(axis)}</summary>{scrolling(f'Outcomes by {axis}', table)}</details>"
