"""A session whose target is a program: what is asked otherwise, and what else can go wrong."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.verifier.running.behaviour import BehaviourLog, BehaviourObservations
from posvec.verifier.running.endings import describe_status
from posvec.verifier.running.frames import Frame
from posvec.verifier.running.lines import Lines
from posvec.verifier.running.options import RunOptions
from posvec.verifier.running.process import Child, describe_end
from posvec.verifier.running.program import Program
from posvec.verifier.running.runner import Session
from posvec.verifier.running.worker import Worker

_FLUSH_SECONDS = 0.5  # in which a program whose output is not flushed writes it, once its input has ended
_END_SECONDS = 2.0  # in which a program ends, once its input has ended
_FEW = 8  # cases of a program of one process a case, which has little to remember
_UNEXPLAINED = 3  # after so many failures that are no single case's, cases are asked one at a time


class ProgramSession(Session):
    """The processes of one run of a program.

    A program answers in any order, and may hold answers back. So when it fails, any of the cases that it was sent
    may be to blame: they are asked again, one at a time.
    """

    _keeps_results = False

    def __init__(self, program: Program, options: RunOptions | None = None, *, hello: Mapping[str, Any]) -> None:
        """Prepare to run ``program``; ``hello`` is what it is told first."""
        super().__init__(program, "", options, hello=hello)
        self.program = program
        self._unexplained = 0

    def behaviour(self, cases: Sequence[Case], earlier: Mapping[str, bytes] | None = None) -> BehaviourObservations:
        """Observe whether answers depend on each other; see :meth:`Session.behaviour`."""
        return super().behaviour(cases[:_FEW] if self.program.per_case else cases, earlier)

    def _ask_environment(self) -> None:
        """Ask nothing: a program told in its hello what it is."""

    def _ask_alone(self, worker: Worker) -> bool:
        """If a program failed that was sent several cases, replace it and ask these one at a time, to know which."""
        if len(worker.asked) < 2 or worker.child is None or worker.child.dialogue.in_order:
            return False
        self._suspects.update(worker.asked)
        worker.lose(self._pending)
        self.restarts += 1
        self._unexplained += 1
        if self._unexplained >= _UNEXPLAINED:
            self._suspects.update(range(len(self._cases)))
        return True

    def _known_already(self, worker: Worker, frame: Frame) -> bool:
        """Note that a program answered a case a second time."""
        number = frame.header.get("i")
        if worker.child is None or worker.child.dialogue.in_order or number not in worker.done:
            return False
        self.late[self._cases[number].id] = self._broken(number, "the program answered it twice")
        return True

    def _breach(self, worker: Worker, how: str) -> None:
        """Charge what a program did while it was asked nothing to the case that it answered last."""
        if worker.done:
            last = next(reversed(worker.done))
            self.late[self._cases[last].id] = self._broken(last, f"the program {how}")

    def _broken(self, number: int, how: str) -> Answer:
        return Answer(case_id=self._cases[number].id, kind="raised", detail=how, from_program=True)

    def _is_unflushed(self, worker: Worker) -> bool:
        """Whether a program that does not answer has answered, and its answers come when its input ends."""
        if worker.child is None or not isinstance(worker.child.dialogue, Lines):
            return False
        child = worker.child
        child.end_input()
        deadline = time.monotonic() + _FLUSH_SECONDS
        while (event := self._next_event(worker, deadline)) is not None and event.child is child:
            if any(
                frame.header.get("i") in worker.asked or frame.header.get("op") == "ready" for frame in event.frames
            ):
                return True
            if event.kind != "frames":
                break
        return False

    def _let_end(self) -> None:
        """End the input of the programs and give them the time to end: what they still say counts."""
        for worker in self._workers:
            child = worker.child
            if child is None or worker.state != "ready" or worker.asked or not isinstance(child.dialogue, Lines):
                continue
            child.end_input()
            deadline = time.monotonic() + _END_SECONDS
            while (event := self._next_event(worker, deadline)) is not None:
                if event.kind != "frames":
                    if event.kind != "ended":
                        self._crashed(worker, describe_end(event), certain=True)
                    elif event.status:
                        self._note([f"{describe_status(event.status)} when its input had ended"])
                    break
                self._take(worker, event)
                if worker.child is None:
                    break
            else:
                self._note([f"was still there {_END_SECONDS:g} s after its input had ended, and was killed"])

    def _behave(self, worker: Worker, child: Child, cases: Sequence[Case], log: BehaviourLog) -> str:
        """Ask a program the same cases again; return what ended that early, or an empty string."""
        while not log.complete:
            case, number = cases[log.index], len(self._cases)
            self._cases.append(case)
            child.send(child.dialogue.run([(number, case)]))
            deadline = time.monotonic() + self.options.timeout
            while number not in worker.done:
                event = self._next_event(worker, deadline)
                if event is None:
                    return f"no answer within {self.options.timeout:g} s to {log.expected}"
                if event.kind != "frames":
                    return f"the program {describe_end(event)} at {log.expected}"
                for frame in event.frames:
                    if self._known_already(worker, frame):
                        continue
                    if frame.header.get("i") != number:
                        return "the program answered a question that was not asked"
                    worker.done[number] = None
                    log.record(child.dialogue.answer(frame, case.id, 0.0))
        return ""
