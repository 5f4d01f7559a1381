"""``posvec generate``: parse, call, say what happened. JAX and NumPy load only once arguments are right."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from posvec.generator.suites import LEARNED_POS_EMBED
from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.errors import InvalidArgument, VectorsError, printable

if TYPE_CHECKING:
    from posvec.generator.generate import Outcome
    from posvec.generator.sweep import Advance

_SUITE = LEARNED_POS_EMBED
_DEFAULTS = _SUITE.default_axes
_LONGEST_AXIS = 1_000_000_000
_AXIS_PARAMETERS = {
    "seeds": "--seeds",
    "T": "--T",
    "d_model": "--d-model",
    "force": "--force",
    "output": "--output",
}


@click.command()
@click.option(
    "--suite",
    "suite_name",
    metavar="NAME|all|FILE.py:NAME",
    default=_SUITE.suite.name,
    show_default=True,
    help="What to generate; `posvec suites` lists them. A file defines a suite of your own (docs/own-suite.md).",
)
@click.option(
    "--seeds",
    metavar="LIST",
    default=_DEFAULTS["seed"],
    show_default=True,
    help="Seeds: integers and inclusive ranges, such as 0..31,42,-1.",
)
@click.option("--T", "T", metavar="LIST", default=_DEFAULTS["T"], show_default=True, help="Lengths, 0..32.")
@click.option(
    "--d-model",
    metavar="LIST",
    default=_DEFAULTS["d_model"],
    show_default=True,
    help="Features per position.",
)
@click.option(
    "--stream",
    type=click.Choice(STREAMS),
    default="partitionable",
    show_default=True,
    help="Which integers a seed gives: jax_threefry_partitionable on, or off as before JAX 0.5.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("golden"),
    show_default=True,
    help="Folder of the golden file; made if missing.",
)
@click.option("--force", is_flag=True, help="Replace a file that is damaged or has other axes.")
@click.option("--check", is_flag=True, help="Write nothing; say whether the file holds for the running JAX.")
@click.option(
    "--vectors",
    type=click.Path(path_type=Path),
    metavar="FILE",
    default=None,
    help="With --check: the golden file, instead of the one in --output.",
)
@click.option("--any-device", is_flag=True, help="Accept a default device that is not a CPU.")
@click.pass_context
def generate(
    ctx: click.Context,
    suite_name: str,
    seeds: str,
    T: str,
    d_model: str,
    stream: Stream,
    output: Path,
    force: bool,
    check: bool,
    vectors: Path | None,
    any_device: bool,
) -> None:
    """Run the Flax reference over seeds x T x d_model and record what it returns.

    The running JAX is recorded eager and under jit. A file with the same axes is merged into, and no
    recording in it is dropped.
    """
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if suite_name != _SUITE.suite.name:
        for name, option in (*_AXIS_PARAMETERS.items(), ("stream", "--stream")):
            if name in given and option not in ("--force", "--output") and (name != "stream" or suite_name != "all"):
                raise click.UsageError(f"{option} goes with the suite {_SUITE.suite.name} only.")
        _generate_suites(suite_name, output=output, force=force, check=check, vectors=vectors, any_device=any_device)
        if suite_name != "all":
            return
    if check:
        _check(given, stream=stream, output=output, vectors=vectors, any_device=any_device)
        return
    if vectors is not None:
        raise click.UsageError("--vectors goes with --check; a file is written into the folder of --output.")
    suite = _SUITE.suite
    axes = {
        "seed": suite.parameter("seed").parse(seeds, option="--seeds"),
        "T": suite.parameter("T").parse(T, option="--T"),
        "d_model": suite.parameter("d_model").parse(d_model, option="--d-model"),
    }
    for name, option in (("seed", "--seeds"), ("d_model", "--d-model")):
        # len() of an axis cannot say more than 2**63 - 1, and no disk holds as many tables.
        if sum(last - first + 1 for first, last in axes[name].ranges) > _LONGEST_AXIS:
            raise InvalidArgument(option, str(axes[name]), f"at most {_LONGEST_AXIS:,} values")
    if output.exists() and not output.is_dir():
        raise InvalidArgument("--output", str(output), "a folder")
    from posvec.generator.generate import Request
    from posvec.generator.generate import generate as run

    request = Request(generated=_SUITE, axes=axes, stream=stream, folder=output, force=force, any_device=any_device)
    with _progress("recording", 2 * len(axes["seed"]) * len(axes["d_model"])) as advance:
        outcome = run(request, advance=advance, waiting=_say_waiting)
    _say_written(outcome)


def _generate_suites(
    name: str, *, output: Path, force: bool, check: bool, vectors: Path | None, any_device: bool
) -> None:
    from posvec.generator.case_generate import check_cases, generate_cases
    from posvec.generator.suites import find_case_suites
    from posvec.vectors.case_golden import CaseGolden, open_golden
    from posvec.vectors.files import file_name

    if output.exists() and not output.is_dir():
        raise InvalidArgument("--output", str(output), "a folder")
    failed = False
    for suite, spelled in find_case_suites(name):
        if check:
            path = vectors or output / file_name(suite.suite.name, "partitionable")
            golden = open_golden(path)
            if not isinstance(golden, CaseGolden) or golden.suite.name != suite.suite.name:
                raise VectorsError(path, f"holds another suite than {suite.suite.name}", remedy="name another file")
            other = check_cases(golden, suite, any_device=any_device)
            failed |= bool(other)
            click.echo(f"{printable(str(path))}: " + (f"DOES NOT HOLD in {other[0]}" if other else "holds"))
            continue
        command = f"posvec generate --suite={spelled}"
        outcome = generate_cases(suite, folder=output, command=command, force=force, any_device=any_device)
        manifest, refused = outcome.manifest, outcome.finding.refused
        click.echo(
            f"{printable(str(outcome.path))}: {len(manifest.cases):,} cases, {manifest.elements:,} elements; "
            f"they refuse {sum(map(bool, refused.values()))} of {len(refused)} listed mistakes"
        )
        for mistake in outcome.finding.not_told_apart:
            click.echo(f"  not told apart: {mistake}")
    if failed:
        raise click.exceptions.Exit(1)


def _check(given: set[str], *, stream: Stream, output: Path, vectors: Path | None, any_device: bool) -> None:
    excluded = {name: option for name, option in _AXIS_PARAMETERS.items() if name != "output" or vectors}
    for name, option in excluded.items():
        if name in given:
            raise click.UsageError(f"{option} does not go with --check, which takes the file as it is.")
    from posvec.generator.generate import check as run
    from posvec.vectors.files import file_name, locate
    from posvec.vectors.golden import Golden

    # --vectors FILE says its stream itself; a folder may hold both.
    path = output / file_name(_SUITE.suite.name, stream) if vectors is None else locate(vectors, stream)
    golden = Golden.open(path)
    golden.check_values()
    if golden.suite != _SUITE.suite:
        raise VectorsError(path, f"holds another suite than {_SUITE.suite.name}", remedy="name another file")
    if "stream" in given and golden.stream != stream:
        raise InvalidArgument("--stream", stream, f"{golden.stream}, the stream of {path}")
    axes = golden.manifest.axes
    with _progress("checking", 2 * len(axes["seed"]) * len(axes["d_model"])) as advance:
        verdicts = run(golden, _SUITE, any_device=any_device, advance=advance)
    holds = all(verdict.holds for verdict in verdicts)
    click.echo(f"{printable(str(path))}: {'holds' if holds else 'DOES NOT HOLD'}")
    for verdict in verdicts:
        click.echo(f"  {verdict.sentence()}")
    if not holds:
        raise click.exceptions.Exit(1)


def _say_waiting() -> None:
    click.echo("waiting for another `posvec generate` to finish writing into the same folder", err=True)


def _say_written(outcome: Outcome) -> None:
    manifest = outcome.manifest
    counts = manifest.to_dict()["counts"]
    click.echo(
        f"{printable(str(outcome.path))}: {manifest.cases:,} cases, {manifest.elements:,} elements, "
        f"{counts['recordings']} recordings, {counts['builds']} builds"
    )
    if outcome.replaced:
        click.echo(f"  replaced {printable(outcome.replaced)}")
    for build, rounding in outcome.roundings.items():
        if rounding.unknown:
            how = (
                f"{rounding.unknown:,} of {rounding.elements:,} elements rounded as in no known arithmetic: "
                "this rounding is NEW, please report it"
            )
        elif rounding.same_as:
            how = f"arithmetic {', '.join(rounding.same_as)}"
        else:
            how = "each element as in some known arithmetic"
        was = " again" if build in outcome.recorded_before else ""
        click.echo(f"  recorded{was} {build.label}: {how}")
        if build in outcome.recorded_otherwise:
            click.echo("    it was recorded with other bytes before; both recordings are kept")
    for mode, widths in outcome.not_batched.items():
        click.echo(f"  {mode}: d_model {', '.join(map(str, widths))} by literal calls: a batch rounds differently")
    expected = manifest.recordings[0]
    click.echo(f"  expected: {expected.label} ({manifest.expected_source})")


@contextmanager
def _progress(what: str, total: int) -> Iterator[Advance]:
    """Show a bar on stderr while the block runs, if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: list[Any] = [
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tables"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda tables: bar.advance(task, tables)
