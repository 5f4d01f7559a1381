"""``posvec mistakes``: the catalogue of known mistakes, and one of them explained."""

from __future__ import annotations

import click


@click.command()
@click.argument("name", required=False, metavar="[ID]")
def mistakes(name: str | None) -> None:
    """List the known mistakes, or explain the one called ID: why it is wrong, what to change, an example."""
    from posvec.verifier.mistakes.catalogue import CATALOGUE, find
    from posvec.verifier.mistakes.pages import explained, listed
    from posvec.verifier.text import terminal_width

    lines = listed(CATALOGUE, terminal_width()) if name is None else explained(find(name), terminal_width())
    for line in lines:
        click.echo(line)
