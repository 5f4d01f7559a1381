"""From a judged run to one sentence, an exit status and the notes that a reader must see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from posvec.schemas.build import Stream
from posvec.schemas.manifest import Recording
from posvec.schemas.report import OUTCOMES, Behaviour, Outcome, VerdictCode
from posvec.verifier.judge import Judged, RunJudgement, levels_held
from posvec.verifier.levels import NOT_FINITE, TOO_FEW_FOR_CELLS, cell_allowance
from posvec.verifier.match import Match
from posvec.verifier.text import percent

Environment = Mapping[str, str | bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a run ended: a word for machines, a sentence for people, the exit status."""

    code: VerdictCode
    sentence: str
    exit_code: int


def reach_verdict(
    run: RunJudgement,
    *,
    match: Match,
    build: Recording | None,
    recordings: Sequence[Recording],
    total: int,
    behaviour: Behaviour,
    strict: bool = False,
    interrupted: bool = False,
    causes: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on a run; ``causes`` are short reasons, found in the environment, why it may fail."""
    strict = strict or all(one.case.coercion is not None for one in run.cases)
    deciding = [
        one
        for one in run.cases
        if one.case.coercion is None or (strict and one.result.outcome in ("coercion", "pass", "rounding", "not-run"))
    ]
    known = sum(one.result.known_fails for one in deciding)
    outcomes = Counter(one.result.outcome for one in deciding if not one.result.known_fails)
    failed = sum(count for outcome, count in outcomes.items() if outcome not in ("pass", "not-run"))
    regular = sum(one.case.coercion is None for one in run.cases)
    scope = "" if regular == total else f" in {regular:,} of {total:,} cases"
    if interrupted:
        ran = len(deciding) - outcomes["not-run"]
        return Verdict(
            code="interrupted",
            exit_code=130,
            sentence=f"INTERRUPTED after {ran:,} of {len(deciding):,} cases: {failed:,} failed",
        )
    if failed or (strict and behaviour.failed):
        return _failing(run, match, outcomes, failed, len(deciding), scope, causes, _same(recordings), known)
    passing = [one.case.id for one in run.cases if one.result.known_passes]
    if passing:
        return Verdict(
            code="outdated-list",
            exit_code=1,
            sentence=f"KNOWN FAILURES OUT OF DATE: {_cases_pass(len(passing))}{scope}, first {passing[0]}",
        )
    if outcomes["not-run"]:
        why = next(one.result.detail for one in deciding if one.result.outcome == "not-run")
        return Verdict(
            code="could-not-judge",
            exit_code=3,
            sentence=f"COULD NOT JUDGE: {outcomes['not-run']:,} of {len(deciding):,} cases did not run ({why})",
        )
    if known:
        return Verdict(code="known-failures", exit_code=0, sentence=_only_known(match, known, deciding, total))
    if not run.elements.compared:
        return Verdict(
            code="could-not-judge",
            exit_code=3,
            sentence="COULD NOT JUDGE: only empty arrays were compared, and T = 0 proves only the layout",
        )
    held = levels_held(run)
    if "exact" in held:
        return Verdict(code="exact", exit_code=0, sentence=f"EXACT ({exactly_as(run, build, recordings)}){scope}")
    if match.kind == "equivalent":
        return Verdict(
            code="equivalent", exit_code=0, sentence=f"EQUIVALENT: {_same(recordings)}, {_rounding(run)}{scope}"
        )
    return Verdict(
        code="ulp",
        exit_code=0,
        sentence=f"WITHIN {match.ulp} ULP: {run.elements.compared:,} elements, at most {run.elements.max_ulp} ULP "
        f"from the expected values{scope}",
    )


def exactly_as(run: RunJudgement, build: Recording | None, recordings: Sequence[Recording]) -> str:
    """Return which build's bytes an exact run returned."""
    if build is not None:
        return f"bit-identical to {build.label}"
    if not recordings:
        return "bit-identical to the expected values"
    labels = explaining(run, recordings)
    return f"bit-identical to {labels[0]}" if labels else "mixed builds"


def explaining(run: RunJudgement, recordings: Sequence[Recording]) -> list[str]:
    """Return the labels of the recordings that alone explain every case; ``expected`` first."""
    return [recording.label for r, recording in enumerate(recordings) if run.explained_by >> r & 1]


def environment_notes(
    environment: Environment, *, stream: Stream | None, recordings: Sequence[Recording]
) -> tuple[list[str], list[str]]:
    """Return short causes, and full notes with the line that mends each, from what the target ran on."""
    causes, notes = [], []
    if environment.get("jax_enable_x64") is True:
        causes.append("the target ran with x64 on")
        notes.append(
            "The target ran with x64 on, which draws float64 from other random bits: unset JAX_ENABLE_X64, "
            "or call jax.config.update('jax_enable_x64', False)."
        )
    backend = environment.get("jax_backend")
    if isinstance(backend, str) and backend and backend != "cpu":
        causes.append(f"the target ran on {backend}")
        notes.append(f"The target ran on {backend}, whose rounding is not recorded: set JAX_PLATFORMS=cpu.")
    partitionable = environment.get("jax_threefry_partitionable")
    if stream is not None and isinstance(partitionable, bool) and partitionable is not (stream == "partitionable"):
        other = "partitionable" if partitionable else "original"
        causes.append(f"its JAX draws the other stream, {other}")
        notes.append(
            f"The target's JAX draws the {other} stream, and these vectors hold {stream}: add "
            f"--stream {other}, or set JAX_THREEFRY_PARTITIONABLE={int(not partitionable)}."
        )
    prng = environment.get("jax_default_prng_impl")
    if isinstance(prng, str) and prng and prng != "threefry2x32":
        causes.append(f"its PRNG is {prng}")
        notes.append(f"The target's PRNG is {prng}, not threefry2x32: unset JAX_DEFAULT_PRNG_IMPL.")
    offset = environment.get("jax_random_seed_offset")
    if isinstance(offset, str) and offset not in ("", "0"):
        causes.append("JAX_RANDOM_SEED_OFFSET shifts its seeds")
        notes.append(f"jax_random_seed_offset is {offset}, which is added to every seed: unset JAX_RANDOM_SEED_OFFSET.")
    version = environment.get("jax")
    known = {build.jax for recording in recordings for build in recording.builds}
    if isinstance(version, str) and known and version not in known:
        notes.append(
            f"JAX {version} is in no recording of these vectors, so its rounding may be new: `posvec generate`"
            " under it records it, and --match equivalent accepts it."
        )
    return causes, notes


def run_notes(run: RunJudgement, match: Match) -> list[str]:
    """Return what only the numbers of the run tell."""
    notes = []
    elements = run.elements
    few = 0 < elements.compared < TOO_FEW_FOR_CELLS
    if few and match.kind != "ulp" and elements.unexplained and not elements.outside_accept:
        notes.append(
            f"{elements.compared} elements are too few to tell a 23-bit uniform from a finer one: run more cases."
        )
    if not run.cells_hold and not elements.outside_accept:
        notes.append(
            f"Every element lies in its accept interval, but {elements.outside_cell:,} of {elements.compared:,} "
            f"({percent(elements.outside_cell, elements.compared)}) lie outside the cell of their own draw, where "
            f"at most {cell_allowance(elements.compared):,} may: the uniform behind them is not the 23-bit one."
        )
    return notes


def _failing(
    run: RunJudgement,
    match: Match,
    outcomes: Counter[Outcome],
    failed: int,
    cases: int,
    scope: str,
    causes: Sequence[str],
    same: str,
    known: int,
) -> Verdict:
    held = levels_held(run)
    if set(outcomes) <= {"pass", "rounding"} and "equivalent" in held and failed:
        if match.kind == "exact" and "exact" in held:
            asked = "the bytes of recorded builds, but not of the one asked for"
        else:
            asked = f"not {match}"
        rounding = _rounding(run).replace("other rounding", "OTHER ROUNDING", 1)
        return Verdict(
            code="rounding",
            exit_code=1,
            sentence=f"{same.upper()}, {rounding}{scope}: {asked}; --match equivalent accepts it",
        )
    parts = ", ".join(
        f"{outcomes[name]:,} {name}" for name in OUTCOMES if name not in ("pass", "not-run") and outcomes[name]
    )
    unrun = f", {outcomes['not-run']:,} not run" if outcomes["not-run"] else ""
    unrun += f", {known:,} more as listed" if known else ""
    if not failed:
        parts = "behaviour checks failed"
    because = f"; {causes[0]}" if causes else ""
    return Verdict(
        code="not-conforming",
        exit_code=1,
        sentence=f"NOT CONFORMING: {failed:,} of {cases:,} cases fail ({parts}){unrun}{because}",
    )


def _cases_pass(number: int) -> str:
    return "1 listed case passes" if number == 1 else f"{number:,} listed cases pass"


def _only_known(match: Match, known: int, deciding: Sequence[Judged], total: int) -> str:
    """Say how many cases fail as listed, and what holds in the others."""
    others = [one for one in deciding if not one.result.known_fails]
    scope = f" ({total:,} in all)" if sum(one.case.coercion is None for one in deciding) < total else ""
    fail = f"ONLY KNOWN FAILURES: {known:,} of {len(deciding):,} cases{scope} fail, as listed"
    if not others:
        return f"{fail}, and there are no others"
    proved = any(one.comparison is not None and one.comparison.elements for one in others)
    return f"{fail}; {match} holds in the others" if proved else f"{fail}; the others are empty arrays"


def _same(recordings: Sequence[Recording]) -> str:
    """Say what equivalent arrays have in common; where no builds are recorded, no draws are behind the values."""
    return "same draws" if recordings else "all within the accept intervals"


def _rounding(run: RunJudgement) -> str:
    elements = run.elements
    most = "not finite" if elements.max_ulp >= NOT_FINITE else f"at most {elements.max_ulp} ULP"
    return (
        f"other rounding in {percent(elements.differing, elements.compared)} of {elements.compared:,} elements, {most}"
    )
