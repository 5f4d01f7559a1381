"""``posvec vendor``: copy golden files into a project, and check such a copy."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from posvec.vectors.vendoring.check import Checked

_WORDS = {
    "suite": "which suites there are",
    "format": "the format",
    "draws": "draws",
    "values": "values",
    "rounding": "rounding",
    "intervals": "accept intervals",
    "coverage": "only coverage",
    "equal": "nothing but manifests",
}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--suite", "suites", multiple=True, metavar="NAME", help="Only this suite; may be repeated. Default: all of them."
)
@click.option(
    "--subset",
    type=click.Choice(["quick", "all"]),
    default="all",
    show_default=True,
    help="quick: only the cases of `verify --quick`, at most 92 of a suite.",
)
@click.option(
    "--vectors",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Golden files of your own instead of those shipped with posvec.",
)
@click.option("--with-draws", is_flag=True, help="The draw table too (9 MB).")
@click.option("--check", "check_", is_flag=True, help="Write nothing: is the copy in DIR whole and up to date?")
@click.pass_context
def vendor(
    ctx: click.Context,
    folder: Path,
    suites: tuple[str, ...],
    subset: str,
    vectors: Path | None,
    with_draws: bool,
    check_: bool,
) -> None:
    """Copy golden files into DIR, for a project to keep, with licence, schema and digests.

    A folder that is not empty is written to only if all in it is from posvec and unedited: it is updated, whole or
    not at all. Otherwise the exit status is 1 and nothing is changed.
    """
    from posvec.schemas.errors import printable
    from posvec.vectors.vendoring.contents import Contents
    from posvec.vectors.vendoring.place import vendor as place
    from posvec.vectors.vendoring.readme import choosing
    from posvec.vectors.vendoring.record import OWN
    from posvec.verifier.text import counted

    if check_:
        ctx.exit(_check(ctx, folder, vectors))
    contents = Contents(suites=suites, vectors=vectors, subset=subset, draws=with_draws)
    placed = place(folder, contents)
    names = placed.record.golden
    size = sum((folder / name).stat().st_size for name in placed.record.files)
    version = "your own vectors" if placed.record.vectors == OWN else f"vectors {placed.record.vectors}"
    files = counted(len(names), "golden file")
    shown = shlex.quote(str(folder))
    click.echo(
        printable(f"{folder}: {files}, {version}, {size / 1e6:.1f} MB, written.")
        if placed.changed
        else printable(f"{folder}: unchanged, it holds just this already ({files}, {version}).")
    )
    words = " ".join(["", *choosing(names)])
    click.echo(printable(f"  check    posvec vendor --check {shown}"))
    click.echo(printable(f"  verify   posvec verify --vectors {shown}{words} TARGET"))


def _check(ctx: click.Context, folder: Path, vectors: Path | None) -> int:
    from posvec.vectors.vendoring.check import check

    for name, option in (("suites", "--suite"), ("subset", "--subset"), ("with_draws", "--with-draws")):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} does not go with --check, which takes it from VERSION", ctx)
    found = check(folder, vectors=vectors)
    _print(folder, found, vectors)
    return 0 if found.status == "unchanged" else 1


def _print(folder: Path, found: Checked, vectors: Path | None) -> None:
    from posvec.schemas.errors import printable, shorten
    from posvec.vectors.vendoring.place import STAGING
    from posvec.vectors.vendoring.record import OWN
    from posvec.vectors.vendoring.releases import key, step
    from posvec.verifier.text import counted, row, terminal_width

    record = found.record
    mine = "vectors of your own" if record.vectors == OWN else f"vectors {record.vectors}"
    faults = counted(len(found.faults), "file") + " not as posvec wrote " + ("it" if len(found.faults) == 1 else "them")
    if found.faults:
        headline = f"{found.status.upper()}: {faults} ({mine})"
    elif found.changes:
        newer = "those given" if vectors is not None else f"vectors {found.available} of this posvec"
        headline = f"OUTDATED: {mine}; an update to {newer} changes {_WORDS[found.gravest]}"
        if vectors is None and found.available != record.vectors:
            headline += f" ({step(record.vectors, found.available)})"
    else:
        headline = f"UNCHANGED: {counted(len(record.files) + 1, 'file')}, {mine}"
        if not found.available:
            headline += "; --vectors FILE compares them with others"
        elif vectors is None and key(found.available) < key(record.vectors):
            headline += f", newer than the {found.available} of this posvec"
        else:
            headline += ", up to date"
    _wrapped(headline)
    for fault in found.faults:
        for line in row(fault.kind, f"{shorten(fault.name, 60)} {fault.what}", terminal_width()):
            click.echo(printable(line))
    for change in found.changes:
        for line in row(change.kind, f"{change.name}: {change.what}", terminal_width()):
            click.echo(printable(line))
    if found.changes or found.faults:
        words = shlex.split(found.command)
        words[2:3] = [str(folder)]
        if vectors is not None:
            words = [*(word for word in words if not word.startswith("--vectors=")), f"--vectors={vectors}"]
        again = shlex.join(words)
        unfinished = [fault.name for fault in found.faults] == [STAGING]
        restore = "restore what was changed, or delete it and run" if found.faults and not unfinished else "run"
        todo = "to finish" if unfinished else "to repair" if found.faults else "to update"
        for line in row(todo, f"{restore} {again}", terminal_width()):
            click.echo(printable(line))


def _wrapped(text: str) -> None:
    import textwrap

    from posvec.schemas.errors import printable
    from posvec.verifier.text import terminal_width

    for line in textwrap.wrap(text, terminal_width(), break_long_words=False, break_on_hyphens=False):
        click.echo(printable(line))
