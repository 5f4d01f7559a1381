"""Compares real tables with the draw table: ``python -m posvec.generator.draw_table.compare PYTHON ...``.

``record.py`` feeds chosen draws to the initializer; here the literal module makes its own, in eager mode,
under ``jax.jit`` and ``jax.vmap``, and each element has to be what some arithmetic gives for its draw.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import click
import numpy as np
from numpy.typing import NDArray

from posvec.generator.draw_table.build import ISAS, environment
from posvec.schemas.build import Stream
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.vectors.ulp import ordered

_LITERAL: Final = Path(__file__).with_name("literal.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one kind of table of one build is explained.

    Attributes:
        kind: mode, stream, d_model and T.
        n_elements: how many values were compared.
        whole: arithmetics that give all of them.
        parts: otherwise, the fewest arithmetics that give all columns of the flattened table, largest first.
        unexplained: draws whose value no arithmetic gives.

    """

    kind: str
    n_elements: int
    whole: tuple[str, ...]
    parts: tuple[str, ...]
    unexplained: tuple[int, ...]


def compare(table: DrawTable, arrays: dict[str, NDArray[Any]]) -> Iterator[Comparison]:
    """Yield a comparison for each pair of seeds and values that ``literal.py`` wrote."""
    for name in [name.removesuffix(" values") for name in arrays if name.endswith(" values")]:
        stream, d_model, _ = name.split()[-3:]
        values = ordered(arrays[f"{name} values"])
        draws = table_draws(arrays[f"{name} seeds"], int(d_model), stream=cast(Stream, stream))
        draws = draws.reshape(len(values), -1)[:, : values.shape[1]]
        same = {a.id: ordered(table.values_at(a.id, draws)) == values for a in table.arithmetics}
        whole = tuple(arithmetic for arithmetic, equal in same.items() if equal.all())
        unexplained = draws[~np.logical_or.reduce(list(same.values()))]
        yield Comparison(
            kind=name,
            n_elements=values.size,
            whole=whole,
            parts=() if whole else cover({name: equal.all(axis=0) for name, equal in same.items()}),
            unexplained=tuple(unexplained.tolist()),
        )


def cover(fits: dict[str, NDArray[np.bool_]]) -> tuple[str, ...]:
    """Return few arithmetics that between them fit all columns that any fits, greedily."""
    left = np.logical_or.reduce(list(fits.values()))
    chosen: list[str] = []
    while left.any():
        chosen.append(max(fits, key=lambda name: int((fits[name] & left).sum())))
        left &= ~fits[chosen[-1]]
    return tuple(chosen)


@click.command()
@click.argument("interpreters", nargs=-1, type=click.Path(exists=True, dir_okay=False))
@click.option("--isa", "isas", multiple=True, default=("host", *ISAS), help="Limits XLA to it.")
def main(interpreters: tuple[str, ...], isas: tuple[str, ...]) -> None:
    """Say of each INTERPRETER (a python with jax and flax) which arithmetics its tables are made of."""
    table = DrawTable.load()
    failed = False
    for interpreter in interpreters:
        for isa in isas:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "tables.npz"
                line = [interpreter, str(_LITERAL), str(out)]
                done = subprocess.run(line, env=environment(isa), capture_output=True, text=True, check=False)
                if done.returncode:
                    click.echo(f"{interpreter} {isa}: {done.stderr.strip().splitlines()[-1]}")
                    continue
                with np.load(out) as file:
                    arrays = {name: file[name] for name in file.files}
            comparisons = list(compare(table, arrays))
            total = sum(c.n_elements for c in comparisons)
            unexplained = sum(len(c.unexplained) for c in comparisons)
            failed |= unexplained > 0
            click.echo(f"{interpreter} {isa}: {total:,} elements, {unexplained} unexplained")
            for mixed in (c for c in comparisons if not c.whole):
                click.echo(f"  {mixed.kind}: {' + '.join(mixed.parts)} {mixed.unexplained[:5] or ''}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
