"""``posvec plot``: draw a golden table, or two side by side."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from posvec.schemas.build import STREAMS, Stream


@click.command()
@click.argument("what", nargs=-1, metavar="[ID|FILE]…")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="A .png or .svg file."
)
@click.option("--case", "case_id", metavar="ID", help="The case to draw of each FILE.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed, -2**63 … 2**63-1.")
@click.option("--d-model", type=int, default=64, show_default=True, help="Features per position.")
@click.option("--T", "T", type=int, default=32, show_default=True, help="Length, 1..32.")
@click.option("--stream", type=click.Choice(STREAMS), default="partitionable", help="Which integers a seed gives.")
@click.option("--sinusoidal", is_flag=True, help="The sinusoidal table against the learned one.")
@click.pass_context
def plot(
    ctx: click.Context,
    what: tuple[str, ...],
    output: Path,
    case_id: str | None,
    seed: int,
    d_model: int,
    T: int,
    stream: Stream,
    sinusoidal: bool,
) -> None:
    """Draw a golden table, two side by side with their difference, or sinusoidal against learned.

    \b
    posvec plot --seed 7 --d-model 16 -o table.png
    posvec plot --sinusoidal --d-model 64 -o both.svg
    posvec plot learned_pos_embed/seed={7,8}/d_model=4/T=32 -o two.png
    posvec plot old.h5 new.h5 --case ID -o change.png
    """  # noqa: D301 - \b, a backspace, tells click to keep the lines
    from posvec.schemas.errors import InvalidArgument, printable

    if len(what) > 2:
        raise InvalidArgument("the cases or files", f"{len(what)} of them", "one or two")
    if what or case_id is not None:
        for name in ("seed", "d_model", "T", "stream", "sinusoidal"):
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name.replace('_', '-')} does not go with a case or a file", ctx)
    from posvec.verifier.plots import Picture, check_output, draw

    check_output(output)
    from posvec.verifier.plot_tables import learned, of_case, titled
    from posvec.verifier.plot_tables import sinusoidal as sinusoidal_table

    pictures: list[Picture]
    heading = ""
    if case_id is not None and what:
        pictures = [titled(of_case(case_id, Path(file), option="--case"), file) for file in what]
        heading = case_id
    elif what or case_id is not None:
        for word in what:
            if "=" not in word and Path(word).exists():
                raise click.UsageError(f"which case of {word}? Add --case ID", ctx)
            if word.endswith(".h5"):
                raise InvalidArgument("the case or file", word, "the id of a case, or a file that is there")
        pictures = [of_case(word, None, option="the case") for word in (what or (case_id or "",))]
    else:
        if T == 0:
            raise InvalidArgument("--T", T, "at least 1, to be seen")
        pictures = [learned(seed=seed, T=T, d_model=d_model, stream=stream)]
        if sinusoidal:
            pictures.insert(0, sinusoidal_table(T=T, d_model=d_model))
    alike = len(pictures) == 2 and pictures[0].values.shape == pictures[1].values.shape
    draw(pictures, output, heading=heading, difference=alike and not sinusoidal)
    click.echo(printable(f"{output}: drawn."))
