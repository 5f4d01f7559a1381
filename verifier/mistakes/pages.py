"""The catalogue as people read it: a list, a page for each mistake, and the document that holds them all."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from posvec.verifier.mistakes.parts import Mistake, Observed
from posvec.verifier.text import row

_KINDS = {
    "key": "Another key",
    "arguments": "Other arguments",
    "stream": "The other stream",
    "generator": "Another generator, or no randomness",
    "distribution": "Another distribution",
    "rows": "Other rows",
    "table": "Another table",
    "order": "Another order of elements",
    "shape": "Another shape",
    "dtype": "Another dtype",
    "type": "No array",
    "behaviour": "Seen by calling again, or not at all",
}
_SHOWN = 4


def listed(catalogue: Sequence[Mistake], width: int) -> Iterator[str]:
    """Yield a line for each mistake: its id and what is wrong."""
    longest = max(len(mistake.id) for mistake in catalogue)
    for mistake in catalogue:
        yield _cut(f"{mistake.id:<{longest}}  {mistake.title}", width)


def explained(mistake: Mistake, width: int) -> Iterator[str]:
    """Yield the page of one mistake."""
    yield from textwrap.wrap(f"{mistake.title}.", width)
    yield ""
    yield from row("why", mistake.why, width)
    yield from row("change", mistake.fix, width)
    for label, code in (("code", mistake.code), ("wrong", mistake.example)):
        for position, line in enumerate(code.splitlines()):
            yield f"  {'' if position else label:<11}{line}"
    if len(mistake.variants) > 1:
        yield from row("ways", _ways(mistake), width)
    if len(mistake.streams) == 1:
        yield from row("stream", f"shows in the stream {mistake.streams[0]} only", width)
    yield from row("see", mistake.reference, width)


def document(catalogue: Sequence[Mistake]) -> str:
    """Return docs/mistakes.md."""
    lines = [
        "# Known mistakes",
        "",
        "A failing `posvec verify` names one of these only if recomputing it gives what came in every case that ran:",
        "bit for bit in some recorded arithmetic, or else draw for draw. Mistakes of different kinds are recognised",
        "together, up to three at once, layout apart. `posvec mistakes ID` shows one.",
        "",
        "This page is written from the catalogue in `verifier/mistakes/`: `python -m posvec.verifier.mistakes.pages`.",
    ]
    kind = ""
    for mistake in catalogue:
        if mistake.kind != kind:
            kind = mistake.kind
            lines += ["", f"## {_KINDS[kind]}"]
        lines += ["", f"### {mistake.id}", "", f"{mistake.title}. {mistake.why} {mistake.fix}", "", "```python"]
        lines += [f"{line}" for line in mistake.example.splitlines()]
        lines += ["```"]
        if mistake.code:
            lines += ["", "Right:", "", "```python", *mistake.code.splitlines(), "```"]
        if len(mistake.variants) > 1:
            lines += ["", f"Ways: {_ways(mistake)}."]
        if len(mistake.streams) == 1:
            lines += ["", f"Shows in the stream `{mistake.streams[0]}` only."]
        lines += ["", f"See <{mistake.reference}>."]
    return "\n".join(lines) + "\n"


def _ways(mistake: Mistake) -> str:
    phrases = [variant.phrase for variant in mistake.variants]
    more = len(phrases) - _SHOWN
    shown = "; ".join(phrases[:_SHOWN])
    return f"{shown}; and {more} more" if more > 0 else shown


def recognised(mistake: Mistake) -> bool:
    """Whether the values or the layout of results tell it."""
    return not isinstance(mistake.variants[0], Observed)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


if __name__ == "__main__":
    import sys

    from posvec.verifier.mistakes.catalogue import CATALOGUE

    sys.stdout.write(document(CATALOGUE))
