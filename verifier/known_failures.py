"""The list of ``--known-failing``: cases that fail and are known to, by patterns, each with its reason.

A line is ``PATTERN  # reason``; blank lines and lines that begin with ``#`` are left alone. A list is never a way to be
silent: a listed case that passes fails the run, and a pattern that matches no case of the vectors is an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING

from posvec.schemas.errors import InputError, InvalidLine, printable, shorten
from posvec.verifier.text import counted

if TYPE_CHECKING:  # the list is read before NumPy is loaded
    from posvec.verifier.judge import RunJudgement

_LINE = re.compile(r"(?P<pattern>\S+)(?:\s+#\s*(?P<reason>.*))?")
_COERCION = "/as="
_SHOWN = 5
_REMEDY = "name a list of known failures, or make one with --write-known-failing"
FORM = "PATTERN  # reason"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """One line of the list: which cases fail, by a pattern over whole case ids, and why."""

    pattern: str
    reason: str
    line: int = 0

    def matching(self, ids: Sequence[str]) -> list[str]:
        """Return those of ``ids`` that the pattern matches.

        Cases with arguments as strings or floats are meant only by a pattern that has ``/as=`` in it.
        """
        matches = re.compile(translate(self.pattern)).match
        coercion = _COERCION in self.pattern
        return [name for name in ids if (_COERCION in name) is coercion and matches(name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailures:
    """A list of known failures: its file, its entries and, for whoever rewrites it, its lines as they stand."""

    path: Path
    entries: tuple[KnownFailure, ...] = ()
    lines: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, path: Path) -> KnownFailures:
        """Read the list in ``path``.

        Raises:
            InputError: It cannot be read.
            InvalidLine: A line is not ``PATTERN  # reason``, or a pattern stands there twice.

        """
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(path, "it is no UTF-8 text", remedy=_REMEDY) from error
        except OSError as error:
            raise InputError(path, error.strerror or str(error), remedy=_REMEDY) from error
        lines = tuple(text.splitlines())
        entries: dict[str, KnownFailure] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            entry = _parse(path, number, line.strip())
            if entry.pattern in entries:
                first = entries[entry.pattern].line
                raise InvalidLine(path, number, f"{shorten(entry.pattern)} stands in line {first} already", FORM)
            entries[entry.pattern] = entry
        return cls(path=path, entries=tuple(entries.values()), lines=lines)

    def resolve(self, ids: Sequence[str]) -> Mapping[str, KnownFailure]:
        """Return the entry of each listed case; where several match, the first.

        Args:
            ids: The ids of all cases that the vectors hold, selected or not.

        Raises:
            InvalidLine: A pattern matches none of them.

        """
        found: dict[str, KnownFailure] = {}
        for entry in self.entries:
            matching = entry.matching(ids)
            if not matching:
                like = f"a pattern over whole ids, such as {ids[min(4, len(ids) - 1)]}" if ids else "no pattern"
                raise InvalidLine(self.path, entry.line, f"{shorten(entry.pattern)} matches no case", like)
            for name in matching:
                found.setdefault(name, entry)
        return found


def _parse(path: Path, number: int, line: str) -> KnownFailure:
    match = _LINE.fullmatch(line)
    if match is None:
        raise InvalidLine(path, number, f"{shorten(line)!r} has no # between pattern and reason", FORM)
    reason = printable((match["reason"] or "").strip())
    if not reason:
        raise InvalidLine(path, number, f"{shorten(match['pattern'])} has no reason", FORM)
    return KnownFailure(pattern=match["pattern"], reason=reason, line=number)


def mark(run: RunJudgement, listed: Mapping[str, KnownFailure]) -> RunJudgement:
    """Return the run with the reason beside each case that is listed."""
    return replace(
        run,
        cases=tuple(
            replace(one, result=replace(one.result, known_failing=listed[one.case.id].reason))
            if one.case.id in listed
            else one
            for one in run.cases
        ),
    )


def known_notes(run: RunJudgement, listed: Mapping[str, KnownFailure], path: Path) -> Iterator[str]:
    """Yield a sentence for each reason that cases fail for as listed, and one for each listed case that passes."""
    failing: Counter[str] = Counter()
    passing: dict[KnownFailure, list[str]] = {}
    for one in run.cases:
        if one.result.known_passes:
            passing.setdefault(listed[one.case.id], []).append(one.case.id)
        elif one.result.known_fails:
            failing[listed[one.case.id].reason] += 1
    for reason, number in list(failing.items())[:_SHOWN]:
        yield f"Known to fail, {counted(number, 'case')}: {shorten(reason, 300)}"
    if len(failing) > _SHOWN:
        yield f"Known to fail for {counted(len(failing) - _SHOWN, 'more reason')}."
    for entry, ids in list(passing.items())[:_SHOWN]:
        what = f"{ids[0]} passes" if len(ids) == 1 else f"{len(ids):,} cases pass, first {ids[0]}"
        yield f"{shorten(str(path))}, line {entry.line}, {shorten(entry.pattern)}: {what}"
    if passing:
        more = f"{counted(len(passing) - _SHOWN, 'more line')} likewise. " if len(passing) > _SHOWN else ""
        yield f"{more}Take out what passes, or have it done: --known-failing FILE --write-known-failing FILE."
