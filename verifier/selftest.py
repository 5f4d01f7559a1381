"""Runs the real command on implementations whose verdict is known, and compares what it says with what it must say."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from posvec.verifier.specimens import Specimen

_STEERING = ("JAX", "XLA", "FLAX")
"""What the outcome must not depend on: variables of these names are not passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one implementation: what was expected, what was said, or why it was skipped."""

    specimen: Specimen
    expected: str
    got: str
    skipped: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was as expected."""
        return self.got == self.expected


def run_specimens(specimens: Sequence[Specimen], *, jobs: int) -> Iterator[Result]:
    """Yield the result of each implementation, in order, ``jobs`` at a time.

    The command runs in processes that are kept, so that what all runs read is read once; each target runs in a process
    of its own as always.
    """
    missing = {name for specimen in specimens for name in specimen.needs if find_spec(name) is None}
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_clean_environment) as pool:
        waiting: list[tuple[Specimen, str, Future[str] | None]] = []
        for specimen in specimens:
            absent = [name for name in specimen.needs if name in missing]
            waiting.append((specimen, " and ".join(absent), None if absent else pool.submit(verify, specimen)))
        try:
            for specimen, absent_names, future in waiting:
                yield Result(
                    specimen=specimen,
                    expected=described(specimen.verdict, specimen.mistakes),
                    got="" if future is None else future.result(),
                    skipped=f"{absent_names} not installed" if future is None else "",
                )
        finally:  # after an interruption, begin nothing more
            pool.shutdown(cancel_futures=True)


def _clean_environment() -> None:
    for name in list(os.environ):
        if name.startswith(_STEERING):
            del os.environ[name]
    os.environ["JAX_PLATFORMS"] = "cpu"


def verify(specimen: Specimen) -> str:
    """Run ``posvec verify`` on one implementation and return what it says, in the words of :func:`described`."""
    from posvec.verifier.cli import run

    with tempfile.TemporaryDirectory(prefix="posvec-selftest-") as folder:
        report = Path(folder) / "report.json"
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as errors:
            status = run(["verify", specimen.target, *specimen.options, "--report", f"json={report}"])
        if not report.exists():
            return f"exit {status}: {errors.getvalue().strip()[-200:]}"
        said = json.loads(report.read_text())
        if status != said["verdict"]["exit_code"]:
            return f"exit {status}, though its report says {said['verdict']['exit_code']}"
        return _said(said)


def described(verdict: str, mistakes: Sequence[Sequence[str]]) -> str:
    """Return a verdict and the mistakes that are named, in a line."""
    named = " or ".join(" + ".join(ids) for ids in mistakes)
    word = {"not-conforming": "fails"}.get(verdict, verdict)
    return f"{word}: {named}" if named else f"{word}, none named"


def _said(report: dict[str, Any]) -> str:
    diagnosis = report["diagnosis"]
    mistakes = [
        [mistake["id"] for mistake in explanation["mistakes"]]
        for explanation in (diagnosis["explanations"] if diagnosis else ())
    ]
    return described(report["verdict"]["code"], mistakes)
