"""One process that runs a target: started, written to, read from, watched and killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Literal

from posvec.schemas.errors import InvalidArgument
from posvec.verifier.running.capture import Capture
from posvec.verifier.running.endings import describe_garbled, describe_status
from posvec.verifier.running.frames import Frame
from posvec.verifier.running.launch import Launch

CHILD = Path(__file__).with_name("child")
MARKER = "POSVEC_PROCESS"
HAS_PROC = Path("/proc/self/statm").exists()
_CLOSING = 0.3  # seconds from the end of the output to that of the process
_PATIENCE = 1.0  # seconds that a supervisor gets to kill what a target left behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that a process did.

    Attributes:
        child: The process.
        kind: ``frames`` arrived, the channel is ``garbled``, the process has ``closed`` it and goes on, or it has
            ``ended``.
        when: ``time.monotonic()`` at that moment.
        frames: For ``frames``: at least one.
        reason: For ``garbled``: what it holds.
        status: For ``ended``: the exit status, or minus the number of the signal.

    """

    child: Child
    kind: Literal["frames", "garbled", "closed", "ended"]
    when: float
    frames: Sequence[Frame] = ()
    reason: str = ""
    status: int = 0


def describe_end(event: Event) -> str:
    """Say how a process came to its end, after an event that is one."""
    if event.kind == "garbled":
        return describe_garbled(event.reason, event.child.dialogue.blame)
    if event.kind == "closed":
        return "closed its standard output and went on"
    return describe_status(event.status)


class Child:
    """A running process. What it does arrives in a queue, as ``Event``; only ``kill`` blocks.

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
        self.dialogue = launch.dialogue()
        self._whole_tree = launch.program is not None
        # In the environment of all that this starts: finds it again if the supervisor is killed.
        self._marker = os.urandom(8).hex()
        try:
            self._process = subprocess.Popen(
                [launch.python, str(CHILD)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                cwd=launch.folder,
                env={**launch.environment, MARKER: self._marker},
            )
        except OSError as error:
            raise InvalidArgument(
                "--python", launch.python, "the path of a Python interpreter", hint=error.strerror or str(error)
            ) from None
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self.send(self.dialogue.opening())
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        self._threads = [
            threading.Thread(target=serve, args=(pipe,), daemon=True, name=f"posvec{serve.__name__}")
            for serve, pipe in zip((self._write, self._read, self._drain), pipes, strict=True)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, request: bytes) -> None:
        """Send a request; it waits in a queue until the process reads it."""
        self._requests.put(request)

    def end_input(self) -> None:
        """Close the process's input when all that was sent is read."""
        self._requests.put(None)

    def identify(self, pid: int) -> None:
        """Note in which process the target runs, told before the target is loaded."""
        self.pid, self._born = pid, _born(pid)

    def kill(self, *, show_where: bool = False) -> None:
        """End the process and all that it started, and take in what it still wrote.

        With ``show_where`` the stack of the target's main thread is written to the output first.
        """
        if sys.platform == "win32":
            if self._process.poll() is None:
                subprocess.run(
                    ["taskkill", "/F", "/T", "/PID", str(self._process.pid)],  # noqa: S607
                    check=False,
                    capture_output=True,
                )
                self._process.kill()
        else:
            self._process.send_signal(signal.SIGUSR1 if show_where else signal.SIGTERM)
            if not self._ends_within(_PATIENCE):
                self._kill_hard()
                self._ends_within(_PATIENCE)
            if self._process.returncode == -signal.SIGKILL:
                # The target's end, which a supervisor repeats, or its own, and then it killed nothing.
                kill_marked(f"{MARKER}={self._marker}")
        self._requests.put(None)
        for thread in self._threads:
            thread.join(_PATIENCE)

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        # A supervisor ends after the target, unless it is killed itself.
        return self.pid is None or self._born is None or _born(self.pid) != self._born

    def _kill_hard(self) -> None:
        if sys.platform != "win32":
            for pid in (self.pid, self._process.pid):
                if pid is not None:
                    for kill in (os.killpg, os.kill):
                        with contextlib.suppress(OSError):
                            kill(pid, signal.SIGKILL)

    def resident_bytes(self) -> int | None:
        """Return the resident size of the target's process, or None where it cannot be told.

        A program may be a script that starts another: all that it started counts.
        """
        if self.pid is None:
            return None
        return (
            sum(resident_bytes(pid) or 0 for pid in family(self.pid)) if self._whole_tree else resident_bytes(self.pid)
        )

    def _write(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError), pipe:
            while (request := self._requests.get()) is not None:
                view = memoryview(request)
                while view:
                    view = view[pipe.write(view) :]

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := os.read(pipe.fileno(), 2**18):
                if not self._pass_on(self.dialogue.feed(data)):
                    return
            if not self._pass_on(self.dialogue.end()):
                return
        try:
            status = self._process.wait(_CLOSING)
        except subprocess.TimeoutExpired:
            self._events.put(Event(child=self, kind="closed", when=time.monotonic()))
            status = self._process.wait()
        self._requests.put(None)
        self._events.put(Event(child=self, kind="ended", when=time.monotonic(), status=status))

    def _pass_on(self, frames: Sequence[Frame]) -> bool:
        """Put what arrived into the queue; return whether more may follow."""
        now = time.monotonic()
        if chatter := self.dialogue.chatter():
            self._take_in(chatter)
        if frames:
            self._events.put(Event(child=self, kind="frames", when=now, frames=frames))
        if problem := self.dialogue.problem:
            self._events.put(Event(child=self, kind="garbled", when=now, reason=problem))
        return not problem

    def _take_in(self, output: bytes) -> None:
        for capture in self._captures:
            capture.feed(output)

    def _drain(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := os.read(pipe.fileno(), 2**16):
                self._take_in(data)
                self.dialogue.overhear(data)


def _born(pid: int) -> bytes | None:
    """Return when a process that still runs was started: another may get its number."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else rest[18]


def resident_bytes(pid: int) -> int | None:
    """Return the resident size of a process, None where it is gone or cannot be asked (Windows)."""
    try:
        if HAS_PROC:
            with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - a third of the time of read_bytes
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        ask = ["ps", "-o", "rss=", "-p", str(pid)]
        return int(subprocess.run(ask, check=False, capture_output=True).stdout) * 1024
    except (OSError, IndexError, ValueError):
        return None


def family(pid: int) -> list[int]:
    """Return a process and, on Linux, all below it."""
    found, new = [pid], [pid]
    while new:
        below: list[int] = []
        for one in new:
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{one}/task"):  # noqa: PTH208
                    below += map(int, Path(f"/proc/{one}/task/{thread}/children").read_bytes().split())
        found += below
        new = below
    return found


def kill_marked(marker: str) -> int:
    """Kill every process whose environment holds ``marker``; return how many there were (Linux only).

    For what is left when a supervisor was itself killed.
    """
    if not HAS_PROC:
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
