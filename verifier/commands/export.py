"""``posvec export``: golden cases for places without HDF5."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from posvec.schemas.build import STREAMS, Stream


@click.command()
@click.option("--to", required=True, type=click.Choice(["npz", "json", "csv", "raw"]), help="What to write.")
@click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    help="Where; - is stdout. Default: NAME.cases.json and so on in the current folder.",
)
@click.option("--suite", metavar="NAME", help="The function; `posvec suites` lists them; all: each, into a folder.")
@click.option(
    "--vectors",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Golden file, or a folder with some. Default: those shipped with posvec.",
)
@click.option("--stream", type=click.Choice(STREAMS), default=None, help="Which integers a seed gives.")
@click.option("--select", metavar="GLOB", help="Only cases whose whole id matches, e.g. '*/T=3'.")
@click.option("--quick", is_flag=True, help="Only the cases of `verify --quick`, at most 92.")
@click.option("--with-intervals", is_flag=True, help="Each element's accept interval too, in ULP.")
@click.option("--with-draws", is_flag=True, help="The 23-bit draw behind each element too.")
def export(
    to: str,
    output: str | None,
    suite: str | None,
    vectors: Path | None,
    stream: Stream | None,
    select: str | None,
    quick: bool,
    with_intervals: bool,
    with_draws: bool,
) -> None:
    """Write golden cases as npz, JSON, CSV or raw float32, without losing a bit.

    raw is FILE, little-endian, and FILE.json, which says where each array begins.
    """
    from posvec.schemas.errors import InvalidArgument, VectorsError, printable
    from posvec.vectors.export.write import export as write
    from posvec.vectors.export.write import export_to_stream
    from posvec.vectors.files import SHIPPED, locate, suites_in
    from posvec.verifier.exporting import choose, place
    from posvec.verifier.text import counted

    names: list[str | None] = [suite]
    if suite == "all":
        if output in (None, "-") or select is not None:
            raise InvalidArgument("--suite", suite, "given with -o DIR, and without --select")
        names = [*suites_in(vectors or SHIPPED)]
        if not names:
            raise VectorsError(vectors or SHIPPED, "holds no golden files", remedy="leave out --vectors")
    for name in names:
        source = choose(
            locate(vectors, stream, suite=name),
            stream=stream,
            select=select,
            quick=quick,
            intervals=with_intervals,
            draws=with_draws,
        )
        if output == "-":
            export_to_stream(source, to, sys.stdout.buffer)
            return
        files = write(source, to, place(output, to, source.golden.name, folder=suite == "all"))
        shown = " and ".join(str(file) for file in files)
        click.echo(printable(f"{shown}: {counted(len(source.cases), 'case')}, written."))
