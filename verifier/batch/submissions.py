"""Which submissions there are: files named, and in each folder named its files and direct sub-folders."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from posvec.schemas.errors import InvalidArgument, printable
from posvec.verifier.batch.package import FURNITURE, is_golden
from posvec.verifier.batch.pattern import Pattern, refuse_file

MARKER = "batch.json"
"""The file by which a folder of results is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One submission: its name in reports, unique in the batch and safe to show, and where it is."""

    name: str
    path: Path

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, itself and not by a link."""
        return self.path.is_dir() and not self.path.is_symlink()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The submissions in order, and what in their folder is none, with the reason."""

    submissions: tuple[Submission, ...]
    skipped: tuple[str, ...]


def find_submissions(paths: Sequence[Path], pattern: Pattern, *, results: Path) -> Found:
    """Find the submissions that ``paths`` name: each file, and in each folder the files and direct sub-folders.

    Skipped are hidden entries, the folder of ``results`` and earlier ones, folders of golden files and of tools, and
    files that are neither Python nor a notebook nor an archive.

    Raises:
        InvalidArgument: A path is not there, or there is no submission.

    """
    found: dict[str, Path] = {}
    skipped: list[str] = []
    for given in paths:
        if given.is_dir():
            for entry in _entries(given):
                why = _no_submission(entry, pattern, results)
                if why == "hidden":
                    continue
                if why:
                    skipped.append(f"{printable(entry.name)} ({why})")
                else:
                    found.setdefault(os.path.abspath(entry), entry)  # noqa: PTH100 - a link is what it is called
        elif given.exists() or given.is_symlink():
            found.setdefault(os.path.abspath(given), given)  # noqa: PTH100
        else:
            raise InvalidArgument("DIR_OR_FILES", str(given), "a file or a folder that is there")
    if not found:
        left = f"; skipped: {', '.join(skipped[:5])}" if skipped else ""
        raise InvalidArgument(
            "DIR_OR_FILES", " ".join(map(str, paths)), f"a folder with submissions, or submissions{left}"
        )
    return Found(submissions=tuple(_named(list(found.values()))), skipped=tuple(skipped))


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir(), key=lambda path: (path.name.casefold(), path.name))
    except OSError as error:
        raise InvalidArgument(
            "DIR_OR_FILES", str(folder), "a folder that can be read", hint=error.strerror or str(error)
        ) from None


def _no_submission(path: Path, pattern: Pattern, results: Path) -> str:
    """Return why an entry of a folder of submissions is none; empty if it is one."""
    if path.name.startswith("."):
        return "hidden"
    if path.is_symlink():
        return ""  # a row says that it is not followed
    if not path.is_dir():
        refused = refuse_file(path.name)
        return "no submission" if refused is not None and refused.problem == "not-python" else ""
    if path.name in FURNITURE or (path / "pyvenv.cfg").exists():
        return "of a tool"
    if path.resolve() == results.resolve():
        return "results"
    try:
        names = [entry.name for entry in path.iterdir()]
    except OSError:
        return ""
    if any(pattern.matches(name) for name in names):
        return ""  # whoever puts a golden file beside his homework has handed it in all the same
    if MARKER in names and "results.csv" in names:
        return "results"
    return "golden files" if any(is_golden(path / name) for name in names) else ""


def _named(paths: Sequence[Path]) -> Iterator[Submission]:
    """Yield the submissions, called by their file or folder, and where that is not unique by their path."""
    times = Counter(path.name for path in paths)
    taken: set[str] = set()
    for path in paths:
        name = printable(path.name if times[path.name] == 1 else str(path)) or "."
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        taken.add(unique)
        yield Submission(name=unique, path=path)
