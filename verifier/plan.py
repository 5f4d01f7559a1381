"""What a run is asked to do, and what follows from it: the cases, the recordings, the one build asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from posvec.schemas.case import Case
from posvec.schemas.errors import InvalidArgument
from posvec.schemas.manifest import Recording
from posvec.schemas.suite import Suite
from posvec.vectors.case_golden import CaseGolden
from posvec.vectors.golden import Golden
from posvec.vectors.known import Known, Vectors
from posvec.verifier.known_failures import KnownFailure, KnownFailures
from posvec.verifier.match import Match
from posvec.verifier.running.program import Program
from posvec.verifier.running.target import Target
from posvec.verifier.selection import Selection, select


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to verify, against what, and how.

    Attributes:
        target: The implementation, for messages.
        match: The level asked for.
        vectors: Where cases and known values come from.
        vectors_facts: Name, file, digest or seed of the vectors, for the report.
        build: One recording whose bytes are asked for: its id, or an id or label of one of its builds.
        select: Only cases whose id matches this pattern.
        quick: Only the quick subset.
        fail_fast: Stop at the first failure.
        strict: Whether coercion cases and behaviour checks decide too.
        known_failing: The list of cases that are known to fail.
        golden: The golden file behind them, which must not change while the target runs.
        reproduce: Options that a command must repeat to run the same, e.g. ``("--stream", "original")``.
        tables: Whether the report is to hold the arrays of a few cases, which the HTML page shows.

    """

    target: Target | Program
    match: Match
    vectors: Sequence[Vectors]
    vectors_facts: dict[str, str]
    golden: Golden | CaseGolden
    build: str | None = None
    select: str | None = None
    quick: bool = False
    fail_fast: bool = False
    strict: bool = False
    known_failing: KnownFailures | None = None
    reproduce: tuple[str, ...] = ()
    tables: bool = False


class Plan:
    """A request with its names resolved: which cases run, and where the known output of each is looked up.

    Attributes:
        request: The request.
        suite: The function under test.
        recordings: What the bits of :attr:`Comparison.explained_by` stand for.
        build: The recording whose bytes are asked for, if one is.
        selection: The cases, in order.
        listed: The cases that are known to fail, by id.

    """

    def __init__(self, request: Request) -> None:
        """Resolve ``request``.

        Raises:
            InvalidArgument: ``select`` or ``build`` names nothing.
            InvalidLine: A pattern of ``known_failing`` matches no case.

        """
        self.request = request
        self._vectors = {case.id: (vectors, case) for vectors in request.vectors for case in vectors.cases()}
        self.suite: Suite = request.vectors[0].suite
        # Fresh vectors keep the positions of the golden file's recordings and add some.
        self.recordings: Sequence[Recording] = request.vectors[-1].recordings
        self.build = find_recording(request.build, self.recordings)
        self.selection: Selection = select(
            [case for _, case in self._vectors.values()],
            self.suite,
            quick=request.quick,
            glob=request.select,
            coercion=isinstance(request.target, Target),
        )
        self.listed: Mapping[str, KnownFailure] = (
            {} if request.known_failing is None else request.known_failing.resolve(every_id(request))
        )

    @property
    def build_index(self) -> int | None:
        """Position of :attr:`build` among the recordings."""
        return self.recordings.index(self.build) if self.build is not None else None

    @property
    def cases(self) -> list[Case]:
        """Every case of the run, the coercion cases last."""
        return [*self.selection.cases, *self.selection.coercion]

    def vectors(self, case: Case) -> Vectors:
        """Return where ``case`` comes from."""
        return self._vectors[case.base_id][0]

    def known(self, case: Case) -> Known:
        """Return what is known about the output of ``case``."""
        return self.vectors(case).known(case)


def every_id(request: Request) -> list[str]:
    """Return the ids of all cases that could be asked for: of the golden file, fresh ones, and their coercions."""
    ids: dict[str, None] = {}
    coercion = isinstance(request.target, Target)
    for sources in ((request.golden,), request.vectors):
        cases = [case for vectors in sources for case in vectors.cases()]
        everything = select(cases, request.vectors[0].suite, coercion=coercion)
        ids |= dict.fromkeys(case.id for case in (*everything.cases, *everything.coercion))
    return list(ids)


def find_recording(name: str | None, recordings: Sequence[Recording]) -> Recording | None:
    """Return the recording that ``--build NAME`` asks for.

    ``name`` is a build's id, a build's label, an arithmetic of the draw table or a recording's own id.

    Raises:
        InvalidArgument: Nothing is called so.

    """
    if name is None:
        return None
    wanted = name.casefold()
    for recording in recordings:
        names = [recording.id, *recording.arithmetics]
        names += [n for build in recording.builds for n in (build.id, build.label)]
        if wanted in (n.casefold() for n in names):
            return recording
    if not recordings:
        raise InvalidArgument("--build", name, "left out: these vectors record no builds")
    labels = sorted({build.label for recording in recordings for build in recording.builds})
    known = labels or [a for recording in recordings for a in recording.arithmetics]
    raise InvalidArgument("--build", name, f"a recorded build such as {known[0]!r}", hint="`posvec info` lists them")
