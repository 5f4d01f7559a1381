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

_BINS_PER_OCTAVE = 8


def draw(table: DrawTable, path: Path) -> None:
    """Write the figure: density of gaps, error by draw, and the region of the largest error."""
    low, high = table.span()
    gaps = low[1:].astype(np.int64) - high[:-1]
    truth = table.correctly_rounded()
    canonical = table.values(table.canonical)
    figure, (top, middle, bottom) = plt.subplots(3, 1, figsize=(8, 9), layout="constrained")
    _gaps(top, gaps)
    _errors(middle, table, truth)
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
    axes.set_title(f"No two spans touch: smallest gap {gaps.min()} ULP ({(gaps > 40).sum():,} are wider than 40)")


def _errors(axes: Any, table: DrawTable, truth: NDArray[np.float32]) -> None:
    """Plot against the distance from the nearer end of the range: that is where the large errors are."""
    draws = np.arange(N_DRAWS)
    bins = (np.log2(np.minimum(draws, N_DRAWS - 1 - draws) + 1) * _BINS_PER_OCTAVE).astype(np.intp)
    places = 2 ** ((np.arange(bins.max() + 1) + 0.5) / _BINS_PER_OCTAVE)
    largest = np.zeros(len(places), np.int64)
    for arithmetic in table.arithmetics:
        error = np.abs(ulp_distance(table.values(arithmetic.id), truth))
        np.maximum.at(largest, bins, error)
        if arithmetic.id == table.canonical:
            canonical = np.zeros_like(largest)
            np.maximum.at(canonical, bins, error)
    occupied = np.bincount(bins, minlength=len(places)) > 0
    axes.plot(places[occupied], largest[occupied], color="#ee6677", label="all arithmetics")
    axes.plot(places[occupied], canonical[occupied], color="#4477aa", label=table.canonical)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("draws from the nearer end of the range")
    axes.set_ylabel("largest error, ULP")
    axes.set_title("Distance from the correctly rounded value")
    axes.legend(fontsize=7)


def _worst(axes: Any, table: DrawTable, truth: NDArray[np.float32], canonical: NDArray[np.float32]) -> None:
    error = ulp_distance(canonical, truth)
    centre = int(np.abs(error).argmax())
    near = np.arange(max(0, centre - 3000), min(N_DRAWS, centre + 3000))
    low, high = (ordered_end[near] for ordered_end in table.span())
    zero = ordered(truth[near]).astype(np.int64)
    cell_low, cell_high = table.cell(near)
    axes.fill_between(near, cell_low - zero, cell_high - zero, color="#dddddd", label="cell", step="mid")
    axes.fill_between(near, low - zero, high - zero, color="#ee6677", label="span", step="mid")
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
