"""What a run was and what it gave, in labelled lines: the same on the screen and in every report for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from posvec.schemas.report import OUTCOMES, CaseResult, Report
from posvec.verifier.levels import NOT_FINITE
from posvec.verifier.running.endings import FAILURES_IN_A_ROW, FAILURES_IN_ALL
from posvec.verifier.text import counted, percent

_VERSIONS = (("jax", "JAX"), ("jaxlib", "jaxlib"), ("flax", "Flax"), ("numpy", "NumPy"), ("torch", "Torch"))


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line."""
    yield "target", report.target
    yield "against", _against(report)
    held = ", ".join(report.levels_held) or "none"
    build = f", bytes of {report.build_asked}" if report.build_asked else ""
    yield "levels", f"{held} (asked: {report.level_asked}{build})"
    counts = ", ".join(f"{report.counts[outcome]:,} {outcome}" for outcome in OUTCOMES if report.counts[outcome])
    known = sum(result.known_fails for result in report.results)
    yield "cases", counts + (f" ({known:,} known to fail)" if known else "")
    coerced = [result for result in report.results if result.coercion]
    if coerced:
        yield "coercion", _coercion(coerced)
    yield "elements", _elements(report)
    if report.behaviour.checked or report.behaviour.skipped:
        yield "behaviour", _behaviour(report)
    if report.restarts:
        again = f"the target's process was started again {counted(report.restarts, 'time')}"
        most = f"(at most {FAILURES_IN_ALL}, {FAILURES_IN_A_ROW} in a row)"
        yield "restarts", f"{again} after crashes or timeouts {most}"
    yield "ran on", _environment(report)
    yield "time", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in report.seconds.items())


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
    if report.audience == "student":
        return f"{text}, {percent(elements.differing, elements.compared)} not bit-identical to the expected ones"
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
