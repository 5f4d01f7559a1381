"""What the shell may complete in the values of options and arguments."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def levels(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Return the match levels that begin so."""
    return [level for level in ("exact", "equivalent", "ulp:1") if level.startswith(incomplete)]


def suite_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Return the shipped suites that begin so."""
    from posvec.vectors.files import SHIPPED, suites_in

    return [name for name in suites_in(SHIPPED) if name.startswith(incomplete)]


def any_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Leave it to the shell, which knows the files."""
    return [CompletionItem(incomplete, type="file")]


def help_topics(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Return the topics and commands that begin so."""
    from posvec.verifier.help_pages import topics

    root = ctx.find_root()
    names = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    return [name for name in (*topics(), *names) if name.startswith(incomplete)]
