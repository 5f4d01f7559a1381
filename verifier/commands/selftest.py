"""``posvec selftest``: implementations whose verdict is known, through the real command; which mistakes look alike."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator

import click

from posvec.schemas.errors import InvalidArgument

_COLUMNS = (30, 21, 21)


@click.command()
@click.option("--jobs", type=int, default=None, metavar="N", help="Implementations at a time. Default: one a CPU.")
@click.option("--only", metavar="GLOB", help="Only implementations whose name matches, e.g. 'numpy_*'.")
@click.option("--confusion", is_flag=True, help="Print which mistakes the shipped golden files cannot tell apart.")
@click.pass_context
def selftest(ctx: click.Context, jobs: int | None, only: str | None, confusion: bool) -> None:
    """Verify right and wrong implementations whose verdict is known.

    Exits with 0 only if each is judged as it must be. Those that need JAX or Torch are skipped where that is not
    installed.
    """
    if jobs is not None and jobs < 1:
        raise InvalidArgument("--jobs", jobs, "a number above 0")
    if confusion:
        ctx.exit(_print_confusion())
    from fnmatch import fnmatchcase

    from posvec.verifier.selftest import run_specimens
    from posvec.verifier.specimens import SPECIMENS

    chosen = [specimen for specimen in SPECIMENS if only is None or fnmatchcase(specimen.label, only)]
    if not chosen:
        raise InvalidArgument("--only", only, "a pattern that matches a name", hint=f"such as {SPECIMENS[0].label}")
    click.echo("\n".join(_row("", "implementation", "expected", "got")))
    wrong = skipped = 0
    for result in run_specimens(chosen, jobs=jobs or os.cpu_count() or 1):
        skipped += bool(result.skipped)
        wrong += not result.ok and not result.skipped
        mark = "--" if result.skipped else "ok" if result.ok else "NO"
        got = f"skipped: {result.skipped}" if result.skipped else result.got
        click.echo("\n".join(_row(mark, result.specimen.label, result.expected, got)))
    left = f", {skipped} skipped" if skipped else ""
    right = len(chosen) - wrong - skipped
    if not right + wrong:
        click.echo(f"\nNOTHING RUN: all {len(chosen)} implementations were skipped.")
    elif wrong:
        click.echo(f"\nFAILED: {wrong} of {len(chosen)} implementations are not judged as they must be{left}.")
    else:
        click.echo(f"\nOK: {right} of {len(chosen)} implementations are judged as they must be{left}.")
    ctx.exit(0 if right and not wrong else 1)


def _row(mark: str, *cells: str) -> Iterator[str]:
    """Yield the lines of one row; a long cell is wrapped within its column."""
    parts = [
        textwrap.wrap(cell, width, break_on_hyphens=False) or [""] for cell, width in zip(cells, _COLUMNS, strict=True)
    ]
    for line in range(max(map(len, parts))):
        texts = [part[line] if line < len(part) else "" for part in parts]
        padded = "  ".join(f"{text:<{width}}" for text, width in zip(texts, _COLUMNS, strict=True))
        yield f"{mark if line == 0 else '':<2}  {padded}".rstrip()


def _print_confusion() -> int:
    from posvec.verifier.mistakes.confusion import confusion_lines

    for line in confusion_lines():
        click.echo(line)
    return 0
