"""The dialogue with a program that is started once for each case: what it printed is the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.verifier.running.dialogue import Frames
from posvec.verifier.running.endings import describe_status
from posvec.verifier.running.frames import MAX_DATA, Frame, Garbled, clean
from posvec.verifier.running.program import Program


class PerCase(Frames):
    """The dialogue with the process that starts it."""

    def __init__(self, request: Mapping[str, Any], program: Program) -> None:
        super().__init__(request)
        self._program = program

    def run(self, asked: Sequence[tuple[int, Case]]) -> bytes:
        """Return the request to start the program with the arguments of these cases."""
        words = [[index, self._program.words(case.args)] for index, case in asked]
        return self.encode({"op": "run", "cases": words})

    def answer(self, frame: Frame, case_id: str, seconds: float) -> Answer:
        """Return what the program printed, or how it ended."""
        header, data = frame
        status, seconds, detail = header.get("status"), header.get("e", seconds), header.get("x", "")
        if header.get("k") != "exited" or type(status) is not int or type(detail) is not str:
            raise Garbled("an answer of no known kind")
        if type(seconds) not in (float, int) or not 0 <= seconds < math.inf:
            raise Garbled("an answer without a time")
        detail = clean(detail).strip()
        if header.get("over") is True:
            detail = f"it wrote more than the {MAX_DATA:,} bytes that are read"
            return Answer(case_id=case_id, kind="other", detail=detail, from_program=True, seconds=seconds)
        if status != 0:
            how = f"the program {describe_status(status)}"
            return Answer(
                case_id=case_id,
                kind="raised" if status > 0 else "crash",
                detail=f"{how}; it wrote:\n{detail}" if detail else how,
                seconds=seconds,
                from_program=True,
            )
        if self._program.output == "f32le":
            if len(data) % 4:
                detail = f"{len(data):,} bytes came, which is no whole number of float32"
                return Answer(case_id=case_id, kind="other", detail=detail, from_program=True, seconds=seconds)
            return Answer(
                case_id=case_id,
                kind="array",
                type_name="stdout",
                dtype="<f4",
                shape=(len(data) // 4,),
                data=data,
                memory_order="C",
                seconds=seconds,
                from_program=True,
            )
        from posvec.verifier.running.messages import answer_from_text  # needs NumPy, which loads meanwhile

        answer = answer_from_text(data, case_id, seconds=seconds)
        return answer if data or not detail else replace(answer, detail="it wrote to standard error alone")
