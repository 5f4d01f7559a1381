"""The dialogue with a program: JSON Lines (docs/protocol.md)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from posvec.schemas import protocol
from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.schemas.errors import shorten
from posvec.verifier.running.dialogue import Frames
from posvec.verifier.running.frames import MAX_DATA, TOKEN_SIZE, Frame, clean
from posvec.verifier.running.nearly import (
    BEGINNINGS,
    ON_STDERR,
    SPREAD,
    begins_with_key,
    ids_in,
    is_hello,
    strayed,
    why_no_message,
)

MAX_LINE = MAX_DATA * 4 // 3 + 2**20
"""The longest message that is read: 64 MiB in base64 and what stands around them."""
_GREETING = ("name", "version", "language")
_MOST_NOTES = 10_000


class Lines:
    """The dialogue with a program that is started once and answers in any order.

    Until the program runs, ``posvec.verifier.running.child.program`` speaks in its place, in messages that hold a
    token that no program is told.

    Attributes:
        problem: What came that no honest program sends; nothing after it is looked at.

    """

    in_order = False
    blame = "broke the protocol"

    def __init__(self, request: Mapping[str, Any], hello: Mapping[str, Any]) -> None:
        self.problem = ""
        self._nearly: dict[int | None, str] = {}  # by the id that the line has; None: no id, or the hello
        self._token = os.urandom(TOKEN_SIZE).hex()
        self._opening = Frames.encode({**request, "token": self._token}) + protocol.encode(hello)
        self._greeted = False
        self._buffer = bytearray()
        self._chatter = bytearray()
        self._message: bool | None = None  # whether the line that is under way may be one

    def opening(self) -> bytes:
        """Return what the starting process is told, and then the program."""
        return self._opening

    def run(self, asked: Sequence[tuple[int, Case]]) -> bytes:
        """Return a line for each of these cases."""
        return b"".join([protocol.encode(protocol.request(index, case.args)) for index, case in asked])

    def chatter(self) -> bytes:
        """Return, once, the lines that were no messages."""
        chatter, self._chatter = bytes(self._chatter), bytearray()
        return chatter

    def end(self) -> list[Frame]:
        """Take the end of the stream for the end of a line."""
        return self.feed(b"\n") if self._buffer else []

    def answer(self, frame: Frame, case_id: str, seconds: float) -> Answer:
        """Return the answer that a message holds."""
        from posvec.verifier.running.messages import answer_from_message  # needs NumPy, which loads meanwhile

        return answer_from_message(frame.header["m"], frame.data, case_id, seconds=seconds)

    def feed(self, data: bytes) -> list[Frame]:
        """Take in ``data`` and return the messages that are complete now, up to the first that breaks the protocol."""
        frames: list[Frame] = []
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._buffer:
                line, self._buffer = bytes(self._buffer + line), bytearray()
            whole, self._message = self._message is not False, None
            message = protocol.parse_object(line) if whole else None
            if message is None:
                self._chatter += line + b"\n"
                frames += self._puzzle(line) if whole else []
            elif not self.problem:
                frame = self._frame(message, line)
                frames += [] if frame is None else [frame]
        self._keep(rest)
        return frames

    def overhear(self, data: bytes) -> None:
        """Note messages that went astray to standard error."""
        for number in strayed(data):
            self._note(number, ON_STDERR)

    def nearly(self, index: int | None) -> str:
        """Return why a line that was meant as the answer to this case is none."""
        return self._nearly.get(index) or self._nearly.get(None, "")

    def _note(self, number: int | None, why: str) -> None:
        if len(self._nearly) < _MOST_NOTES:
            self._nearly[number] = why

    def _puzzle(self, line: bytes) -> list[Frame]:
        """Note why a line is no message, if it was meant as one; a hello that is none will not come again."""
        why = why_no_message(line)
        if not why and self._nearly.get(None) == SPREAD and begins_with_key(line):
            why = SPREAD
        if not why:
            return []
        for number in ids_in(line):
            self._note(number, why)
        if self._greeted or self.problem or not is_hello(line):
            return []
        self._greeted = True
        return [Frame({"op": "unavailable", "reason": "line", "detail": why}, b"")]

    def _keep(self, rest: bytes) -> None:
        """Keep the beginning of a line if it may be a message; what cannot be one passes by, however long."""
        if self._message is None and rest.strip():
            self._message = (bytes(self._buffer) + rest).lstrip().startswith(BEGINNINGS)
        if self._message is False:
            self._chatter += self._buffer + rest
            self._buffer.clear()
            return
        self._buffer += rest
        if len(self._buffer) > MAX_LINE and not self.problem:
            self.problem = f"a line of more than {MAX_LINE:,} bytes"
            self._buffer.clear()

    def _frame(self, message: dict[str, Any], line: bytes) -> Frame | None:
        if message.get("token") == self._token:
            if "pid" in message:
                return Frame({"op": "hello", "pid": message["pid"]}, b"")
            return Frame({"op": "unavailable", "reason": "exec", "detail": message.get("exec", "")}, b"")
        if not self._greeted:
            self._greeted = True
            return Frame(_greeting(message), b"")
        number = message.get("id")
        self._nearly.pop(None, None)
        if type(number) is int:
            return Frame({"i": number, "m": message}, line)
        shown = shorten(clean(line.decode("utf-8", "backslashreplace"), 400), 200)
        if "id" in message or message.keys() & {"values", "data", "error"}:
            self.problem = f"an answer must repeat the id of its request, and this does not: {shown}"
        elif "protocol" in message:
            self.problem = f"the hello is said once, as its first line, and it came again: {shown}"
        else:
            self.problem = f"a JSON object without an id came (its own logs belong on stderr): {shown}"
        return None


def _greeting(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the first message of a program amounts to: it is ready, or what is wrong with its hello."""
    version = message.get("protocol")
    if type(version) is not int:
        keys = shorten(clean(", ".join(message)) or "no keys")
        problem = f"its first message must be the hello, with the key protocol, and has {keys}"
    elif version != protocol.VERSION:
        problem = f"it speaks version {version} of the protocol, and posvec speaks {protocol.VERSION}"
    elif wrong := [name for name in _GREETING if type(message.get(name)) is not str]:
        problem = f"its hello must hold {', '.join(_GREETING)} as texts, and {wrong[0]} is not one"
    elif extra := sorted(set(message) - {"protocol", *_GREETING}):
        problem = (
            f"its hello must hold protocol, {', '.join(_GREETING)} and nothing else, and it holds {shorten(extra[0])}"
        )
    else:
        return {
            "op": "ready",
            "environment": {name if name != "name" else "program": message[name] for name in _GREETING},
        }
    return {"op": "unavailable", "reason": "hello", "detail": problem}
