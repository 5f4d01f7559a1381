"""How far a batch is, on stderr, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Advance:
    """Moves a bar, if there is one."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar, self._task = bar, task

    def __call__(self, name: str) -> None:
        """One more submission has its row; ``name`` is what it is called, safe to show."""
        if self._bar is not None:
            self._bar.update(self._task, advance=1, name=name[:24])


@contextmanager
def progress(total: int) -> Iterator[Advance]:
    """Show a bar of ``total`` submissions while the block runs."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield Advance()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("submissions"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[name]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        yield Advance(bar, bar.add_task("batch", total=total, name=""))
