"""From answers to outcomes: each case alone, then what only the whole run can tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.report import CaseResult, Elements, Outcome, safe_text
from posvec.vectors.known import Known, Vectors
from posvec.vectors.ulp import Float32, Values
from posvec.verifier.layout import Came, judge_layout
from posvec.verifier.levels import Comparison, cell_allowance, compare, failing
from posvec.verifier.match import Match

FAILURES = ("layout", "rounding", "value", "error", "timeout", "crash")
_DETAIL_LIMIT = 4000
_LARGEST_ULP_LEVEL = 65_535  # what is farther off is no rounding
_FINE = ("pass", "rounding", "not-run")
_STOPPED: dict[str, Outcome] = {
    "raised": "error",
    "timeout": "timeout",
    "crash": "crash",
    "not-run": "not-run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One case with its outcome and, where values could be compared, how they compare; else what came instead.

    ``memory_order`` is that of the array that came: ``C``, ``F``, ``strided``, or empty.
    """

    case: Case
    result: CaseResult
    comparison: Comparison | None = None
    values: Values | None = None
    came: Came | None = None
    memory_order: str = ""

    @property
    def floats(self) -> Float32 | None:
        """The values of a suite whose function returns float32."""
        return None if self.values is None else self.values.astype(np.float32, copy=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJudgement:
    """All cases of a run, judged.

    Attributes:
        cases: The judged cases, in order.
        elements: Counts over the cases that count (coercion cases do not).
        explained_by: Bit mask of the recordings that alone explain every compared case.
        cells_hold: Whether few enough elements lie outside their own cell for ``equivalent``.

    """

    cases: tuple[Judged, ...]
    elements: Elements
    explained_by: int
    cells_hold: bool


def judge_case(case: Case, answer: Answer, vectors: Vectors, match: Match, *, build: int | None = None) -> Judged:
    """Judge one answer; the known values of its case are looked up here, after the answer has come."""
    stopped = _STOPPED.get(answer.kind)
    if case.must_raise and stopped in (None, "error"):
        if stopped is not None:
            return _judged(case, answer, "pass", "")
        what = f"an array of shape {answer.shape}" if answer.kind == "array" else "something"
        return _judged(case, answer, "value", f"{what} came, and on these arguments the function must raise")
    if stopped is not None:
        return _judged(case, answer, stopped, answer.detail)
    known = vectors.known(case)
    layout = judge_layout(answer, suite=vectors.suite, case=case, shape=known.shape)
    if layout.problem is not None or layout.values is None:
        detail = (layout.problem or "") + _loosely(layout.loosely, known, match)
        return replace(_judged(case, answer, "layout", detail), came=layout.came)
    comparison = compare(layout.values, known, build=build)
    outcome: Outcome = "pass"
    detail = ""
    if not comparison.holds(match):
        outcome = "value" if comparison.outside_accept or match.kind == "equivalent" else "rounding"
        detail = _first_wrong(layout.values, known, failing(layout.values, known, match, build=build))
    return _judged(case, answer, outcome, detail, comparison=comparison, values=layout.values)


def judge_run(judged: Iterable[Judged], match: Match) -> RunJudgement:
    """Judge what only the whole run can tell, and return every case with its final outcome."""
    cases = list(judged)
    failed = {one.case.id for one in cases if one.case.coercion is None and one.result.outcome not in _FINE}
    cases = _raising([_coerced(one, failed) for one in cases])
    deciding = [one for one in cases if one.case.coercion is None] or cases
    counted = [one.comparison for one in deciding if one.comparison is not None]
    elements = Elements(
        compared=sum(c.elements for c in counted),
        differing=sum(c.differing for c in counted),
        unexplained=sum(c.unexplained for c in counted),
        other_build=sum(c.other_build for c in counted),
        outside_accept=sum(c.outside_accept for c in counted),
        outside_cell=sum(c.outside_cell for c in counted),
        max_ulp=max((c.max_ulp for c in counted), default=0),
        ulp_histogram=tuple(sum(c.ulp_histogram[i] for c in counted) for i in range(5)),
    )
    explained = -1
    for comparison in counted:
        explained &= comparison.explained_by
    cells_hold = elements.outside_cell <= cell_allowance(elements.compared)
    if not cells_hold:
        cases = [_beyond_cells(one, match) for one in cases]
    return RunJudgement(
        cases=tuple(cases), elements=elements, explained_by=explained if counted else 0, cells_hold=cells_hold
    )


def levels_held(run: RunJudgement) -> tuple[str, ...]:
    """Return every level that holds in all cases that decide; none unless each ran and had the right layout."""
    deciding = [one for one in run.cases if one.case.coercion is None] or run.cases
    if any(one.comparison is None and not _raised_as_due(one) for one in deciding) or not run.elements.compared:
        return ()
    held = []
    if run.elements.unexplained == 0:
        held.append("exact")
    if run.elements.outside_accept == 0 and run.cells_hold:
        held.append("equivalent")
    if run.elements.max_ulp <= _LARGEST_ULP_LEVEL:
        held.append(f"ulp:{run.elements.max_ulp}")
    return tuple(held)


def _judged(
    case: Case,
    answer: Answer,
    outcome: Outcome,
    detail: str,
    *,
    comparison: Comparison | None = None,
    values: Values | None = None,
) -> Judged:
    result = CaseResult(
        id=case.id,
        outcome=outcome,
        coercion=case.coercion is not None,
        seconds=answer.seconds,
        detail=safe_text(detail, limit=_DETAIL_LIMIT),
        max_ulp=comparison.max_ulp if comparison else None,
        elements=comparison.elements if comparison else 0,
    )
    return Judged(case=case, result=result, comparison=comparison, values=values, memory_order=answer.memory_order)


def _raised_as_due(one: Judged) -> bool:
    return one.case.must_raise and one.result.outcome == "pass"


def _raising(cases: list[Judged]) -> list[Judged]:
    """Fail a case that must raise, and does, where its neighbour raises as well: it proves nothing then."""
    outcomes = {one.case.id: one.result.outcome for one in cases}
    return [
        replace(
            one,
            result=replace(
                one.result,
                outcome="error",
                detail=f"it must raise here, and it also raised in {one.case.neighbour}, where it must not",
            ),
        )
        if _raised_as_due(one) and outcomes.get(one.case.neighbour or "") == "error"
        else one
        for one in cases
    ]


def _coerced(one: Judged, failed: set[str]) -> Judged:
    """Give a failed coercion case its outcome, unless the same arguments fail as plain integers too."""
    if one.case.coercion is None or one.result.outcome in _FINE or one.case.base_id in failed:
        return one
    how = {
        "str": 'strings such as "3"',
        "float": "floats such as 3.0",
        "numpy": "np.int32(3)" if one.case.numpy_int32 else "np.int64(3)",
    }[one.case.coercion]
    was = one.result.outcome
    last = one.result.detail.strip().rpartition("\n")[2].strip()
    detail = f"with the arguments given as {how}: {was}. {last}".rstrip()
    return replace(one, result=replace(one.result, outcome="coercion", detail=detail))


def _beyond_cells(one: Judged, match: Match) -> Judged:
    comparison = one.comparison
    if comparison is None or not comparison.outside_cell or match.kind == "ulp" or one.case.coercion:
        return one
    if one.result.outcome == "value" or (match.kind == "exact" and one.result.outcome == "pass"):
        return one
    detail = f"{comparison.outside_cell} of {comparison.elements} elements lie outside the cell of their own draw"
    return replace(one, result=replace(one.result, outcome="value", detail=detail))


def _first_wrong(values: Values, known: Known, wrong: list[int]) -> str:
    """Say how many elements fail, and what came and was due at the first of them."""
    index = wrong[0]
    where = f"position {index // known.features}, feature {index % known.features}"
    if len(known.shape) != 1:
        where = f"index {list(map(int, np.unravel_index(index, known.shape)))}"
    return (
        f"{len(wrong)} of {values.size} elements; the first at {where}: expected {known.expected[index]!s}, "
        f"got {values[index]!s}"
    )


def _loosely(values: Float32 | None, known: Known, match: Match) -> str:
    if values is None or not values.size or known.expected.dtype.kind != "f":
        return ""
    comparison = compare(values, known)
    if comparison.holds(match):
        return " (the values, read as flat float32, are right)"
    return "" if comparison.outside_accept else " (the draws, read as flat float32, are right)"
