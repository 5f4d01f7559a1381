"""Functions run here, in this process, as a target's answers: judged, searched and diagnosed."""

from __future__ import annotations

import numpy as np
import pytest

from posvec.schemas.answer import Answer
from posvec.schemas.report import Behaviour
from posvec.vectors.draws import DrawTable
from posvec.vectors.files import locate
from posvec.vectors.golden import Golden
from posvec.verifier.judge import judge_case, judge_run
from posvec.verifier.match import Match
from posvec.verifier.mistakes.diagnose import Run, diagnose
from posvec.verifier.mistakes.evidence import Evidence
from posvec.verifier.mistakes.hypothesis import World
from posvec.verifier.mistakes.parts import Args, RunFacts
from posvec.verifier.selection import select


@pytest.fixture(scope="session")
def draw_table():
    return DrawTable.load()


@pytest.fixture(scope="session")
def goldens():
    return {stream: Golden.open(locate(None, stream)) for stream in ("partitionable", "original")}


@pytest.fixture
def world(draw_table):
    def make(calls, stream="partitionable", **environment):
        return World(table=draw_table, stream=stream, facts=RunFacts(order=calls, environment=environment))

    return make


def evidence_of(function, calls):
    """Return what a function gives for some calls, all taken for wrong."""
    came = [_array(function(*args)).reshape(-1) for args in calls]
    return Evidence(calls=calls, came=came, failed=[True] * len(calls))


def _array(value):
    if hasattr(value, "detach"):
        value = value.detach().float().numpy()
    return np.asarray(value, np.float32)


def answer_of(case, function):
    """Return a function's answer to a case, as a target's process would send it."""
    try:
        value = function(*case.args.values())
    except Exception as error:
        return Answer(case_id=case.id, kind="raised", detail=repr(error))
    if isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)
        return Answer(
            case_id=case.id,
            kind="array",
            type_name="numpy.ndarray",
            dtype=value.dtype.str,
            shape=value.shape,
            data=value.tobytes(),
        )
    return Answer(case_id=case.id, kind="other", type_name=type(value).__name__)


@pytest.fixture
def diagnosed(goldens):
    """Run a function on golden cases and return the diagnosis."""

    def run(function, glob="*", *, stream="partitionable", match="equivalent", behaviour=None, coerced=None, **said):
        golden = goldens[stream]
        chosen = select(golden.cases(), golden.suite, glob=glob)
        asked = Match.parse(match)
        cases = [(case, function) for case in chosen.cases]
        if coerced is not None:
            cases += [(case, coerced) for case in chosen.coercion]
        judged = [judge_case(case, answer_of(case, f), golden, asked) for case, f in cases]
        return diagnose(
            Run(
                judged=judge_run(judged, asked).cases,
                known=golden.known,
                cases=golden.cases(),
                stream=stream,
                environment=said,
                behaviour=behaviour or Behaviour(),
            )
        )

    return run


@pytest.fixture(scope="session")
def calls():
    """A few calls with every kind of seed, width and length."""
    return [
        Args(*args)
        for args in [
            (7, 3, 2), (0, 2, 3), (1, 4, 1), (2, 32, 2), (42, 0, 4), (2**31, 5, 3), (2**32 - 1, 1, 4), (-1, 7, 4),
            (2**32 + 5, 2, 8), (2**31 - 1, 31, 1), (3, 4, 4), (0, 9, 3), (42, 6, 64), (1, 3, 3), (7, 2, 4), (2, 3, 64),
        ]
    ]  # fmt: skip
