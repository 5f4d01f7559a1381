"""Serves requests until there are no more."""

from __future__ import annotations

import _signal
import builtins
import faulthandler
import os
import sys

from .calling import Caller, Watch
from .channel import Channel
from .environment import safe_environment
from .loading import Unavailable, load
from .supervisor import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Functions below look names up here, not in the builtins that a target can replace.
globals()["__builtins__"] = dict(vars(builtins))

_exit = os._exit


def main(seen_path: list[str], seen_modules: set[str]) -> NoReturn:
    """Load the target that the first request names, and answer the others."""
    ready = split()
    channel = Channel(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    faulthandler.enable(2, all_threads=False)
    if hasattr(faulthandler, "register"):
        faulthandler.register(_signal.SIGUSR2, 2, all_threads=False)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # Both go to one pipe: line by line, so that they stay in order and a crash loses nothing.
            stream.reconfigure(errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    request = channel.receive()
    channel.token = bytes.fromhex(request["token"])

    def wait() -> None:
        if ready is not None:
            os.read(ready, 1)
            os.close(ready)

    if "program" in request:
        from . import program  # not loaded beside a target: it is not written for one

        program.start(channel, request, wait)
    channel.send({"op": "hello", "pid": channel.pid})
    wait()
    watch = Watch(request["watch"])
    try:
        function = load(request, seen_path, seen_modules)
    except Unavailable as error:
        channel.send({"op": "unavailable", "reason": error.reason, **error.fields})
        _exit(0)
    channel.send({"op": "ready", "environment": safe_environment(False)})
    serve(channel, Caller(channel, function, watch))


def serve(channel: Channel, caller: Caller) -> NoReturn:
    """Answer requests for ever; the channel's end ends the process."""
    while True:
        request = channel.receive()
        op = request["op"]
        if op == "run":
            for tag, args, how in request["cases"]:
                caller.call(tag, args, how)
        elif op == "behave":
            caller.behave(request["cases"])
        elif op == "environment":
            channel.send({"op": "environment", "environment": safe_environment(True)})
