"""The report as a person reads it, on stdout."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence

import click

from posvec.schemas.report import OUTCOMES, CaseResult, Diagnosis, Failure, Report
from posvec.verifier.levels import NOT_FINITE
from posvec.verifier.running.endings import FAILURES_IN_A_ROW, FAILURES_IN_ALL
from posvec.verifier.text import counted, percent, row, terminal_width

_OUTPUT_LINES = 20
_DETAIL_LINES = 16
_DETAIL_WIDTH = 600
_VERSIONS = (("jax", "JAX"), ("jaxlib", "jaxlib"), ("flax", "Flax"), ("numpy", "NumPy"), ("torch", "Torch"))


def print_report(report: Report) -> None:
    """Print the report to stdout, wrapped to the terminal; coloured if it is one and NO_COLOR is unset."""
    width = terminal_width()
    colour = {0: "green", 1: "red"}.get(report.exit_code, "yellow")
    for line in textwrap.wrap(report.sentence, width, break_long_words=False):
        click.echo(click.style(line, fg=colour, bold=True))
    for line in _lines(report, width):
        click.echo(line)


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the report without colour, wrapped to the terminal."""
    width = terminal_width()
    yield from textwrap.wrap(report.sentence, width, break_long_words=False)
    yield from _lines(report, width)


def explanation(report: Report) -> Iterator[str]:
    """Yield what is wrong and why, without what the whole run is about: verdict, notes, mistake, first failure."""
    width = terminal_width()
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
    yield from row("target", report.target, width)
    yield from row("against", _against(report), width)
    held = ", ".join(report.levels_held) or "none"
    build = f", bytes of {report.build_asked}" if report.build_asked else ""
    yield from row("levels", f"{held} (asked: {report.level_asked}{build})", width)
    counts = ", ".join(f"{report.counts[outcome]:,} {outcome}" for outcome in OUTCOMES if report.counts[outcome])
    known = sum(result.known_fails for result in report.results)
    counts += f" ({known:,} known to fail)" if known else ""
    yield from row("cases", counts, width)
    coerced = [result for result in report.results if result.coercion]
    if coerced:
        yield from row("coercion", _coercion(coerced), width)
    yield from row("elements", _elements(report), width)
    if report.behaviour.checked or report.behaviour.skipped:
        yield from row("behaviour", _behaviour(report), width)
    if report.restarts:
        again = f"the target's process was started again {counted(report.restarts, 'time')}"
        most = f"(at most {FAILURES_IN_ALL}, {FAILURES_IN_A_ROW} in a row)"
        yield from row("restarts", f"{again} after crashes or timeouts {most}", width)
    yield from row("ran on", _environment(report), width)
    yield from row("time", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in report.seconds.items()), width)
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


def _against(report: Report) -> str:
    facts = report.vectors
    parts = [facts["name"]]
    if facts.get("file"):
        parts.append(f"in {facts['file']}")
    if facts.get("fresh_seed"):
        parts.append(f"fresh cases, repeat with --fresh-seed {facts['fresh_seed']}")
    return ", ".join(parts)


def _elements(report: Report) -> str:
    elements = report.elements
    if not elements.compared:
        return "none compared"
    text = f"{elements.compared:,} compared"
    if not elements.differing:
        return f"{text}, all bit-identical to the expected ones"
    most = "not all finite" if elements.max_ulp >= NOT_FINITE else f"at most {elements.max_ulp:,} ULP"
    text += f", {percent(elements.differing, elements.compared)} not bit-identical to the expected ones ({most})"
    if elements.unexplained and report.vectors["stream"]:
        text += f", {percent(elements.unexplained, elements.compared)} given by no recorded build"
    return text


def _coercion(results: Sequence[CaseResult]) -> str:
    failed = [result for result in results if result.outcome == "coercion"]
    if failed:
        return f'{len(failed)} of {len(results)} cases with arguments such as "3" or 3.0 fail: {failed[0].detail}'
    if any(result.outcome == "not-run" for result in results):
        return f"not checked: {results[0].detail}"
    right = sum(result.outcome in ("pass", "rounding") for result in results)
    if right < len(results):
        return "not told: the same cases fail with plain integers"
    return f'{right} of {len(results)} cases with arguments such as "3" or 3.0 pass'


def _behaviour(report: Report) -> str:
    found = report.behaviour
    if not found.checked:
        return f"not checked: {found.skipped}"
    text = f"{counted(found.checked, 'case')} called again: "
    text += "see above" if found.failed else "same bytes, whatever the order, and no result changed later"
    return f"{text} ({found.seconds:.2f} s)" + (f"; stopped: {found.skipped}" if found.skipped else "")


def _environment(report: Report) -> str:
    found = report.environment
    parts = [" ".join((found["program"], found.get("version", ""))).strip()] if "program" in found else []
    parts += [found["language"]] if found.get("language") else []
    parts += [f"Python {found['python']}"] if "python" in found else []
    parts += [f"{label} {found[name]}" for name, label in _VERSIONS if name in found]
    for name, label in (
        ("jax_device", "device"),
        ("jax_enable_x64", "x64"),
        ("jax_threefry_partitionable", "threefry_partitionable"),
        ("jax_default_prng_impl", "PRNG"),
        ("XLA_FLAGS", "XLA_FLAGS"),
        ("cpu_flags", "CPU"),
    ):
        if found.get(name):
            parts.append(f"{label} {found[name]}")
    return ", ".join(parts) or "unknown"


def _failure(failure: Failure, width: int) -> Iterator[str]:
    yield f"First failure: {failure.case} ({failure.outcome})"
    if failure.expected is not None:
        if failure.position is not None:
            yield f"  at position t={failure.position}, feature d={failure.feature}"
        else:
            yield f"  at index {list(failure.index or ())}"
        yield f"  expected  {failure.expected:<24} {failure.expected_hex:<26} {failure.expected_bits}"
        yield f"  got       {failure.got:<24} {failure.got_hex:<26} {failure.got_bits}"
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
