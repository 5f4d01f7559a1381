"""``posvec diff``: compare two golden files."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("first", type=click.Path(path_type=Path), metavar="A")
@click.argument("second", type=click.Path(path_type=Path), metavar="B")
@click.pass_context
def diff(ctx: click.Context, first: Path, second: Path) -> None:
    """Compare two golden files: equal (exit 0), other rounding, other draws, or other cases (exit 1)."""
    from posvec.vectors.diff import diff as compare
    from posvec.vectors.files import locate
    from posvec.vectors.golden import Golden
    from posvec.verifier.text import percent

    a, b = Golden.open(locate(first, None)), Golden.open(locate(second, None))
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
    ctx.exit(0 if found.kind == "equal" else 1)
