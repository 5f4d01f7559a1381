"""``posvec verify``: parse, run, print the report, return the exit status."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click
from click.core import ParameterSource

from posvec.schemas.audience import AUDIENCES, Audience
from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.errors import InvalidArgument, OutputError
from posvec.schemas.protocol import hello
from posvec.verifier.commands.completing import any_file, levels, suite_names
from posvec.verifier.commands.program_words import WithProgram, program_words
from posvec.verifier.commands.stopping import stop_as_ctrl_c_does
from posvec.verifier.running.program import PerCaseOutput, Program, find_program
from posvec.verifier.running.target import Target, parse_target


@click.command(cls=WithProgram)
@click.argument("target", metavar="[TARGET]", required=False, shell_complete=any_file)
@click.option(
    "--match",
    default=None,
    metavar="LEVEL",
    help="exact (the default), equivalent or ulp:N.",
    shell_complete=levels,
)
@click.option("--build", metavar="NAME", help="Ask for the bytes of this one recorded build.")
@click.option(
    "--vectors",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Golden file, or a folder with some. Default: those shipped with posvec.",
)
@click.option(
    "--stream",
    type=click.Choice(STREAMS),
    default=None,
    help="Which integers a seed gives. Default: partitionable, or the stream of the golden file.",
)
@click.option(
    "--suite",
    metavar="NAME",
    help="The function under test; `posvec suites` lists them.",
    shell_complete=suite_names,
)
@click.option("--select", metavar="GLOB", help="Only cases whose whole id matches, e.g. '*/T=3'.")
@click.option("--quick", is_flag=True, help="At most 100 cases that cover every value of every axis.")
@click.option("--fresh", type=int, metavar="N", help="N new cases that are in no golden file, instead of golden ones.")
@click.option("--fresh-seed", type=int, metavar="S", help="Choose the same fresh cases again.")
@click.option("--golden", is_flag=True, help="With --fresh: the golden cases too.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failure.")
@click.option("--strict", is_flag=True, help="Coercion cases and behaviour checks decide too.")
@click.option("--timeout", type=float, default=10.0, show_default=True, metavar="S", help="Seconds for one case.")
@click.option(
    "--start-timeout",
    type=float,
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds for importing the target.",
)
@click.option("--jobs", type=int, default=1, show_default=True, metavar="N", help="Processes that run the target.")
@click.option("--memory", type=int, metavar="MIB", help="Largest resident size of such a process.")
@click.option("--python", metavar="PATH", help="Interpreter that runs the target; posvec need not be installed there.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="KIND=FILE",
    help="Also write json, junit, markdown, gradescope, badge or html; as often as you like.",
)
@click.option(
    "--audience",
    type=click.Choice(AUDIENCES),
    default="instructor",
    show_default=True,
    help="A student's report leaves out expected values.",
)
@click.option(
    "--known-failing",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Cases that are known to fail, each with a reason; one that passes is an error.",
)
@click.option(
    "--write-known-failing",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the list of the cases that fail today; reasons that are there stay.",
)
@click.option("--per-case", is_flag=True, help="Start the program for each case: {seed} {T} {d_model} are replaced.")
@click.option(
    "--output",
    type=click.Choice(["text", "f32le"]),
    default="text",
    help="With --per-case: numbers as text (the default), or raw little-endian float32.",
)
@click.option(
    "--exec",
    "exec_",
    expose_value=False,
    metavar="PROGRAM ARGS…",
    shell_complete=any_file,
    help="Check a program in any language. The last option: all after it is the program's.",
)
@click.pass_context
def verify(
    ctx: click.Context,
    target: str | None,
    match: str | None,
    build: str | None,
    vectors: Path | None,
    stream: Stream | None,
    suite: str | None,
    select: str | None,
    quick: bool,
    fresh: int | None,
    fresh_seed: int | None,
    golden: bool,
    fail_fast: bool,
    strict: bool,
    timeout: float,
    start_timeout: float,
    jobs: int,
    memory: int | None,
    python: str | None,
    reports: tuple[str, ...],
    audience: Audience,
    known_failing: Path | None,
    write_known_failing: Path | None,
    per_case: bool,
    output: PerCaseOutput,
) -> None:
    """Check an implementation against golden vectors.

    TARGET is package.module:function or path/file.py:function. It, or the program of --exec, runs in a process of
    its own and sees inputs only.
    """
    from posvec.vectors.files import DEFAULT_SUITE, locate
    from posvec.verifier.match import Match
    from posvec.verifier.progress import ScreenProgress
    from posvec.verifier.reports.files import ReportFile
    from posvec.verifier.running.options import RunOptions
    from posvec.verifier.running.program_session import ProgramSession
    from posvec.verifier.running.runner import Session
    from posvec.verifier.todays_failures import find_known_failures, find_list_file

    level = Match.parse(match) if match is not None else None
    options = RunOptions(
        python=python,
        timeout=timeout,
        start_timeout=start_timeout,
        jobs=jobs,
        memory=memory * 2**20 if memory is not None else None,
    )
    files = [ReportFile.parse(text) for text in reports]
    for file in files:
        if sum(file.is_same(other.path) for other in files) > 1:
            raise InvalidArgument("--report", str(file.path), "a file of its own for each report")
    if memory is not None and memory < 1:
        raise InvalidArgument("--memory", memory, "a number of MiB above 0")
    stop_as_ctrl_c_does()
    parsed = _find(ctx, target, python=python, per_case=per_case, output=output)
    path = locate(vectors, stream, suite=suite)
    lists = [file for file in (known_failing, write_known_failing) if file is not None]
    for file in files:
        file.check_writable([*parsed.files(), path, path.with_suffix(".json"), *lists])
    to_write = find_list_file(write_known_failing, fail_fast=fail_fast, fresh=fresh is not None)
    known = find_known_failures(known_failing, to_write)
    watch = (path.resolve(),)
    # A program is told first which vectors are meant, so they are opened first; so are those of which only the file
    # knows the function's name. Any other target starts already.
    early = isinstance(parsed, Target) and (parsed.attribute or path.name.startswith(DEFAULT_SUITE.name + "."))
    session = Session(parsed, DEFAULT_SUITE.function, options, watch=watch) if early else None
    with session or nullcontext():
        if session is not None:
            session.launch()
        # Only now NumPy, HDF5 and the golden file: they load while the target's process starts.
        from posvec.verifier.plan import Request, every_id
        from posvec.verifier.reports.audience import for_audience
        from posvec.verifier.screen import print_report
        from posvec.verifier.sources import find_vectors
        from posvec.verifier.verify import verify as run

        sources = find_vectors(path=path, stream=stream, fresh=fresh, fresh_seed=fresh_seed, golden=golden)
        found = sources.golden.suite
        request = Request(
            target=parsed,
            match=level or Match.parse(found.default_match),
            vectors=sources.vectors,
            vectors_facts=sources.facts,
            golden=sources.golden,
            build=build,
            select=select,
            quick=quick,
            fail_fast=fail_fast,
            strict=strict,
            known_failing=known,
            reproduce=_repeated(ctx, sources.facts["fresh_seed"]),
            tables=any(file.kind == "html" for file in files),
        )
        if isinstance(parsed, Program):
            parsed.check_fits(found)
            session = ProgramSession(parsed, options, hello=hello(found.name, sources.vectors[0].stream))
        elif session is None:
            session = Session(parsed, found.function, options, watch=watch)
        report = for_audience(run(request, session, ScreenProgress(quick=quick, jobs=jobs)), audience)
    problem = None
    for file in files:
        try:
            file.write(report)
        except OutputError as error:  # a full disk must not cost the verdict as well
            problem = problem or error
    aside = any(file.to_stdout for file in files)  # a program reads stdout: what people read goes to stderr
    print_report(report, err=aside)
    if to_write is not None:
        for line in to_write.write(report, every_id(request)):
            click.echo(line, err=aside)
    if problem is not None:
        raise problem
    ctx.exit(report.exit_code)


def _find(
    ctx: click.Context,
    target: str | None,
    *,
    python: str | None,
    per_case: bool,
    output: PerCaseOutput,
) -> Target | Program:
    """Return what is to be verified: the target, or the program of ``--exec``; exactly one is given."""
    words = program_words(ctx)
    if words is None:
        if target is None:
            raise click.UsageError("Missing argument 'TARGET' (or --exec PROGRAM ARGS…)", ctx)
        if per_case or output != "text":
            raise InvalidArgument(
                "--per-case" if per_case else "--output", target, "given with --exec, not with TARGET"
            )
        return parse_target(target)
    if target is not None:
        raise InvalidArgument("--exec", target, "given without TARGET", hint="all after --exec is the program's")
    if python is not None:
        raise InvalidArgument("--python", python, "given with TARGET, not with --exec", hint=f"write --exec {python} …")
    if output != "text" and not per_case:
        raise InvalidArgument("--output", output, "given with --per-case")
    return find_program(words, per_case=per_case, output=output)


def _repeated(ctx: click.Context, fresh_seed: str) -> tuple[str, ...]:
    """Return the options that a command needs to run the same case the same way."""
    words: list[str] = []
    for name, option in (
        ("match", "--match"),
        ("build", "--build"),
        ("vectors", "--vectors"),
        ("stream", "--stream"),
        ("suite", "--suite"),
        ("python", "--python"),
        ("fresh", "--fresh"),
        ("memory", "--memory"),
        ("timeout", "--timeout"),
    ):
        value = ctx.params[name]
        if value is not None and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += [option, str(value)]
    if fresh_seed:
        words += ["--fresh-seed", fresh_seed]
    words += ["--golden"] if ctx.params["golden"] else []
    return tuple(words + (["--strict"] if ctx.params["strict"] else []))
