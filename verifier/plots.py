"""Drawing tables with matplotlib: one, or two side by side and their difference. The same tables give the same file."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.errors import InvalidArgument, PosvecError, shorten
from posvec.vectors.replace import replacing, told_of
from posvec.vectors.ulp import ulp_distance

EXTENSIONS = (".png", ".svg")
_COLOURS = "RdBu_r"  # two hues that colour-blind people tell apart, white at 0
_STYLE: Any = {
    "svg.hashsalt": "posvec",  # else matplotlib makes ids of its own for each file
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same everywhere
    "font.size": 9,
    "text.parse_math": False,  # a file's name may hold dollar signs
}
LARGEST = 4096
"""Positions and features that can be told apart at all."""
_ROUNDING = 10_000
_ONE_SCALE = 5
TITLE = 48
"""Characters of a title that fit above a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One table to draw.

    Attributes:
        title: What stands above it.
        values: The table, of shape ``(T, d_model)``.
        rows, columns: What its axes are.

    """

    title: str
    values: NDArray[Any]
    rows: str = "position t"
    columns: str = "feature d"


def check_output(path: Path) -> None:
    """Find out before anything is computed whether ``path`` can be drawn to.

    Raises:
        InvalidArgument: It does not end with .png or .svg.
        PlotUnavailable: matplotlib is not installed.

    """
    if path.suffix.lower() not in EXTENSIONS:
        raise InvalidArgument("-o", str(path), f"a name that ends with {' or '.join(EXTENSIONS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PlotUnavailable from error


class PlotUnavailable(PosvecError, ImportError):
    """matplotlib is not installed (exit 3)."""

    def __str__(self) -> str:
        return "posvec plot needs matplotlib, which is not installed; install it with: pip install 'posvec[plot]'."


def draw(pictures: Sequence[Picture], path: Path, *, heading: str, difference: bool) -> None:
    """Draw one or two tables, and what the second is less the first if they are of one shape and that is asked for.

    Positions go down, features to the right, as a table is printed. Colours are symmetric around 0, and the same for
    both tables unless one would look empty beside the other; the difference has colours of its own.

    Raises:
        InvalidArgument: A table is empty or larger than can be seen.
        OutputError: The file could not be written; what was there is untouched.

    """
    for picture in pictures:
        if not picture.values.size:
            raise InvalidArgument("the table", picture.title, "one with elements: T = 0 has none")
        if max(picture.values.shape) > LARGEST:
            raise InvalidArgument(
                "the table", picture.title, f"of at most {LARGEST:,} positions and features, to be seen"
            )
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        panels = len(pictures) + (1 if difference else 0)
        figure = Figure(figsize=(1.2 + 4.3 * panels, _height(pictures)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, panels, squeeze=False)[0]
        limits = [float(np.abs(picture.values).max()) for picture in pictures]
        if max(limits) <= _ONE_SCALE * min(limits):
            limits = [max(limits)] * len(limits)
        for place, picture, limit in zip(axes, pictures, limits, strict=False):
            _panel(place, picture, limit, "value")
        if difference:
            _panel(axes[-1], *_difference(*pictures))
        if heading:
            figure.suptitle(shorten(heading), fontsize=10)
        _save(figure, path)


def _height(pictures: Sequence[Picture]) -> float:
    """Return inches: cells are near square where that is neither flat nor endless."""
    rows, columns = np.max([picture.values.shape for picture in pictures], axis=0)
    return float(np.clip(1.4 + 3.4 * rows / columns, 2.6, 6.5))


def _panel(axes: Any, picture: Picture, limit: float, unit: str) -> None:
    from matplotlib.ticker import MaxNLocator

    limit = limit or 1.0
    image = axes.imshow(
        picture.values.astype(np.float64),
        cmap=_COLOURS,
        vmin=-limit,
        vmax=limit,
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_title("\n".join(textwrap.wrap(shorten(picture.title), TITLE, break_on_hyphens=False)), fontsize=9)
    axes.set_xlabel(picture.columns)
    axes.set_ylabel(picture.rows)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, nbins=9))
    axes.figure.colorbar(image, ax=axes, label=unit, shrink=0.9)


def _difference(left: Picture, right: Picture) -> tuple[Picture, float, str]:
    """Return the distance in ULP where it is small enough to be rounding, else the difference of the values."""
    first, second = left.values, right.values
    if first.dtype == second.dtype == np.float32:
        ulp = ulp_distance(np.ascontiguousarray(second), np.ascontiguousarray(first))
        largest, differing = int(np.abs(ulp).max()), np.count_nonzero(ulp)
        if largest <= _ROUNDING:
            title = f"right minus left: {differing:,} of {ulp.size:,} differ, at most {largest:,} ULP"
            shown = replace(left, values=ulp, title=title if differing else "right minus left: bit-identical")
            return shown, float(largest), "ULP"
    values = second.astype(np.float64) - first.astype(np.float64)
    return replace(left, values=values, title="right minus left"), float(np.abs(values).max()), "difference"


def _save(figure: Any, path: Path) -> None:
    kind = path.suffix.lower().removeprefix(".")
    # no date and no version, so that the same tables give the same file
    metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    with told_of(path, remedy="choose another file with -o"), replacing(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=110, metadata=metadata)
