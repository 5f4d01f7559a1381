"""Starts a program in place of a Python target: once, for the whole run, or anew for each case."""

from __future__ import annotations

import _signal
import os
import subprocess
import sys
import threading
import time

from .channel import Channel, dumps
from .describe import MAX_DATA, MAX_DETAIL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO, Any, NoReturn

_LINGER = 0.5  # seconds for what a process that has ended still has in its pipes


def start(channel: Channel, request: dict[str, Any], wait: Callable[[], None]) -> NoReturn:
    """Run the program that the first request names; for one process a case, answer the other requests.

    ``wait`` returns when the process above this one is ready. Started once, the program speaks in lines, and so
    does this, with the token in place of a program's keys.
    """
    path, argv = request["program"], request["argv"]
    if request["per_case"]:
        channel.send({"op": "hello", "pid": channel.pid})
        wait()
        channel.send({"op": "ready"})
        while True:
            for tag, words in channel.receive()["cases"]:
                call(channel, tag, path, words)
    say(channel, {"token": request["token"], "pid": channel.pid})
    wait()
    os.dup2(channel.requests, 0)
    os.dup2(channel.answers, 1)
    try:
        if hasattr(os, "fork"):
            for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and that would be inherited
                if hasattr(_signal, name):
                    _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
            os.execv(path, argv)  # noqa: S606 - running the user's own program is what this is for
        status = subprocess.call(argv, executable=path)
    except OSError as error:
        say(channel, {"token": request["token"], "exec": str(error.strerror or error)[:500]})
        os._exit(0)
    os._exit(status & 0xFF)


def say(channel: Channel, message: dict[str, Any]) -> None:
    """Write a line to posvec."""
    os.write(channel.answers, dumps(message).encode("ascii") + b"\n")


def call(channel: Channel, tag: Any, path: str, argv: Sequence[str]) -> None:
    """Run the program once; send what it wrote to standard output, its status and the end of its standard error."""
    begun = time.perf_counter()
    try:
        process = subprocess.Popen(
            argv,
            executable=path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        detail = "it could not be started: %s" % (error.strerror or error)
        channel.send({"i": tag, "k": "exited", "status": 127, "x": detail, "e": 0.0})
        return
    end = group_killer(process)
    out = Reader(process.stdout, end)
    err = Reader(process.stderr, end, echo=True)
    status = process.wait()
    end()  # what it left behind would hold the pipes open
    deadline = time.monotonic() + _LINGER
    for reader in (out, err):
        reader.thread.join(max(0.0, deadline - time.monotonic()))
    header = {
        "i": tag,
        "k": "exited",
        "status": status,
        "x": bytes(err.data[-MAX_DETAIL:]).decode("utf-8", "backslashreplace"),
        "over": out.over,
        "e": time.perf_counter() - begun,
    }
    channel.send(header, b"" if out.over else bytes(out.data))


def group_killer(process: subprocess.Popen[bytes]) -> Callable[[], None]:
    """Return what kills a process and its group."""

    def kill() -> None:
        try:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, _signal.SIGKILL)
            else:
                process.kill()
        except OSError:
            pass

    return kill


class Reader:
    """Reads a pipe to its end, in a thread; one that holds too much ends the program."""

    def __init__(self, pipe: IO[bytes] | None, kill: Callable[[], None], *, echo: bool = False) -> None:
        self.data = bytearray()
        self.over = False
        self._pipe, self._kill, self._echo = pipe, kill, echo
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        assert self._pipe is not None  # noqa: S101 - both are asked for
        try:
            while True:
                part = os.read(self._pipe.fileno(), 2**16)
                if not part:
                    break
                if self._echo:
                    os.write(2, part)
                    del self.data[:-MAX_DETAIL]
                self.data += part
                if len(self.data) > MAX_DATA:
                    self.over = True
                    self._kill()
                    del self.data[MAX_DATA:]
        except OSError as error:
            sys.stderr.write("posvec: a pipe could not be read: %s\n" % error)
        self._pipe.close()
