"""``posvec batch``: many submissions; a table, CSV, JSON and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from posvec.schemas.build import STREAMS
from posvec.schemas.errors import InvalidArgument
from posvec.verifier.commands.stopping import stop_as_ctrl_c_does


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="DIR_OR_FILES...", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Folder for the results."
)
@click.option(
    "--target",
    default="*.py",
    show_default=True,
    metavar="GLOB[:FN]",
    help="File in each submission, and function. Default function: the suite's own, learned_pos_embed_forward.",
)
@click.option("--all", "every", is_flag=True, help="Every golden case. Default: the quick ones, at most 100.")
@click.option("--fresh", type=int, metavar="N", help="N new cases instead of golden ones, the same for all.")
@click.option("--fresh-seed", type=int, metavar="S", help="Choose the same fresh cases again.")
@click.option("--select", metavar="GLOB", help="The cases whose whole id matches, e.g. '*/T=3'.")
@click.option("--match", default=None, metavar="LEVEL", help="exact (the default), equivalent or ulp:N.")
@click.option("--suite", metavar="NAME", help="The function under test; `posvec suites` lists them.")
@click.option("--vectors", type=click.Path(path_type=Path), metavar="FILE|DIR", help="Golden file, or their folder.")
@click.option("--stream", type=click.Choice(STREAMS), default=None, help="Which integers a seed gives.")
@click.option("--timeout", type=float, default=10.0, show_default=True, metavar="S", help="Seconds for one case.")
@click.option(
    "--start-timeout", type=float, default=60.0, show_default=True, metavar="S", help="Seconds for importing."
)
@click.option("--limit", type=float, default=300.0, show_default=True, metavar="S", help="Seconds for a submission.")
@click.option("--memory", type=int, metavar="MIB", help="Largest resident size of a submission's process.")
@click.option("--python", metavar="PATH", help="Interpreter that runs the submissions.")
@click.option("--jobs", type=int, default=None, metavar="N", help="Submissions at a time. Default: one a CPU.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler (extra: dask).")
@click.option("--rerun", is_flag=True, help="Use no result of an earlier run.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any submission does not conform.")
@click.pass_context
def batch(
    ctx: click.Context,
    /,
    paths: tuple[Path, ...],
    output: Path,
    target: str,
    jobs: int | None,
    scheduler: str | None,
    rerun: bool,
    strict: bool,
    **asked: Any,
) -> None:
    """Check a class of submissions, each in a process and a folder of its own.

    A submission is a file, or a file or direct sub-folder of a folder that is named. Results go to DIR: index.html,
    results.csv, and a JSON for each submission. Run again, what has not changed is kept. Exits with 0 when every row
    is written.
    """
    from posvec.verifier.batch.asking import settle
    from posvec.verifier.batch.batch import Batch
    from posvec.verifier.batch.pattern import Pattern
    from posvec.verifier.batch.progress import progress
    from posvec.verifier.batch.results import ResultsFolder
    from posvec.verifier.batch.run import processors
    from posvec.verifier.batch.submissions import find_submissions
    from posvec.verifier.batch.table import statistics_lines, table_lines
    from posvec.verifier.text import row, terminal_width

    if jobs is not None and not 1 <= jobs <= 1024:
        raise InvalidArgument("--jobs", jobs, "a number from 1 to 1024")
    pattern = Pattern.parse(target)
    found = find_submissions(paths, pattern, results=output)
    stop_as_ctrl_c_does()
    settings, facts = settle(**asked, before=ResultsFolder(path=output).settings(), local=scheduler is None)
    results = ResultsFolder.open(output)
    with progress(len(found.submissions)) as advance:
        run = Batch(
            submissions=found.submissions,
            pattern=pattern,
            settings=settings,
            facts=facts,
            results=results,
            rerun=rerun,
            advance=advance,
        )
        outcome = run.run_here(jobs or processors()) if scheduler is None else run.run_on_cluster(scheduler, jobs)
    width = terminal_width()
    lines = [*table_lines(outcome.rows, width), "", *statistics_lines(outcome.statistics, width)]
    lines += row("cases", facts["cases"], width)
    if outcome.kept:
        lines += row("kept", f"{outcome.kept:,} of {len(found.submissions):,} from before: nothing has changed", width)
    if found.skipped:
        lines += row("skipped", ", ".join(found.skipped), width)
    click.echo("\n".join([*lines, *row("results", str(results.page), width)]))
    if outcome.problem is not None:
        raise outcome.problem
    if outcome.interrupted:
        click.echo("posvec: interrupted; the same command goes on with the rest", err=True)
        ctx.exit(130)
    ctx.exit(1 if strict and any(one.exit_code for one in outcome.rows) else 0)
