"""The folder of results: found writable before the run, every result kept as it comes, the reports written whole."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec import __version__
from posvec.schemas.batch import (
    BATCH_FORMAT,
    BATCH_SCHEMA,
    FORMAT,
    FORMAT_VERSION,
    SUBMISSION_SCHEMA,
    TRANSIENT,
    Row,
)
from posvec.schemas.errors import OutputError
from posvec.schemas.validate import violation
from posvec.vectors.replace import TEMPORARY_SUFFIX, probe_folder, replacing, told_of
from posvec.verifier.batch.statistics import Statistics
from posvec.verifier.batch.submissions import MARKER, Submission
from posvec.verifier.batch.task import Result

_REMEDY = "choose another folder with -o"
_LONGEST = 80
_MOST_BYTES = 64 * 2**20
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsFolder:
    """A folder of results: ``results.csv``, ``index.html``, ``batch.json``, and a JSON a submission below it."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> ResultsFolder:
        """Make the folder, or take that of an earlier run, and find out whether it can be written to.

        Raises:
            OutputError: It cannot, or holds something else.

        """
        folder = cls(path=path)
        with told_of(path, remedy=_REMEDY):
            path.mkdir(parents=True, exist_ok=True)
            held = [name for name in os.listdir(path) if not name.endswith(TEMPORARY_SUFFIX)]  # noqa: PTH208
            if held and folder.settings() is None and not folder._left_damaged(held):
                raise OutputError(
                    path, "it holds files, and no results of posvec batch", remedy="choose an empty folder with -o"
                )
            folder.submissions.mkdir(exist_ok=True)
            for file in (folder.csv, folder.page, folder.summary, folder.submissions / "probe"):
                if file.is_dir():
                    raise OutputError(file, "it is a directory", remedy=_REMEDY)
                probe_folder(file)
        return folder

    @property
    def csv(self) -> Path:
        """The table."""
        return self.path / "results.csv"

    @property
    def page(self) -> Path:
        """The page."""
        return self.path / "index.html"

    @property
    def summary(self) -> Path:
        """The statistics, and what marks the folder."""
        return self.path / MARKER

    @property
    def submissions(self) -> Path:
        """Where the JSON of each submission is."""
        return self.path / "submissions"

    def settings(self) -> dict[str, Any] | None:
        """Return how the batch was run whose results are here; None if there is none that can be read."""
        found = _read(self.summary)
        if found is None or found.get("format") != BATCH_FORMAT or not isinstance(found.get("settings"), dict):
            return None
        settings: dict[str, Any] = found["settings"]
        return settings

    def _left_damaged(self, held: Sequence[str]) -> bool:
        """Say whether all in the folder is what a batch writes, of which only the summary is damaged."""
        ours = (self.csv.name, self.page.name, self.summary.name, self.submissions.name)
        return self.summary.is_file() and self.submissions.is_dir() and set(held).issubset(ours)

    def kept(self, name: str, file: str, key: str) -> Result | None:
        """Return the result of an earlier run with the same key; None if there is none, or it is damaged."""
        found = _read(self.submissions / file)
        if found is None or found.get("key") != key or violation(found, SUBMISSION_SCHEMA) is not None:
            return None
        row = Row.from_dict(found["submission"])
        if row.problem in TRANSIENT or row.name != name:
            return None
        return Result(row=row, report=found["report"])

    def save(self, file: str, result: Result, key: str | None) -> None:
        """Write the JSON of one submission.

        Raises:
            OutputError: It could not be written.

        """
        self._write(
            self.submissions / file,
            _json(
                {
                    "$schema": SUBMISSION_SCHEMA,
                    "format": FORMAT,
                    "format_version": FORMAT_VERSION,
                    "posvec": __version__,
                    "key": key,
                    "submission": result.row.to_dict(),
                    "report": result.report,
                }
            ),
        )

    def save_summary(self, settings: dict[str, Any], statistics: Statistics | None, *, complete: bool) -> None:
        """Write ``batch.json``: how the batch was run, and what came of it.

        Raises:
            OutputError: It could not be written.

        """
        self._write(
            self.summary,
            _json(
                {
                    "$schema": BATCH_SCHEMA,
                    "format": BATCH_FORMAT,
                    "format_version": FORMAT_VERSION,
                    "posvec": __version__,
                    "settings": settings,
                    "complete": complete,
                    "statistics": None if statistics is None else statistics.to_dict(),
                }
            ),
        )

    def save_reports(self, contents: Iterable[tuple[Path, Callable[[], bytes]]]) -> None:
        """Write files of this folder, each whole or not at all.

        Raises:
            OutputError: One could not be written; the others are.

        """
        problem = None
        for path, content in contents:
            try:
                self._write(path, content())
            except OutputError as error:
                problem = problem or error
        if problem is not None:
            raise problem

    def _write(self, path: Path, content: bytes) -> None:
        with told_of(path, remedy=_REMEDY), replacing(path) as temporary:
            temporary.write_bytes(content)


def file_names(submissions: Sequence[Submission]) -> list[str]:
    """Return the name of each submission's JSON: its own name where that is a plain one, else one made of it.

    No two are the same, also where a file system takes upper and lower case for the same.
    """
    plain = [re.sub(r"[^A-Za-z0-9._-]", "_", one.name).lstrip(".-")[:_LONGEST] or "_" for one in submissions]
    times = Counter(name.casefold() for name in plain)
    return [
        f"{name}.json"
        if name == one.name and times[name.casefold()] == 1 and not _RESERVED.fullmatch(name)
        else f"{name}-{hashlib.sha256(os.fsencode(one.path)).hexdigest()[:10]}.json"
        for name, one in zip(plain, submissions, strict=True)
    ]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode("ascii")
