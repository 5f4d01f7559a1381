"""The report as a person reads it, on stdout."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator

import click

from posvec.schemas.report import Diagnosis, Failure, Report
from posvec.verifier.levels import NOT_FINITE
from posvec.verifier.reports.facts import facts
from posvec.verifier.text import counted, row, terminal_width

_OUTPUT_LINES = 20
_DETAIL_LINES = 16
_DETAIL_WIDTH = 600


def print_report(report: Report, *, err: bool = False) -> None:
    """Print the report to stdout, or stderr, wrapped to the terminal; coloured if it is one and NO_COLOR is unset."""
    width = terminal_width()
    colour = {0: "green", 1: "red"}.get(report.exit_code, "yellow")
    for line in textwrap.wrap(report.sentence, width, break_long_words=False):
        click.echo(click.style(line, fg=colour, bold=True), err=err)
    for line in _lines(report, width):
        click.echo(line, err=err)


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the report without colour, wrapped to the terminal."""
    width = terminal_width()
    yield from textwrap.wrap(report.sentence, width, break_long_words=False)
    yield from _lines(report, width)


def explanation(report: Report, *, indent: int = 0) -> Iterator[str]:
    """Yield what is wrong and why, without what the whole run is about: verdict, notes, mistake, first failure.

    ``indent`` is how many columns the caller puts before each line.
    """
    width = terminal_width() - indent
    yield from textwrap.wrap(report.sentence, width, break_long_words=False)
    for note in report.notes:
        yield from _note(note, width)
    if report.diagnosis is not None:
        yield from _diagnosis(report.diagnosis, width)
    if report.failure is not None:
        yield ""
        yield from _failure(report.failure, width)


def _note(note: str, width: int) -> list[str]:
    return textwrap.wrap(
        note,
        width,
        initial_indent="  ! ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _lines(report: Report, width: int) -> Iterator[str]:
    for note in report.notes:
        yield from _note(note, width)
    if report.diagnosis is not None:
        yield from _diagnosis(report.diagnosis, width)
    yield ""
    for label, text in facts(report):
        yield from row(label, text, width)
    if report.failure is not None:
        yield ""
        yield from _failure(report.failure, width)
    if report.output.strip() and report.exit_code:
        yield ""
        yield "From the target:"
        lines = report.output.rstrip().splitlines()
        if len(lines) > _OUTPUT_LINES:
            yield f"  | … {len(lines) - _OUTPUT_LINES} lines before …"
        for line in lines[-_OUTPUT_LINES:]:
            yield f"  | {line[:400]}"


def _diagnosis(diagnosis: Diagnosis, width: int) -> Iterator[str]:
    yield ""
    yield from textwrap.wrap(diagnosis.sentence, width, break_long_words=False, break_on_hyphens=False)
    several = len(diagnosis.explanations) > 1
    for number, explanation in enumerate(diagnosis.explanations, start=1):
        if several:
            yield f"  ({number}) {' and '.join(mistake.id for mistake in explanation.mistakes)}"
        yield from row("evidence", explanation.evidence, width)
        for mistake in explanation.mistakes:
            if several or len(explanation.mistakes) > 1:
                yield from row("mistake", f"{mistake.title}.", width)
            yield from row("why", mistake.why, width)
            yield from row("change", mistake.fix, width)
            for position, line in enumerate(mistake.code.splitlines()):
                yield f"  {'' if position else 'code':<11}{line}"
        yield from row("more", "; ".join(f"posvec mistakes {mistake.id}" for mistake in explanation.mistakes), width)
    if diagnosis.separate:
        yield from row("to tell", diagnosis.separate, width)
    for fact in diagnosis.facts:
        yield from textwrap.wrap(fact, width, initial_indent="  - ", subsequent_indent="    ", break_long_words=False)


def _failure(failure: Failure, width: int) -> Iterator[str]:
    yield from textwrap.wrap(
        f"First failure: {failure.case} ({failure.outcome})",
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    if failure.got is not None:
        if failure.position is not None:
            yield f"  at position t={failure.position}, feature d={failure.feature}"
        else:
            yield f"  at index {list(failure.index or ())}"
        if failure.expected is not None:
            yield f"  expected  {failure.expected:<16} {failure.expected_hex:<24} {failure.expected_bits}"
        yield f"  got       {failure.got:<16} {failure.got_hex:<24} {failure.got_bits}"
        if failure.ulp is not None and abs(failure.ulp) < NOT_FINITE:
            yield f"  ULP       {failure.ulp:+,}"
    yield from _paragraphs(failure.detail, width)
    more = []
    if failure.more_elements:
        more.append(f"{counted(failure.more_elements, 'more element')} of this case")
    if failure.more_cases:
        more.append(counted(failure.more_cases, "more case"))
    if more:
        yield f"  and {' and '.join(more)}"
    if failure.reproduce:
        yield "Reproduce just this:"
        yield from _command(failure.reproduce, width)


def _command(command: str, width: int) -> Iterator[str]:
    """Yield a command, on several lines with a backslash between them where it is longer than one: as good to paste."""
    words = [shlex.quote(word) for word in shlex.split(command)]
    line = f"  {words[0]}"
    for word in words[1:]:
        if len(line) + len(word) + 3 > width:
            yield f"{line} \\"
            line = f"    {word}"
        else:
            line += f" {word}"
    yield line


def _paragraphs(text: str, width: int) -> Iterator[str]:
    """Wrap each line, keeping its indentation; of many lines show the first and the last ones."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > _DETAIL_LINES:
        lines = [*lines[:3], "…", *lines[-(_DETAIL_LINES - 4) :]]
    for line in lines:
        shown = line if len(line) <= _DETAIL_WIDTH else f"{line[:_DETAIL_WIDTH]}…"
        indent = " " * (2 + min(8, len(line) - len(line.lstrip())))
        yield from textwrap.wrap(
            shown.strip(), width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
