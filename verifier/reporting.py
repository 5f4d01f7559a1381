"""From what was observed in a run to its report: verdict, first failure, notes."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posvec.schemas.cpu import OF_INTEREST, cpu_flags
from posvec.schemas.errors import TargetUnavailable, VectorsError, shorten
from posvec.schemas.report import Behaviour, Diagnosis, Failure, Report, safe_text
from posvec.verifier.decode import explain_element
from posvec.verifier.judge import FAILURES, Judged, RunJudgement, judge_run, levels_held
from posvec.verifier.known_failures import known_notes, mark
from posvec.verifier.levels import differences, failing
from posvec.verifier.match import Match
from posvec.verifier.plan import Plan
from posvec.verifier.reports.tables import case_tables
from posvec.verifier.running.process import CHILD
from posvec.verifier.running.program import Program
from posvec.verifier.running.target import Target
from posvec.verifier.text import counted
from posvec.verifier.verdict import (
    Environment,
    Verdict,
    environment_notes,
    explaining,
    reach_verdict,
    run_notes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """All that a run gave.

    Attributes:
        judged: Every case, judged alone.
        behaviour: The behaviour checks.
        environment: What the target ran on, as its process says: untrusted.
        output: What it printed: untrusted.
        notes: What it was seen to do with golden files.
        restarts: How often its process was started again.
        stopped: Why the run was given up, or an empty text.
        seconds: Wall times.
        interrupted: Whether the run was interrupted.
        problem: Why nothing could be judged, if so.

    """

    judged: Sequence[Judged]
    behaviour: Behaviour
    environment: Environment
    output: str
    notes: tuple[str, ...]
    restarts: int
    stopped: str
    seconds: Mapping[str, float]
    interrupted: bool
    problem: TargetUnavailable | VectorsError | None


def build_report(plan: Plan, observed: Observed, *, diagnosing: bool = True) -> Report:
    """Judge the run as a whole and say what was found; which mistake it is, unless that would take too long."""
    request, behaviour = plan.request, observed.behaviour
    run = mark(judge_run(observed.judged, request.match), plan.listed)
    causes, notes = environment_notes(
        observed.environment, stream=request.vectors[0].stream, recordings=plan.recordings
    )
    if observed.problem is not None:
        verdict = Verdict(code="could-not-judge", exit_code=3, sentence=f"COULD NOT JUDGE: {observed.problem}")
    else:
        verdict = reach_verdict(
            run,
            match=request.match,
            build=plan.build,
            recordings=plan.recordings,
            total=plan.selection.total,
            behaviour=behaviour,
            strict=request.strict,
            interrupted=observed.interrupted,
            causes=causes,
        )
    notes += run_notes(run, request.match)
    if request.known_failing is not None:
        notes += known_notes(run, plan.listed, request.known_failing.path)
    notes += _memory_notes(run)
    notes += _behaviour_notes(behaviour)
    notes += _stopped_note(run, observed.stopped)
    notes += [_seen(note, request.target) for note in observed.notes]
    if request.strict and not plan.selection.coercion and plan.suite.coercion and isinstance(request.target, Target):
        notes.append("--strict, but no coercion case was selected: run without --select to check them.")
    began = time.monotonic()
    diagnosis = _diagnosis(plan, run, observed) if diagnosing else None
    if verdict.code in ("known-failures", "outdated-list") and diagnosis is not None:
        notes += [f"The known failures, diagnosed: {diagnosis.sentence}"] if diagnosis.explanations else []
        diagnosis = None
    seconds = dict(observed.seconds) | ({"diagnosis": time.monotonic() - began} if diagnosis is not None else {})
    details = observed.problem.details if isinstance(observed.problem, TargetUnavailable) else ""
    return Report(
        verdict=verdict.code,
        sentence=safe_text(verdict.sentence, limit=2000),
        exit_code=verdict.exit_code,
        target=safe_text(request.target.text, limit=1000),
        vectors={name: safe_text(value, limit=4000) for name, value in request.vectors_facts.items()},
        level_asked=str(request.match),
        build_asked=request.build,
        levels_held=() if observed.interrupted else levels_held(run),
        explained_by=tuple(explaining(run, plan.recordings)) if run.elements.compared else (),
        elements=run.elements,
        results=tuple(one.result for one in run.cases),
        total=plan.selection.total,
        failure=_failure(plan, run),
        diagnosis=diagnosis,
        notes=tuple(notes),
        behaviour=behaviour,
        environment={
            **{name: _shown(value) for name, value in observed.environment.items()},
            "cpu_flags": _cpu(),
        },
        output=safe_text(_without_our_frames(details or observed.output)),
        restarts=observed.restarts,
        seconds=seconds,
        strict=request.strict,
        # Golden values that changed under the run are not shown as what was due.
        tables=case_tables(plan, run.cases) if request.tables and observed.problem is None else (),
    )


def _seen(note: str, target: Target | Program) -> str:
    if isinstance(target, Program):
        return f"The program {shorten(note)}."
    return f"The target was seen to do this: {shorten(note)} (a note, no proof)."


def _failure(plan: Plan, run: RunJudgement) -> Failure | None:
    unlisted = [one for one in run.cases if not one.result.known_fails]
    failed = [one for one in unlisted if one.result.outcome in FAILURES and one.case.coercion is None]
    if not failed:
        failed = [one for one in unlisted if one.result.outcome == "coercion"]
    if not failed:
        return None
    first = failed[0]
    command = plan.request.target.command(["--select", first.case.id, *plan.request.reproduce])
    result = first.result
    failure = Failure(
        case=first.case.id,
        outcome=result.outcome,
        detail=result.detail,
        more_cases=len(failed) - 1,
        reproduce=safe_text(shlex.join(command), limit=4000),
    )
    return _with_element(plan, failure, first)


def _with_element(plan: Plan, failure: Failure, judged: Judged) -> Failure:
    if judged.values is None or judged.comparison is None:
        return failure
    known = plan.known(judged.case)
    wrong = failing(judged.values, known, plan.request.match, build=plan.build_index)
    if not wrong:  # only the run's cells are wrong
        wrong = failing(judged.values, known, Match(kind="ulp"))
    if not wrong:
        return failure
    index = wrong[0]
    got, expected = judged.values[index], known.expected[index]
    explanation = explain_element(judged.values.astype(np.float32), known, index) if known.draw.size else ""
    flat = len(known.shape) == 1
    return replace(
        failure,
        detail=explanation or (failure.detail if known.draw.size else ""),
        position=index // known.features if flat else None,
        feature=index % known.features if flat else None,
        index=tuple(map(int, np.unravel_index(index, known.shape))),
        expected=str(expected),
        expected_hex=_hex(expected),
        expected_bits=_bits(expected),
        got=str(got),
        got_hex=_hex(got),
        got_bits=_bits(got),
        ulp=int(differences(judged.values, known)[index]),
        more_elements=len(wrong) - 1,
    )


def _diagnosis(plan: Plan, run: RunJudgement, observed: Observed) -> Diagnosis | None:
    """Return what is wrong with a failing run; nothing of the catalogue is loaded for any other.

    Known failures are left out where others fail: the new ones may be another mistake.
    """
    unlisted = tuple(one for one in run.cases if not one.result.known_fails)
    new = any(one.result.outcome in FAILURES and one.case.coercion is None for one in unlisted)
    judged = unlisted if new else run.cases
    stream = plan.request.vectors[0].stream
    if stream is None or (
        not any(one.result.outcome in FAILURES for one in run.cases)
        and not (plan.request.strict and observed.behaviour.failed)
    ):
        return None
    from posvec.verifier.mistakes.diagnose import Run, diagnose

    return diagnose(
        Run(
            judged=judged,
            known=plan.known,
            cases=[case for vectors in plan.request.vectors for case in vectors.cases()],
            stream=stream,
            environment=observed.environment,
            behaviour=observed.behaviour,
        )
    )


def _behaviour_notes(behaviour: Behaviour) -> Iterator[str]:
    """Yield a sentence for each behaviour check that failed."""
    for ids, what in (
        (behaviour.repeat, "The same call made twice in a row gave different bytes"),
        (behaviour.order, "What a call returns depends on the calls before it"),
        (behaviour.aliasing, "A later call changed an array that an earlier call had returned"),
        (behaviour.mutation, "The function wrote to an array that it was given"),
    ):
        if ids:
            yield f"{what} (in {len(ids)} of {behaviour.checked} cases, first {shorten(ids[0])})."


def _without_our_frames(output: str) -> str:
    """Leave out the lines of a stack that are posvec's own: they say nothing about the target."""
    return "\n".join(line for line in output.split("\n") if str(CHILD) not in line)


def _memory_notes(run: RunJudgement) -> Iterator[str]:
    """Say which arrays do not lie in memory in the order of their elements: a C program would read them wrong."""
    for order, how in (
        ("F", "in column-major (Fortran) order"),
        ("strided", "with gaps or out of order (strided)"),
    ):
        found = [one.result.id for one in run.cases if one.memory_order == order]
        if found:
            yield (
                f"{counted(len(found), 'array')} came {how} in memory, first {shorten(found[0])}: what was judged is "
                "the order of the elements, not of the memory."
            )


def _stopped_note(run: RunJudgement, stopped: str) -> Iterator[str]:
    unrun = sum(one.result.outcome == "not-run" for one in run.cases if one.case.coercion is None)
    if stopped and unrun:
        yield safe_text(f"{counted(unrun, 'case')} {'was' if unrun == 1 else 'were'} {stopped}.", limit=1000)


def _cpu() -> str:
    # The target runs on this machine, so what its CPU has need not be taken from the target's word.
    return " ".join(flag for flag in OF_INTEREST if flag in cpu_flags())


def _hex(value: np.generic) -> str:
    return float(value).hex() if value.dtype.kind == "f" else hex(int(value))


def _bits(value: np.generic) -> str:
    return f"0x{int(value.view(np.uint32)):08x}"


def _shown(value: str | bool | None) -> str:
    if isinstance(value, str):
        return safe_text(value, limit=2000)
    return {True: "true", False: "false", None: "none"}[value]
