"""A whole batch: what is known from before is kept, the rest is run, and all is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from posvec.schemas.batch import Row
from posvec.schemas.errors import OutputError
from posvec.verifier.batch.as_csv import to_csv
from posvec.verifier.batch.as_html import Detail, to_html
from posvec.verifier.batch.package import read_package
from posvec.verifier.batch.pattern import Pattern, refuse_file
from posvec.verifier.batch.pools import copied, dask_cluster, local_pool
from posvec.verifier.batch.refusal import Refused
from posvec.verifier.batch.results import ResultsFolder, file_names
from posvec.verifier.batch.run import run_batch
from posvec.verifier.batch.settings import Settings
from posvec.verifier.batch.statistics import Statistics, statistics
from posvec.verifier.batch.submissions import Submission
from posvec.verifier.batch.task import Result, Task, not_judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a batch came to.

    Attributes:
        rows: The rows there are, in the order of the submissions.
        kept: How many are from an earlier run.
        interrupted: Whether it was interrupted, so that rows may be missing.
        problem: The first file that could not be written, if any.

    """

    rows: tuple[Row, ...]
    kept: int
    interrupted: bool
    problem: OutputError | None

    @property
    def statistics(self) -> Statistics:
        """What the rows have in common."""
        return statistics(self.rows)


@dataclass(kw_only=True)
class Batch:
    """The submissions of a class and how they are verified.

    Attributes:
        submissions: The submissions, in order.
        pattern: Which file and function of each is run.
        settings: How.
        facts: What is said of the vectors and the cases in reports.
        results: Where results are kept and written.
        rerun: Whether those of an earlier run are not used.
        advance: Told the name of each submission that has its row.

    """

    submissions: Sequence[Submission]
    pattern: Pattern
    settings: Settings
    facts: dict[str, str]
    results: ResultsFolder
    rerun: bool = False
    advance: Callable[[str], object] = field(default=len)

    def __post_init__(self) -> None:
        self._rows: dict[str, tuple[Row, Detail]] = {}
        self._kept = 0
        self._problem: OutputError | None = None
        self._files = dict(zip((s.name for s in self.submissions), file_names(self.submissions), strict=True))

    def run_here(self, jobs: int) -> Outcome:
        """Run in ``jobs`` processes of this machine and write the results."""
        return self._finished(lambda: self._in_processes(jobs))

    def run_on_cluster(self, address: str, jobs: int | None) -> Outcome:
        """Run on the Dask cluster with this scheduler, at most ``jobs`` at a time, and write the results.

        Raises:
            ClusterUnavailable: It cannot be used.

        """
        return self._finished(lambda: self._on_cluster(address, jobs))

    def run_on(self, executor: Executor, *, width: int) -> Outcome:
        """Run on any executor, ``width`` at a time, and write the results; the executor stays the caller's."""
        return self._finished(lambda: self._run(executor, width=width))

    def _in_processes(self, jobs: int) -> None:
        with local_pool(jobs) as pool:
            self._run(pool.executor, width=jobs, renew=pool.renew)

    def _on_cluster(self, address: str, jobs: int | None) -> None:
        with dask_cluster(address) as (executor, width):
            self._run(executor, width=min(jobs or width, width), local=False)

    def _run(
        self, executor: Executor, *, width: int, renew: Callable[[], Executor] | None = None, local: bool = True
    ) -> None:
        # Only now: where there is no cluster, what an earlier run has written stays as it is.
        self.results.save_summary(self._asked(), None, complete=False)
        with copied(self.settings.golden_file()) if local else nullcontext() as golden:
            for task, result in run_batch(self._tasks(golden), executor, width=width, renew=renew, local=local):
                self._take(result, task.key)

    def _finished(self, run: Callable[[], None]) -> Outcome:
        interrupted = False
        try:
            run()
        except KeyboardInterrupt:
            interrupted = True
            for _ in self._tasks():  # what is known from before is not lost, where only the rest is missing
                pass
        return self._write(interrupted=interrupted)

    def _tasks(self, golden: str | None = None) -> Iterator[Task]:
        """Yield what is to be run; what is not has its row at once."""
        for submission in self.submissions:
            if submission.name in self._rows:
                continue
            try:
                task = self._task(submission, golden)
            except Refused as refused:
                name = str(submission.path)
                self._take(not_judged(submission.name, name, refused.problem, f"{name}: {refused}"), None)
                continue
            known = None if self.rerun else self.results.kept(task.name, self._files[task.name], task.key)
            if known is None:
                yield task
            else:
                self._kept += 1
                self._note(known)

    def _task(self, submission: Submission, golden: str | None) -> Task:
        if not submission.is_folder and not submission.path.is_symlink():
            refused = refuse_file(submission.path.name)
            if refused is not None:
                raise refused
        package = read_package(submission.path)
        file = self.pattern.find(package.paths) if submission.is_folder else package.paths[0]
        return Task(
            name=submission.name,
            path=str(submission.path),
            package=package,
            file=file,
            attribute=self.pattern.attribute,
            settings=self.settings,
            golden=golden,
        )

    def _take(self, result: Result, key: str | None) -> None:
        """Keep a result: first on the disk, where an interruption does not reach it."""
        try:
            self.results.save(self._files[result.row.name], result, key)
        except OutputError as error:  # a full disk must not cost the rows that follow
            self._problem = self._problem or error
        self._note(result)

    def _note(self, result: Result) -> None:
        self._rows[result.row.name] = result.row, Detail.of(result)
        self.advance(result.row.name)

    def _asked(self) -> dict[str, Any]:
        return asdict(self.settings) | {"target": self.pattern.glob, "function": self.pattern.attribute}

    def _write(self, *, interrupted: bool) -> Outcome:
        rows = [self._rows[one.name] for one in self.submissions if one.name in self._rows]
        complete = len(rows) == len(self.submissions)
        plain = [row for row, _ in rows]
        found = statistics(plain)
        try:
            self.results.save_reports(
                [
                    (self.results.csv, lambda: to_csv(plain)),
                    (self.results.page, lambda: to_html(rows, found, self.facts, complete=complete)),
                ]
            )
            self.results.save_summary(self._asked(), found, complete=complete)
        except OutputError as error:
            self._problem = self._problem or error
        return Outcome(rows=tuple(plain), kept=self._kept, interrupted=interrupted, problem=self._problem)
