"""One place for a process: what runs there, and what it has been asked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any, Literal

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.verifier.running.capture import Capture
from posvec.verifier.running.frames import Frame, Garbled, answer_from
from posvec.verifier.running.launch import Launch
from posvec.verifier.running.options import RunOptions
from posvec.verifier.running.process import HAS_PROC, Child, Event

MAX_AHEAD = 1024
AHEAD_SECONDS = 0.05  # so much work is sent ahead: a fast target never waits, a slow one is soon free
MEASURE_EVERY = 0.1 if HAS_PROC else 2.0  # seconds; ps takes milliseconds


class Worker:
    """A process and the cases that it was sent.

    Attributes:
        child: The process, if there is one.
        state: Whether it is there, and whether the target is loaded.
        asked: Cases that it was sent and has not answered, by their index, in order: it works on the first.
        since: When it became ready for the first of them (``time.monotonic()``).
        answered: How many cases it has answered.
        retiring: Whether it gets no further cases, because it has grown too much.

    """

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.asked: deque[int] = deque()
        self._reset()

    def _reset(self) -> None:
        self.child: Child | None = None
        self.state: Literal["none", "starting", "ready"] = "none"
        self.since = 0.0
        self.answered = 0
        self.retiring = False
        self._ahead = 4
        self._base: int | None = None
        self._measured = 0.0

    def spawn(self, launch: Launch, events: SimpleQueue[Event], capture: Capture) -> None:
        """Start a process."""
        self._reset()
        self.child = Child(launch, events, [capture])
        self.state, self.since = "starting", time.monotonic()

    def ready(self, when: float) -> None:
        """Note that the target is loaded."""
        self.state, self.since = "ready", when
        self._base = None if self.child is None else self.child.resident_bytes()

    def lose(self, pending: deque[int] | None = None, *, show_where: bool = False) -> Child | None:
        """Kill the process; put what it had been asked back to the front of ``pending``."""
        child = self.child
        if pending is not None:
            pending.extendleft(reversed(self.asked))
        self.asked.clear()
        self.child, self.state = None, "none"
        if child is not None:
            child.kill(show_where=show_where)
        return child

    @property
    def deadline(self) -> float | None:
        """When the patience with what it does now ends; None if it does nothing."""
        if self.state == "starting":
            return self.since + self.options.start_timeout
        return self.since + self.options.timeout if self.asked else None

    def deal(self, todo: Sequence[Case], pending: deque[int]) -> None:
        """Send cases ahead, so that the process is not idle while its answers are read."""
        if self.child is None or self.state != "ready" or self.retiring or len(self.asked) > self._ahead // 2:
            return
        ahead = 1 if self.options.fresh else self._ahead
        if self.options.jobs > 1:
            ahead = min(ahead, max(1, len(pending) // (2 * self.options.jobs)))
        taken = [pending.popleft() for _ in range(min(ahead - len(self.asked), len(pending)))]
        if taken:
            if not self.asked:
                self.since = time.monotonic()
            self.asked.extend(taken)
            self.child.send({"op": "run", "cases": [request(index, todo[index]) for index in taken]})

    def take(self, frame: Frame, todo: Sequence[Case]) -> Answer:
        """Return the answer to the first case that was asked.

        Raises:
            Garbled: It is none.

        """
        index = frame.header.get("i")
        if self.state != "ready" or not self.asked or type(index) is not int or index != self.asked[0]:
            raise Garbled("an answer to a question that was not asked")
        answer = answer_from(frame, todo[index].id)
        self.asked.popleft()
        self.answered += 1
        return answer

    def took(self, count: int, when: float) -> None:
        """Note that so many answers arrived at that moment, and adapt how many cases are sent ahead."""
        if count:
            fitting = AHEAD_SECONDS * count / max(when - self.since, 1e-6)
            self._ahead = max(2, min(MAX_AHEAD, 4 * self._ahead, int(fitting)))
        self.since = when

    def size(self) -> int | None:
        """Return the resident size of the process, if it was not measured just now."""
        now = time.monotonic()
        if self.child is None or now - self._measured < MEASURE_EVERY / 2:
            return None
        self._measured = now
        return self.child.resident_bytes()

    def outgrown(self, growth: int) -> bool:
        """Say whether the process has grown by more than ``growth`` bytes since it was ready."""
        if self._base is None:
            return False
        size = self.size()
        return size is not None and size - self._base > growth


def request(index: int, case: Case) -> list[Any]:
    """Return what a process is told of a case: a number, the arguments and how they are to be passed."""
    how: str | None = case.coercion
    if how == "numpy":
        how = "int32" if case.numpy_int32 else "int64"
    return [index, list(case.args.values()), how]
