"""Draws docs/exactness.png: ``python -m posvec.generator.draw_table.figure docs/exactness.png``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from posvec.vectors.derive import N_DRAWS
from posvec.vectors.draws import DrawTable
from posvec.vectors.ulp import ordered, ulp_distance

mpl.use("Agg")
from matplotlib import pyplot as plt

_BINS = 2048


def draw(table: DrawTable, path: Path) -> None:
    """Write the figure: density of gaps, error by draw, and the region of the largest error."""
    draws = np.arange(N_DRAWS)
    low, high = table.span()
    gaps = low[1:].astype(np.int64) - high[:-1]
    truth = table.correctly_rounded()
    canonical = table.values(table.canonical)
    figure, (top, middle, bottom) = plt.subplots(3, 1, figsize=(8, 10), layout="constrained")
    _gaps(top, gaps)
    _errors(middle, draws, table, truth)
    _worst(bottom, table, truth, canonical)
    # no date and no version, so that the same table gives the same file
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _gaps(axes: Any, gaps: NDArray[np.int64]) -> None:
    shown = np.arange(0, 41)
    counts = np.array([(gaps == gap).sum() for gap in shown])
    axes.bar(shown, counts, width=0.9, color="#4477aa")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5)
    axes.set_xlabel("gap between the spans of neighbouring draws, ULP")
    axes.set_ylabel("pairs of neighbours")
    axes.set_title(
        f"No two spans touch: smallest gap {gaps.min()} ULP ({(gaps > 40).sum():,} are wider than 40)"
    )


def _errors(axes: Any, draws: NDArray[np.intp], table: DrawTable, truth: NDArray[np.float32]) -> None:
    centres = draws.reshape(_BINS, -1).mean(axis=1)
    for arithmetic in table.arithmetics:
        error = np.abs(ulp_distance(table.values(arithmetic.id), truth)).reshape(_BINS, -1)
        axes.plot(centres, error.max(axis=1), linewidth=0.7, label=arithmetic.id)
    axes.set_yscale("log")
    axes.set_xlim(0, N_DRAWS)
    axes.set_xlabel("draw")
    axes.set_ylabel("largest error, ULP")
    axes.set_title("Distance from the correctly rounded value, largest of 4,096 neighbouring draws")
    axes.legend(fontsize=6, ncols=2)


def _worst(axes: Any, table: DrawTable, truth: NDArray[np.float32], canonical: NDArray[np.float32]) -> None:
    error = ulp_distance(canonical, truth)
    centre = int(np.abs(error).argmax())
    near = np.arange(max(0, centre - 3000), min(N_DRAWS, centre + 3000))
    low, high = (ordered_end[near] for ordered_end in table.span())
    zero = ordered(truth[near]).astype(np.int64)
    cell_low, cell_high = table.cell(near)
    axes.fill_between(near, cell_low - zero, cell_high - zero, color="#dddddd", label="cell", step="mid")
    axes.fill_between(
        near, low - zero, high - zero, color="#ee6677", label="span of all arithmetics", step="mid"
    )
    axes.set_ylim(-150, 150)
    axes.set_xlabel(f"draw (values near {canonical[centre]:.4f})")
    axes.set_ylabel("ULP from the correctly rounded value")
    axes.set_title(f"Where JAX is farthest from the truth: {np.abs(error).max()} ULP at draw {centre:,}")
    axes.legend(fontsize=7, loc="lower left")


@click.command()
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
def main(path: Path) -> None:
    """Draw the figure of docs/exactness.md into PATH."""
    draw(DrawTable.load(), path)


if __name__ == "__main__":
    main()
