"""``posvec help``: pages on what no single command explains, and the help of each command."""

from __future__ import annotations

import click

from posvec.schemas.errors import InvalidArgument
from posvec.verifier.commands.completing import help_topics


@click.command("help")
@click.argument("topic", required=False, metavar="[TOPIC|COMMAND]", shell_complete=help_topics)
@click.pass_context
def help_(ctx: click.Context, topic: str | None) -> None:
    """Print a page on TOPIC, or the help of COMMAND; without either, list them."""
    from posvec.verifier.help_pages import listed, page, topics

    root = ctx.find_root()
    commands = root.command
    assert isinstance(commands, click.Group)  # noqa: S101 - this is one of its commands
    names = commands.list_commands(root)
    if topic is None:
        click.echo("\n".join(listed(names)))
    elif topic in topics():
        click.echo(page(topic), nl=False)
    elif topic in names:
        command = commands.get_command(root, topic)
        assert command is not None  # noqa: S101 - the group has just named it
        click.echo(command.get_help(click.Context(command, info_name=topic, parent=root)))
    else:
        from difflib import get_close_matches

        near = get_close_matches(topic, [*topics(), *names], n=1)
        hint = f"the nearest is {near[0]!r}" if near else "`posvec help` lists them"
        raise InvalidArgument("TOPIC", topic, "a topic or a command", hint=hint)
