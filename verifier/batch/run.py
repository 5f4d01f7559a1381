"""Runs tasks on an executor, so many at a time, and gives exactly one result for each, whatever becomes of its process.

Any :class:`concurrent.futures.Executor` will do. Where a process dies, a process pool fails all that it had been given;
so those are then run one at a time, which shows the one whose fault it is.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import replace

from posvec.schemas.errors import first_line
from posvec.verifier.batch.task import Result, Task, judge, not_judged

_KILLED = "the process that judged it was killed, twice: out of memory, or by the submission itself"


def run_batch(
    tasks: Iterable[Task],
    executor: Executor,
    *,
    width: int,
    renew: Callable[[], Executor] | None = None,
    local: bool = True,
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result, as they come; ``tasks`` is read as far as there is room for.

    Left early, what has not begun is cancelled; the executor is the caller's to shut down.

    Args:
        tasks: What to run.
        executor: Where.
        width: How many are under way at a time.
        renew: Makes another executor when one is broken; None: what is left is not judged then.
        local: Whether they run on this machine, whose processors are shared out among them.

    """
    runner = _Runner(tasks, executor, width=width, renew=renew, local=local)
    try:
        yield from runner.results()
    finally:
        for future in runner.running:
            future.cancel()


class _Runner:
    def __init__(
        self,
        tasks: Iterable[Task],
        executor: Executor,
        *,
        width: int,
        renew: Callable[[], Executor] | None,
        local: bool,
    ) -> None:
        self._tasks, self._executor, self._renew = iter(tasks), executor, renew
        self._shares = shares(width) if local else [()] * width
        self._threads = max(1, processors() // width) if local else 1
        self._free = list(reversed(range(width)))
        self._suspects: deque[Task] = deque()
        self._suspected: set[str] = set()
        self._broken = False
        self.running: dict[Future[Result], tuple[Task, int]] = {}

    def results(self) -> Iterator[tuple[Task, Result]]:
        while self._fill():
            done, _ = wait(self.running, return_when=FIRST_COMPLETED)
            for future in done:
                task, slot = self.running.pop(future)
                self._free.append(slot)
                result = self._result(task, future)
                if result is not None:
                    yield task, result

    def _fill(self) -> bool:
        """Begin as many as there is room for, a suspect only alone; return whether any is under way."""
        if self._broken and not self.running and self._renew is not None:
            self._executor, self._broken = self._renew(), False
        while self._free and not self._broken and not (self._suspects and self.running):
            task = self._suspects.popleft() if self._suspects else next(self._tasks, None)
            if task is None:
                break
            self._begin(task)
        return bool(self.running)

    def _begin(self, task: Task) -> None:
        slot = self._free.pop()
        asked = replace(task, threads=self._threads, cpus=self._shares[slot])
        try:
            future = self._executor.submit(judge, asked)
        except RuntimeError as error:  # broken, or shut down
            future = Future()
            future.set_exception(error)
        self.running[future] = task, slot

    def _result(self, task: Task, future: Future[Result]) -> Result | None:
        """Return the result that a task came to; None if it is to be run again."""
        error = CancelledError("cancelled") if future.cancelled() else future.exception()
        if error is None:
            return future.result()
        if isinstance(error, BrokenExecutor) and self._renew is not None:
            self._broken = True
            if task.name not in self._suspected:
                self._suspected.add(task.name)
                self._suspects.append(task)
                return None
        if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":  # the latter is Dask's
            problem, why = "killed", _KILLED
        else:
            problem, why = "failed", f"it could not be run: {type(error).__name__}: {first_line(error)}"
        return not_judged(task.name, task.path, problem, why, digest=task.package.digest)


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shares(width: int) -> list[tuple[int, ...]]:
    """Share out the processors among ``width`` tasks; empty shares where a process cannot be kept to some."""
    if not hasattr(os, "sched_getaffinity"):
        return [()] * width
    cpus = sorted(os.sched_getaffinity(0))
    size = max(1, len(cpus) // width)
    starts = [(number * size) % len(cpus) for number in range(width)]
    return [tuple(cpus[start : start + size]) for start in starts]
