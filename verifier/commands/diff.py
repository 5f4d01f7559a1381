"""``posvec diff``: compare two golden files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from posvec.vectors.case_golden import CaseGolden
    from posvec.vectors.golden import Golden

_SHOWN = 10


@click.command()
@click.argument("first", type=click.Path(path_type=Path), metavar="A")
@click.argument("second", type=click.Path(path_type=Path), metavar="B")
@click.pass_context
def diff(ctx: click.Context, first: Path, second: Path) -> None:
    """Compare two golden files: equal (exit 0), other rounding, other draws, or other cases (exit 1)."""
    from posvec.vectors.case_golden import CaseGolden, open_golden
    from posvec.vectors.diff import diff as compare
    from posvec.vectors.files import locate
    from posvec.verifier.text import percent

    a, b = open_golden(locate(first, None)), open_golden(locate(second, None))
    if isinstance(a, CaseGolden) or isinstance(b, CaseGolden):
        ctx.exit(_diff_cases(a, b))
    found = compare(a, b)
    share = f"{percent(found.other_expected, found.elements)} of {found.elements:,} elements"
    if found.kind == "suite":
        click.echo(f"DIFFERENT SUITES: {a.name} and {b.name}")
    elif found.kind == "draws":
        other = percent(found.other_draws, found.elements)
        why = f": the streams are {a.stream} and {b.stream}" if a.stream != b.stream else ""
        click.echo(f"OTHER DRAWS in {other} of {found.elements:,} elements{why}")
    elif found.kind == "rounding":
        click.echo(
            "SAME DRAWS, OTHER ROUNDING"
            if found.other_expected
            else "SAME DRAWS AND EXPECTED VALUES, but not the same builds' bytes are recorded"
        )
        if found.other_expected:
            click.echo(f"  expected: {share} differ, by at most {found.max_ulp} ULP")
            click.echo(f"    A: {a.recordings[0].label}\n    B: {b.recordings[0].label}")
        for only in found.recorded_only:
            click.echo(
                f"  only in {'A' if only.file == 'first' else 'B'}: {only.recording.label}, "
                f"{percent(only.differing, found.elements)} of the elements not as expected in A, "
                f"at most {only.max_ulp} ULP"
            )
    elif found.kind == "intervals":
        share = percent(found.other_intervals, found.elements)
        click.echo(f"SAME VALUES, OTHER ACCEPT INTERVALS in {share} of {found.elements:,} elements")
    elif found.kind == "coverage":
        click.echo(f"SAME VALUES, OTHER CASES: {found.elements:,} table elements are in both, and equal")
    else:
        click.echo(f"EQUAL: {a.manifest.cases:,} cases, the same draws, expected values and recorded bytes")
    for name in found.axes:
        click.echo(f"  {name}: {a.manifest.axes[name]} in A, {b.manifest.axes[name]} in B")
    if found.subset:
        click.echo(f"  cases: {a.manifest.cases:,} in A, {b.manifest.cases:,} in B")
    ctx.exit(0 if found.kind == "equal" else 1)


def _diff_cases(a: Golden | CaseGolden, b: Golden | CaseGolden) -> int:
    from posvec.vectors.case_golden import CaseGolden
    from posvec.vectors.diff_cases import diff_cases

    if not isinstance(a, CaseGolden) or not isinstance(b, CaseGolden) or a.suite.name != b.suite.name:
        click.echo(f"DIFFERENT SUITES: {a.name} and {b.name}")
        return 1
    found = diff_cases(a, b)
    click.echo(
        {
            "values": f"OTHER VALUES in {len(found.changed):,} of {found.common:,} cases",
            "intervals": f"SAME VALUES, OTHER ACCEPT INTERVALS in {len(found.intervals):,} of {found.common:,} cases",
            "coverage": f"SAME VALUES, OTHER CASES: {found.common:,} cases are in both, and equal",
        }.get(found.kind, f"EQUAL: {found.common:,} cases, the same arguments and expected values")
    )
    for what, names in (
        ("other values", found.changed),
        ("other intervals", found.intervals),
        ("only in A", found.only_first),
        ("only in B", found.only_second),
    ):
        for name in names[:_SHOWN]:
            click.echo(f"  {what}: {name}")
        if len(names) > _SHOWN:
            click.echo(f"  {what}: and {len(names) - _SHOWN:,} more")
    return 0 if found.kind == "equal" else 1
