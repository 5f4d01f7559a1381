"""``posvec suites``: the functions that there are golden vectors of."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--vectors",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Folder with golden files. Default: those shipped with posvec.",
)
@click.option("--names", is_flag=True, help="Print the names alone.")
def suites(vectors: Path | None, names: bool) -> None:
    """List the suites: each function's signature, contract and source, and its default match level."""
    from posvec.schemas.errors import VectorsError, printable
    from posvec.vectors.case_golden import open_golden
    from posvec.vectors.files import SHIPPED, locate, suites_in
    from posvec.verifier.text import row, terminal_width

    folder = vectors or SHIPPED
    found = suites_in(folder)
    if not found:
        raise VectorsError(folder, "holds no golden files", remedy="`posvec generate --suite all -o DIR` makes them")
    if names:
        click.echo("\n".join(map(printable, found)))
        return
    for name in found:
        golden = open_golden(locate(folder, None, suite=name))
        suite = golden.suite
        arguments = ", ".join(f"{p.name} {p.shape}" if p.kind == "array" else p.name for p in suite.parameters)
        click.echo(name)
        for label, text in (
            ("function", f"{suite.function}({arguments}) -> {suite.output.dtype} {suite.output.shape}"),
            ("contract", suite.summary),
            ("source", suite.source),
            ("level", suite.default_match),
            ("cases", f"{len(golden.cases()):,}"),
        ):
            for line in row(label, text, terminal_width()):
                click.echo(printable(line))
