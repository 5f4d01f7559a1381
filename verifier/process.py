"""One process that runs a target: started, written to, read from, watched and killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Literal

from posvec.schemas.errors import InvalidArgument
from posvec.verifier.capture import Capture
from posvec.verifier.frames import TOKEN_SIZE, Frame, FrameReader, Garbled

CHILD = Path(__file__).with_name("child.py")
_PATIENCE = 2.0  # seconds that a supervisor gets to kill what a target left behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What it takes to start a target's process, the same each time.

    Attributes:
        python: The interpreter.
        request: The first request, without the token: where the target is.
        environment: The environment variables of the process.

    """

    python: str
    request: Mapping[str, Any]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that a process did.

    Attributes:
        child: The process.
        kind: ``frames`` arrived, the channel is ``garbled``, or the process has ``ended``.
        when: ``time.monotonic()`` at that moment.
        frames: For ``frames``: at least one.
        reason: For ``garbled``: what it holds.
        status: For ``ended``: the exit status, or minus the number of the signal.

    """

    child: Child
    kind: Literal["frames", "garbled", "ended"]
    when: float
    frames: Sequence[Frame] = ()
    reason: str = ""
    status: int = 0


class Child:
    """A running process. What it does arrives in a queue, as ``Event``; nothing here blocks but ``kill``.

    Three threads serve it, because pipes cannot be polled everywhere: one reads answers, one writes requests,
    one takes in the output.
    """

    def __init__(self, launch: Launch, events: SimpleQueue[Event], outputs: Sequence[Capture]) -> None:
        """Start the process.

        Raises:
            InvalidArgument: The interpreter cannot be started.

        """
        self.pid: int | None = None
        self._born: bytes | None = None
        self.capture = Capture()
        self._events = events
        self._captures = [self.capture, *outputs]
        token = os.urandom(TOKEN_SIZE)
        self._reader = FrameReader(token)
        try:
            self._process = subprocess.Popen(
                [launch.python, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                bufsize=0, env=dict(launch.environment), start_new_session=True)
        except OSError as error:
            raise InvalidArgument("--python", launch.python, "the path of a Python interpreter",
                                  hint=error.strerror or str(error)) from None
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self.send({**launch.request, "token": token.hex()})
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        self._threads = [threading.Thread(target=run, args=(pipe,), daemon=True, name=f"posvec-{name}")
                         for name, run, pipe in zip(("write", "read", "output"),
                                                    (self._write, self._read, self._drain), pipes, strict=True)]
        for thread in self._threads:
            thread.start()

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request; it waits in a queue until the process reads it."""
        text = json.dumps(request, separators=(",", ":")).encode()
        self._requests.put(struct.pack("<I", len(text)) + text)

    def identify(self, pid: int) -> None:
        """Note in which process the target runs, told before the target is loaded."""
        self.pid, self._born = pid, _born(pid)

    def kill(self, *, show_where: bool = False) -> None:
        """End the process and all that it started, and take in what it still wrote.

        With ``show_where`` the stack of the target's main thread is written to the output first.
        """
        if sys.platform == "win32":
            if self._process.poll() is None:
                subprocess.run(["taskkill", "/F", "/T", "/PID", str(self._process.pid)], check=False,  # noqa: S607
                               capture_output=True)
                self._process.kill()
        else:
            self._process.send_signal(signal.SIGUSR1 if show_where else signal.SIGTERM)
            if not self._ends_within(_PATIENCE):
                self._kill_hard()
        self._requests.put(None)
        self._ends_within(_PATIENCE)
        for thread in self._threads:
            thread.join(_PATIENCE)

    @property
    def orderly(self) -> bool:
        """Whether the supervisor, which kills what is left over, ended of its own accord."""
        return self._process.returncode not in (None, -getattr(signal, "SIGKILL", 9))

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        # A supervisor ends after the target. If it was killed itself, the target may still be there.
        return self.orderly or self.pid is None or self._born is None or _born(self.pid) != self._born

    def _kill_hard(self) -> None:
        if sys.platform != "win32":
            for pid in (self.pid, self._process.pid):
                if pid is not None:
                    for kill in (os.killpg, os.kill):
                        with contextlib.suppress(OSError):
                            kill(pid, signal.SIGKILL)

    def resident_bytes(self) -> int | None:
        """Return the resident size of the target's process, or None where it cannot be told."""
        return None if self.pid is None else resident_bytes(self.pid)

    def _write(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError), pipe:
            while (request := self._requests.get()) is not None:
                view = memoryview(request)
                while view:
                    view = view[pipe.write(view):]

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            try:
                while data := os.read(pipe.fileno(), 2**18):
                    frames = self._reader.feed(data)
                    if frames:
                        self._events.put(Event(child=self, kind="frames", when=time.monotonic(), frames=frames))
            except Garbled as error:
                self._events.put(Event(child=self, kind="garbled", when=time.monotonic(), reason=str(error)))
                return
        status = self._process.wait()
        self._requests.put(None)
        self._events.put(Event(child=self, kind="ended", when=time.monotonic(), status=status))

    def _drain(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := os.read(pipe.fileno(), 2**16):
                for capture in self._captures:
                    capture.feed(data)


def _born(pid: int) -> bytes | None:
    """Return when a process that still runs was started, so that it is not taken for another of the same number."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else rest[18]


def resident_bytes(pid: int) -> int | None:
    """Return the resident size of a process: /proc on Linux, ``ps`` elsewhere, None on Windows or if it is gone."""
    if sys.platform == "linux":
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - a third of the time of Path.read_bytes
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            return None
    if sys.platform == "win32":
        return None
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], check=False, capture_output=True)  # noqa: S607
    return int(done.stdout) * 1024 if done.stdout.strip().isdigit() else None


def kill_marked(marker: str) -> int:
    """Kill every process whose environment holds ``marker``; return how many there were (Linux only).

    For what is left when a supervisor was itself killed: the marker is a variable that only the processes of
    one session were given.
    """
    if sys.platform != "linux":
        return 0
    sought = marker.encode()
    found = 0
    for _ in range(100):
        seen = 0
        for entry in os.listdir("/proc"):  # noqa: PTH208 - thousands of names, no need for paths
            if entry.isdigit() and int(entry) != os.getpid():
                try:
                    with open(f"/proc/{entry}/environ", "rb") as file:  # noqa: PTH123
                        if sought in file.read().split(b"\0"):
                            os.kill(int(entry), signal.SIGKILL)
                            seen += 1
                except OSError:
                    continue
        found += seen
        if not seen:
            break
        time.sleep(0.01)
    return found
