"""How far a run is, on stderr."""

from __future__ import annotations

import sys
from collections import deque
from statistics import median
from typing import Any

import click

_LONG_RUN = 60.0
_PACE = 20
_QUICK = 100
_PATIENCE = 20.0


class ScreenProgress:
    """A progress bar if stderr is a terminal; in any case one line if the run will take over a minute."""

    def __init__(self, *, quick: bool, jobs: int = 1) -> None:
        self._quick, self._jobs, self._warned = quick, jobs, False
        self._answered, self._spent = 0, 0.0
        self._recent: deque[float] = deque(maxlen=_PACE)
        self._bar: Any = None
        self._task: Any = None

    def begin(self, total: int) -> None:
        """Show an empty bar."""
        if sys.stderr is None or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("verifying"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("cases"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("verifying", total=total)
        self._bar.start()

    def advance(self, seconds: float, remaining: int) -> None:
        """Move the bar by one case; warn once of a long run, when some cases have told its pace."""
        self._recent.append(seconds)
        if self._bar is not None:
            self._bar.advance(self._task)
        self._answered += 1
        self._spent += seconds
        told = self._answered % _PACE == 0 and (self._answered > _QUICK or self._spent > _PATIENCE)
        if self._warned or not told:
            return
        # The quick cases come first and are all of new shapes, which may compile; only the others tell the pace.
        seconds_left = median(self._recent) * remaining / self._jobs
        if seconds_left > _LONG_RUN:
            self._warned = True
            hint = "" if self._quick else "; --quick runs at most 100 cases that cover every axis value"
            click.echo(f"posvec: this run will take about {_duration(seconds_left)} more{hint}", err=True)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
