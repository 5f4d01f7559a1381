"""One case of a suite whose golden file is a list of cases, as a person or a program reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from posvec.schemas.case import Case
from posvec.schemas.errors import InvalidArgument
from posvec.schemas.protocol import array, request
from posvec.vectors.case_golden import CaseGolden, open_golden
from posvec.vectors.files import locate


def show_case(suite: str, case_id: str | None, *, as_json: bool) -> Iterator[str]:
    """Yield the lines that show a case; without ``case_id`` the ids of all cases.

    Raises:
        VectorsError: There is no such suite.
        InvalidArgument: There is no such case, or more than one.

    """
    golden = open_golden(locate(None, None, suite=suite))
    assert isinstance(golden, CaseGolden)  # noqa: S101 - the one other suite has options of its own
    cases = golden.cases()
    if case_id is None:
        yield from (case.id for case in cases)
        return
    found = [case for case in cases if case.id == case_id] or [case for case in cases if case.id.endswith(case_id)]
    if len(found) != 1:
        hint = f"`posvec show --suite {suite}` lists them"
        raise InvalidArgument("--case", case_id, "the id of one case, or the end of it", hint=hint)
    case = found[0]
    if as_json:
        message: dict[str, Any] = {
            "case": case.id,
            "args": {k: v for k, v in request(0, case.args).items() if k != "id"},
        }
        message |= {"must_raise": True} if case.must_raise else {"expected": array(_expected(golden, case))}
        yield json.dumps(message)
        return
    yield case.id
    for name, value in case.args.items():
        yield from _shown(name, value)
    if case.must_raise:
        yield "must raise"
    else:
        yield from _shown("expected", _expected(golden, case))


def _expected(golden: CaseGolden, case: Case) -> Any:
    known = golden.known(case)
    return known.expected.reshape(known.shape)


def _shown(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, np.ndarray):
        yield f"{name} = {value}"
        return
    yield f"{name}: {value.dtype} {value.shape}"
    with np.printoptions(threshold=200, linewidth=76, floatmode="unique"):
        yield from (f"  {line}" for line in str(value).splitlines())
