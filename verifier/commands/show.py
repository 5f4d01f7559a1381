"""``posvec show``: the golden values of any case, derived from the draw table, and every stage behind one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.errors import InvalidArgument

if TYPE_CHECKING:
    from posvec.vectors.draws import DrawTable
    from posvec.vectors.ulp import Float32


@click.command()
@click.option(
    "--suite", metavar="NAME", help="Another suite, to show one of its golden cases; `posvec suites` lists them."
)
@click.option("--case", "case_id", metavar="ID", help="With --suite: the case, or the end of its id.")
@click.option("--seed", type=int, help="Seed, -2**63 … 2**63-1.")
@click.option("--d-model", type=int, help="Features per position.")
@click.option("--T", "T", type=int, default=32, show_default=True, help="Length, 0..32.")
@click.option(
    "--stream",
    type=click.Choice(STREAMS),
    default="partitionable",
    show_default=True,
    help="Which integers a seed gives.",
)
@click.option("--build", metavar="NAME", help="Round as this recorded build or arithmetic. Default: JAX 0.10.2 eager.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: each value in decimal and as its float32 bits.")
@click.option("--npy", type=click.Path(path_type=Path), metavar="FILE", help="Write a NumPy file instead.")
@click.option("--explain", is_flag=True, help="Print every stage behind one element.")
@click.option("--position", type=int, default=0, show_default=True, help="With --explain: the position t.")
@click.option("--feature", type=int, default=0, show_default=True, help="With --explain: the feature d.")
@click.pass_context
def show(
    ctx: click.Context,
    suite: str | None,
    case_id: str | None,
    seed: int | None,
    d_model: int | None,
    T: int,
    stream: Stream,
    build: str | None,
    as_json: bool,
    npy: Path | None,
    explain: bool,
    position: int,
    feature: int,
) -> None:
    """Print the golden values of one case, for any seed and d_model, without JAX."""
    from posvec.vectors.suites import LEARNED_POS_EMBED, MAX_T

    if suite is not None and suite != LEARNED_POS_EMBED.name:
        _check_suite_options(ctx)
        from posvec.verifier.show_case import show_case

        for line in show_case(suite, case_id, as_json=as_json):
            click.echo(line)
        return
    if case_id is not None:
        raise click.UsageError("--case goes with --suite; give --seed, --d-model and --T instead")
    if seed is None or d_model is None:
        raise click.UsageError(f"Missing option '{'--seed' if seed is None else '--d-model'}'", ctx)
    for name, value in (("seed", seed), ("d_model", d_model), ("T", T)):
        LEARNED_POS_EMBED.parameter(name).check(value, option=f"--{name.replace('_', '-')}")
    if sum((as_json, npy is not None, explain)) > 1:
        raise click.UsageError("--json, --npy and --explain exclude each other")
    from posvec.vectors.derive import table_draws
    from posvec.vectors.draws import DrawTable

    table = DrawTable.load()
    arithmetic = _arithmetic(build, table, stream)
    if npy is not None and not npy.name:
        raise InvalidArgument("--npy", str(npy), "the name of a file")
    if explain and T == 0:
        raise InvalidArgument("--T", T, "at least 1 with --explain")
    if explain:
        _check_element(position, feature, T, d_model)
        from posvec.vectors.explain import explain as stages

        for stage in stages(
            seed=seed,
            d_model=d_model,
            position=position,
            feature=feature,
            stream=stream,
            rows=MAX_T,
            table=table,
            arithmetic=arithmetic,
        ):
            click.echo(f"{stage.name:<14} {stage.value:<24} {stage.how}")
        return
    draws = table_draws([seed], d_model, stream=stream, rows=MAX_T)[0, :T]
    values = table.values_at(arithmetic, draws)
    if npy is not None:
        _write_npy(npy, values.reshape(-1))
    elif as_json:
        _print_json(values, seed=seed, d_model=d_model, T=T, stream=stream, arithmetic=arithmetic)
    else:
        _print_text(values)


def _print_text(values: Float32) -> None:
    """Print one position a line; the shortest decimals that read back as the same float32."""
    for t, row in enumerate(values):
        click.echo(f"{t:>2}: " + " ".join(f"{value!s:>15}" for value in row))


def _print_json(values: Float32, *, seed: int, d_model: int, T: int, stream: Stream, arithmetic: str) -> None:
    import numpy as np

    flat = values.reshape(-1)
    document = {
        "seed": seed,
        "T": T,
        "d_model": d_model,
        "stream": stream,
        "arithmetic": arithmetic,
        "dtype": "float32",
        "shape": [flat.size],
        "values": [float(str(value)) for value in flat],
        "bits": [f"0x{bits:08x}" for bits in np.ascontiguousarray(flat).view(np.uint32).tolist()],
    }
    click.echo(json.dumps(document))


def _write_npy(path: Path, values: Float32) -> None:
    import numpy as np

    from posvec.vectors.replace import replacing, told_of

    remedy = "choose another file for --npy"
    with told_of(path, remedy=remedy), replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, values)


def _arithmetic(build: str | None, table: DrawTable, stream: Stream) -> str:
    """Return the arithmetic that ``--build`` names, itself or through a build in the shipped vectors."""
    from posvec.vectors.files import locate
    from posvec.vectors.golden import Golden
    from posvec.verifier.plan import find_recording

    if build is None:
        return table.canonical
    if build in {arithmetic.id for arithmetic in table.arithmetics}:
        return build
    recording = find_recording(build, Golden.open(locate(None, stream)).recordings)
    if recording is None or not recording.arithmetics:
        raise InvalidArgument(
            "--build",
            build,
            "a build whose rounding does not depend on the shape",
            hint=f"choose one of {', '.join(arithmetic.id for arithmetic in table.arithmetics)}",
        )
    return recording.arithmetics[0]


def _check_suite_options(ctx: click.Context) -> None:
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    unfit = sorted(given - {"suite", "case_id", "as_json"})
    if unfit:
        raise click.UsageError(f"--{unfit[0].replace('_', '-')} does not go with --suite; give --case ID", ctx)


def _check_element(position: int, feature: int, T: int, d_model: int) -> None:
    for name, value, limit in (("--position", position, T), ("--feature", feature, d_model)):
        if not 0 <= value < limit:
            raise InvalidArgument(name, value, f"within 0..{limit - 1}")
