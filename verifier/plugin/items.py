"""The items of ``pytest --posvec``: one a case group, and what is said of all of them at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from posvec.schemas.errors import PosvecError, TargetUnavailable
from posvec.schemas.report import Report
from posvec.verifier.plugin.settings import Settings

if TYPE_CHECKING:
    from posvec.schemas.case import Case
    from posvec.verifier.known_cases import KnownCase
    from posvec.verifier.plugin.run import Verification

_MARKER_OPTIONS = ("suite", "vectors", "stream", "match", "quick", "select")


class Collected:
    """What one run of pytest checks; in each of xdist's workers there is one of its own.

    Attributes:
        wanted: Whether there are items. A target in the settings gives none where the command line names files.

    """

    def __init__(self, config: pytest.Config, *, asked: bool) -> None:
        """Note what ``config`` asks for; ``asked``: on the command line."""
        self._config, self._asked = config, asked
        told: Mapping[str, Any] = getattr(config, "workerinput", {})
        named = config.args_source is pytest.Config.ArgsSource.ARGS
        self.wanted: bool = told.get("posvec", asked or not named)
        self._verification: Verification | None = None
        self._unavailable: TargetUnavailable | None = None
        self._report: Report | None = None

    def open(self) -> None:
        """Open the golden file and find the target.

        Raises:
            pytest.UsageError: An option or setting is wrong.

        """
        if not self.wanted:
            return
        try:
            self._verification = self._opened(Settings.read(self._config))
        except PosvecError as error:
            raise pytest.UsageError(_said(error)) from error

    def _opened(self, settings: Settings) -> Verification:
        from posvec.verifier.plugin.run import Verification
        from posvec.verifier.running.target import Target

        try:
            target = settings.find()
        except TargetUnavailable as error:
            if self._asked:
                raise
            # The homework is not there yet: its items fail, other tests run.
            verification = Verification(settings, Target(text=settings.target or "", module="absent"))
            verification.problem = error
            return verification
        return Verification(settings, target)

    def items(self, session: pytest.Session) -> Iterator[pytest.Item]:
        """Yield the items, one a case group."""
        verification = self._verification
        if verification is None:
            return
        yield from session.genitems(
            _Suite.from_parent(session, name="posvec", nodeid="posvec", verification=verification)
        )

    def close(self) -> dict[str, Any] | None:
        """End the target's processes; return what a worker sends."""
        return None if self._verification is None else self._verification.close()

    def take(self, sent: Mapping[str, Any]) -> None:
        """Take in what a worker sent."""
        if self._verification is not None:
            self._verification.take(sent)

    def finish(self) -> bool:
        """End the target's processes, judge all that ran, and return whether it fails."""
        if self._verification is None:
            return False
        self._verification.close()
        self._report = self._verification.whole()
        return self._report is not None and self._report.exit_code != 0

    def summary(self) -> Iterator[str]:
        """Yield the report of `posvec verify` on all that ran."""
        if self._report is not None:
            from posvec.verifier.screen import report_lines

            yield from report_lines(self._report)


class _Suite(pytest.Collector):
    """What the items hang from."""

    def __init__(self, *, verification: Verification, **usual: Any) -> None:
        super().__init__(**usual)
        self._verification = verification

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item a case group."""
        for name, cases in self._verification.groups.items():
            yield _Group.from_parent(self, name=name, verification=self._verification, cases=cases)


class _Group(pytest.Item):
    """One case group."""

    def __init__(self, *, verification: Verification, cases: list[Case], **usual: Any) -> None:
        super().__init__(**usual)
        self._verification, self._group = verification, cases

    def runtest(self) -> None:
        """Run the cases; fail unless each passes, or fails as listed."""
        report = self._verification.run(self._group)
        results = report.results
        if report.verdict == "could-not-judge" and all(result.outcome == "pass" for result in results):
            return  # empty arrays: what they prove, the layout, holds
        if report.exit_code:
            from posvec.verifier.screen import explanation

            pytest.fail("\n".join(explanation(report)), pytrace=False)
        known = [result.known_failing for result in results if result.known_fails]
        if known:
            pytest.xfail(f"{len(known)} of {len(results)} cases: {known[0]}")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the item is: nowhere in a file."""
        return self.path, None, f"posvec {self.name}"


def fixture_cases(config: pytest.Config, options: Mapping[str, Any]) -> list[KnownCase]:
    """Return the cases that ``posvec_case`` stands for: as the options say, then the marker ``posvec``.

    Raises:
        pytest.UsageError: An option or setting is wrong.

    """
    from posvec.verifier.known_cases import cases

    unknown = [name for name in options if name not in _MARKER_OPTIONS]
    if unknown:
        raise pytest.UsageError(f"posvec: the marker posvec takes {', '.join(_MARKER_OPTIONS)}, not {unknown[0]!r}.")
    try:
        settings = Settings.read(config)
        usual = {name: getattr(settings, name) for name in ("suite", "vectors", "stream", "match", "quick")}
        return cases(**{**usual, **options})
    except PosvecError as error:
        raise pytest.UsageError(_said(error)) from error


def _said(error: Exception) -> str:
    """Return the sentence of an error, with the option called as it is here."""
    said = str(error)
    here = "--posvec-" if said.startswith("--") and not said.startswith("--posvec") else said[:2]
    return f"posvec: {here}{said[2:]}"
