"""``posvec.verifier.cases``: golden cases for tests of one's own, each of which judges what a function returned.

Here the function runs in the process of the test: handy, and no protection against code that cheats. ``posvec verify``
and ``pytest --posvec`` run it in a process of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.answer import Answer
from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.case import Case
from posvec.schemas.errors import InvalidArgument
from posvec.schemas.report import Behaviour
from posvec.vectors.files import locate
from posvec.verifier.judge import judge_case
from posvec.verifier.match import Match
from posvec.verifier.plan import Plan, Request
from posvec.verifier.reporting import Observed, build_report
from posvec.verifier.running.child.describe import describe, describe_raised
from posvec.verifier.running.frames import Frame, answer_from
from posvec.verifier.running.target import Target
from posvec.verifier.screen import explanation
from posvec.verifier.sources import find_vectors

DIAGNOSIS_SECONDS = 5.0
_INDENT = 8  # what pytest puts before each line of an error
_ABSENT = Target(text="your function", module="absent")


class NotConforming(AssertionError):
    """What a function returned is not what it must return; the message explains it."""

    __module__ = "posvec.verifier"  # what a traceback says, and where users find it


class _Judge:
    """What judges the cases of one golden file; tells which mistake it is for a while, then only what failed."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self._left = plan, DIAGNOSIS_SECONDS

    def judge(self, case: Case, answer: Answer) -> str:
        """Return what is wrong with an answer; an empty text if nothing is."""
        request = self.plan.request
        judged = judge_case(case, answer, self.plan.vectors(case), request.match)
        began = monotonic()
        report = build_report(
            self.plan,
            Observed(
                judged=[judged],
                behaviour=Behaviour(),
                environment={},
                output="",
                notes=(),
                restarts=0,
                stopped="",
                seconds={},
                interrupted=False,
                problem=None,
            ),
            diagnosing=self._left > 0,
        )
        self._left -= monotonic() - began
        if report.results[0].outcome == "pass":
            return ""
        failure = report.failure and replace(report.failure, reproduce="")
        return "\n".join(explanation(replace(report, failure=failure), indent=_INDENT))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownCase:
    """One golden case. Its arguments are attributes too: ``case.seed``, ``case.T``, ``case.d_model``.

    Attributes:
        id: Its name, which ``str()`` gives too.
        must_raise: Whether the function must raise: then use :meth:`check_call`.

    """

    id: str
    must_raise: bool
    _case: Case = field(repr=False)
    _judge: _Judge = field(repr=False)

    @property
    def args(self) -> dict[str, Any]:
        """The arguments by name, in the order of the function's signature; arrays are copies."""
        return {
            name: value.copy() if isinstance(value, np.ndarray) else value for name, value in self._case.args.items()
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in self.__slots__:
            raise AttributeError(name)  # a copy that is being made has none yet
        if name in self._case.args:
            return self.args[name]
        raise AttributeError(f"the case {self.id} has no argument {name!r}: it has {', '.join(self._case.args)}")

    @property
    def expected(self) -> NDArray[Any] | None:
        """The recorded array, float32 (of some suites int32); None where the function must raise.

        Other recorded builds round differently: compare with :meth:`check`, not with ``==``.
        """
        if self.must_raise:
            return None
        known = self._judge.plan.known(self._case)
        return known.expected.reshape(known.shape).copy()

    def check(self, result: object) -> None:
        """Judge what the function returned: its type, dtype, shape, then its values at the level asked for.

        Raises:
            NotConforming: It is wrong; the message says what, where, and which mistake it is.

        """
        __tracebackhide__ = True
        header, data = describe(result)
        self._raise_unless_right(header, data)

    def check_call(self, function: Callable[..., object]) -> None:
        """Call ``function`` with the arguments of the case, by position, and judge what comes of it.

        Raises:
            NotConforming: It is wrong; it returned where it must raise; or it raised.

        """
        __tracebackhide__ = True
        try:
            result = function(*self.args.values())
        except Exception as error:
            if self.must_raise:
                return
            # The function's own frames; there are none if it could not be called like this.
            error.__traceback__ = None if error.__traceback__ is None else error.__traceback__.tb_next
            header = describe_raised(error)
            self._raise_unless_right(header, b"", cause=error)
            return
        self.check(result)

    def _raise_unless_right(self, header: dict[str, Any], data: bytes, cause: Exception | None = None) -> None:
        __tracebackhide__ = True
        # As if it had come from a process of its own: through the same door.
        answer = answer_from(Frame(json.loads(json.dumps(header)), data), self.id)
        wrong = self._judge.judge(self._case, answer)
        if wrong:
            if cause is not None and cause.__traceback__ is None:
                raise NotConforming(wrong) from None
            raise NotConforming(wrong) from cause

    def __str__(self) -> str:
        return self.id


def cases(
    *,
    suite: str | None = None,
    vectors: Path | str | None = None,
    stream: Stream | None = None,
    match: str | None = None,
    quick: bool = False,
    select: str | None = None,
) -> list[KnownCase]:
    """Return golden cases, for ``@pytest.mark.parametrize("case", posvec.verifier.cases(), ids=str)``.

    Args:
        suite: The function under test; default: ``learned_pos_embed``.
        vectors: A golden file, or a folder with some; default: those shipped with posvec.
        stream: Which integers a seed gives: ``partitionable`` (the default) or ``original``.
        match: ``exact``, ``equivalent`` or ``ulp:N``; default: that of the suite.
        quick: At most 92 cases that cover every value of every axis.
        select: Only cases whose whole id matches this pattern, e.g. ``*/T=3``.

    Raises:
        InvalidArgument: A value is outside what is allowed.
        VectorsError: There are no such vectors, or they are damaged.

    """
    if stream is not None and stream not in STREAMS:
        raise InvalidArgument("stream", stream, " or ".join(STREAMS))
    path = locate(None if vectors is None else Path(vectors), stream, suite=suite)
    sources = find_vectors(path=path, stream=stream, fresh=None, fresh_seed=None, golden=False)
    request = Request(
        target=_ABSENT,
        match=Match.parse(match or sources.golden.suite.default_match),
        vectors=sources.vectors,
        vectors_facts=sources.facts,
        golden=sources.golden,
        quick=quick,
        select=select,
    )
    plan = Plan(request)
    judge = _Judge(plan)
    return [
        KnownCase(id=case.id, must_raise=case.must_raise, _case=case, _judge=judge) for case in plan.selection.cases
    ]
