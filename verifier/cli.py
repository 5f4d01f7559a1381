"""The ``posvec`` command: a group whose commands are loaded only when they are used, and the one place that exits."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from posvec import __version__
from posvec.schemas.errors import PosvecError, TargetUnavailable, printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "verify": ("posvec.verifier.commands.verify:verify", "Check an implementation against golden vectors."),
    "batch": ("posvec.verifier.commands.batch:batch", "Check a class of submissions; table, CSV, JSON and a page."),
    "show": ("posvec.verifier.commands.show:show", "Print the golden values of one case, for any seed."),
    "mistakes": ("posvec.verifier.commands.mistakes:mistakes", "List the known mistakes, or explain one."),
    "selftest": ("posvec.verifier.commands.selftest:selftest", "Verify implementations whose verdict is known."),
    "info": ("posvec.verifier.commands.info:info", "Say what is in a golden file and whether it is whole."),
    "suites": ("posvec.verifier.commands.suites:suites", "List the functions that there are golden vectors of."),
    "diff": ("posvec.verifier.commands.diff:diff", "Compare two golden files: draws, rounding or coverage."),
    "vendor": ("posvec.verifier.commands.vendor:vendor", "Copy golden files into a project, or check such a copy."),
    "export": ("posvec.verifier.commands.export:export", "Write cases as npz, JSON, CSV or raw float32."),
    "plot": ("posvec.verifier.commands.plot:plot", "Draw a table, or two side by side."),
    "scaffold": ("posvec.verifier.commands.scaffold:scaffold", "Write a program that lacks only its function."),
    # A string, not an import: the generator needs JAX, and the verifier must never load it.
    "generate": ("posvec.generator.cli:generate", "Make golden vectors by running the Flax reference."),
    "help": ("posvec.verifier.commands.help:help_", "Explain exit codes, levels, reports and more."),
    "completion": ("posvec.verifier.commands.completion:completion", "Print a shell's completion script."),
}


COMPLETE = "_POSVEC_COMPLETE"
"""Set by the completion script of a shell, which runs the command to be told what may follow."""


class LazyGroup(click.Group):
    """Loads the module of a command only when that command is used; ``--help`` loads none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return the command, or None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands without importing any."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        found = {name: summary for name, (_, summary) in COMMANDS.items() if name.startswith(incomplete)}
        return [CompletionItem(name, help=summary) for name, summary in found.items()]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is answered with the nearest name."""
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f" ({', '.join(COMMANDS)})"
            raise click.UsageError(f"there is no command {printable(args[0])!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="posvec", message="%(prog)s %(version)s")
def cli() -> None:
    """Golden vectors for learned position embeddings, and the verdict on any implementation.

    \b
    Exit status: 0 conforms (or equal, or holds), 1 does not, 2 usage,
    3 could not judge, 130 interrupted.
    """  # noqa: D301 - \b, a backspace, tells click to keep the lines


def main() -> None:
    """Run the command and exit with its status. Every error of a user's is one sentence on stderr."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit status."""
    try:
        asked = os.environ.get(COMPLETE)
        if asked:
            from click.shell_completion import shell_complete

            return shell_complete(cli, {}, "posvec", COMPLETE, asked)
        status: Any = cli.main(args=arguments, prog_name="posvec", standalone_mode=False, color=_colour())
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        return _fail("interrupted", 130)
    except click.ClickException as error:
        return _fail(_one_line(error), 2 if isinstance(error, click.UsageError) else 3)
    except PosvecError as error:
        if isinstance(error, TargetUnavailable) and error.details:
            click.echo(printable(error.details, keep="\n\t").rstrip(), err=True)
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except (BrokenPipeError, SystemExit):
        # The reader (head, less) has gone: click has turned that into sys.exit(1), which nothing else here calls.
        _silence_stdout()
        return 141
    except OSError as error:
        _silence_stdout()
        return _fail(f"the output could not be written: {error.strerror or error}", 3)
    return status if isinstance(status, int) else 0


def _colour() -> bool | None:
    """Return whether to colour: never with NO_COLOR or on a dumb terminal, else click decides."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _silence_stdout() -> None:
    """Keep Python from writing what is left, and failing again, at exit."""
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


def _one_line(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None and not message.endswith("?"):
        return f"{message.rstrip('.')}; see `{error.ctx.command_path} --help`."
    return message


def _fail(message: str, status: int) -> int:
    """Print one line on stderr; on a terminal it is wrapped between words."""
    said = f"posvec: {printable(message)}"
    if sys.stderr is not None and sys.stderr.isatty():
        from textwrap import fill

        from posvec.verifier.text import terminal_width

        said = fill(said, terminal_width(), break_long_words=False, break_on_hyphens=False)
    click.echo(said, err=True)
    return status
