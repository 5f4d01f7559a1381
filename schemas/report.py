"""What a run of ``posvec verify`` found: the outcome of each case and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from posvec.schemas.audience import Audience
from posvec.schemas.case_table import CaseTable
from posvec.schemas.errors import printable

Outcome = Literal["pass", "layout", "rounding", "value", "coercion", "error", "timeout", "crash", "not-run"]
OUTCOMES: tuple[Outcome, ...] = (
    "pass",
    "layout",
    "rounding",
    "value",
    "coercion",
    "error",
    "timeout",
    "crash",
    "not-run",
)
FORMAT = "posvec-report"
FORMAT_VERSION = 1
SCHEMA_FILE = "report.schema.json"
TEXT_LIMIT = 64 * 1024

VerdictCode = Literal[
    "exact",
    "equivalent",
    "ulp",
    "known-failures",
    "outdated-list",
    "rounding",
    "not-conforming",
    "could-not-judge",
    "interrupted",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The outcome of one case; ``detail`` is one paragraph, safe to show.

    ``coercion`` tells a case whose arguments were passed as strings, floats or NumPy scalars. ``elements`` is how many
    were compared. ``known_failing`` is the reason why the case is listed as failing, None where it is not listed.
    """

    id: str
    outcome: Outcome
    coercion: bool = False
    seconds: float = 0.0
    max_ulp: int | None = None
    detail: str = ""
    elements: int = 0
    known_failing: str | None = None

    @property
    def known_fails(self) -> bool:
        """Whether the case fails, as listed."""
        return self.known_failing is not None and self.outcome not in ("pass", "not-run")

    @property
    def known_passes(self) -> bool:
        """Whether the case passes, although it is listed as failing."""
        return self.known_failing is not None and self.outcome == "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The first failing element, and the command that shows it alone.

    ``index`` is the element's place in the array, ``position`` and ``feature`` its place in a table.
    ``expected`` and ``got`` are decimal, the ``_hex`` fields C99 hexadecimal floats, the ``_bits`` fields the
    IEEE 754 encoding. All are None where no element can be named (layout, exceptions, crashes).
    """

    case: str
    outcome: Outcome
    detail: str
    position: int | None = None
    feature: int | None = None
    index: tuple[int, ...] | None = None
    expected: str | None = None
    expected_hex: str | None = None
    expected_bits: str | None = None
    got: str | None = None
    got_hex: str | None = None
    got_bits: str | None = None
    ulp: int | None = None
    more_elements: int = 0
    more_cases: int = 0
    reproduce: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """Counts over all elements compared; see :class:`posvec.verifier.levels.Comparison`."""

    compared: int = 0
    differing: int = 0
    unexplained: int = 0
    other_build: int = 0
    outside_accept: int = 0
    outside_cell: int = 0
    max_ulp: int = 0
    ulp_histogram: tuple[int, ...] = (0, 0, 0, 0, 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values; those by distance with the distance as the key."""
        counts = (self.compared - self.differing, *self.ulp_histogram)
        return {**asdict(self), "ulp_histogram": dict(zip(("0", "1", "2", "3", "4", "5+"), counts, strict=True))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the behaviour checks found: for each check the cases that failed it, and why it did not run."""

    checked: int = 0
    seconds: float = 0.0
    repeat: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    aliasing: tuple[str, ...] = ()
    mutation: tuple[str, ...] = ()
    skipped: str = ""

    @property
    def failed(self) -> bool:
        """Whether any check failed."""
        return bool(self.repeat or self.order or self.aliasing or self.mutation)


EvidenceLevel = Literal["exact", "draws", "layout", "behaviour"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMistake:
    """A known mistake that was recognised: its entry in the catalogue, and the way in which it was made.

    ``phrase`` completes "what the reference returns with …".
    """

    id: str
    title: str
    phrase: str
    why: str
    fix: str
    code: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Mistakes that together give what came in every case that returned something.

    Attributes:
        mistakes: The mistakes, at least one.
        level: ``exact``: bit for bit what a recorded build would return; ``draws``: draw for draw; ``layout``: what
            came holds no numbers to compare; ``behaviour``: seen by calling again.
        evidence: One sentence that says how much came as the mistakes have it.
        cases: How many cases that are.
        elements: How many float32 values they hold.

    """

    mistakes: tuple[NamedMistake, ...]
    level: EvidenceLevel
    evidence: str
    cases: int
    elements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is wrong with a failing target, as far as it can be told.

    Attributes:
        sentence: The finding in one sentence.
        explanations: What explains all that came; several where the cases cannot tell them apart, none where nothing
            known does.
        separate: Where there are several, the call that tells them apart.
        facts: What narrows it down where nothing known explains it.

    """

    sentence: str
    explanations: tuple[Explanation, ...] = ()
    separate: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run, whole. Everything in it that came from the target has been made safe to show.

    Attributes:
        verdict: How the run ended, as a word for machines.
        sentence: The verdict for people, one line.
        exit_code: What the command exits with.
        target: The target as it was asked for.
        vectors: Where the cases came from: name, file or fresh seed, content digest.
        level_asked: ``exact``, ``equivalent`` or ``ulp:N``.
        build_asked: The one build whose bytes were asked for, if any.
        levels_held: Every level that holds in all cases that ran; empty unless all selected cases ran.
        explained_by: Labels of the recordings that alone explain every case.
        elements: Counts of elements.
        results: One result a case, in the order of the run.
        total: Cases there are to select from; coercion cases apart.
        failure: The first failure, if any.
        notes: Sentences that a reader must see: what the target ran on that makes it differ, and so on.
        behaviour: The behaviour checks.
        environment: What the target ran on.
        output: What the target printed to stdout and stderr, capped.
        restarts: How often its process was started again after a crash or timeout.
        seconds: Wall time of the cases, of start-up, and of everything.
        diagnosis: What is wrong, if something is.
        strict: Whether coercion cases and behaviour checks decide too.
        audience: For whom it is; :func:`posvec.verifier.reports.audience.for_audience` makes a student's.
        tables: The arrays of a few cases, for people; not part of the JSON.

    """

    verdict: VerdictCode
    sentence: str
    exit_code: int
    target: str
    vectors: Mapping[str, str]
    level_asked: str
    build_asked: str | None
    levels_held: tuple[str, ...]
    explained_by: tuple[str, ...]
    elements: Elements
    results: tuple[CaseResult, ...]
    total: int
    failure: Failure | None
    notes: tuple[str, ...]
    behaviour: Behaviour
    environment: Mapping[str, str]
    output: str
    restarts: int
    seconds: Mapping[str, float]
    diagnosis: Diagnosis | None = None
    strict: bool = False
    audience: Audience = "instructor"
    tables: tuple[CaseTable, ...] = field(default=(), compare=False, repr=False)

    @property
    def counts(self) -> dict[Outcome, int]:
        """Cases by outcome, every outcome named; of the coercion cases only those with that outcome."""
        counted = Counter(r.outcome for r in self.results if not r.coercion or r.outcome == "coercion")
        return {outcome: counted[outcome] for outcome in OUTCOMES}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values, as ``report.schema.json`` describes them."""
        from posvec import __version__

        return {
            "$schema": SCHEMA_FILE,
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "posvec": __version__,
            "audience": self.audience,
            "verdict": {"code": self.verdict, "sentence": self.sentence, "exit_code": self.exit_code},
            "target": self.target,
            "vectors": dict(self.vectors),
            "level_asked": self.level_asked,
            "build_asked": self.build_asked,
            "strict": self.strict,
            "levels_held": list(self.levels_held),
            "explained_by": list(self.explained_by),
            "counts": {
                "total": self.total,
                "selected": sum(not result.coercion for result in self.results),
                "known_failing": sum(result.known_fails for result in self.results),
                **self.counts,
            },
            "coercion": {
                "checked": sum(result.coercion for result in self.results),
                "failed": self.counts["coercion"],
            },
            "elements": self.elements.to_dict()
            | ({"max_ulp": None, "ulp_histogram": None} if self.audience == "student" else {}),
            "failure": asdict(self.failure) if self.failure else None,
            "diagnosis": _listed(asdict(self.diagnosis)) if self.diagnosis else None,
            "notes": list(self.notes),
            "behaviour": {
                **asdict(self.behaviour),
                **{k: list(getattr(self.behaviour, k)) for k in ("repeat", "order", "aliasing", "mutation")},
            },
            "environment": dict(self.environment),
            "output": self.output,
            "restarts": self.restarts,
            "seconds": {name: round(value, 6) for name, value in self.seconds.items()},
            "cases": [
                {
                    "id": result.id,
                    "outcome": result.outcome,
                    "seconds": round(result.seconds, 6),
                    "max_ulp": result.max_ulp,
                    "detail": result.detail,
                    "known_failing": result.known_failing,
                }
                for result in self.results
            ],
        }


def _listed(value: Any) -> Any:
    """Return JSON values in which tuples are lists."""
    if isinstance(value, dict):
        return {name: _listed(item) for name, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, tuple | list) else value


def safe_text(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return untrusted text with control characters as escapes (line ends and tabs kept), at most ``limit`` bytes.

    Bytes are those of UTF-8, and the middle is what is left out. No surrogate is left.
    """
    if len(text) <= limit:
        shown = printable(text, keep="\n\t")
        if len(shown) * 4 <= limit or len(shown.encode()) <= limit:
            return shown
    cut = f"\n… the middle of {len(text):,} characters is left out …\n"
    half = max(0, (limit - len(cut.encode())) // 2)
    head, tail = (printable(part, keep="\n\t").encode() for part in (text[:half], text[max(0, len(text) - half) :]))
    return (
        f"{head[:half].decode(errors='ignore')}{cut}{tail[len(tail) - half :].decode(errors='ignore')}" if half else ""
    )
