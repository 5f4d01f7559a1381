"""One verification, group by group: answers come first, golden values are looked up for those that came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from time import monotonic
from typing import Any

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import TargetUnavailable, VectorsError
from posvec.schemas.protocol import hello
from posvec.schemas.report import Behaviour, CaseResult, Report
from posvec.vectors.files import locate
from posvec.verifier.judge import Judged, judge_case
from posvec.verifier.known_failures import KnownFailures
from posvec.verifier.match import Match
from posvec.verifier.plan import Plan, Request
from posvec.verifier.plugin.settings import Settings
from posvec.verifier.reporting import Observed, build_report
from posvec.verifier.running.program import Program
from posvec.verifier.running.program_session import ProgramSession
from posvec.verifier.running.runner import Session
from posvec.verifier.running.target import Target
from posvec.verifier.sources import find_vectors

_BEHAVIOUR = Behaviour(skipped="not under pytest; `posvec verify` does")
DIAGNOSIS_SECONDS = 5.0
"""How long failing items may be diagnosed, one by one; after that only the run as a whole is."""


class Verification:
    """A target and its golden file, opened; its process is started when the first group runs, and kept.

    Attributes:
        groups: The cases of each item, by name: of a seed and d_model all T; of other suites all that differ only in
            their last argument.

    """

    def __init__(self, settings: Settings, target: Target | Program) -> None:
        """Open what ``settings`` name.

        Raises:
            InvalidArgument: A value is outside what is allowed.
            InvalidLine, InputError: The list of known failures is none.
            VectorsError: There are no such vectors, or they are damaged.

        """
        path = locate(settings.vectors, settings.stream, suite=settings.suite)
        sources = find_vectors(path=path, stream=settings.stream, fresh=None, fresh_seed=None, golden=False)
        known = None if settings.known_failing is None else KnownFailures.read(settings.known_failing)
        suite = sources.golden.suite
        if isinstance(target, Program):
            target.check_fits(suite)
        self._request = Request(
            target=target,
            match=Match.parse(settings.match or suite.default_match),
            vectors=sources.vectors,
            vectors_facts=sources.facts,
            golden=sources.golden,
            quick=settings.quick,
            known_failing=known,
            reproduce=settings.repeated(),
        )
        self._plan = Plan(self._request)
        self._session: Session | None = None
        self._answers: dict[str, Answer] = {}
        self._environment: Mapping[str, str | bool | None] = {}
        self._output = ""
        self._seconds = 0.0
        self._checked: tuple[int, ...] = ()
        self._diagnosing = DIAGNOSIS_SECONDS
        self.problem: TargetUnavailable | VectorsError | None = None
        # In the order of the command, so that the first failure is the same; the groups in that of the file.
        self._cases = {case.id: case for case in self._plan.selection.cases}
        names = dict.fromkeys(_group(case) for case in sources.golden.cases())
        groups: dict[str, list[Case]] = {name: [] for name in names}
        for case in self._cases.values():
            groups[_group(case)].append(case)
        self.groups = {name: cases for name, cases in groups.items() if cases}

    def run(self, cases: Sequence[Case]) -> Report:
        """Have the target answer ``cases``, and return what is to be said of them."""
        began = monotonic()
        if self.problem is None:
            try:
                self._ask(cases)
            except (TargetUnavailable, VectorsError) as error:
                self.problem = error
        self._seconds += monotonic() - began
        return self._report(cases)

    def _ask(self, cases: Sequence[Case]) -> None:
        if self._session is None:
            self._session = self._new_session()
            self._session.expected = self._plan.listed.keys()
            self._session.start()
        for answer in self._session.run(cases):
            self._answers[answer.case_id] = answer
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Hash the golden file, unless nothing has written to it since the last time, as far as the system tells.

        For certain it is hashed when the target is gone.
        """
        found = self._request.golden.path.stat()
        now = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if now != self._checked:
            self._request.golden.check_unchanged()
            self._checked = now

    def _new_session(self) -> Session:
        target, golden = self._request.target, self._request.golden
        if isinstance(target, Program):
            return ProgramSession(target, hello=hello(golden.suite.name, golden.stream))
        return Session(target, golden.suite.function, watch=(golden.path.resolve(),))

    def whole(self) -> Report | None:
        """Return the report on all cases that were asked; None if none was."""
        asked = [case for case in self._cases.values() if case.id in self._answers]
        if not asked and self.problem is None:
            return None
        self._diagnosing = DIAGNOSIS_SECONDS
        return self._report(asked or list(self._cases.values()), output=self._output)

    def _report(self, cases: Iterable[Case], output: str = "") -> Report:
        session = self._session
        began = monotonic()
        report = build_report(
            self._plan,
            Observed(
                judged=[self._judge(case) for case in cases],
                behaviour=_BEHAVIOUR,
                environment=dict(session.environment) if session is not None else self._environment,
                output=output,
                notes=tuple(session.notes) if session is not None else (),
                restarts=session.restarts if session is not None else 0,
                stopped=session.stopped if session is not None else "",
                seconds={"cases": self._seconds},
                interrupted=False,
                problem=self.problem,
            ),
            diagnosing=self._diagnosing > 0,
        )
        self._diagnosing -= monotonic() - began
        return report

    def _judge(self, case: Case) -> Judged:
        answer = self._answers.get(case.id)
        if answer is None or self.problem is not None:
            return Judged(case=case, result=CaseResult(id=case.id, outcome="not-run", detail="not judged"))
        return judge_case(case, answer, self._plan.vectors(case), self._request.match)

    # What xdist's workers send, as values that it can send.

    def close(self) -> dict[str, Any]:
        """End the target's processes; return all that came of it."""
        if self._session is not None:
            self._session.close()
            try:
                self._request.golden.check_unchanged()
            except VectorsError as error:
                self.problem = self.problem or error
            self._environment, self._output = self._session.environment, self._session.output.text
        return {
            "answers": [asdict(answer) for answer in self._answers.values()],
            "environment": dict(self._environment),
            "output": self._output,
            "seconds": self._seconds,
            "problem": None if self.problem is None else [type(self.problem).__name__, *map(str, self.problem.args)],
        }

    def take(self, sent: Mapping[str, Any]) -> None:
        """Add what another process returned from :meth:`close`."""
        for answer in sent["answers"]:
            shape = answer["shape"]
            self._answers[answer["case_id"]] = Answer(**{**answer, "shape": None if shape is None else tuple(shape)})
        self._environment = {**self._environment, **sent["environment"]}
        self._output += sent["output"]
        self._seconds += sent["seconds"]
        if sent["problem"] is not None:
            self.problem = _problem(*sent["problem"])


def _group(case: Case) -> str:
    return case.id.rpartition("/")[0]


def _problem(kind: str, where: str, problem: str, remedy: str, details: str = "") -> TargetUnavailable | VectorsError:
    if kind == "TargetUnavailable":
        return TargetUnavailable(where, problem, remedy=remedy, details=details)
    return VectorsError(where, problem, remedy=remedy)
