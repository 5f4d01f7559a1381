"""Runs a target on cases, in processes that it may do anything to, and gives exactly one answer a case."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import InvalidArgument, TargetUnavailable
from posvec.verifier.running.behaviour import BehaviourLog, BehaviourObservations
from posvec.verifier.running.capture import Capture, Output
from posvec.verifier.running.dialogue import Frames, question
from posvec.verifier.running.endings import UNFLUSHED, Failures, describe_garbled, last_words, where_it_was
from posvec.verifier.running.frames import Frame, Garbled, clean, environment_from
from posvec.verifier.running.launch import Launch, make_scratch, prepare, remove_scratch
from posvec.verifier.running.options import RunOptions
from posvec.verifier.running.process import Child, Event, describe_end
from posvec.verifier.running.program import Program
from posvec.verifier.running.startup import (
    crashed_at_start,
    explain_unavailable,
    explain_unavailable_program,
    not_started,
)
from posvec.verifier.running.target import Target
from posvec.verifier.running.worker import MEASURE_EVERY, Worker

__all__ = ["BehaviourObservations", "RunOptions", "Session"]

_TICK = 0.5  # longest wait without a look at the clock; on Windows, Ctrl-C is seen only between waits
_STOPPED = 1.0  # seconds that a wait takes longer than it was meant to, if posvec itself did not run
_ENVIRONMENT_SECONDS = 20.0
_MAX_NOTES = 20


class Session:
    """The processes of one run of a callable. A context manager: whatever happens inside, none is left outside.

    Not for several threads at once.

    Attributes:
        launched: When the first process was started, on the monotonic clock; 0.0 before.
        restarts: How often a process was lost to a crash or a timeout, and replaced if there was more to do.
        recycled: How often a process that had grown too much was replaced (or one a case with ``fresh``).
        stopped: Why the run was given up, or an empty string.
        expected: Ids of the cases whose crashes and timeouts are known: they do not end the run.
        late: What a program did to cases that it had already answered: each such case's last answer.

    """

    def __init__(
        self,
        target: Target | Program,
        function_name: str,
        options: RunOptions | None = None,
        *,
        watch: Iterable[Path] = (),
        hello: Mapping[str, Any] | None = None,
    ) -> None:
        """Prepare to run ``target``; ``function_name`` is looked up in it if it names no function itself.

        ``watch`` are files (of golden values) whose opening by the target is noted; ``hello`` is what a program is
        told first.
        """
        self.target = target
        self.options = options or RunOptions()
        self.attribute = (target.attribute if isinstance(target, Target) else None) or function_name
        self.launched = 0.0
        self.restarts = 0
        self.recycled = 0
        self.stopped = ""
        self.late: dict[str, Answer] = {}
        self.expected: Container[str] = ()
        self._watch = list(watch)
        self._hello = dict(hello or {})
        self._notes: list[str] = []
        self._growth = self.options.growth
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._capture = Capture()
        self._workers = [Worker(self.options) for _ in range(self.options.jobs)]
        self._environment: dict[str, str | bool | None] = {}
        self._cases: list[Case] = []  # all that were ever asked: a number is given once
        self._suspects: set[int] = set()  # to be asked one at a time
        self._pending: deque[int] = deque()
        self._answers: list[Answer] = []
        self._failures = Failures()
        self._scratch = ""
        self._launch: Launch | None = None

    _keeps_results = True  # whether what was returned can be looked at again later

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def launch(self) -> None:
        """Begin to start every process, and return at once: what the caller does meanwhile costs no time.

        Raises:
            InvalidArgument: There is no such interpreter.

        """
        self.launched = self.launched or time.monotonic()
        try:
            for worker in self._workers:
                if worker.child is None:
                    worker.spawn(self._prepared(), self._events, self._capture)
        except BaseException:
            self._kill_all()
            raise

    def start(self) -> None:
        """Start every process and load the target in it.

        Raises:
            TargetUnavailable: It could not be loaded, or not in ``start_timeout`` seconds.
            InvalidArgument: There is no such interpreter.

        """
        self.launch()
        try:
            while any(worker.state == "starting" for worker in self._workers):
                self._step()
        except BaseException:
            self._kill_all()
            raise

    def close(self) -> None:
        """Kill every process that the target started and delete its temporary files. May be called again."""
        try:
            self._let_end()
        finally:  # an impatient Ctrl-C leaves nothing behind either
            self._kill_all()
            if self._scratch:
                remove_scratch(self._scratch)
                self._scratch, self._launch = "", None

    @property
    def environment(self) -> Mapping[str, str | bool | None]:
        """What the target runs on, as its process says: untrusted. Complete after ``run``."""
        return dict(self._environment)

    @property
    def output(self) -> Output:
        """What the target has written to stdout and stderr so far."""
        return self._capture.output()

    @property
    def notes(self) -> Sequence[str]:
        """What the target was seen to do with golden files (``imports h5py``): no proof, untrusted."""
        return tuple(self._notes)

    # --- Cases -------------------------------------------------------------------------------------------

    def run(self, cases: Iterable[Case]) -> Iterator[Answer]:
        """Yield one answer for each case, as they come: in the order of the cases unless ``jobs`` > 1.

        After 3 crashes or timeouts in a row, or 10 in all, and where the target cannot be started again, the
        remaining cases are answered ``not-run``. Left early, the processes at work are killed.

        Raises:
            TargetUnavailable: It could not be loaded (only if ``start`` was not called before).

        """
        if any(worker.asked for worker in self._workers):
            self._kill_all()  # an earlier run that was left but is not closed yet
        self._answers = []
        start = len(self._cases)
        self._cases += cases
        self._pending = deque(range(start, len(self._cases)))
        try:
            if self._pending and not self.stopped:
                if all(worker.child is None for worker in self._workers):
                    self.start()
                while not self.stopped and (self._pending or any(worker.asked for worker in self._workers)):
                    yield from self._advance()
                if not self.stopped:
                    self._ask_environment()
        except BaseException:
            self._kill_all()
            raise
        for index in sorted(self._pending):
            yield Answer(case_id=self._cases[index].id, kind="not-run", detail=self.stopped)

    def _advance(self) -> list[Answer]:
        """Send what can be sent, wait for something to happen, and return the answers that came of it."""
        try:
            for worker in self._workers:
                if self._pending and worker.child is None:
                    worker.spawn(self._prepared(), self._events, self._capture)
                worker.deal(self._cases, self._pending, self._suspects)
            self._step()
        except TargetUnavailable as error:
            self.stopped = f"not run: the target could not be started again: it {error.problem}"
        except InvalidArgument as error:
            self.stopped = f"not run: the target could not be started again: {error}"
        if self.stopped:
            self._kill_all()
        answers, self._answers = self._answers, []
        return answers

    def _step(self) -> None:
        """Wait for one event or one deadline, and do what follows from it."""
        now = time.monotonic()
        wait = _TICK if self.options.memory is None else MEASURE_EVERY
        for worker in self._workers:
            if worker.deadline is not None:
                wait = min(wait, worker.deadline - now)
        try:
            event = self._events.get(timeout=wait) if wait > 0 else self._events.get_nowait()
        except Empty:
            event = None
        self._forgive(time.monotonic() - now - max(wait, 0.0))
        if event is None:
            self._check_deadlines(time.monotonic())
        else:
            self._dispatch(event)
            self._check_deadlines(event.when, event.child)  # what is no answer must not keep posvec waiting
        self._check_memory()

    def _forgive(self, late: float) -> None:
        """Do not count against the target that posvec itself was stopped (Ctrl-Z, or by the target) or starved."""
        if late > _STOPPED:
            for worker in self._workers:
                worker.since += late

    def _dispatch(self, event: Event) -> None:
        for worker in self._workers:
            if worker.child is event.child:
                break
        else:
            return  # from a process that was killed meanwhile
        if event.kind == "frames":
            self._take(worker, event)
        else:
            self._crashed(worker, describe_end(event), certain=event.kind == "garbled")

    def _take(self, worker: Worker, event: Event) -> None:
        count = 0
        seconds = (event.when - worker.since) / len(event.frames)
        try:
            for frame in event.frames:
                if "op" in frame.header:
                    self._greet(worker, frame, event.when)
                elif self._known_already(worker, frame):
                    continue
                else:
                    self._answers.append(worker.take(frame, self._cases, seconds))
                    count += 1
                    self._failures.in_a_row = 0
                    if self._suspects:
                        self._suspects.discard(frame.header["i"])
                    if "n" in frame.header:
                        self._note(frame.header["n"])
        except Garbled as error:
            self._crashed(worker, describe_garbled(error, event.child.dialogue.blame), certain=True)
        else:
            if count:
                worker.took(count, event.when)
            self._retire(worker)

    def _note(self, notes: object) -> None:
        for note in notes if type(notes) is list else ():
            if type(note) is str and len(self._notes) < _MAX_NOTES and clean(note, 300) not in self._notes:
                self._notes.append(clean(note, 300))

    def _greet(self, worker: Worker, frame: Frame, when: float) -> None:
        """Take in what a process says of itself; before the target is loaded, except that it is."""
        op = frame.header["op"]
        child = worker.child
        if child is None or worker.state != "starting":
            raise Garbled("a greeting in the middle")
        pid = frame.header.get("pid")
        if op == "hello" and child.pid is None and type(pid) is int and 0 < pid < 2**31:
            child.identify(pid)
        elif op == "ready":
            worker.ready(when)
            if not self._environment:
                self._environment = environment_from(frame.header.get("environment"))
        elif op == "unavailable":
            worker.lose()
            output = child.capture.output()
            if isinstance(self.target, Program):
                raise explain_unavailable_program(self.target, frame.header, output)
            raise explain_unavailable(self.target, self.attribute, frame.header, output)
        else:
            raise Garbled("a greeting of no known kind")

    # --- What goes wrong ---------------------------------------------------------------------------------

    def _check_deadlines(self, now: float, child: Child | None = None) -> None:
        for worker in self._workers:
            if worker.deadline is None or now < worker.deadline or (child is not None and worker.child is not child):
                continue
            starting = worker.state == "starting"
            unflushed = self._is_unflushed(worker)
            if not starting and not unflushed and self._ask_alone(worker):
                continue
            index = worker.asked.popleft() if worker.asked else None
            child = worker.lose(self._pending, show_where=isinstance(self.target, Target))
            output = Capture().output() if child is None else child.capture.output()
            hint = UNFLUSHED if unflushed else "" if child is None else child.dialogue.nearly(index)
            if starting:
                raise not_started(self.target, self.options.start_timeout, output, hint)
            if index is not None:
                where = where_it_was(output)
                detail = f"no answer within {self.options.timeout:g} s" + (f": {hint}" if hint else "")
                if unflushed:
                    self.stopped = f"not run: {UNFLUSHED}"
                self._failed(
                    Answer(
                        case_id=self._cases[index].id,
                        kind="timeout",
                        seconds=self.options.timeout,
                        detail=f"{detail}; it was at:\n{where}" if where else detail,
                    )
                )

    def _check_memory(self) -> None:
        limit = self.options.memory
        if limit is not None:
            for worker in self._workers:
                size = worker.size()
                if size is not None and size > limit:
                    self._crashed(
                        worker,
                        f"was killed: it held {size / 2**20:.0f} MiB of memory, "
                        f"more than the {limit / 2**20:.0f} allowed",
                    )

    def _crashed(self, worker: Worker, how: str, *, certain: bool = False) -> None:
        """Charge the end of a process to the case that it was working on; if it was on none, to nothing.

        ``certain``: the end is of a kind whose case is not found by asking again.
        """
        starting = worker.state == "starting"
        if not starting and not certain and self._ask_alone(worker):
            return
        if certain and not worker.asked:
            self._breach(worker, how)
        index = worker.asked.popleft() if worker.asked else None
        child = worker.lose(self._pending)
        words = "" if child is None else last_words(child.capture.output())
        if starting:
            raise crashed_at_start(self.target, how, words, loading=child is not None and child.pid is not None)
        if index is not None:
            detail = f"the process {how}" + (f"; the last that it wrote:\n{words}" if words else "")
            self._failed(Answer(case_id=self._cases[index].id, kind="crash", detail=detail))

    # What only programs do: see ProgramSession.

    def _ask_alone(self, worker: Worker) -> bool:  # noqa: ARG002
        """Whether the cases that a process was asked will be asked again, since it is not known at which it failed."""
        return False

    def _known_already(self, worker: Worker, frame: Frame) -> bool:  # noqa: ARG002
        """Whether a frame answers what was answered already."""
        return False

    def _breach(self, worker: Worker, how: str) -> None:
        """Take note that a process broke the rules while it was asked nothing."""

    def _is_unflushed(self, worker: Worker) -> bool:  # noqa: ARG002
        """Whether the process did answer, and its answers come when its input ends."""
        return False

    def _let_end(self) -> None:
        """Let the processes end by themselves."""

    def _failed(self, answer: Answer) -> None:
        self._answers.append(answer)
        if answer.case_id not in self.expected:
            self.stopped = self.stopped or self._failures.another()
        self.restarts += not self.stopped

    # --- Processes ---------------------------------------------------------------------------------------

    def _retire(self, worker: Worker) -> None:
        """Replace a process that has grown too much as soon as it has answered all that it was sent."""
        if worker.state == "ready" and not worker.retiring:
            worker.retiring = bool(worker.done) if self.options.fresh else worker.outgrown(self._growth)
        if worker.retiring and not worker.asked:
            if len(worker.done) < 32 and not self.options.fresh:
                self._growth *= 2  # it needs that much to work at all
            worker.lose()
            worker.retiring = False
            self.recycled += 1

    def _prepared(self) -> Launch:
        if self._launch is None:
            self._scratch = make_scratch()
            launch = prepare(self.target, self.attribute, self.options.python, self._scratch, self._watch, self._hello)
            environment = {**launch.environment, **dict(self.options.variables)}
            self._launch = replace(launch, folder=self.options.folder, environment=environment)
        return self._launch

    def _kill_all(self) -> None:
        """Kill every process; what they had been asked is pending again."""
        for worker in self._workers:
            worker.lose(self._pending)

    # --- Questions between cases -------------------------------------------------------------------------

    def _ask_environment(self) -> None:
        """Ask a process that has called the target what it runs on; it changes no answer if that fails."""
        worker = next((worker for worker in self._workers if worker.state == "ready"), None)
        if worker is None or worker.child is None:
            return
        worker.child.send(Frames.encode({"op": "environment"}))
        event = self._next_event(worker, time.monotonic() + _ENVIRONMENT_SECONDS)
        header = event.frames[0].header if event is not None and event.frames else {}
        if header.get("op") == "environment":
            self._environment.update(environment_from(header.get("environment")))
        else:
            worker.lose()

    def _next_event(self, worker: Worker, deadline: float) -> Event | None:
        """Return what this worker's process does next, or None if it does nothing until then."""
        while (left := deadline - time.monotonic()) > 0:
            try:
                event = self._events.get(timeout=min(left, _TICK))
            except Empty:
                continue
            if event.child is worker.child:
                return event
            self._dispatch(event)
        return None

    def behaviour(self, cases: Sequence[Case], earlier: Mapping[str, bytes] | None = None) -> BehaviourObservations:
        """Observe whether calls depend on each other, on at most 32 cases, in one process.

        ``earlier`` has, by case id, the bytes that came in the run, which must come again.

        Each case is called twice in a row, then all in reverse order, then the first results are read again.
        """
        log = BehaviourLog([case.id for case in cases], earlier, keeps=self._keeps_results)
        if self.stopped or not cases:
            return log.observations(self.stopped)
        worker = self._workers[0]
        try:
            if worker.child is None:
                worker.spawn(self._prepared(), self._events, self._capture)
            while worker.state == "starting":
                self._step()
            problem = self._behave(worker, worker.child, cases, log) if worker.child else "its process ended"
        except TargetUnavailable as error:
            return log.observations(f"the target could not be started again: it {error.problem}")
        except BaseException:
            self._kill_all()
            raise
        if problem:
            worker.lose()
        return log.observations(problem)

    def _behave(self, worker: Worker, child: Child, cases: Sequence[Case], log: BehaviourLog) -> str:
        """Have the calls made and take in what they give; return what ended that early, or an empty string."""
        asked = [question(index, case) for index, case in enumerate(cases)]
        child.send(Frames.encode({"op": "behave", "cases": asked}))
        return log.follow(lambda deadline: self._next_event(worker, deadline), self.options.timeout)
