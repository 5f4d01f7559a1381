"""A session that ends after so many seconds, whatever the submission does with each case."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from posvec.schemas.case import Case
from posvec.schemas.errors import TargetUnavailable
from posvec.verifier.running.behaviour import BehaviourObservations
from posvec.verifier.running.options import RunOptions
from posvec.verifier.running.process import Event
from posvec.verifier.running.runner import Session
from posvec.verifier.running.target import Target
from posvec.verifier.running.worker import Worker


class LimitedSession(Session):
    """A session of at most ``seconds``; then it is as if it were interrupted, so that what ran is judged.

    Attributes:
        out_of_time: Whether that came while it was starting or running cases. Behaviour checks just stop.
        unavailable: Why the target could not be loaded, if it could not.

    """

    def __init__(
        self,
        target: Target,
        function_name: str,
        options: RunOptions,
        *,
        watch: Iterable[Path] = (),
        seconds: float,
    ) -> None:
        """Prepare to run ``target``; the time begins now."""
        super().__init__(target, function_name, options, watch=watch)
        self.out_of_time = False
        self.unavailable: TargetUnavailable | None = None
        self._ends = time.monotonic() + seconds

    def start(self) -> None:
        """Start every process and load the target in it; see :meth:`Session.start`."""
        try:
            super().start()
        except TargetUnavailable as error:
            self.unavailable = error
            raise

    def behaviour(self, cases: Sequence[Case], earlier: Mapping[str, bytes] | None = None) -> BehaviourObservations:
        """Observe whether calls depend on each other, as far as there is time; see :meth:`Session.behaviour`."""
        seen = super().behaviour(cases, earlier)
        if seen.incomplete and time.monotonic() > self._ends:
            return replace(seen, incomplete="the time for the submission was over")
        return seen

    def _step(self) -> None:
        if time.monotonic() > self._ends:
            self.out_of_time = True
            raise KeyboardInterrupt
        super()._step()

    def _next_event(self, worker: Worker, deadline: float) -> Event | None:
        return super()._next_event(worker, min(deadline, self._ends))
