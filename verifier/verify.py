"""One verification, from target to report: run the cases, then open the golden values and judge."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import InvalidArgument, TargetUnavailable, shorten
from posvec.schemas.manifest import Recording
from posvec.schemas.report import Behaviour, CaseResult, Failure, Report, safe_text
from posvec.vectors.known import Vectors
from posvec.verifier.decode import explain_element, explain_run
from posvec.verifier.judge import Judged, RunJudgement, judge_case, judge_run, levels_held
from posvec.verifier.levels import Match, differences, failing
from posvec.verifier.options import RunOptions
from posvec.verifier.runner import Session
from posvec.verifier.selection import Selection, select
from posvec.verifier.target import Target
from posvec.verifier.verdict import (
    Environment,
    Verdict,
    environment_notes,
    explaining,
    reach_verdict,
    run_notes,
)

BEHAVIOUR_CASES = 32
_FAIL_FAST_CHUNK = 64
_FAILURES = ("layout", "rounding", "value", "error", "timeout", "crash")


class Progress(Protocol):
    """Told how far a run is; what it shows, and where, is its own affair."""

    def begin(self, total: int) -> None:
        """``total`` cases are about to run."""

    def advance(self, seconds: float, remaining: int) -> None:
        """One more case has been answered, which took ``seconds``; ``remaining`` are left."""

    def end(self) -> None:
        """No more cases run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to verify, against what, and how.

    Attributes:
        target: The implementation.
        options: How its process is run.
        match: The level asked for.
        vectors: Where cases and known values come from.
        vectors_facts: Name, file, digest or seed of the vectors, for the report.
        build: One recording whose bytes are asked for: its id, or an id or label of one of its builds.
        select: Only cases whose id matches this pattern.
        quick: Only the quick subset.
        fail_fast: Stop at the first failure.
        strict: Whether coercion cases and behaviour checks decide too.
        reproduce: Options that a command must repeat to run the same, e.g. ``("--stream", "original")``.

    """

    target: Target
    options: RunOptions
    match: Match
    vectors: Sequence[Vectors]
    vectors_facts: dict[str, str]
    build: str | None = None
    select: str | None = None
    quick: bool = False
    fail_fast: bool = False
    strict: bool = False
    reproduce: tuple[str, ...] = ()


def verify(request: Request, progress: Progress) -> Report:
    """Run the target on the selected cases and judge what came back.

    Golden values are looked up only after the answers are in: all of them, or a chunk with ``fail_fast``.

    A target that cannot be loaded gives a report too, with every case ``not-run``.

    Raises:
        InvalidArgument: ``select`` or ``build`` names nothing.

    """
    return _Run(request, progress).report()


class _Run:
    def __init__(self, request: Request, progress: Progress) -> None:
        self._request, self._progress = request, progress
        self._vectors: dict[str, Vectors] = {}
        cases: list[Case] = []
        for vectors in request.vectors:
            for case in vectors.cases():
                self._vectors[case.id] = vectors
                cases.append(case)
        self._suite = request.vectors[0].suite
        # Fresh vectors keep the positions of the golden file's recordings and add some.
        self._recordings = request.vectors[-1].recordings
        self._build = find_recording(request.build, self._recordings)
        self._selection: Selection = select(cases, self._suite, quick=request.quick, glob=request.select)
        self._seconds: dict[str, float] = {}
        self._interrupted = False

    def report(self) -> Report:
        began = time.monotonic()
        behaviour, problem = Behaviour(), None
        with Session(self._request.target, self._suite.function, self._request.options) as session:
            try:
                session.start()
                self._seconds["start"] = time.monotonic() - began
                judged = self._run_cases(session)
                behaviour = self._behaviour(session, judged)
            except TargetUnavailable as error:
                problem = error
                judged = self._none_run("the target could not be loaded")
            except KeyboardInterrupt:
                self._interrupted = True
                judged = self._none_run("interrupted")
            environment, output, restarts = dict(session.environment), session.output.text, session.restarts
        self._seconds["total"] = time.monotonic() - began
        return self._assembled(
            judge_run(judged, self._request.match), behaviour, environment, output, restarts, problem
        )

    def _assembled(
        self,
        run: RunJudgement,
        behaviour: Behaviour,
        environment: Environment,
        output: str,
        restarts: int,
        problem: TargetUnavailable | None,
    ) -> Report:
        request = self._request
        causes, notes = environment_notes(environment, stream=request.vectors[0].stream, recordings=self._recordings)
        if problem is not None:
            verdict = Verdict(code="could-not-judge", exit_code=3, sentence=f"COULD NOT JUDGE: {problem}")
            output = problem.details or output
        else:
            verdict = reach_verdict(
                run,
                match=request.match,
                build=self._build,
                recordings=self._recordings,
                total=self._selection.total,
                behaviour=behaviour,
                strict=request.strict,
                interrupted=self._interrupted,
                causes=causes,
            )
        return Report(
            verdict=verdict.code,
            sentence=verdict.sentence,
            exit_code=verdict.exit_code,
            target=safe_text(request.target.text, limit=1000),
            vectors=request.vectors_facts,
            level_asked=str(request.match),
            build_asked=request.build,
            levels_held=() if self._interrupted else levels_held(run),
            explained_by=tuple(explaining(run, self._recordings)) if run.elements.compared else (),
            elements=run.elements,
            results=tuple(one.result for one in run.cases),
            total=self._selection.total,
            failure=self._failure(run),
            notes=(*notes, *run_notes(run, request.match), *self._findings(run), *behaviour_notes(behaviour)),
            behaviour=behaviour,
            environment={name: _shown(value) for name, value in environment.items()},
            output=safe_text(output),
            restarts=restarts,
            seconds=self._seconds,
        )

    def _none_run(self, why: str) -> list[Judged]:
        return [self._judge(case, None, why) for case in (*self._selection.cases, *self._selection.coercion)]

    def _run_cases(self, session: Session) -> list[Judged]:
        cases = [*self._selection.cases, *self._selection.coercion]
        chunk = _FAIL_FAST_CHUNK if self._request.fail_fast else max(1, len(cases))
        judged: list[Judged] = []
        began = time.monotonic()
        self._progress.begin(len(cases))
        try:
            for start in range(0, len(cases), chunk):
                part = cases[start : start + chunk]
                answers = self._answers(session, part, done=start, total=len(cases))
                self._seconds["cases"] = time.monotonic() - began
                judged += [self._judge(case, answers.get(case.id)) for case in part]
                failed = any(one.result.outcome in _FAILURES and one.case.coercion is None for one in judged)
                if self._interrupted or (self._request.fail_fast and failed):
                    why = "interrupted" if self._interrupted else "--fail-fast"
                    judged += [self._judge(case, None, why) for case in cases[start + len(part) :]]
                    break
        finally:
            self._progress.end()
        return judged

    def _answers(self, session: Session, cases: Sequence[Case], *, done: int, total: int) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        try:
            for answer in session.run(cases):
                answers[answer.case_id] = answer
                self._progress.advance(answer.seconds, total - done - len(answers))
        except KeyboardInterrupt:
            self._interrupted = True
        return answers

    def _judge(self, case: Case, answer: Answer | None, why: str = "interrupted") -> Judged:
        if answer is None:
            result = CaseResult(id=case.id, outcome="not-run", coercion=case.coercion is not None, detail=why)
            return Judged(case=case, result=result)
        vectors = self._vectors[case.id.partition("/as=")[0]]
        build = self._recordings.index(self._build) if self._build is not None else None
        return judge_case(case, answer, vectors, self._request.match, build=build)

    def _behaviour(self, session: Session, judged: Sequence[Judged]) -> Behaviour:
        usable = [one.case for one in judged[: BEHAVIOUR_CASES * 2] if one.comparison and one.comparison.elements]
        cases = [case for case in usable if case.coercion is None][:BEHAVIOUR_CASES]
        if self._interrupted:
            return Behaviour(skipped="interrupted")
        if not cases:
            return Behaviour(skipped="no case returned an array of the right layout")
        began = time.monotonic()
        try:
            seen = session.behaviour(cases)
        except KeyboardInterrupt:
            self._interrupted = True
            return Behaviour(skipped="interrupted")
        self._seconds["behaviour"] = time.monotonic() - began
        return Behaviour(
            checked=len(seen.observed),
            seconds=seen.seconds,
            repeat=seen.not_repeatable,
            order=seen.order_dependent,
            aliasing=seen.overwritten,
            skipped=safe_text(seen.incomplete, limit=1000),
        )

    def _failure(self, run: RunJudgement) -> Failure | None:
        failed = [one for one in run.cases if one.result.outcome in _FAILURES and one.case.coercion is None]
        if not failed:
            failed = [one for one in run.cases if one.result.outcome == "coercion"]
        if not failed:
            return None
        first = failed[0]
        command = [
            "posvec",
            "verify",
            self._request.target.text,
            "--select",
            first.case.id,
            *self._request.reproduce,
        ]
        result = first.result
        failure = Failure(
            case=first.case.id,
            outcome=result.outcome,
            detail=result.detail,
            more_cases=len(failed) - 1,
            reproduce=safe_text(shlex.join(command), limit=4000),
        )
        return self._with_element(failure, first)

    def _with_element(self, failure: Failure, judged: Judged) -> Failure:
        if judged.values is None or judged.comparison is None:
            return failure
        known = self._vectors[judged.case.id.partition("/as=")[0]].known(judged.case)
        build = self._recordings.index(self._build) if self._build is not None else None
        wrong = failing(judged.values, known, self._request.match, build=build)
        if not wrong:  # only the run's cells are wrong
            wrong = failing(judged.values, known, Match(kind="ulp"))
        if not wrong:
            return failure
        index = wrong[0]
        got, expected = judged.values[index], known.expected[index]
        explanation = explain_element(judged.values, known, index)
        return replace(
            failure,
            detail=explanation or failure.detail,
            position=index // known.features,
            feature=index % known.features,
            expected=str(expected),
            expected_hex=float(expected).hex(),
            expected_bits=_bits(expected),
            got=str(got),
            got_hex=float(got).hex(),
            got_bits=_bits(got),
            ulp=int(differences(judged.values, known)[index]),
            more_elements=len(wrong) - 1,
        )

    def _findings(self, run: RunJudgement) -> list[str]:
        pairs = [
            (one.case, one.values, self._vectors[one.case.id].known(one.case))
            for one in run.cases
            if one.case.coercion is None and one.values is not None and one.result.outcome in ("value", "rounding")
        ]
        return explain_run(pairs, stream=self._request.vectors[0].stream) if pairs else []


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
    labels = sorted({build.label for recording in recordings for build in recording.builds})
    known = labels or [a for recording in recordings for a in recording.arithmetics]
    raise InvalidArgument("--build", name, f"a recorded build such as {known[0]!r}", hint="`posvec info` lists them")


def behaviour_notes(behaviour: Behaviour) -> Iterator[str]:
    """Yield a sentence for each behaviour check that failed."""
    for ids, what in (
        (behaviour.repeat, "The same call made twice in a row gave different bytes"),
        (behaviour.order, "What a call returns depends on the calls before it"),
        (behaviour.aliasing, "A later call changed an array that an earlier call had returned"),
    ):
        if ids:
            yield f"{what} (in {len(ids)} of {behaviour.checked} cases, first {shorten(ids[0])})."


def _bits(value: object) -> str:
    import numpy as np

    return f"0x{int(np.asarray(value, np.float32).view(np.uint32)):08x}"


def _shown(value: str | bool | None) -> str:
    if isinstance(value, str):
        return safe_text(value, limit=2000)
    return {True: "true", False: "false", None: "none"}[value]
