"""The pages of ``posvec help TOPIC``: text of at most 80 columns, one file a topic, whose first line says of what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

_ORDER = ("exit-codes", "levels", "outcomes", "reports", "protocol", "known-failing", "pytest", "completion")


def _folder() -> Traversable:
    return files("posvec.verifier").joinpath("help")


def topics() -> tuple[str, ...]:
    """Return the topics that there are pages on."""
    return _ORDER


def page(topic: str) -> str:
    """Return the page on one of :func:`topics`."""
    return _folder().joinpath(f"{topic}.txt").read_text("utf-8")


def listed(commands: Sequence[str]) -> Iterator[str]:
    """Yield the lines that list the topics, each with what its page is about, and the commands."""
    yield "Usage: posvec help TOPIC|COMMAND"
    yield ""
    yield "Topics:"
    for topic in topics():
        yield f"  {topic:<15}{page(topic).partition(chr(10))[0].partition(': ')[2]}"
    yield ""
    yield "Commands:"
    for start in range(0, len(commands), 6):
        yield "  " + "  ".join(f"{name:<10}" for name in commands[start : start + 6]).rstrip()
