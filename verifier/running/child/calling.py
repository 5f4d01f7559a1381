"""Calls the target and sends what came of it."""

from __future__ import annotations

import binascii
import builtins
import os
import sys
import time

from .describe import MAX_NAMES, describe, describe_raised, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .channel import Channel

# Functions below look names up here, not in the builtins that a target can replace.
globals()["__builtins__"] = dict(vars(builtins))

MAX_NOTES = 20

# posvec's own folder: of this file, three up.
_POSVEC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_clock = time.perf_counter
_decode = binascii.a2b_base64
_dict = dict
_modules = sys.modules


class NotRun(Exception):
    """A case whose arguments cannot be made in this interpreter."""


def coerce(args: Sequence[Any], how: str | None) -> Sequence[Any]:
    """Return the arguments as the case wants them: as they are, or as str, float or NumPy integers.

    An object is an array: a new one for each call, which the target may write to.
    """
    if how is None:
        return [array(value) if type(value) is dict else value for value in args] if _dict in map(type, args) else args
    if how == "str":
        return [str(value) for value in args]
    if how == "float":
        return [float(value) for value in args]
    try:
        import numpy

        kind = getattr(numpy, how)
        return [kind(value) for value in args]
    except BaseException as error:
        raise NotRun(
            "the arguments cannot be NumPy integers here: %s: %s" % (type_name(type(error)), str(error)[:500])
        ) from None


def wrote_to(given: Sequence[Any], args: Sequence[Any]) -> bool:
    """Say whether an array that was given no longer holds what it was made from."""
    for value, made_from in zip(given, args):
        if type(made_from) is dict:
            if describe(value)[1] != _decode(made_from["data"]):
                return True
    return False


def array(value: dict[str, Any]) -> Any:
    """Return the NumPy array that JSON values describe."""
    try:
        import numpy

        flat = numpy.frombuffer(_decode(value["data"]), numpy.dtype(value["dtype"]).newbyteorder("<"))
        return flat.reshape(value["shape"]).astype(value["dtype"])
    except BaseException as error:
        raise NotRun(
            "the arguments cannot be NumPy arrays here: %s: %s" % (type_name(type(error)), str(error)[:500])
        ) from None


class Watch:
    """Notes that a target opens a file of golden values, or imports what reads them: a note, no proof.

    HDF5 opens files itself, unseen by Python; hence the note on h5py.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.notes: list[str] = []
        self._names = {os.path.basename(path) for path in paths}
        self._paths = {os.path.realpath(path) for path in paths}
        if hasattr(sys, "addaudithook"):
            sys.addaudithook(self._hear)

    def _hear(self, event: str, args: Any) -> None:
        try:
            if event == "open":
                path = os.fsdecode(args[0]) if type(args[0]) in (str, bytes) else ""
                if path and os.path.basename(path) in self._names and os.path.realpath(path) in self._paths:
                    self._note("opens " + path)
            elif event == "import" and args[0] == "h5py":
                self._note("imports h5py")
        except Exception:
            pass

    def _note(self, text: str) -> None:
        if len(self.notes) < MAX_NOTES and text not in self.notes:
            self.notes.append(text[:MAX_NAMES])

    def take(self) -> list[str]:
        """Return the notes since the last time."""
        module = _modules.get("posvec")
        origin = getattr(module, "__file__", None)
        if type(origin) is str and origin.startswith(_POSVEC + os.sep):
            self._note("imports posvec")
        notes, self._said = self.notes[self._said :], len(self.notes)
        return notes

    _said = 0


class Caller:
    """Calls the target and sends what came of it."""

    def __init__(self, channel: Channel, function: Callable[..., Any], watch: Watch) -> None:
        self.channel, self.function, self.watch = channel, function, watch

    def call(self, tag: Any, args: Sequence[Any], how: str | None, phase: str | None = None) -> Any:
        """Call the target once; return the very object that it returned, or None if it raised."""
        result = None
        data = b""
        given: Sequence[Any] = ()
        start = _clock()
        try:
            given = coerce(args, how)
            start = _clock()
            result = self.function(*given)
            header, data = describe(result)
        except NotRun as error:
            header = {"k": "not-run", "x": str(error)}
        except BaseException as error:
            header = describe_raised(error)
        header["e"] = _clock() - start
        if phase is not None and wrote_to(given, args):
            header["w"] = True
        self._answer(tag, header, data, phase)
        return result

    def _answer(self, tag: Any, header: dict[str, Any], data: bytes, phase: str | None) -> None:
        header["i"] = tag
        notes = self.watch.take()
        if notes:
            header["n"] = notes
        if phase is not None:
            header["p"] = phase
        self.channel.send(header, data)

    def again(self, tag: Any, result: Any, phase: str) -> None:
        """Send once more what an object that was returned earlier holds now."""
        data = b""
        try:
            header, data = describe(result)
        except BaseException as error:
            header = describe_raised(error)
        self._answer(tag, header, data, phase)

    def behave(self, cases: Sequence[Sequence[Any]]) -> None:
        """Call each case twice in a row, then all in reverse order, then look at the first results again."""
        kept = []
        for tag, args, how in cases:
            kept.append(self.call(tag, args, how, "first"))
            self.call(tag, args, how, "again")
        for tag, args, how in reversed(cases):
            self.call(tag, args, how, "reverse")
        for (tag, _, _), result in zip(cases, kept):
            self.again(tag, result, "kept")
