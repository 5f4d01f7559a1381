"""``posvec scaffold``: a program that lacks only the function under test."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


@click.command()
@click.argument("language", metavar="LANG")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Where to write it. Default: posvec_target.EXT in the current folder.",
)
def scaffold(language: str, output: Path | None) -> None:
    """Write a program for `posvec verify --exec` that lacks only the function.

    LANG is python, javascript, c, rust or julia. No file is ever overwritten.
    """
    from posvec.verifier.scaffolds.languages import Language, write_new

    chosen = Language.parse(language)
    path = chosen.place(output)
    write_new(path, chosen.source())
    click.echo(f"{path} is written. Fill in learned_pos_embed_forward, then:\n")
    check = ["posvec", "verify", "--match", "equivalent", "--exec", *chosen.run_words(path)]
    for words in (chosen.build_words(path), check):
        if words:
            click.echo(f"  {shlex.join(words)}")
