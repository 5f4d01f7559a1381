"""What a target printed: the beginning and the end of it, whatever it printed."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

KEPT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a target wrote to stdout and stderr, in the order in which it arrived. Untrusted.

    Attributes:
        head: The first bytes, at most 64 KiB.
        tail: The last bytes, at most 64 KiB; empty if all is in ``head``.
        total: How many bytes there were.

    """

    head: bytes
    tail: bytes
    total: int

    @property
    def omitted(self) -> int:
        """How many bytes between ``head`` and ``tail`` were not kept."""
        return self.total - len(self.head) - len(self.tail)

    @property
    def text(self) -> str:
        """Both parts as text; bytes that are no UTF-8 as escapes, and a line for the gap."""
        head = self.head.decode("utf-8", "backslashreplace")
        tail = self.tail.decode("utf-8", "backslashreplace")
        return f"{head}\n[… {self.omitted} bytes …]\n{tail}" if self.omitted else head + tail

    def last(self, characters: int) -> str:
        """Return at most that many characters of the end, as text."""
        end = self.head if not self.tail else self.head + self.tail if not self.omitted else self.tail
        return end[-4 * characters :].decode("utf-8", "backslashreplace")[-characters:]


class Capture:
    """Takes in a stream and keeps its two ends. For any number of threads."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._total = 0
        self._lock = threading.Lock()

    def feed(self, data: bytes) -> None:
        """Take in what arrived."""
        with self._lock:
            self._total += len(data)
            room = KEPT - len(self._head)
            if room > 0:
                self._head += data[:room]
                data = data[room:]
            if data:
                self._tail.append(data)
                self._tail_size += len(data)
                while self._tail_size - len(self._tail[0]) >= KEPT:
                    self._tail_size -= len(self._tail.popleft())

    def output(self) -> Output:
        """Return what there is so far."""
        with self._lock:
            return Output(head=bytes(self._head), tail=b"".join(list(self._tail))[-KEPT:], total=self._total)
