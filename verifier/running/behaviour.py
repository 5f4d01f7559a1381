"""Whether a target's calls depend on each other: what is observed, and what follows from it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from posvec.schemas.answer import Answer
from posvec.verifier.running.endings import describe_garbled
from posvec.verifier.running.frames import Frame, Garbled, answer_from
from posvec.verifier.running.process import Event, describe_end

PHASES = {
    "first": "the first call",
    "again": "the second call",
    "reverse": "the call in reverse order",
    "kept": "the second look at the first result",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourObservations:
    """What was seen when cases were called again. Only cases that first gave an array with data are compared.

    Attributes:
        observed: Ids of the cases that were compared.
        not_repeatable: Ids of cases whose second call, right after the first, gave something else.
        order_dependent: Ids of cases that gave something else in reverse order, or than in the run before.
        overwritten: Ids of cases whose first result was changed by a later call.
        wrote: Ids of cases in which an array that is an argument was written to.
        incomplete: Why not everything was observed (a crash, a timeout), or an empty string.
        seconds: Time that the calls took.

    """

    observed: tuple[str, ...] = ()
    not_repeatable: tuple[str, ...] = ()
    order_dependent: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    incomplete: str = ""
    seconds: float = 0.0


class BehaviourLog:
    """Takes in the answers of a behaviour check, in the order in which a target's process gives them."""

    def __init__(
        self, case_ids: Sequence[str], earlier: Mapping[str, bytes] | None = None, *, keeps: bool = True
    ) -> None:
        """Prepare to take in answers; ``keeps``: whether results can be looked at again after the calls."""
        self._ids = list(case_ids)
        self._earlier = dict(earlier or {})
        indexes = range(len(self._ids))
        self._order = [
            *itertools.chain.from_iterable(((i, "first"), (i, "again")) for i in indexes),
            *((i, "reverse") for i in reversed(indexes)),
            *((i, "kept") for i in indexes if keeps),
        ]
        self._next = 0
        self._first: dict[int, Answer] = {}
        self._differ: dict[str, set[int]] = {phase: set() for phase in PHASES}
        self._wrote: set[int] = set()
        self._seconds = 0.0

    @property
    def complete(self) -> bool:
        """Whether every answer is in."""
        return self._next == len(self._order)

    @property
    def index(self) -> int:
        """Which case's answer comes next."""
        return self._order[self._next][0]

    @property
    def expected(self) -> str:
        """The call whose answer comes next, for messages."""
        index, phase = self._order[self._next]
        return f"{PHASES[phase]} of {self._ids[index]}"

    def take(self, frame: Frame) -> None:
        """Take in the next answer.

        Raises:
            Garbled: It is not the one that comes next, or no answer.

        """
        if self.complete:
            raise Garbled("an answer too many")
        index, phase = self._order[self._next]
        if frame.header.get("i") != index or frame.header.get("p") != phase:
            raise Garbled("an answer to a question that was not asked")
        if frame.header.get("w") is True:
            self._wrote.add(index)
        self.record(answer_from(frame, self._ids[index]))

    def record(self, answer: Answer) -> None:
        """Take in the answer that comes next."""
        index, phase = self._order[self._next]
        self._next += 1
        self._seconds += answer.seconds
        if phase == "first":
            if answer.kind == "array" and answer.data is not None:
                self._first[index] = answer
                if self._earlier.get(self._ids[index], answer.data) != answer.data:
                    self._differ["reverse"].add(index)  # the calls in between changed it
        elif index in self._first and _content(answer) != _content(self._first[index]):
            self._differ[phase].add(index)

    def follow(self, next_event: Callable[[float], Event | None], timeout: float) -> str:
        """Take in what a process answers, each within ``timeout`` seconds of the one before.

        ``next_event`` returns what the process does next, or None if it does nothing until a moment. Return
        what ended the check early, or an empty string.
        """
        since = time.monotonic()
        while not self.complete:
            event = next_event(since + timeout)
            if event is None:
                return f"no answer within {timeout:g} s to {self.expected}"
            if event.kind != "frames":
                return f"the process {describe_end(event)} at {self.expected}"
            since = event.when
            try:
                for frame in event.frames:
                    self.take(frame)
            except Garbled as error:
                return f"the process {describe_garbled(error, event.child.dialogue.blame)}"
        return ""

    def observations(self, incomplete: str) -> BehaviourObservations:
        """Return what was seen so far."""

        def ids(indexes: set[int]) -> tuple[str, ...]:
            return tuple(self._ids[index] for index in sorted(indexes))

        return BehaviourObservations(
            observed=ids(set(self._first)),
            not_repeatable=ids(self._differ["again"]),
            order_dependent=ids(self._differ["reverse"]),
            overwritten=ids(self._differ["kept"]),
            wrote=ids(self._wrote),
            incomplete=incomplete,
            seconds=self._seconds,
        )


def _content(answer: Answer) -> tuple[object, ...]:
    return answer.kind, answer.type_name, answer.dtype, answer.shape, answer.data
