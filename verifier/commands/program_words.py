"""``--exec``: all words after it are a program's, whatever they look like."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from posvec.schemas.errors import shorten

_META = "posvec.exec"


class WithProgram(click.Command):
    """A command whose last option is ``--exec PROGRAM ARGS…``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the program's words away before click sees them; hint at words that are likely meant for posvec."""
        own, found, words = args, False, list[str]()
        for index, word in enumerate(args):
            if word == "--":
                break
            if word == "--exec" or word.startswith("--exec="):
                given = word.partition("=")[2]
                own, found, words = args[:index], True, [*([given] if given else []), *args[index + 1 :]]
                break
        if found:
            ctx.meta[_META] = words
            names = {name for parameter in self.params for name in parameter.opts if name.startswith("--")}
            meant = [word for word in words[1:] if word.partition("=")[0] in names]
            if meant and not ctx.resilient_parsing:  # as while a shell completes a line
                shown = shorten(" ".join(meant), 60)
                click.echo(
                    f"posvec: note: {shown} comes after --exec, so it goes to the program; "
                    "posvec's own options stand before --exec",
                    err=True,
                )
        return super().parse_args(ctx, own)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete options; after ``--exec`` none, for they are the program's."""
        return [] if program_words(ctx) is not None else super().shell_complete(ctx, incomplete)


def program_words(ctx: click.Context) -> list[str] | None:
    """Return the program and its arguments, or None without ``--exec``."""
    words: list[str] | None = ctx.meta.get(_META)
    return words
