"""Records JAX environments and writes the draw table: ``python -m posvec.generator.draw_table``."""

from __future__ import annotations

from pathlib import Path

import click

from posvec.generator.draw_table import build
from posvec.generator.entry import run
from posvec.vectors.draws import DEFAULT_PATH


@click.command()
@click.argument("interpreters", nargs=-1, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=DEFAULT_PATH,
    help="The file to write; what it holds already is kept.",
)
@click.option("--isa", "isas", multiple=True, default=build.ISAS, help="Limits XLA to this instruction set too.")
def main(interpreters: tuple[str, ...], output: Path, isas: tuple[str, ...]) -> None:
    """Record the JAX of each of INTERPRETERS (pythons with jax and numpy), prove and write the draw table.

    Arithmetics that are in the file and cannot be recorded here are kept. Without INTERPRETERS the file is
    proved and written anew.
    """
    collection = build.Collection.from_file(output)

    def say(line: str) -> None:
        click.echo(line, err=True)

    build.record(collection, interpreters, isas, say)
    build.write(collection, output, say)


if __name__ == "__main__":
    run(main)
