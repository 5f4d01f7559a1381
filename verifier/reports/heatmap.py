"""Heat maps: one table of numbers as a picture with axes and a legend, as SVG around an image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posvec.schemas.case_table import Grid
from posvec.verifier.reports.png import Colour, data_uri
from posvec.verifier.reports.untrusted import html_text
from posvec.verifier.text import counted

_STEPS = 126
_CENTRE = _STEPS
_NAN, _INFINITE = 2 * _STEPS + 1, 2 * _STEPS + 2
# Blue to orange: told apart with every kind of colour blindness, and by lightness from the middle.
_ANCHORS = (
    (8, 48, 107),
    (33, 113, 181),
    (107, 174, 214),
    (189, 215, 231),
    (247, 247, 247),
    (253, 208, 162),
    (253, 141, 60),
    (217, 72, 1),
    (127, 39, 4),
)
_MARGIN = 46
_FEW = 24  # columns: so many leave room for four maps side by side
_NARROW, _WIDEST, _HIGHEST, _LARGEST_CELL = 200, 300, 448, 24


def _palette() -> list[Colour]:
    at = np.linspace(0, len(_ANCHORS) - 1, 2 * _STEPS + 1)
    channels = [np.interp(at, range(len(_ANCHORS)), [a[c] for a in _ANCHORS]).round().astype(int) for c in range(3)]
    colours: list[Colour] = [(r, g, b) for r, g, b in zip(*(c.tolist() for c in channels), strict=True)]
    return [*colours, (0, 0, 0), (0, 200, 83)]


PALETTE = _palette()
RIGHT, WRONG = (222, 226, 230), (200, 16, 46)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Colours from ``-limit`` to ``limit``; what lies beyond has the last colour. ``unit`` follows the numbers."""

    limit: float
    unit: str = ""

    @classmethod
    def around_zero(cls, *arrays: np.ndarray, unit: str = "") -> Scale:
        """Return the scale that holds every finite number of ``arrays``."""
        largest = 0.0
        for values in arrays:
            finite = np.abs(values[np.isfinite(values)].astype(np.float64))
            largest = max(largest, float(finite.max())) if finite.size else largest
        return cls(limit=largest or 1.0, unit=unit)

    def text(self, value: float) -> str:
        """Return a number with its unit."""
        return f"{value:.3g}{self.unit}"


def heat_map(title: str, grid: Grid, scale: Scale) -> str:
    """Return a figure, HTML, of ``grid`` under its ``title``, with the meaning of the colours below."""
    values = grid.values.astype(np.float64)
    finite = np.isfinite(values)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.rint(np.clip(np.where(finite, values, 0) / scale.limit, -1, 1) * _STEPS)
    indices = np.where(np.isnan(values), _NAN, np.where(finite, steps + _CENTRE, _INFINITE))
    marked = [
        f'<span class="swatch {name}"></span> {counted(count, noun)}'
        for name, noun, count in (
            ("nan", "NaN", int(np.count_nonzero(np.isnan(values)))),
            ("infinite", "infinite value", int(np.count_nonzero(np.isinf(values)))),
        )
        if count
    ]
    beyond = int(np.count_nonzero(finite & (np.abs(values) > scale.limit * (1 + 1e-9))))
    marked += [f"{counted(beyond, 'value')} beyond the scale"] if beyond else []
    span = f"from {scale.text(values[finite].min())} to {scale.text(values[finite].max())}" if finite.any() else ""
    said = f"{title}: {_extent(grid)}{', ' + span if span else ''}"
    return _figure(title, _picture(grid, data_uri(indices, PALETTE), said), [_bar(scale), *marked])


def mask_map(title: str, grid: Grid) -> str:
    """Return a figure of a table of booleans: which elements are wrong."""
    count = int(np.count_nonzero(grid.values))
    said = f"{title}: {_extent(grid)}, {count:,} of {grid.values.size:,} wrong"
    legend = [
        f'<span class="swatch is-right"></span> right {grid.values.size - count:,}',
        f'<span class="swatch is-wrong"></span> wrong {count:,}',
    ]
    return _figure(title, _picture(grid, data_uri(grid.values, (RIGHT, WRONG)), said), legend)


def _figure(title: str, picture: str, legend: list[str]) -> str:
    below = "".join(f"<span>{part}</span>" for part in legend)
    return f'<figure><figcaption>{title}</figcaption>{picture}<div class="legend">{below}</div></figure>'


def _extent(grid: Grid) -> str:
    rows, columns = grid.values.shape
    return f"{counted(rows, 'row')} ({grid.rows}), {counted(columns, 'column')} ({grid.columns})"


def _picture(grid: Grid, uri: str, said: str) -> str:
    rows, columns = grid.values.shape
    widest = _NARROW if columns <= _FEW else _WIDEST
    cell = max(min(_LARGEST_CELL, widest / columns, _HIGHEST / rows), 1.0)
    width, height = columns * cell, rows * cell
    # Room for the names of the axes beside a small table.
    across, down = _MARGIN + max(width, 90) + 8, _MARGIN + max(height, 68) + 4
    ticks = [
        _tick(_MARGIN - 5, _MARGIN + (at + 0.5) * cell + 3.5, "end", grid.first_row + at) for at in _ticks(rows, cell)
    ]
    ticks += [
        _tick(_MARGIN + (at + 0.5) * cell, _MARGIN - 5, "middle", grid.first_column + at)
        for at in _ticks(columns, cell)
    ]
    middle = _MARGIN + max(height, 68) / 2
    return (
        f'<svg class="map" role="img" aria-label="{html_text(said)}" width="{across:.0f}" height="{down:.0f}" '
        f'viewBox="0 0 {across:.1f} {down:.1f}">'
        f'<image href="{uri}" x="{_MARGIN}" y="{_MARGIN}" width="{width:.1f}" height="{height:.1f}" '
        'preserveAspectRatio="none"/>'
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{width:.1f}" height="{height:.1f}" class="frame"/>'
        f'<text x="{_MARGIN}" y="14" class="axis">{html_text(grid.columns)} →</text>'
        f'<text x="14" y="{middle:.1f}" class="axis" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle:.1f})">{html_text("← " + grid.rows)}</text>'
        f"{''.join(ticks)}</svg>"
    )


def _ticks(count: int, cell: float) -> range:
    """Return which rows or columns are numbered: those 1, 2, 4, 5, 8, 10, … apart that leave room for a number."""
    return range(0, count, next(step for step in (1, 2, 4, 8, 16, 32, 64, 128) if step * cell >= 22 or step == 128))


def _tick(x: float, y: float, anchor: str, number: int) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{number}</text>'


def _bar(scale: Scale) -> str:
    uri = data_uri(np.arange(2 * _STEPS + 1)[None, :], PALETTE)
    return (
        f'{scale.text(-scale.limit)} <svg class="bar" width="72" height="12" viewBox="0 0 72 12" aria-hidden="true">'
        f'<image href="{uri}" width="72" height="12" preserveAspectRatio="none"/></svg> {scale.text(scale.limit)}'
    )
