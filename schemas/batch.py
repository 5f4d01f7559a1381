"""What ``posvec batch`` found: one row a submission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

FORMAT = "posvec-submission"
FORMAT_VERSION = 1
SUBMISSION_SCHEMA = "submission.schema.json"
BATCH_FORMAT = "posvec-batch"
BATCH_SCHEMA = "batch.schema.json"

VERDICTS = {
    "exact": "exact",
    "equivalent": "equivalent",
    "ulp": "within the ULP asked",
    "rounding": "other rounding",
    "not-conforming": "not conforming",
    "out-of-time": "out of time",
    "could-not-judge": "could not judge",
}
"""Every verdict of a row, and the words for it, from the best to the worst."""

PROBLEMS = {
    "empty": "the file is empty",
    "syntax": "not valid Python",
    "no-function": "no such function",
    "no-file": "no file matches",
    "several-files": "several files match",
    "notebook": "a notebook",
    "archive": "an archive",
    "not-python": "no Python file",
    "link": "a link, not followed",
    "unreadable": "cannot be read",
    "too-large": "too large",
    "import": "raised while imported",
    "start": "not ready in time",
    "crash": "crashed while imported",
    "nothing-compared": "nothing was compared",
    "vectors": "golden file changed",
    "killed": "its judge was killed",
    "failed": "not judged",
}
"""Why a submission could not be judged, and the words for it."""

TRANSIENT = ("vectors", "killed", "failed")
"""Problems that need not be the submission's: such a row is made again when the batch is run again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was found of one submission. All text is safe for a terminal; other media need their own escapes.

    Attributes:
        name: What the submission is called: its file or folder, unique in the batch.
        path: Where it is, as it was given.
        target: The file in it and the function that were run; empty if none was found.
        verdict: How it ended, one of :data:`VERDICTS`.
        exit_code: What ``posvec verify`` would exit with: 0 conforms, 1 does not, 3 could not judge.
        problem: One of :data:`PROBLEMS` if it could not be judged, else empty.
        sentence: The verdict for people, one line.
        mistakes: Ids of the known mistakes that were recognised: alternatives, each of mistakes that came together.
        diagnosis: What is wrong, in one sentence.
        counts: Cases by outcome, and how many were ``selected``; empty if nothing ran.
        levels_held: Every level that holds.
        seconds: How long it took.
        digest: SHA-256 of what was read of the submission.
        source_sha256: SHA-256 of the file that was run.
        notes: Sentences that a reader must see.

    """

    name: str
    path: str
    target: str = ""
    verdict: str
    exit_code: int
    problem: str = ""
    sentence: str
    mistakes: tuple[tuple[str, ...], ...] = ()
    diagnosis: str = ""
    counts: Mapping[str, int]
    levels_held: tuple[str, ...] = ()
    seconds: float = 0.0
    digest: str = ""
    source_sha256: str = ""
    notes: tuple[str, ...] = ()

    @property
    def mistake_text(self) -> str:
        """The mistakes as ``a + b or c``."""
        return " or ".join(" + ".join(ids) for ids in self.mistakes)

    @property
    def verdict_text(self) -> str:
        """The verdict in words."""
        return VERDICTS[self.verdict]

    @property
    def reason(self) -> str:
        """In a few words, what is wrong; empty for a submission that conforms."""
        if self.problem:
            return PROBLEMS[self.problem]
        if self.mistakes:
            return self.mistake_text
        if not self.exit_code:
            return ""
        if self.verdict == "out-of-time":
            selected = self.counts.get("selected", 0)
            return f"{max(0, selected - self.counts.get('not-run', 0)):,} of {selected:,} cases ran"
        kinds = [name for name, count in self.counts.items() if name not in _NO_FAILURE and count]
        failed = f"{self.failed_cases:,} of {self.counts.get('selected', 0):,} cases"
        return f"{failed}: {', '.join(kinds)}" if kinds else ""

    @property
    def failed_cases(self) -> int:
        """How many cases failed."""
        return sum(count for name, count in self.counts.items() if name not in _NO_FAILURE)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return {
            **asdict(self),
            "mistakes": [list(ids) for ids in self.mistakes],
            "counts": dict(self.counts),
            "levels_held": list(self.levels_held),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Row:
        """Return the row that ``data`` describes, which fits ``submission.schema.json``."""
        values = {field.name: data[field.name] for field in fields(cls)}
        return cls(
            **{
                **values,
                "mistakes": tuple(tuple(ids) for ids in data["mistakes"]),
                "levels_held": tuple(data["levels_held"]),
                "notes": tuple(data["notes"]),
                "seconds": float(data["seconds"]),
            }
        )


_NO_FAILURE = ("pass", "selected", "coercion", "not-run")
