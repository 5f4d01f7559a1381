"""Runs a target on cases, in processes that it may do anything to, and gives exactly one answer a case."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Literal, Self

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import InvalidArgument, TargetUnavailable, shorten
from posvec.verifier.behaviour import BehaviourLog, BehaviourObservations
from posvec.verifier.capture import Capture, Output
from posvec.verifier.frames import Frame, Garbled, answer_from, clean, environment_from
from posvec.verifier.process import Child, Event, Launch, kill_marked
from posvec.verifier.startup import explain_unavailable
from posvec.verifier.target import Target

MAX_AHEAD = 1024
AHEAD_SECONDS = 0.05  # about so much work is sent ahead: a fast target never waits, a slow one is soon replaced
FAILURES_IN_A_ROW = 3
FAILURES_IN_ALL = 10
GROWTH_LIMIT = 768 * 2**20
_TICK = 0.5  # longest wait without a look at the clock; on Windows, Ctrl-C is seen only between waits
_MEASURE_EVERY = 0.1
_ENVIRONMENT_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a target is run.

    Attributes:
        python: The interpreter that runs it; None: the one that runs posvec.
        timeout: Seconds for one case, counted from when the target is ready for it.
        start_timeout: Seconds for starting and importing the target.
        jobs: Number of processes.
        memory: Largest resident size in bytes of a process that runs the target; None: no limit.
        growth: A process that has grown by so many bytes since it was ready is replaced between two cases.
        fresh: Whether each case gets a process of its own.

    """

    python: str | None = None
    timeout: float = 10.0
    start_timeout: float = 60.0
    jobs: int = 1
    memory: int | None = None
    growth: int = GROWTH_LIMIT
    fresh: bool = False

    def __post_init__(self) -> None:
        for name, value in (("--timeout", self.timeout), ("--start-timeout", self.start_timeout)):
            if not 0 < value < 1e9:
                raise InvalidArgument(name, value, "a number of seconds above 0")
        if not 1 <= self.jobs <= 1024:
            raise InvalidArgument("--jobs", self.jobs, "a number of processes from 1 to 1024")
        if self.memory is not None and self.memory <= 0:
            raise InvalidArgument("--memory", self.memory, "a number of bytes above 0")


class _Worker:
    """One place for a process, and what the process there has been asked."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.state: Literal["none", "starting", "ready"] = "none"
        self.asked: deque[int] = deque()  # cases it was sent and has not answered, in order
        self.since = 0.0  # when it became ready for the first of them
        self.ahead = 4
        self.answered = 0
        self.base: int | None = None
        self.measured = 0.0
        self.retiring = False


class Session:
    """The processes of one run. A context manager: whatever happens inside, none is left outside.

    Attributes:
        restarts: How often a process was started again after a crash or timeout.
        recycled: How often a process that had grown too much was replaced (or one a case with ``fresh``).
        stopped: Why the run was given up, or an empty string.

    """

    def __init__(self, target: Target, function_name: str, options: RunOptions | None = None) -> None:
        """Prepare to run ``target``; ``function_name`` is what is looked up in it if it names nothing itself."""
        self.target = target
        self.options = options or RunOptions()
        self.attribute = target.attribute or function_name
        self.restarts = 0
        self.recycled = 0
        self.stopped = ""
        self._growth = self.options.growth
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._capture = Capture()
        self._workers = [_Worker() for _ in range(self.options.jobs)]
        self._environment: dict[str, str | bool | None] = {}
        self._in_a_row = 0
        self._in_all = 0
        self._left_over = False
        self._marker = f"POSVEC_SESSION={os.urandom(8).hex()}"
        self._scratch = ""
        self._launch: Launch | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    # --- Starting and ending ---

    def start(self) -> None:
        """Start every process and load the target in it.

        Raises:
            TargetUnavailable: It could not be loaded, or not in ``start_timeout`` seconds.
            InvalidArgument: There is no such interpreter.

        """
        try:
            for worker in self._workers:
                if worker.child is None:
                    self._spawn(worker)
            while any(worker.state == "starting" for worker in self._workers):
                self._step()
        except BaseException:
            self._kill_all()
            raise

    def close(self) -> None:
        """Kill every process that the target started and delete its temporary files. May be called again."""
        self._kill_all()
        if self._left_over:
            kill_marked(self._marker)
            self._left_over = False
        if self._scratch:
            import shutil

            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = ""
            self._launch = None

    @property
    def environment(self) -> Mapping[str, str | bool | None]:
        """What the target runs on, as its process says: untrusted. Complete after ``run``."""
        return dict(self._environment)

    @property
    def output(self) -> Output:
        """What the target has written to stdout and stderr so far."""
        return self._capture.output()

    # --- Cases ---

    def run(self, cases: Iterable[Case]) -> Iterator[Answer]:
        """Yield one answer for each case, as they come: in the order of the cases unless ``jobs`` > 1.

        After 3 crashes or timeouts in a row, or 10 in all, and where the target cannot be started again, the
        remaining cases are answered ``not-run``. Left early, the processes at work are killed.

        Raises:
            TargetUnavailable: It could not be loaded (only if ``start`` was not called before).

        """
        todo = list(cases)
        pending = deque(range(len(todo)))
        if todo and not self.stopped:
            if not any(worker.child for worker in self._workers):
                self.start()
            try:
                yield from self._run(todo, pending)
            except BaseException:
                self._kill_all()
                raise
            if not self.stopped:
                self._ask_environment()
        for index in sorted(pending):
            yield Answer(case_id=todo[index].id, kind="not-run", detail=self.stopped)

    def _run(self, todo: Sequence[Case], pending: deque[int]) -> Iterator[Answer]:
        while pending or any(worker.asked for worker in self._workers):
            for worker in self._workers:
                if pending and worker.child is None:
                    try:
                        self._spawn(worker)
                    except InvalidArgument as error:
                        self.stopped = f"the target could not be started again: {error}"
                self._deal(worker, todo, pending)
            try:
                answers = self._step(todo, pending)
            except TargetUnavailable as error:
                self.stopped = f"the target could not be started again: it {error.problem}"
                answers = []
            if self.stopped:
                for worker in self._workers:
                    pending.extend(worker.asked)
                self._kill_all()
            yield from answers
            if self.stopped:
                return

    def _deal(self, worker: _Worker, todo: Sequence[Case], pending: deque[int]) -> None:
        """Send cases ahead, so that the process is not idle while its answers are read."""
        if worker.state != "ready" or worker.retiring or not pending or len(worker.asked) > worker.ahead // 2:
            return
        ahead = 1 if self.options.fresh else worker.ahead
        if len(self._workers) > 1:
            ahead = min(ahead, max(1, len(pending) // (2 * len(self._workers))))
        taken = [pending.popleft() for _ in range(min(ahead - len(worker.asked), len(pending)))]
        if not taken:
            return
        if not worker.asked:
            worker.since = time.monotonic()
        worker.asked.extend(taken)
        assert worker.child is not None
        worker.child.send({"op": "run", "cases": [_request(index, todo[index]) for index in taken]})

    # --- Events ---

    def _step(self, todo: Sequence[Case] = (), pending: deque[int] | None = None) -> list[Answer]:
        """Wait for one event or one deadline, and return the answers that came of it."""
        pending = deque() if pending is None else pending
        now = time.monotonic()
        wait = _TICK
        for worker in self._workers:
            deadline = self._deadline(worker)
            if deadline is not None:
                wait = min(wait, max(deadline - now, 0.0))
            if self.options.memory is not None:
                wait = min(wait, _MEASURE_EVERY)
        try:
            event = self._events.get(timeout=wait) if wait > 0 else self._events.get_nowait()
        except Empty:
            return self._overdue(todo, pending)
        return self._dispatch(event, todo, pending) + self._watch_memory(todo, pending)

    def _dispatch(self, event: Event, todo: Sequence[Case], pending: deque[int]) -> list[Answer]:
        for worker in self._workers:
            if worker.child is event.child:
                return self._handle(worker, event, todo, pending)
        return []  # a process that was killed meanwhile

    def _deadline(self, worker: _Worker) -> float | None:
        if worker.state == "starting":
            return worker.since + self.options.start_timeout
        return worker.since + self.options.timeout if worker.asked else None

    def _overdue(self, todo: Sequence[Case], pending: deque[int]) -> list[Answer]:
        answers = self._watch_memory(todo, pending)
        for worker in self._workers:
            deadline = self._deadline(worker)
            if deadline is None or time.monotonic() < deadline:
                continue
            if worker.state == "starting":
                child = self._lose(worker, show_where=True)
                raise TargetUnavailable(self.target.text, f"was not ready after {self.options.start_timeout:g} s",
                                        remedy="if its import is slow, raise --start-timeout",
                                        details=child.capture.output().last(4000))
            index = worker.asked.popleft()
            child = self._lose(worker, pending, show_where=True)
            detail = f"no answer within {self.options.timeout:g} s" + _where(child.capture.output())
            answers.append(self._failed(Answer(case_id=todo[index].id, kind="timeout", detail=detail,
                                               seconds=self.options.timeout)))
        return answers

    def _handle(self, worker: _Worker, event: Event, todo: Sequence[Case], pending: deque[int]) -> list[Answer]:
        answers: list[Answer] = []
        if event.kind == "frames":
            try:
                for frame in event.frames:
                    if "op" in frame.header:
                        self._take_op(worker, frame, event.when)
                    else:
                        answers.append(self._take(worker, frame, todo))
            except Garbled as error:
                return answers + self._crashed(worker, _forged(error), todo, pending)
            worker.ahead = _ahead(worker.ahead, event.when - worker.since, len(answers))
            worker.since = event.when
            self._retire(worker)
            return answers
        if event.kind == "garbled":
            return self._crashed(worker, _forged(event.reason), todo, pending)
        return self._crashed(worker, describe_status(event.status), todo, pending)

    def _take(self, worker: _Worker, frame: Frame, todo: Sequence[Case]) -> Answer:
        if worker.state != "ready" or not worker.asked or frame.header.get("i") != worker.asked[0]:
            raise Garbled("an answer to a question that was not asked")
        answer = answer_from(frame, todo[worker.asked[0]].id)
        worker.asked.popleft()
        worker.answered += 1
        self._in_a_row = 0
        return answer

    def _take_op(self, worker: _Worker, frame: Frame, when: float) -> None:
        op = frame.header["op"]
        assert worker.child is not None
        if op == "environment":
            self._environment.update(environment_from(frame.header.get("environment")))
        elif worker.state != "starting":
            raise Garbled("a greeting in the middle")
        elif worker.child.pid is None and op == "hello" and type(frame.header.get("pid")) is int:
            worker.child.identify(frame.header["pid"])
        elif op == "ready":
            worker.state = "ready"
            worker.since = when
            worker.base = worker.child.resident_bytes()
            if not self._environment:
                self._environment = environment_from(frame.header.get("environment"))
        elif op == "unavailable":
            child = self._lose(worker)
            raise explain_unavailable(self.target, self.attribute, frame.header, child.capture.output())
        else:
            raise Garbled("a greeting of no known kind")

    def _crashed(self, worker: _Worker, how: str, todo: Sequence[Case], pending: deque[int]) -> list[Answer]:
        """Charge the end of a process to the case it was working on; if it was on none, to nothing."""
        starting = worker.state == "starting"
        index = worker.asked.popleft() if worker.asked else None
        child = self._lose(worker, pending)
        output = child.capture.output()
        if starting:
            where = "while the target was imported" if child.pid is not None else "before it could load the target"
            raise TargetUnavailable(self.target.text, f"its process {how} {where}",
                                    remedy="" if child.pid is not None else "check that --python is Python 3.8 or later",
                                    details=output.last(4000))
        if index is None:
            return []
        return [self._failed(Answer(case_id=todo[index].id, kind="crash", detail=f"the process {how}" + _tail(output)))]

    def _failed(self, answer: Answer) -> Answer:
        self._in_a_row += 1
        self._in_all += 1
        self.restarts += 1
        if self._in_a_row >= FAILURES_IN_A_ROW:
            self.stopped = f"not run after {FAILURES_IN_A_ROW} crashes or timeouts in a row"
        elif self._in_all >= FAILURES_IN_ALL:
            self.stopped = f"not run after {FAILURES_IN_ALL} crashes or timeouts"
        return answer

    # --- Memory ---

    def _retire(self, worker: _Worker) -> None:
        """Replace a process that has grown too much as soon as it has answered all that it was sent."""
        if worker.state != "ready" or worker.child is None:
            return
        now = time.monotonic()
        if self.options.fresh:
            worker.retiring = worker.answered > 0
        elif not worker.retiring and worker.base is not None and now - worker.measured >= _MEASURE_EVERY:
            worker.measured = now
            size = worker.child.resident_bytes()
            worker.retiring = size is not None and size - worker.base > self._growth
        if worker.retiring and not worker.asked:
            if worker.answered < 32 and not self.options.fresh:
                self._growth *= 2  # it needs that much to work at all: replacing it after each case would help nobody
            self._lose(worker)
            self.recycled += 1

    def _watch_memory(self, todo: Sequence[Case], pending: deque[int]) -> list[Answer]:
        limit = self.options.memory
        answers: list[Answer] = []
        if limit is None:
            return answers
        now = time.monotonic()
        for worker in self._workers:
            if worker.child is None or now - worker.measured < _MEASURE_EVERY / 2:
                continue
            worker.measured = now
            size = worker.child.resident_bytes()
            if size is not None and size > limit:
                answers += self._crashed(worker, f"was killed: it held {size / 2**20:.0f} MiB of memory, "
                                                 f"more than the {limit / 2**20:.0f} allowed", todo, pending)
        return answers

    # --- Processes ---

    def _spawn(self, worker: _Worker) -> None:
        if self._launch is None:
            self._launch = self._prepare()
        worker.__init__()  # type: ignore[misc]
        worker.child = Child(self._launch, self._events, [self._capture])
        worker.state = "starting"
        worker.since = time.monotonic()

    def _prepare(self) -> Launch:
        import tempfile

        self._scratch = tempfile.mkdtemp(prefix="posvec-")
        name, _, value = self._marker.partition("=")
        environment = {**os.environ, name: value, "TMPDIR": self._scratch, "TEMP": self._scratch, "TMP": self._scratch}
        path = None if self.target.path is None else os.path.abspath(self.target.path)  # noqa: PTH100 - keeps symlinks
        return Launch(python=self.options.python or sys.executable, environment=environment,
                      request={"path": path, "module": self.target.module, "attribute": self.attribute})

    def _lose(self, worker: _Worker, pending: deque[int] | None = None, *, show_where: bool = False) -> Child:
        """Kill the process of a worker; what it had been asked and not begun goes back to be asked again."""
        child = worker.child
        assert child is not None
        if pending is not None:
            pending.extendleft(reversed(worker.asked))
        worker.asked.clear()
        worker.child, worker.state = None, "none"
        child.kill(show_where=show_where)
        self._left_over = self._left_over or not child.orderly
        return child

    def _kill_all(self) -> None:
        for worker in self._workers:
            if worker.child is not None:
                self._lose(worker)

    # --- Questions between cases ---

    def _ask_environment(self) -> None:
        """Ask a process that has called the target what it runs on; what goes wrong there changes no answer."""
        worker = next((worker for worker in self._workers if worker.state == "ready"), None)
        if worker is None or worker.child is None:
            return
        child = worker.child
        child.send({"op": "environment"})
        deadline = time.monotonic() + min(_ENVIRONMENT_SECONDS, max(self.options.timeout, 1.0))
        for event in self._events_of(child, deadline):
            if event.kind != "frames":
                break
            for frame in event.frames:
                if frame.header.get("op") == "environment":
                    self._environment.update(environment_from(frame.header.get("environment")))
                    return
        self._lose(worker)

    def _events_of(self, child: Child, deadline: float) -> Iterator[Event]:
        while (left := deadline - time.monotonic()) > 0:
            try:
                event = self._events.get(timeout=min(left, _TICK))
            except Empty:
                continue
            if event.child is child:
                yield event
            else:
                self._dispatch(event, (), deque())

    def behaviour(self, cases: Sequence[Case]) -> BehaviourObservations:
        """Observe whether calls depend on each other, on at most 32 cases, in one process.

        Each case is called twice in a row, then all in reverse order, then the first results are read again.
        """
        log = BehaviourLog([case.id for case in cases])
        if self.stopped or not cases:
            return log.observations(self.stopped)
        worker = self._workers[0]
        try:
            if worker.child is None:
                self._spawn(worker)
            while worker.state == "starting":
                self._step()
        except TargetUnavailable as error:
            return log.observations(f"the target could not be started again: it {error.problem}")
        except BaseException:
            self._kill_all()
            raise
        assert worker.child is not None
        worker.child.send({"op": "behave", "cases": [_request(index, case) for index, case in enumerate(cases)]})
        try:
            problem = self._observe(worker.child, log)
        except BaseException:
            self._kill_all()
            raise
        if problem:
            self._lose(worker)
        return log.observations(problem)

    def _observe(self, child: Child, log: BehaviourLog) -> str:
        """Take in the answers of one behaviour check; return what ended it early, or nothing."""
        since = time.monotonic()
        while not log.complete:
            event = next(self._events_of(child, since + self.options.timeout), None)
            if event is None:
                return f"no answer within {self.options.timeout:g} s to {log.expected}"
            if event.kind != "frames":
                how = describe_status(event.status) if event.kind == "ended" else _forged(event.reason)
                return f"the process {how} at {log.expected}"
            since = event.when
            try:
                for frame in event.frames:
                    log.take(frame)
            except Garbled as error:
                return f"the process {_forged(error)} at {log.expected}"
        return ""


def _request(index: int, case: Case) -> list[Any]:
    how: str | None = case.coercion
    if how == "numpy":
        how = "int32" if case.numpy_int32 else "int64"
    return [index, list(case.args.values()), how]


def _ahead(ahead: int, seconds: float, answered: int) -> int:
    """Return how many cases to send ahead so that they are about ``AHEAD_SECONDS`` of work, growing step by step."""
    if not answered:
        return ahead
    fitting = AHEAD_SECONDS * answered / max(seconds, 1e-6)
    return max(2, min(MAX_AHEAD, 4 * ahead, int(fitting)))


def _forged(what: object) -> str:
    return f"wrote to posvec's private channel: {shorten(clean(str(what)))}"


def _tail(output: Output) -> str:
    text = output.last(2000).strip()
    return f"; the last that it wrote:\n{text}" if text else ""


def _where(output: Output) -> str:
    """Return the stack that faulthandler wrote when the process was told to end."""
    _, mark, stack = output.last(8000).rpartition("(most recent call first):\n")
    lines = [line for line in stack.splitlines() if line.startswith("  File ") and "child.py" not in line]
    return "; it was at:\n" + "\n".join(lines[:20]) if mark and lines else ""


def describe_status(status: int) -> str:
    """Say how a process ended."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
