"""``posvec generate --check``: whether a golden file still holds here, and if not, what changed."""

from __future__ import annotations

from dataclasses import dataclass

from posvec.generator.crosscheck import Difference, compare
from posvec.generator.sweep import Sweep
from posvec.schemas.build import Build
from posvec.schemas.manifest import Recording
from posvec.vectors.draws import DrawTable
from posvec.vectors.golden import Golden


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the running build, in one mode, returns against what a golden file holds.

    Attributes:
        build: The running build.
        against: What it should equal: its own recording, else, in eager mode, ``expected``; None for
            a ``jit`` build that is not recorded, of which nothing is asked.
        recorded: Whether the file has a recording of this build.
        difference: How it differs from ``against``.
        equals: Names of the recordings that it equals.

    """

    build: Build
    against: Recording | None
    recorded: bool
    difference: Difference | None
    equals: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the running build returns what the file says."""
        return self.difference is None or self.difference.differ == 0

    def sentence(self) -> str:
        """Say it to people."""
        versions = f"{self.build.label} ({self.build.id})"
        if self.against is None or self.difference is None:
            return f"{versions} is not recorded, and nothing is asked of it{self._equality()}."
        name = "its own recording" if self.recorded else "the expected values"
        if self.holds:
            return f"{versions} returns {name} bit for bit, in {self.difference.elements:,} elements."
        found = self.difference
        share = f"{found.differ:,} of {found.elements:,} elements ({found.differ / found.elements:.2%})"
        if found.other_draw:
            return (
                f"{versions} differs from {name} ({self.against.label}) in {share}; the random draws "
                f"changed in {found.other_draw:,} of them."
            )
        return (
            f"{versions} differs from {name} ({self.against.label}) in {share}, by at most "
            f"{found.max_ulp} ULP; the draws are the same and only the rounding changed{self._equality()}."
        )

    def _equality(self) -> str:
        if self.equals:
            return f"; it equals {', '.join(self.equals)}"
        return "; it equals no recording of the file" if self.difference is None or not self.holds else ""


def judge(golden: Golden, result: Sweep, *, table: DrawTable) -> Verdict:
    """Compare a sweep over the axes of ``golden`` with what it holds.

    A build that is recorded twice, because its bytes were not always the same, may equal either recording.
    """
    build = result.build
    own = [recording for recording in golden.recordings if build in recording.builds]
    candidates = own or (golden.recordings[:1] if build.mode == "eager" else ())
    against, difference = None, None
    for recording in candidates:
        found = _compare(golden, result, recording, table)
        if difference is None or found.differ < difference.differ:
            against, difference = recording, found
    equals: tuple[str, ...] = ()
    if difference is None or difference.differ:
        equals = tuple(
            recording.label
            for recording in golden.recordings
            if recording is not against and not _compare(golden, result, recording, table).differ
        )
    return Verdict(build=build, against=against, recorded=bool(own), difference=difference, equals=equals)


def _compare(golden: Golden, result: Sweep, recording: Recording, table: DrawTable) -> Difference:
    return compare(
        result,
        d_models=golden.manifest.axes["d_model"],
        read=lambda d_model, start, stop: golden.read(recording, d_model, start, stop),
        table=table,
    )
