"""``--write-known-failing``: today's list of known failures, as few patterns as match exactly the cases that fail."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path

from posvec.schemas.errors import InvalidArgument, OutputError, printable, shorten
from posvec.schemas.report import OUTCOMES, CaseResult, Report
from posvec.vectors.replace import is_stream, probe_folder, replacing, told_of
from posvec.verifier.known_failures import FORM, KnownFailure, KnownFailures
from posvec.verifier.text import counted

_REMEDY = "choose another file for --write-known-failing"
_MOST_GROUPED = 20_000
_HEADER = (
    "# Cases that posvec verify --known-failing FILE expects to fail, each with its reason.",
    f"# A line is {FORM}; a pattern is one over whole case ids, as for --select.",
)
_GENERATED = re.compile(rf"({'|'.join(OUTCOMES)})(: [a-z0-9-]+( and [a-z0-9-]+)*)?")
_ANY = ("*", "[!0]*")
"""What may stand for all values of an argument: T = 0 has no values, and passes where all other T fail."""


def find_list_file(path: Path | None, *, fail_fast: bool, fresh: bool) -> ListFile | None:
    """Return the file of ``--write-known-failing``, if one is asked for.

    Raises:
        InvalidArgument: Not all cases will run, or others in each run.
        InputError, InvalidLine, OutputError: See :class:`ListFile`.

    """
    if path is None:
        return None
    for option, given in (("--fail-fast", fail_fast), ("--fresh", fresh)):
        if given:
            why = "all cases must run" if fail_fast else "fresh cases are others in each run"
            raise InvalidArgument("--write-known-failing", str(path), f"given without {option}", hint=why)
    return ListFile(path)


def find_known_failures(path: Path | None, to_write: ListFile | None) -> KnownFailures | None:
    """Return the list of ``--known-failing``, if one is asked for; one that is to be written need not exist yet.

    Raises:
        InputError: It cannot be read.
        InvalidLine: It is no list of known failures.

    """
    if path is None:
        return None
    if to_write is not None and path.resolve() == to_write.path.resolve():
        return to_write.before
    return KnownFailures.read(path)


class ListFile:
    """The file of ``--write-known-failing``: read and found writable before the run, replaced after it."""

    def __init__(self, path: Path) -> None:
        """Read what stands in ``path``, if anything does.

        Raises:
            InputError: It cannot be read.
            InvalidLine: It is no list of known failures.
            OutputError: It cannot be written.

        """
        self.path = path
        if is_stream(path):  # what stands there could not be read and put back
            raise OutputError(path, "it is no regular file", remedy=_REMEDY)
        self.before = KnownFailures.read(path) if path.exists() else KnownFailures(path=path)
        with told_of(path, remedy=_REMEDY):
            probe_folder(path)
            if path.exists():
                with path.open("ab"):
                    pass

    def write(self, report: Report, ids: Sequence[str]) -> Iterator[str]:
        """Write the list of the cases that fail in ``report``, unless not all ran; yield lines that say what was done.

        Args:
            report: The run.
            ids: The ids of all cases that the vectors hold.

        Raises:
            OutputError: It could not be written; what stood there still does.

        """
        shown = printable(str(self.path))
        unrun = any(result.outcome == "not-run" and not result.coercion for result in report.results)
        if report.exit_code not in (0, 1) or unrun:
            yield f"{shown} is not written: not all cases ran."
            return
        failing = {result.id: _seen(result, report) for result in report.results if _fails(result)}
        passing = {result.id for result in report.results} - failing.keys()
        kept, removed = _kept(self.before.entries, failing, passing, ids)
        covered = {name for entry in kept for name in entry.matching(list(failing))}
        new = [*grouped({name: why for name, why in failing.items() if name not in covered}, ids)]
        text = "\n".join(_lines(self.before.lines, kept, new)) + "\n"
        with told_of(self.path, remedy=_REMEDY), replacing(self.path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        patterns = counted(len(kept) + len(new), "pattern")
        yield f"{shown} lists {counted(len(failing), 'case')} in {patterns}."
        for entry in removed:
            yield f"  taken out: {shorten(_line(entry), 300)}"


def _fails(result: CaseResult) -> bool:
    if result.coercion:
        return result.outcome == "coercion"
    return result.outcome not in ("pass", "not-run")


def _seen(result: CaseResult, report: Report) -> str:
    """Return what was seen: the outcome, and the mistake if one is named."""
    explanations = report.diagnosis.explanations if report.diagnosis is not None else ()
    named = " and ".join(mistake.id for mistake in explanations[0].mistakes) if len(explanations) == 1 else ""
    return f"{result.outcome}: {named}" if named and result.outcome in ("value", "layout") else result.outcome


def _kept(
    entries: Iterable[KnownFailure], failing: Container[str], passing: Container[str], ids: Sequence[str]
) -> tuple[list[KnownFailure], list[KnownFailure]]:
    """Return the entries that stay, and those that go; one that matches what passes too becomes one a case."""
    kept: list[KnownFailure] = []
    removed: list[KnownFailure] = []
    for entry in entries:
        matching = entry.matching(ids)
        if _GENERATED.fullmatch(entry.reason) and all(name in passing or name in failing for name in matching):
            removed += [] if any(name in failing for name in matching) else [entry]
            continue  # nobody has written it: it is made anew
        if matching and not any(name in passing for name in matching):
            kept.append(entry)  # what did not run today is not judged today
            continue
        still = [name for name in matching if name not in passing]
        removed += [] if still else [entry]
        kept += [
            KnownFailure(pattern=one.pattern, reason=entry.reason, line=entry.line)
            for one in grouped(dict.fromkeys(still, entry.reason), ids)
        ]
    return kept, removed


def grouped(reasons: dict[str, str], ids: Sequence[str]) -> Iterator[KnownFailure]:
    """Yield patterns that match exactly the cases of ``reasons``; cases of different reasons are kept apart.

    All values of an argument become ``*``, or ``[!0]*`` where only 0 is missing, last argument first.
    """
    for reason in dict.fromkeys(reasons.values()):
        wanted = {name for name, why in reasons.items() if why == reason}
        patterns = [name for name in reasons if name in wanted]
        longest = max(name.count("/") for name in patterns)
        if len(ids) <= _MOST_GROUPED and len(patterns) > 1:
            for place in range(longest, 0, -1):
                patterns = _merge(patterns, place, wanted, ids)
        for pattern in sorted(patterns, key=_naturally):
            yield KnownFailure(pattern=pattern, reason=reason)


def _naturally(pattern: str) -> list[tuple[bool, int, str]]:
    """Return what sorts ``T=9`` before ``T=10``."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", pattern)]


def _merge(patterns: list[str], place: int, wanted: set[str], ids: Sequence[str]) -> list[str]:
    """Return the patterns with those that differ only in segment ``place`` as one, where that matches no other case."""
    rest: Callable[[str], tuple[str, ...]] = lambda name: tuple(  # noqa: E731 - a key, named for both of its uses
        part.partition("=")[0] if i == place else part for i, part in enumerate(name.split("/"))
    )
    sizes = Counter(map(rest, patterns))
    merged: dict[tuple[str, ...], list[str]] = {}
    for pattern in patterns:
        merged.setdefault(rest(pattern), []).append(pattern)
    result: list[str] = []
    for key, group in merged.items():
        result += _one_for(key, place, group, wanted, ids) if sizes[key] > 1 else group
    return result


def _one_for(key: tuple[str, ...], place: int, group: list[str], wanted: set[str], ids: Sequence[str]) -> list[str]:
    covered = sum(len(KnownFailure(pattern=one, reason="-").matching(ids)) for one in group)
    for value in _ANY:
        pattern = "/".join(f"{part}={value}" if i == place else part for i, part in enumerate(key))
        matching = KnownFailure(pattern=pattern, reason="-").matching(ids)
        if len(matching) == covered and wanted.issuperset(matching):
            return [pattern]
    return group


def _lines(before: Sequence[str], kept: Sequence[KnownFailure], new: Sequence[KnownFailure]) -> Iterator[str]:
    """Yield the lines of the list: comments stay where they are, entries that changed take the place they had."""
    at: dict[int, list[KnownFailure]] = {}
    for entry in kept:
        at.setdefault(entry.line, []).append(entry)
    if not before:
        yield from _HEADER
    for number, line in enumerate(before, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            yield line
            continue
        here = at.get(number, [])
        if len(here) == 1 and line.split()[0] == here[0].pattern:
            yield line
        else:
            yield from map(_line, here)
    yield from map(_line, new)


def _line(entry: KnownFailure) -> str:
    return f"{entry.pattern}  # {entry.reason}"
