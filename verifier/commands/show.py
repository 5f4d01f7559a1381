"""``posvec show``: the golden values of any case, derived from the draw table, and every stage behind one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.errors import InvalidArgument, OutputError

if TYPE_CHECKING:
    from posvec.vectors.draws import DrawTable
    from posvec.vectors.ulp import Float32


@click.command()
@click.option("--seed", type=int, required=True, help="Seed, -2**63 … 2**63-1.")
@click.option("--d-model", type=int, required=True, help="Features per position.")
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
def show(
    seed: int,
    d_model: int,
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

    from posvec.vectors.replace import replacing

    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.save(file, values)
    except OSError as error:
        raise OutputError(path, error.strerror or str(error), remedy="choose another file for --npy") from error


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


def _check_element(position: int, feature: int, T: int, d_model: int) -> None:
    for name, value, limit in (("--position", position, T), ("--feature", feature, d_model)):
        if not 0 <= value < limit:
            raise InvalidArgument(name, value, f"within 0..{limit - 1}")
