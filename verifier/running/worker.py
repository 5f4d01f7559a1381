"""One place for a process: what runs there, and what it has been asked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Container, Sequence
from queue import SimpleQueue
from typing import Literal

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.verifier.running.capture import Capture
from posvec.verifier.running.frames import Frame, Garbled
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
        asked: Cases that it was sent and has not answered, by their index, in order: it works on the first, as far
            as can be known.
        since: When it became ready for the first of them (``time.monotonic()``).
        done: The cases that it has answered, in that order.
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
        self.done: dict[int, None] = {}
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

    def deal(self, todo: Sequence[Case], pending: deque[int], suspects: Container[int]) -> None:
        """Send cases ahead, so that the process is not idle while its answers are read; suspects one at a time."""
        if self.child is None or self.state != "ready" or self.retiring or len(self.asked) > self._ahead // 2:
            return
        alone = self.options.fresh or (pending and pending[0] in suspects)
        ahead = 1 if alone else self._ahead
        if self.options.jobs > 1:
            ahead = min(ahead, max(1, len(pending) // (2 * self.options.jobs)))
        taken: list[int] = []
        while pending and len(taken) < ahead - len(self.asked) and (alone or pending[0] not in suspects):
            taken.append(pending.popleft())
        if taken:
            if not self.asked:
                self.since = time.monotonic()
            self.asked.extend(taken)
            self.child.send(self.child.dialogue.run([(index, todo[index]) for index in taken]))

    def take(self, frame: Frame, todo: Sequence[Case], seconds: float) -> Answer:
        """Return the answer to a case that was asked: the first, unless the process may answer in any order.

        Raises:
            Garbled: It is none.

        """
        index = frame.header.get("i")
        if self.child is None or self.state != "ready" or type(index) is not int or index not in self.asked:
            raise Garbled("an answer to a question that was not asked")
        if self.child.dialogue.in_order and index != self.asked[0]:
            raise Garbled("an answer to a question that was not asked")
        answer = self.child.dialogue.answer(frame, todo[index].id, seconds)
        self.asked.remove(index)
        self.done[index] = None
        return answer

    def took(self, count: int, when: float) -> None:
        """Note that so many answers, at least one, arrived at that moment; adapt how many cases are sent ahead."""
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
