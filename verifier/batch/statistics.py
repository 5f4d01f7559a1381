"""What a class has in common: how the submissions ended, which mistakes they make, which are slow or the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posvec.schemas.batch import PROBLEMS, VERDICTS, Row

_SLOWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Counts over the rows of a batch.

    Attributes:
        submissions: How many there are.
        conform: How many conform.
        verdicts: Those of each verdict, from the best to the worst; only what occurs.
        problems: Why how many could not be judged, most first.
        mistakes: How many submissions make each known mistake, most first. Where the cases that ran cannot tell
            mistakes apart, they count together, as ``a or b``.
        unnamed: Submissions that do not conform, and none of whose mistakes is known.
        slowest: The names of the slowest, with their seconds.
        same: Groups of submissions whose file is byte for byte the same.

    """

    submissions: int
    conform: int
    verdicts: dict[str, int]
    problems: dict[str, int]
    mistakes: dict[str, int]
    unnamed: int
    slowest: tuple[tuple[str, float], ...]
    same: tuple[tuple[str, ...], ...]

    @property
    def by_mistake(self) -> dict[str, int]:
        """How many submissions make each known mistake, and how many none that is known."""
        return self.mistakes | ({"none that is known": self.unnamed} if self.unnamed else {})

    @property
    def undecided(self) -> int:
        """How many could not be judged."""
        return self.verdicts.get("could-not-judge", 0)

    @property
    def wrong(self) -> int:
        """How many were judged and do not conform."""
        return self.submissions - self.conform - self.undecided

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON values."""
        return {
            "submissions": self.submissions,
            "conform": self.conform,
            "do_not": self.wrong,
            "undecided": self.undecided,
            "verdicts": self.verdicts,
            "problems": self.problems,
            "mistakes": self.mistakes,
            "unnamed": self.unnamed,
            "slowest": [{"name": name, "seconds": round(seconds, 3)} for name, seconds in self.slowest],
            "same": [list(names) for names in self.same],
        }


def statistics(rows: Sequence[Row]) -> Statistics:
    """Count what there is to count."""
    verdicts, problems = Counter(row.verdict for row in rows), Counter(row.problem for row in rows if row.problem)
    mistakes: Counter[str] = Counter()
    for row in rows:
        mistakes.update(row.mistakes[0] if len(row.mistakes) == 1 else [row.mistake_text] if row.mistakes else [])
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.source_sha256:
            alike[row.source_sha256].append(row.name)
    ran = sorted((row for row in rows if row.counts), key=lambda row: -row.seconds)
    return Statistics(
        submissions=len(rows),
        conform=sum(row.exit_code == 0 for row in rows),
        verdicts={verdict: verdicts[verdict] for verdict in VERDICTS if verdicts[verdict]},
        problems={problem: count for problem, count in _most_first(problems) if problem in PROBLEMS},
        mistakes=dict(_most_first(mistakes)),
        unnamed=sum(row.verdict == "not-conforming" and not row.mistakes for row in rows),
        slowest=tuple((row.name, row.seconds) for row in ran[:_SLOWEST]),
        same=tuple(tuple(names) for names in alike.values() if len(names) > 1),
    )


def _most_first(counted: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))
