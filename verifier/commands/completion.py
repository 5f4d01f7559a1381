"""``posvec completion``: the script that has a shell complete posvec's commands, options and values."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL. `posvec help completion` says where it goes.

    \b
    bash, in ~/.bashrc:   eval "$(posvec completion bash)"
    zsh, in ~/.zshrc:     eval "$(posvec completion zsh)"
    fish:                 posvec completion fish | source
    """  # noqa: D301 - \b, a backspace, tells click to keep the lines
    from click.shell_completion import get_completion_class

    from posvec.verifier.cli import COMPLETE

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click has these three
    click.echo(found(ctx.find_root().command, {}, "posvec", COMPLETE).source())
