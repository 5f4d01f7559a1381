"""Text for a terminal: labelled rows, wrapped; numbers in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from shutil import get_terminal_size

_LABEL = 11


def terminal_width() -> int:
    """Return the columns to use: those of the terminal, within reason; 80 if there is none."""
    return max(60, min(100, get_terminal_size((80, 24)).columns))


def row(label: str, text: str, width: int) -> Iterator[str]:
    """Yield the lines of a labelled row, wrapped between words only."""
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=f"  {label:<{_LABEL}}",
        subsequent_indent=" " * (_LABEL + 2),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [f"  {label}"]


def percent(part: int, whole: int) -> str:
    """Return ``part`` of ``whole`` in percent with two significant digits: ``27 %``, ``0.036 %``."""
    share = 100 * part / whole if whole else 0.0
    if share >= 10:
        return f"{int(share)} %" if part < whole and share > 99 else f"{share:.0f} %"
    return f"{float(f'{share:.2g}'):.10f}".rstrip("0").rstrip(".") + " %"


def counted(number: int, noun: str) -> str:
    """Return ``1 case``, ``2 cases``, ``2,079 cases``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
