"""Why a submission is not run at all."""

from __future__ import annotations

from posvec.schemas.errors import PosvecError


class Refused(PosvecError):
    """A submission that cannot be run: one of :data:`posvec.schemas.batch.PROBLEMS`, and a sentence for its row."""

    def __init__(self, problem: str, sentence: str) -> None:
        super().__init__(problem, sentence)
        self.problem, self.sentence = problem, sentence

    def __str__(self) -> str:
        return self.sentence
