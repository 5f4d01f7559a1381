"""One submission, verified: a plain function of small arguments and a small result, for any executor anywhere."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from posvec import __version__
from posvec.schemas.batch import Row
from posvec.schemas.errors import PosvecError, VectorsError, printable, shorten
from posvec.schemas.report import OUTCOMES, Report, safe_text
from posvec.vectors.files import locate
from posvec.verifier.batch.limited import LimitedSession
from posvec.verifier.batch.package import Package
from posvec.verifier.batch.settings import Settings
from posvec.verifier.running.launch import make_scratch, remove_scratch
from posvec.verifier.running.target import Target

# Deep: `..` and `../..` of a submission, which some delete or fill, are its own too.
_FOLDER = "private/copy/submission"
_STACK = "Stack (most recent call first):"
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One submission to verify, with all that a process elsewhere needs.

    Attributes:
        name: What the submission is called in reports.
        path: Where it was found, for messages.
        package: Its files.
        file: The file in it that is run.
        attribute: The function's name; None: the suite's own.
        settings: How it is verified.
        golden: A copy of the golden file, if there is one: what a submission does to the file costs no other its row.
        version: The version of posvec that asks.
        threads: How many threads it may use.
        cpus: The processors that it may use; empty: all.

    """

    name: str
    path: str
    package: Package = field(repr=False)
    file: str
    attribute: str | None
    settings: Settings
    golden: str | None = None
    version: str = __version__
    threads: int = 1
    cpus: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """What the result is kept by."""
        return self.settings.key(self.package.digest, f"{self.file}:{self.attribute or ''}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was found: the row, and the whole report as JSON values, if there is one."""

    row: Row
    report: dict[str, Any] | None = field(repr=False)


def not_judged(
    name: str, path: str, problem: str, sentence: str, *, digest: str = "", notes: tuple[str, ...] = ()
) -> Result:
    """Return the result for a submission that was not run, or whose run gave nothing."""
    row = Row(
        name=name,
        path=printable(path),
        verdict="could-not-judge",
        exit_code=3,
        problem=problem,
        sentence="COULD NOT JUDGE: " + " ".join(safe_text(sentence, limit=2000).split()),
        counts={},
        digest=digest,
        notes=notes,
    )
    return Result(row=row, report=None)


def judge(task: Task) -> Result:
    """Verify one submission in a private copy of its folder, its function in a process of its own.

    Whatever is wrong with the submission is in the row. What is wrong with where this runs (another version of posvec,
    no golden file) is too, as a problem that need not be the submission's.
    """
    digest = task.package.digest
    if not task.package.content(task.file).strip():
        return not_judged(task.name, task.path, "empty", f"{_shown(task)} is empty", digest=digest)
    if task.version != __version__:
        why = f"posvec {task.version} asked, but posvec {__version__} is what runs on this worker"
        return not_judged(task.name, task.path, "failed", why, digest=digest)
    result, whole = _judged(task)
    if not whole and result.row.exit_code:  # the fault of another one, which is over soon?
        result, whole = _judged(task)
    if not whole and result.row.exit_code:
        why = "its private folder was deleted while it ran, by itself or by another submission"
        return not_judged(task.name, task.path, "failed", why, digest=digest)
    return result


def _judged(task: Task) -> tuple[Result, bool]:
    """Return the result, and whether the folder was there to the end: one may delete all that is above its own."""
    began = time.monotonic()
    digest = task.package.digest
    if not Path(tempfile.gettempdir()).exists():  # deleted, as above
        shelter(Path(tempfile.gettempdir()))
    scratch = make_scratch()
    try:
        folder = Path(scratch).resolve() / _FOLDER
        task.package.write(folder)
        with _only_on(task.cpus):
            result = _verify(task, folder, began)
    except VectorsError as error:
        _sources.cache_clear()
        result = not_judged(task.name, task.path, "vectors", str(error), digest=digest)
    except (PosvecError, OSError) as error:
        result = not_judged(task.name, task.path, "failed", str(error), digest=digest)
    finally:
        whole = Path(scratch).exists()
        remove_scratch(scratch)
    return result, whole


def shelter(folder: Path) -> None:
    """Make a folder, if it is not there, whose names cannot be listed: what is in it is not found by accident."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o300)


def _verify(task: Task, folder: Path, began: float) -> Result:
    from posvec.verifier.match import Match
    from posvec.verifier.plan import Request
    from posvec.verifier.verify import verify

    settings = task.settings
    sources = _sources(
        task.golden or settings.vectors, settings.suite, settings.stream, settings.fresh, settings.fresh_seed
    )
    golden, original = sources.golden, settings.golden_file().resolve()
    if golden.manifest.content_sha256 != settings.digest:
        raise VectorsError(golden.path, "is not the golden file of this batch", remedy="put the same file everywhere")
    target = Target(text=_shown(task), path=folder / task.file, attribute=task.attribute)
    session = LimitedSession(
        target,
        golden.suite.function,
        settings.run_options(folder=str(folder), threads=task.threads),
        watch=[original, golden.path.resolve()],
        seconds=settings.limit,
    )
    request = Request(
        target=target,
        match=Match.parse(settings.match),
        vectors=sources.vectors,
        vectors_facts=sources.facts | ({"file": str(original)} if "file" in sources.facts else {}),
        golden=golden,
        select=settings.select,
        quick=settings.quick,
        reproduce=tuple(settings.reproduce()),
    )
    report = verify(request, session, _Silent())
    if report.exit_code == 130 and not session.out_of_time:
        raise KeyboardInterrupt  # where this runs is to end
    values: dict[str, Any] = _without(report.to_dict(), f"{folder}{os.sep}")
    said = _without(_said(session), f"{folder}{os.sep}")
    row = _row(task, report, values, session, said, time.monotonic() - began)
    if row.problem == "vectors":
        _sources.cache_clear()
    return Result(row=row, report=values)


def _row(
    task: Task, report: Report, values: dict[str, Any], session: LimitedSession, said: list[str], seconds: float
) -> Row:
    counts = {name: values["counts"][name] for name in ("selected", *OUTCOMES)}
    verdict: str = report.verdict
    exit_code, sentence, problem = report.exit_code, values["verdict"]["sentence"], ""
    if session.out_of_time:
        verdict, exit_code = "out-of-time", 1
        ran = counts["selected"] - counts["not-run"]
        sentence = (
            f"OUT OF TIME: stopped after {task.settings.limit:g} s, the limit for a submission, "
            f"when {max(0, ran)} of {counts['selected']} cases had run"
        )
    elif verdict == "could-not-judge":
        problem = _problem(session, report)
    diagnosis = values["diagnosis"] or {"sentence": "", "explanations": []}
    return Row(
        name=task.name,
        path=printable(task.path),
        target=_shown(task),
        verdict=verdict,
        exit_code=exit_code,
        problem=problem,
        sentence=" ".join(sentence.split()),
        mistakes=tuple(tuple(m["id"] for m in explanation["mistakes"]) for explanation in diagnosis["explanations"]),
        diagnosis=diagnosis["sentence"] or _first(values["failure"]),
        counts=counts,
        levels_held=report.levels_held,
        seconds=seconds,
        digest=task.package.digest,
        source_sha256=hashlib.sha256(task.package.content(task.file)).hexdigest(),
        notes=(*task.package.notes, *said, *values["notes"]),
    )


def _said(session: LimitedSession) -> list[str]:
    """Return what the import raised and where it does not go on: the sentence has neither."""
    details = "" if session.unavailable is None else session.unavailable.details.partition("\nIt wrote:")[0]
    lines = [line.strip() for line in details.splitlines() if line.strip()]
    places = [line for line in lines if line.startswith('File "')]
    if _STACK in lines:
        return [shorten(f"It was at: {place}", 300) for place in places[:1]]
    if lines and places and lines[-1].startswith(_SYNTAX):
        return [shorten(f"{lines[-1]} ({places[-1]})", 300)]
    return [shorten(line, 300) for line in lines[-1:]]


def _first(failure: dict[str, Any] | None) -> str:
    """Return in a sentence why the first case failed, where nothing is known of what it returned."""
    if failure is None or failure["outcome"] not in ("error", "layout", "crash", "timeout"):
        return ""
    lines = [line for line in failure["detail"].splitlines() if line.strip()] or [""]
    why = lines[-1] if failure["outcome"] == "error" else lines[0].removesuffix(":").rpartition("; ")[0] or lines[0]
    return shorten(f"The first failure, {failure['case']}: {failure['outcome']}, {why.strip()}", 600)


def _problem(session: LimitedSession, report: Report) -> str:
    error = session.unavailable
    if error is None:
        return "vectors" if all(r.detail == "not judged" for r in report.results) else "nothing-compared"
    return error.kind


def _shown(task: Task) -> str:
    """Return the target in words: where the grader finds it."""
    path = Path(task.path)
    where = path / task.file if len(task.package.files) != 1 or path.name != task.file else path
    return shorten(f"{where}:{task.attribute}" if task.attribute else str(where), 1000)


@lru_cache(maxsize=4)
def _sources(vectors: str | None, suite: str | None, stream: Any, fresh: int | None, fresh_seed: int | None) -> Any:
    """Open the golden file once in each process: all that is kept are inputs until the first answers are in."""
    from posvec.verifier.sources import find_vectors

    path = locate(None if vectors is None else Path(vectors), stream, suite=suite)
    return find_vectors(path=path, stream=stream, fresh=fresh, fresh_seed=fresh_seed, golden=False)


@contextmanager
def _only_on(cpus: tuple[int, ...]) -> Iterator[None]:
    """Keep this thread, and the processes that it starts, to some processors.

    XLA's thread pool has as many threads as its process may use processors, and heeds no variable.
    """
    if not cpus or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _without(value: Any, folder: str) -> Any:
    """Return JSON values in which paths in the private folder are relative to it, as the author knows them."""
    if isinstance(value, str):
        return value.replace(folder, "") if folder in value else value
    if isinstance(value, dict):
        return {name: _without(item, folder) for name, item in value.items()}
    return [_without(item, folder) for item in value] if isinstance(value, list) else value


class _Silent:
    """Shows no progress within a submission."""

    def begin(self, total: int) -> None:
        """Do nothing."""

    def advance(self, seconds: float, remaining: int) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""
