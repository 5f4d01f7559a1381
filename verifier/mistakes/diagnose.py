"""From a failing run to a diagnosis: which known mistake it is, or else what narrows it down.

A mistake is named only if recomputing it gives what came in every case that returned something. Cases with arguments
given as strings, floats or NumPy integers do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from posvec.schemas.build import Stream
from posvec.schemas.case import Case
from posvec.schemas.errors import VectorsError, shorten
from posvec.schemas.report import Behaviour, Diagnosis, EvidenceLevel, Explanation, NamedMistake
from posvec.vectors.known import Known
from posvec.vectors.ulp import Float32
from posvec.verifier.decode import draw_table
from posvec.verifier.judge import FAILURES, Judged
from posvec.verifier.levels import differences, outside
from posvec.verifier.mistakes.catalogue import BY_ID
from posvec.verifier.mistakes.digits import too_few_digits
from posvec.verifier.mistakes.evidence import Evidence
from posvec.verifier.mistakes.facts import find_facts
from posvec.verifier.mistakes.finer import finer_uniform
from posvec.verifier.mistakes.hypothesis import Hypothesis, Part, World
from posvec.verifier.mistakes.layout import container_part, layout_parts, scalar_part
from posvec.verifier.mistakes.parts import Args, RunFacts
from posvec.verifier.mistakes.search import Found, search
from posvec.verifier.mistakes.separate import separating_call
from posvec.verifier.text import counted

_NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five"}
NOTHING_KNOWN = "None of the known mistakes gives what came (`posvec mistakes` lists them)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A failing run, as far as a diagnosis needs it.

    Attributes:
        judged: Every case, judged.
        known: Returns what is known about the output of a case.
        cases: The cases that there are, run or not, from which one that separates mistakes is chosen.
        stream: The stream that the vectors hold.
        environment: What the target ran on: untrusted.
        behaviour: What calling again showed.

    """

    judged: Sequence[Judged]
    known: Callable[[Case], Known]
    cases: Sequence[Case]
    stream: Stream
    environment: Mapping[str, str | bool | None]
    behaviour: Behaviour


def diagnose(run: Run) -> Diagnosis | None:
    """Return what is wrong; None if nothing is that values, layout or behaviour tell."""
    plain = [one for one in run.judged if one.case.coercion is None]
    failed = [one for one in plain if one.result.outcome in FAILURES]
    if run.behaviour.repeat or run.behaviour.order:
        return _unsteady(run.behaviour)
    if not failed:
        return _of_behaviour(run.behaviour)
    answered = [one for one in plain if one.values is not None or one.came is not None]
    table = draw_table()
    if not answered or table is None:
        return None
    try:
        calls = tuple(_args(one.case) for one in plain)
        world = World(table=table, stream=run.stream, facts=RunFacts(order=calls, environment=run.environment))
        return _of_answers(run, world, answered, [one for one in failed if one.values is None and one.came is None])
    except VectorsError:
        return None  # a damaged draw table: a report can do without


def _of_answers(run: Run, world: World, answered: Sequence[Judged], silent: Sequence[Judged]) -> Diagnosis | None:
    read = [one for one in answered if _values(one) is not None]
    if not read:
        return _without_numbers(answered, silent)
    evidence = Evidence(
        calls=[_args(one.case) for one in read],
        came=[values for one in read if (values := _values(one)) is not None],
        failed=[_wrong(run, one) for one in read],
        lossless=all(one.came is None or one.came.lossless for one in read),
    )
    some_unread = len(read) < len(answered)
    found = [] if some_unread or not evidence.flat.size else search(world, evidence)
    layout = None if some_unread else layout_parts(read)
    if found and layout is not None:
        if not found[0].hypothesis.parts and not layout:
            return None  # right draws in the right layout: nothing to accuse
        return _explained(run, world, found, layout, evidence, silent)
    if not found and all(one.came is None for one in read):  # arrays of the right type, dtype and shape
        of_digits = finer_uniform(run, read) or too_few_digits(run, read)
        if of_digits is not None:
            return _named([of_digits], silent)
    if not found and layout is not None and (scalar := scalar_part(layout)) is not None:
        return _named(
            [
                _explanation(
                    (scalar,),
                    "layout",
                    f"{_each(len(read))} returned a 0-dimensional array.",
                    len(read),
                    0,
                )
            ],
            silent,
        )
    return Diagnosis(sentence=NOTHING_KNOWN, facts=tuple(_facts(run, evidence, read, found, layout, some_unread)))


def _explained(
    run: Run,
    world: World,
    found: Sequence[Found],
    layout: tuple[Part, ...],
    evidence: Evidence,
    silent: Sequence[Judged],
) -> Diagnosis:
    explanations, cases = [], len(evidence.calls)
    for one in found:
        implied = {mistake_id for mistake, _ in one.hypothesis.parts for mistake_id in mistake.implies}
        parts = (*one.hypothesis.parts, *(part for part in layout if part.mistake.id not in implied))
        how = "bit for bit" if one.level == "exact" else "draw for draw"
        size = evidence.flat.size
        subject = f"{_all(run, cases)} ({counted(size, 'value')}) {'is' if cases == 1 else 'are'}"
        made = _and([part.variant.phrase for part in parts])
        evident = f"{subject}, {how}, what the reference returns with {made}."
        explanations.append(_explanation(parts, one.level, evident, cases, size))
    separate = ""
    if len(explanations) > 1:
        separate = _separate(run, world, [one.hypothesis for one in found], evidence)
    return _named(explanations, silent, separate)


def _separate(run: Run, world: World, hypotheses: Sequence[Hypothesis], evidence: Evidence) -> str:
    seen = set(evidence.calls)
    by_args = {_args(case): case for case in run.cases}
    args = separating_call(world, hypotheses, [args for args in by_args if args not in seen])
    if args is None:
        return "No call that posvec tried tells them apart."
    if args in by_args:
        return f"This case tells them apart: --select {by_args[args].id}"
    return f"This call tells them apart: seed={args.seed}, T={args.T}, d_model={args.d_model}"


def _named(explanations: Sequence[Explanation], silent: Sequence[Judged], separate: str = "") -> Diagnosis:
    if len(explanations) > 1:
        ids = "; ".join(" and ".join(mistake.id for mistake in one.mistakes) for one in explanations)
        sentence = f"One of {len(explanations)} mistakes, which these cases cannot tell apart: {ids}."
    else:
        mistakes = explanations[0].mistakes
        several = "The mistake" if len(mistakes) == 1 else f"{_NUMBERS[len(mistakes)]} mistakes together"
        sentence = f"{several}: {'. '.join(mistake.title for mistake in mistakes)}."
    facts: tuple[str, ...] = ()
    if silent:
        outcomes = "/".join(dict.fromkeys(one.result.outcome for one in silent))
        facts = (f"{counted(len(silent), 'more case')} returned nothing ({outcomes}), which this does not explain.",)
    return Diagnosis(sentence=sentence, explanations=tuple(explanations), separate=separate, facts=facts)


def _explanation(parts: Sequence[Part], level: EvidenceLevel, evidence: str, cases: int, elements: int) -> Explanation:
    mistakes = tuple(
        NamedMistake(
            id=mistake.id,
            title=mistake.title,
            phrase=variant.phrase,
            why=mistake.why,
            fix=mistake.fix,
            code=mistake.code,
            reference=mistake.reference,
        )
        for mistake, variant in parts
    )
    return Explanation(mistakes=mistakes, level=level, evidence=evidence, cases=cases, elements=elements)


def _without_numbers(answered: Sequence[Judged], silent: Sequence[Judged]) -> Diagnosis | None:
    part = container_part(answered)
    if part is None:
        return None  # the layout's own sentence says what came
    evidence = f"{_each(len(answered))} returned {part.variant.phrase}; its numbers were not compared."
    return _named([_explanation((part,), "layout", evidence, len(answered), 0)], silent)


def _facts(
    run: Run,
    evidence: Evidence,
    read: Sequence[Judged],
    found: Sequence[Found],
    layout: tuple[Part, ...] | None,
    some_unread: bool,
) -> list[str]:
    facts = []
    if some_unread:
        facts.append("Some cases returned an array, others something that is none.")
    if layout is None and not some_unread:
        dtypes = {one.came.dtype for one in read if one.came is not None}
        alike = len(dtypes) == 1 and all(one.came is not None for one in read)
        facts.append(
            f"Every case came with dtype {shorten(str(*dtypes))}." if alike else "The layout differs from case to case."
        )
    elif layout:
        facts.append(f"Every case came with {_and([part.variant.phrase for part in layout])}.")
    if found:
        made = [variant.phrase for _, variant in found[0].hypothesis.parts]
        what = f"what the reference returns with {_and(made)}" if made else "right"
        return [*facts, f"Read as flat float32, the values are {what}."]
    known = [(one, run.known(one.case)) for one, wrong in zip(read, evidence.failed, strict=True) if wrong]
    if not known:  # all draws are right, but too many values lie outside their cells
        known = [(one, run.known(one.case)) for one in read if one.result.outcome in FAILURES]
    pairs = [
        (one.case, values, about)
        for one, about in known
        if (values := _values(one)) is not None and values.size == about.expected.size
    ]
    return facts + find_facts(evidence, pairs, run.stream)


def _unsteady(behaviour: Behaviour) -> Diagnosis:
    name = "not-repeatable" if behaviour.repeat else "depends-on-calls"
    ids = behaviour.repeat or behaviour.order
    evidence = f"{len(ids)} of the {counted(behaviour.checked, 'case')} called again gave other bytes."
    explanation = _explanation(_own(name), "behaviour", evidence, len(ids), 0)
    sentence = f"The output changes from call to call, so its values were not diagnosed. {BY_ID[name].title}."
    return Diagnosis(sentence=sentence, explanations=(explanation,))


def _of_behaviour(behaviour: Behaviour) -> Diagnosis | None:
    if not behaviour.aliasing:
        return None
    evidence = (
        f"In {len(behaviour.aliasing)} of the {counted(behaviour.checked, 'case')} called again, a later call changed "
        "an earlier result."
    )
    return _named([_explanation(_own("shared-buffer"), "behaviour", evidence, len(behaviour.aliasing), 0)], ())


def _own(name: str) -> tuple[Part, ...]:
    return (Part(BY_ID[name], BY_ID[name].variants[0]),)


def _wrong(run: Run, one: Judged) -> bool:
    """Whether the values of a case are wrong, whatever its layout; other rounding is not."""
    if one.comparison is not None:
        return one.comparison.outside_accept > 0
    values, known = _values(one), run.known(one.case)
    if values is None or values.size != known.expected.size:
        return True
    return bool(outside(differences(values, known), known.accept_below, known.accept_above).any())


def _values(one: Judged) -> Float32 | None:
    return one.floats if one.came is None else one.came.values


def _args(case: Case) -> Args:
    return Args(case.args["seed"], case.args["T"], case.args["d_model"])


def _all(run: Run, cases: int) -> str:
    plain = sum(one.case.coercion is None for one in run.judged)
    some = "" if cases == plain else " that returned something"
    return f"The one case{some}" if cases == 1 else f"All {cases:,} cases{some}"


def _and(phrases: Sequence[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _each(cases: int) -> str:
    return "The one case" if cases == 1 else f"Each of {cases:,} cases"
