"""The table of a batch as a person reads it on a terminal: a line a submission, then what they have in common."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from posvec.schemas.batch import PROBLEMS, VERDICTS, Row
from posvec.verifier.batch.statistics import Statistics
from posvec.verifier.text import counted, row

_NAME = 28
_VERDICT = max(map(len, VERDICTS.values()))
_MOST = 10


def table_lines(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Yield a line for each row: name, verdict, what is wrong."""
    name_width = min(_NAME, max((len(one.name) for one in rows), default=0))
    verdict_width = max((len(one.verdict_text) for one in rows), default=0)
    left = max(10, width - name_width - verdict_width - 4)
    for one in rows:
        line = f"{_cut(one.name, name_width):<{name_width}}  {one.verdict_text:<{verdict_width}}"
        yield f"{line}  {_cut(one.reason, left)}".rstrip()


def statistics_lines(found: Statistics, width: int) -> Iterator[str]:
    """Yield what the class has in common."""
    yield from textwrap.wrap(headline(found), width)
    if found.verdicts:
        yield from row("verdicts", _listed({VERDICTS[name]: count for name, count in found.verdicts.items()}), width)
    if found.problems:
        yield from row("not judged", _listed({PROBLEMS[name]: n for name, n in found.problems.items()}), width)
    if found.by_mistake:
        yield from row("mistakes", _listed(found.by_mistake, _MOST), width)
    if found.slowest:
        slow = ", ".join(f"{_cut(name, _NAME)} {seconds:.1f} s" for name, seconds in found.slowest)
        yield from row("slowest", slow, width)
    for names in found.same[:_MOST]:
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        yield from row("the same", ", ".join(_cut(name, _NAME) for name in names[:_MOST]) + more, width)
    if len(found.same) > _MOST:
        yield from row("", f"and {counted(len(found.same) - _MOST, 'more group')} of identical files", width)


def headline(found: Statistics) -> str:
    """Say in a sentence how the class did."""
    return (
        f"{counted(found.submissions, 'submission')}: {found.conform:,} conform, {found.wrong:,} do not, "
        f"{found.undecided:,} could not be judged"
    )


def _listed(counts: dict[str, int], most: int = 100) -> str:
    shown = ", ".join(f"{count:,} {name}" for name, count in list(counts.items())[:most])
    return shown + (f" and {len(counts) - most} more" if len(counts) > most else "")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
