"""What posvec and a process say to each other: bytes out, frames in."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from posvec.schemas import protocol
from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.verifier.running.frames import TOKEN_SIZE, Frame, FrameReader, answer_from


class Dialogue(Protocol):
    """The two directions of one process's channel.

    Attributes:
        in_order: Whether answers must come in the order of the questions.
        blame: What a process does that sends anything else, e.g. ``broke the protocol``.

    """

    in_order: bool
    blame: str

    @property
    def problem(self) -> str:
        """What came that no honest process sends; nothing after it is looked at. Empty: all is well."""

    def nearly(self, index: int | None) -> str:
        """Return what came that was meant as the answer to this case and is none, or as the hello (None)."""

    def opening(self) -> bytes:
        """Return what the process is told first."""

    def run(self, asked: Sequence[tuple[int, Case]]) -> bytes:
        """Return the request to answer these cases, each with its number."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take in what arrived and return the frames that are complete now."""

    def chatter(self) -> bytes:
        """Return, once, what arrived that is no frame but means no harm."""

    def overhear(self, data: bytes) -> None:
        """Look at what the process wrote to standard error."""

    def end(self) -> list[Frame]:
        """Take in the end of the stream."""

    def answer(self, frame: Frame, case_id: str, seconds: float) -> Answer:
        """Return the answer that a frame holds; ``seconds`` is the time it took, where the process tells none.

        Raises:
            Garbled: It is none.

        """


class Frames:
    """The dialogue with ``posvec.verifier.running.child``."""

    in_order = True
    blame = "wrote to posvec's private channel"

    def __init__(self, request: Mapping[str, Any]) -> None:
        token = os.urandom(TOKEN_SIZE)
        self._request = {**request, "token": token.hex()}
        self._reader = FrameReader(token)

    @property
    def problem(self) -> str:
        """What came that no child sends."""
        return self._reader.problem

    def opening(self) -> bytes:
        """Return the first request: where the target is."""
        return self.encode(self._request)

    @staticmethod
    def encode(request: Mapping[str, Any]) -> bytes:
        """Return any request to such a process."""
        text = json.dumps(request, separators=(",", ":")).encode()
        return struct.pack("<I", len(text)) + text

    def run(self, asked: Sequence[tuple[int, Case]]) -> bytes:
        """Return the request to call the target for these cases."""
        return self.encode({"op": "run", "cases": [question(index, case) for index, case in asked]})

    def feed(self, data: bytes) -> list[Frame]:
        """Take in ``data`` and return the frames that are complete now."""
        return self._reader.feed(data)

    def chatter(self) -> bytes:
        """Return nothing: what a target prints goes elsewhere."""
        return b""

    def overhear(self, data: bytes) -> None:
        """Do nothing: no answer goes there."""

    def nearly(self, index: int | None) -> str:  # noqa: ARG002
        """Return nothing: a frame is one or none."""
        return ""

    def end(self) -> list[Frame]:
        """Return nothing: half a frame is none."""
        return []

    def answer(self, frame: Frame, case_id: str, seconds: float) -> Answer:  # noqa: ARG002 - it tells its own
        """Return the answer that a frame holds."""
        return answer_from(frame, case_id)


def question(index: int, case: Case) -> list[Any]:
    """Return what a process is told of a case: a number, the arguments and how they are to be passed."""
    how: str | None = case.coercion
    if how == "numpy":
        how = "int32" if case.numpy_int32 else "int64"
    values = case.args.values()
    return [index, [protocol.array(value) if hasattr(value, "dtype") else value for value in values], how]
