"""One verification, from target to report: run the cases, then open the golden values and judge."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import TargetUnavailable, VectorsError
from posvec.schemas.report import Behaviour, CaseResult, Report, safe_text
from posvec.verifier.judge import FAILURES, Judged, judge_case
from posvec.verifier.plan import Plan, Request
from posvec.verifier.reporting import Observed, build_report
from posvec.verifier.running.runner import Session

BEHAVIOUR_CASES = 32
_FAIL_FAST_CHUNK = 64


class Progress(Protocol):
    """Told how far a run is; what it shows, and where, is its own affair."""

    def begin(self, total: int) -> None:
        """``total`` cases are about to run."""

    def advance(self, seconds: float, remaining: int) -> None:
        """One more case has been answered, which took ``seconds``; ``remaining`` are left."""

    def end(self) -> None:
        """No more cases run."""


def verify(request: Request, session: Session, progress: Progress) -> Report:
    """Run the target on the selected cases and judge what came back; ``session`` is closed at the end.

    Golden values are looked up only after the answers are in: all of them, or a chunk with ``fail_fast``.

    A target that cannot be loaded, and one that changes the golden file, give a report too, with every case
    ``not-run``.

    Raises:
        InvalidArgument: ``select`` or ``build`` names nothing.
        InvalidLine: A pattern of ``known_failing`` matches no case.

    """
    return _Run(Plan(request), progress).report(session)


class _Run:
    def __init__(self, plan: Plan, progress: Progress) -> None:
        self._plan, self._progress = plan, progress
        self._seconds: dict[str, float] = {}
        self._answers: dict[str, Answer] = {}
        self._interrupted = False

    def report(self, session: Session) -> Report:
        behaviour = Behaviour()
        problem: TargetUnavailable | VectorsError | None = None
        judged: list[Judged] = []
        session.expected = self._plan.listed.keys()
        try:
            with session:
                session.start()
                self._seconds["start"] = time.monotonic() - session.launched
                judged = self._run_cases(session)
                behaviour = self._behaviour(session, judged)
            self._plan.request.golden.check_unchanged()  # the target is gone: what is so now stays so
        except (TargetUnavailable, VectorsError) as error:
            problem = error
            why = "the target could not be loaded" if isinstance(error, TargetUnavailable) else "not judged"
            judged = [self._judge(case, None, why) for case in self._plan.cases]
        except KeyboardInterrupt:  # at any moment, while the target's processes are ended too
            session.close()
            self._interrupted = True
            judged, problem = self._judge_what_came()
        self._seconds["total"] = time.monotonic() - session.launched
        judged = [
            self._judge(one.case, session.late[one.case.id]) if one.case.id in session.late else one for one in judged
        ]
        # Only now is all in that the target printed: answers come on another pipe.
        observed = Observed(
            judged=judged,
            behaviour=Behaviour(skipped="interrupted") if self._interrupted and not behaviour.checked else behaviour,
            environment=dict(session.environment),
            output=session.output.text,
            notes=tuple(session.notes),
            restarts=session.restarts,
            stopped=session.stopped,
            seconds=self._seconds,
            interrupted=self._interrupted,
            problem=problem,
        )
        return build_report(self._plan, observed)

    def _run_cases(self, session: Session) -> list[Judged]:
        cases = self._plan.cases
        chunk = _FAIL_FAST_CHUNK if self._plan.request.fail_fast else max(1, len(cases))
        judged: list[Judged] = []
        began = time.monotonic()
        self._progress.begin(len(cases))
        try:
            for start in range(0, len(cases), chunk):
                part = cases[start : start + chunk]
                try:
                    for answer in session.run(part):
                        self._answers[answer.case_id] = answer
                        self._progress.advance(answer.seconds, len(cases) - len(self._answers))
                finally:
                    self._seconds["cases"] = time.monotonic() - began
                self._plan.request.golden.check_unchanged()
                judged += [self._judge(case, self._answers.get(case.id)) for case in part]
                stop = self._first_failure(judged) if self._plan.request.fail_fast else None
                if stop is not None:
                    del judged[stop + 1 :]
                    judged += [self._judge(case, None, "--fail-fast") for case in cases[len(judged) :]]
                    break
        finally:
            self._progress.end()
        return judged

    def _judge_what_came(self) -> tuple[list[Judged], VectorsError | None]:
        """Judge the answers that an interrupted run had given."""
        try:
            self._plan.request.golden.check_unchanged()
        except VectorsError as error:
            return [self._judge(case, None, "not judged") for case in self._plan.cases], error
        return [self._judge(case, self._answers.get(case.id)) for case in self._plan.cases], None

    def _first_failure(self, judged: Sequence[Judged]) -> int | None:
        listed = self._plan.listed
        failed = (
            i
            for i, one in enumerate(judged)
            if one.result.outcome in FAILURES and one.case.coercion is None and one.case.id not in listed
        )
        return next(failed, None)

    def _judge(self, case: Case, answer: Answer | None, why: str = "interrupted") -> Judged:
        if answer is None:
            result = CaseResult(id=case.id, outcome="not-run", coercion=case.coercion is not None, detail=why)
            return Judged(case=case, result=result)
        plan = self._plan
        return judge_case(case, answer, plan.vectors(case), plan.request.match, build=plan.build_index)

    def _behaviour(self, session: Session, judged: Sequence[Judged]) -> Behaviour:
        if self._plan.request.fail_fast and self._first_failure(judged) is not None:
            return Behaviour(skipped="--fail-fast")
        usable = [one for one in judged[: 2 * BEHAVIOUR_CASES] if one.values is not None and one.values.size]
        plain = [one for one in usable if one.case.coercion is None][:BEHAVIOUR_CASES]
        cases = [one.case for one in plain]
        earlier = {one.case.id: one.values.tobytes() for one in plain if one.values is not None}
        if not cases:
            return Behaviour(skipped="no plain case gave values in the right layout")
        began = time.monotonic()
        seen = session.behaviour(cases, earlier)
        self._seconds["behaviour"] = time.monotonic() - began
        return Behaviour(
            checked=len(seen.observed),
            seconds=seen.seconds,
            repeat=seen.not_repeatable,
            order=seen.order_dependent,
            aliasing=seen.overwritten,
            mutation=seen.wrote,
            skipped=safe_text(seen.incomplete or ("" if seen.observed else "no array came again"), limit=1000),
        )
