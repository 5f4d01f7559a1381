"""What runs in the target's interpreter: it loads the target, calls it and sends back what it returned.

One file, standard library only, Python 3.8 or later; posvec need not be installed there. It is started as a
script, and speaks only to the process that started it (``posvec.verifier.running.process``):

* requests come on the original standard input: ``<length: u32 little endian> <JSON>``;
* answers go to the original standard output: ``<token: 16 bytes> <header length: u32> <data length: u32>
  <JSON header> <raw data>``. The token is sent in the first request and is in every answer, so that a target
  which writes to descriptors at random is noticed and not believed.

Before the target loads, both are moved to private descriptors; descriptor 0 then reads nothing, 1 and 2 are
the captured output. On POSIX two processes share this file: a supervisor, which only waits and kills what the
target left behind, and its child, in which the target runs.

All of this code is written for a hostile guest in its own process: functions it needs are bound before the
target loads, names resolve in private builtins, and methods of returned objects are never called unless their
class is NumPy's, Torch's or JAX's own.
"""

# One file for Python 3.8 and later that imports as little as it can, and whose names stay private: hence no
# pathlib, contextlib or zip(strict=True), and printf formats, which need no method that a target can replace.
# ruff: noqa: PTH100, PTH109, PTH119, PTH120, PTH123, PTH208, SIM102, SIM105, UP031, B905, C419, S110, S112

from __future__ import annotations

import builtins
import os
import sys

# The directory of this file is not part of what a target sees.
_HERE = os.path.dirname(os.path.abspath(__file__))
if sys.path and os.path.abspath(sys.path[0] or ".") == _HERE:
    del sys.path[0]
_SEEN_PATH = list(sys.path)
_SEEN_MODULES = set(sys.modules)
# PYTHONPATH may name the target's own directory, with a random.py or json.py in it: those are the target's.
_FOREIGN = {os.path.abspath(_entry) for _entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
sys.path[:] = [_entry for _entry in sys.path if os.path.abspath(_entry or ".") not in _FOREIGN]

import _signal  # noqa: E402
import faulthandler  # noqa: E402
import gc  # noqa: E402
import json.decoder  # noqa: E402
import json.encoder  # noqa: E402
import struct  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402
from _frozen_importlib import module_from_spec  # noqa: E402
from _frozen_importlib_external import SourceFileLoader, spec_from_file_location  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

MAX_DATA = 64 * 2**20
MAX_DETAIL = 16 * 1024
MAX_FRAMES = 60
MAX_ELEMENTS = 2**20
MAX_NAMES = 200
MAX_VALUE = 2000
MAX_NOTES = 20

# Functions below look names up here, not in the builtins that a target can replace.
globals()["__builtins__"] = dict(vars(builtins))

_read, _write, _exit, _getpid = os.read, os.write, os._exit, os.getpid
_pack, _unpack = struct.pack, struct.unpack
_clock = time.perf_counter
_scan: Callable[[str, int], tuple[Any, int]] = vars(json.decoder.JSONDecoder())["scan_once"]
_quote = json.encoder.encode_basestring_ascii
_TracebackException = traceback.TracebackException
_collect = gc.collect
_modules = sys.modules
_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__
_name_of = type.__dict__["__name__"].__get__
_qualname_of = type.__dict__["__qualname__"].__get__
_module_of = type.__dict__["__module__"].__get__
_method_descriptor = type(str.upper)
_INFINITE = (float("inf"), float("-inf"))


class Channel:
    """The two private descriptors and the token."""

    def __init__(self, requests: int, answers: int) -> None:
        self.requests, self.answers = requests, answers
        self.token = b""
        self.pid = _getpid()

    def receive(self) -> Any:
        """Return the next request; end the process when there will be none."""
        size = _unpack("<I", self._exactly(4))[0]
        return _scan(self._exactly(size).decode("utf-8"), 0)[0]

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = _read(self.requests, min(size, 2**20))
            if not part:
                _exit(0)
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, header: dict[str, Any], data: bytes = b"") -> None:
        """Write one answer."""
        if _getpid() != self.pid:
            _exit(0)  # a fork of the target came back from the call as well: there is one answer, not two
        text = dumps(header).encode("ascii")
        frame = self.token + _pack("<II", len(text), len(data)) + text + data
        try:
            done = _write(self.answers, frame)
            while done < len(frame):
                done += _write(self.answers, frame[done : done + 2**20])
        except OSError:
            _exit(70)


def dumps(value: Any) -> str:
    """Return ``value`` as JSON in ASCII. The json module's own writer would use what a target can replace."""
    kind = type(value)
    if kind is str:
        return _quote(value)
    if kind is int:
        return int.__repr__(value)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is float:
        return float.__repr__(value) if value == value and value not in _INFINITE else "null"
    if kind is dict:
        return "{" + ",".join([_quote(key) + ":" + dumps(item) for key, item in dict.items(value)]) + "}"
    return "[" + ",".join([dumps(item) for item in value]) + "]"


# --- Types, without asking the objects ---------------------------------------------------------------------


def type_name(cls: type) -> str:
    """Return ``module.Qualname``; a metaclass cannot lie about it."""
    try:
        module = _module_of(cls)
    except Exception:
        module = None
    name: str = _qualname_of(cls)
    if type(module) is not str or module == "builtins":
        return name[:MAX_NAMES]
    return (module + "." + name)[:MAX_NAMES]


_KINDS: dict[int, tuple[type, str, Any]] = {}


def kind_of(cls: type) -> tuple[type, str, Any]:
    """Return the class, ``ndarray``, ``generic``, ``torch``, ``jax`` or ``other``, and what that is known by.

    Kept by identity: a metaclass may define ``__hash__`` and ``__eq__``.
    """
    known = _KINDS.get(id(cls))
    if known is None:
        known = _KINDS[id(cls)] = (cls, *_classify(cls))
    return known


def _classify(cls: type) -> tuple[str, Any]:
    for base in _mro_of(cls):
        try:
            module = _module_of(base)
        except Exception:
            continue
        name = _name_of(base)
        if type(module) is not str:
            continue
        if module == "numpy" and name in ("ndarray", "generic"):
            methods = _dict_of(base)
            # A class of that name written in Python is somebody's imitation.
            if type(methods.get("tobytes")) is _method_descriptor:
                return name, methods
        elif module == "torch" and name == "Tensor":
            return "torch", base
        elif name == "ArrayImpl" and module.split(".")[0] in ("jax", "jaxlib"):
            return "jax", base
    return "other", None


# --- What was returned -------------------------------------------------------------------------------------


def describe(value: Any) -> tuple[dict[str, Any], bytes]:
    """Return the header fields and the data of whatever a target returned."""
    cls, kind, base = kind_of(type(value))
    if kind == "ndarray":
        return describe_ndarray(value, base, type_name(cls))
    if kind == "generic":
        dtype = base["dtype"].__get__(value)
        return _array(type_name(cls), dtype, (), "C", lambda: base["tobytes"](value))
    if kind == "torch":
        return describe_torch(value, base, type_name(cls))
    if kind == "jax":
        return describe_jax(value)
    return describe_other(value, cls), b""


def describe_ndarray(value: Any, methods: Any, name: str) -> tuple[dict[str, Any], bytes]:
    """Describe a NumPy array through the methods of ``numpy.ndarray``, whatever a subclass defines."""
    flags = methods["flags"].__get__(value)
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "strided"
    shape = methods["shape"].__get__(value)
    return _array(name, methods["dtype"].__get__(value), shape, order, lambda: methods["tobytes"](value, "C"))


def _array(
    name: str, dtype: Any, shape: tuple[int, ...], order: str, to_bytes: Callable[[], bytes]
) -> tuple[dict[str, Any], bytes]:
    header: dict[str, Any] = {"k": "array", "t": name, "d": dtype.str, "s": shape, "o": order, "b": False}
    size = dtype.itemsize
    for length in shape:
        size *= length
    if dtype.isbuiltin == 2:
        header["d"] = str(dtype.name)  # bfloat16 and other types that NumPy itself has no letter for
    if dtype.hasobject or dtype.names is not None or dtype.kind not in "biufcSUmMV":
        header["x"] = "dtype " + str(dtype)[:MAX_NAMES] + " has no plain bytes"
        return header, b""
    if size > MAX_DATA:
        header["x"] = "%d bytes, more than the %d that are read" % (size, MAX_DATA)
        return header, b""
    header["b"] = True
    return header, to_bytes()


def describe_torch(value: Any, base: Any, name: str) -> tuple[dict[str, Any], bytes]:
    """Describe a Torch tensor: detached, on the CPU, in content order."""
    torch = _modules["torch"]
    tensor = base.detach(value)
    dtype = str(tensor.dtype).rsplit(".", 1)[-1]
    shape = tuple([int(length) for length in tensor.shape])
    size = tensor.element_size()
    if tensor.layout is not torch.strided:
        return {"k": "other", "t": name, "s": shape, "x": "a sparse tensor, " + str(tensor.layout)}, b""
    total = size
    for length in shape:
        total *= length
    if total > MAX_DATA:
        return {
            "k": "array",
            "t": name,
            "d": _TORCH_DTYPES.get(dtype, dtype),
            "s": shape,
            "o": "strided",
            "b": False,
            "x": "%d bytes, more than the %d that are read" % (total, MAX_DATA),
        }, b""
    tensor = tensor.cpu().resolve_conj().resolve_neg()
    known = dtype in _TORCH_DTYPES
    same_size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    array = (tensor if known or size not in same_size else tensor.view(same_size[size])).numpy()
    kind = kind_of(type(array))
    if kind[1] != "ndarray":
        return {"k": "other", "t": name}, b""
    header, data = describe_ndarray(array, kind[2], name)
    if not known:
        header["d"] = dtype
    return header, data


_END = "<" if sys.byteorder == "little" else ">"
_TORCH_DTYPES = {
    "float16": _END + "f2", "float32": _END + "f4", "float64": _END + "f8",
    "complex64": _END + "c8", "complex128": _END + "c16",
    "int8": "|i1", "int16": _END + "i2", "int32": _END + "i4", "int64": _END + "i8", "uint8": "|u1",
    "bool": "|b1",
}  # fmt: skip


def describe_jax(value: Any) -> tuple[dict[str, Any], bytes]:
    """Describe a JAX array once it is computed; an error inside its computation is raised here."""
    value.block_until_ready()
    dtype, shape = value.dtype, tuple([int(length) for length in value.shape])
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size > MAX_DATA:
        return {
            "k": "array",
            "t": "jax.Array",
            "d": dtype.str,
            "s": shape,
            "o": "C",
            "b": False,
            "x": "%d bytes, more than the %d that are read" % (size, MAX_DATA),
        }, b""
    array = type(value).__array__(value)
    kind = kind_of(type(array))
    if kind[1] != "ndarray":
        return {"k": "other", "t": "jax.Array"}, b""
    header, data = describe_ndarray(array, kind[2], "jax.Array")
    header["o"] = "C"
    return header, data


def describe_other(value: Any, cls: type) -> dict[str, Any]:
    """Say what a value is that is no array, and what lists hold. None of its own methods is called."""
    header: dict[str, Any] = {"k": "other", "t": type_name(cls)}
    if is_sequence(value):
        header["x"], header["s"] = describe_sequence(value, cls)
    elif cls is str or cls is bytes or cls is bytearray:
        header["x"] = "%s of length %d" % (cls.__name__, len(value))
    elif has_base(cls, dict):
        header["x"] = "dict of %d" % dict.__len__(value)
    elif cls is float or cls is complex or cls is bool:
        header["x"] = cls.__repr__(value)
    elif cls is int:
        header["x"] = int.__repr__(value) if -(2**64) < value < 2**64 else "a large int"
    return header


def has_base(cls: type, base: type) -> bool:
    """Say whether ``cls`` derives from ``base``, by identity: ``in`` would call a metaclass's ``__eq__``."""
    return any([known is base for known in _mro_of(cls)])


def is_sequence(value: Any) -> bool:
    """Say whether ``value`` is a list or tuple, or of a class derived from them."""
    return has_base(type(value), list) or has_base(type(value), tuple)


def _items(value: Any) -> list[Any]:
    return list(list.__iter__(value) if has_base(type(value), list) else tuple.__iter__(value))


def _length(value: Any) -> int:
    return list.__len__(value) if has_base(type(value), list) else tuple.__len__(value)


def describe_sequence(value: Any, cls: type) -> tuple[str, list[int] | None]:
    """Return such as ``list of 3 list of 4 float`` and, where the nesting is regular, its shape."""
    words = type_name(cls)
    shape: list[int] = []
    level = [value]
    while True:
        lengths = [_length(item) for item in level]
        if min(lengths) != max(lengths):
            return words + " of unequal lengths, %d to %d" % (min(lengths), max(lengths)), None
        shape.append(lengths[0])
        total = lengths[0] * len(level)
        if total > MAX_ELEMENTS or len(shape) > 16:
            return words + " of %d" % lengths[0] + (" and more" if len(shape) > 16 else ""), None
        level = [item for part in level for item in _items(part)]
        names: list[str] = []
        for item in level:
            name = type_name(type(item))
            if name not in names:
                names.append(name)
                if len(names) > 4:
                    break
        inside = " or ".join(names[:4]) + (" or others" if len(names) > 4 else "")
        words += " of %d%s" % (lengths[0], " " + inside if inside else "")
        nested = [is_sequence(item) for item in level]
        if not level or not any(nested):
            return words, shape
        if not all(nested):
            return words, None


def describe_raised(error: BaseException) -> dict[str, Any]:
    """Describe an exception: its type, and the traceback without the frames of this file."""
    name = type_name(type(error))
    try:
        text = format_exception(error)
    except BaseException as second:
        text = name + ": its traceback could not be made: " + type_name(type(second))
    return {"k": "raised", "t": name, "x": text}


def format_exception(error: BaseException) -> str:
    """Return the traceback of ``error`` from the target's first frame on, not much over ``MAX_DETAIL``."""
    trace = error.__traceback__
    while trace is not None and is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    report = _TracebackException(type(error), error, trace, limit=-MAX_FRAMES)
    text = "".join(report.format())
    if len(text) > MAX_DETAIL:
        half = MAX_DETAIL // 2
        text = text[:half] + "\n[… %d characters …]\n" % (len(text) - 2 * half) + text[-half:]
    return str.__str__(text)


def is_ours(filename: str) -> bool:
    """Say whether a traceback's file is this one or the import machinery."""
    return filename == __file__ or filename[:9] == "<frozen i"


# --- Loading -----------------------------------------------------------------------------------------------


class Unavailable(Exception):
    """The target could not be loaded: ``reason`` and what the parent needs to explain it."""

    def __init__(self, reason: str, **fields: Any) -> None:
        super().__init__(reason)
        self.reason, self.fields = reason, fields


def load(request: dict[str, Any]) -> Callable[..., Any]:
    """Import the target with its directory first on the path, as ``python file.py`` has it."""
    path = request["path"]
    sys.path[:] = _SEEN_PATH
    for name in set(_modules) - _SEEN_MODULES:
        # What this file imported is its own: the target imports its own copies, or what lies beside it.
        origin = getattr(_modules[name], "__file__", None)
        if origin is not None and origin.endswith(".py") and not name.startswith("encodings"):
            del _modules[name]
    _modules["__main__"] = type(sys)("__main__")
    try:
        module = load_module(request["module"]) if path is None else load_file(path)
    except Unavailable:
        raise
    except BaseException as error:
        fields = describe_raised(error)
        reason = "syntax" if isinstance(error, SyntaxError) and error.filename == path else "raised"
        raise Unavailable(reason, type=fields["t"], detail=fields["x"]) from None
    return find(module, request["attribute"])


def load_file(path: str) -> Any:
    """Run the file as a module. Its source is compiled afresh: a stale ``__pycache__`` proves nothing."""
    path = os.path.abspath(path)
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    sys.argv[:] = [path]
    name = os.path.basename(path)[:-3]
    if name in _modules:
        name = "posvec_target_" + name
    loader = SourceFileLoader(name, path)
    spec: Any = spec_from_file_location(name, path, loader=loader)
    module = module_from_spec(spec)
    _modules[name] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)  # noqa: S102 - running the target is what this file is for
    return _modules.get(name, module)


def load_module(name: str) -> Any:
    """Import a module by name, with the current directory first on the path as ``python -m`` has it."""
    sys.path.insert(0, os.getcwd())
    sys.argv[:] = [name]
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        missing = error.name
        if type(missing) is str and (name + ".").startswith(missing + "."):
            raise Unavailable("no-module", missing=missing, detail=format_exception(error)) from None
        raise
    return _modules[name]


def find(module: Any, attribute: str) -> Callable[..., Any]:
    """Return the callable of that (dotted) name."""
    value = module
    for part in attribute.split("."):
        owner = value
        try:
            value = getattr(owner, part)
        except AttributeError:
            raise Unavailable("no-attribute", missing=part, names=callables(owner, module)) from None
        except BaseException as error:
            fields = describe_raised(error)
            raise Unavailable("raised", type=fields["t"], detail=fields["x"]) from None
    if not callable(value):
        raise Unavailable("not-callable", type=type_name(type(value)), names=callables(owner, module))
    return value  # type: ignore[no-any-return]


def callables(owner: Any, module: Any) -> list[str]:
    """Return the names of the functions and classes that the target itself defines."""
    names = []
    try:
        own = getattr(module, "__name__", None)
        for name, value in list(vars(owner).items()):
            if type(name) is str and name[:1] != "_" and callable(value):
                if getattr(value, "__module__", own) == own:
                    names.append(name[:MAX_NAMES])
    except Exception:
        return names
    return sorted(names)[:50]


# --- Calling -----------------------------------------------------------------------------------------------


class NotRun(Exception):
    """A case whose arguments cannot be made in this interpreter."""


def coerce(args: Sequence[Any], how: str | None) -> Sequence[Any]:
    """Return the arguments as the case wants them: as they are, or as str, float or NumPy integers."""
    if how is None:
        return args
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
        if type(origin) is str and origin.startswith(os.path.dirname(os.path.dirname(_HERE)) + os.sep):
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
        start = _clock()
        try:
            result = self.function(*coerce(args, how))
            header, data = describe(result)
        except NotRun as error:
            header = {"k": "not-run", "x": str(error)}
        except BaseException as error:
            header = describe_raised(error)
        header["e"] = _clock() - start
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


def environment(with_device: bool) -> dict[str, Any]:
    """Return what the target runs on. Libraries are named only if the target has loaded them.

    The device is asked for only where calls were made already: asking starts JAX's backend, after which a
    target can no longer choose one.
    """
    found: dict[str, Any] = {
        "python": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "platform": sys.platform,
        "executable": sys.executable,
    }
    try:
        found["machine"] = os.uname().machine
    except AttributeError:
        found["machine"] = os.environ.get("PROCESSOR_ARCHITECTURE", "")
    for name in ("jax", "jaxlib", "flax", "numpy", "torch"):
        version = getattr(_modules.get(name), "__version__", None)
        if has_base(type(version), str):
            found[name] = str.__str__(version)
    for name in sorted(os.environ):
        if name == "XLA_FLAGS" or name.startswith("JAX_"):
            found[name] = os.environ[name][:MAX_VALUE]
    jax = _modules.get("jax")
    config = getattr(jax, "config", None)
    for name in (
        "jax_enable_x64",
        "jax_threefry_partitionable",
        "jax_default_prng_impl",
        "jax_random_seed_offset",
        "jax_default_matmul_precision",
        "jax_disable_jit",
        "jax_numpy_dtype_promotion",
    ):
        value = getattr(config, name, None)
        if type(value) is bool or type(value) is str:
            found[name] = value
        elif type(value) is int:
            found[name] = str(value)
    if jax is not None and with_device:
        found["jax_backend"] = str(jax.default_backend())
        found["jax_device"] = str(getattr(jax.devices()[0], "device_kind", ""))
    return found


def safe_environment(with_device: bool) -> dict[str, Any]:
    """Return the environment, or why it could not be told: a target may have replaced anything."""
    try:
        return environment(with_device)
    except BaseException as error:
        return {"problem": type_name(type(error))}


# --- The two processes -------------------------------------------------------------------------------------


def supervise(pid: int, ready: int) -> NoReturn:
    """Wait for the target's process, then kill whatever it left behind, and end the same way.

    SIGTERM asks for the end; SIGUSR1 asks first for the place where the target hangs. On Linux this process
    adopts orphans, so that a daemon of the target is found here too.
    """
    for number in (_signal.SIGINT, _signal.SIGHUP, _signal.SIGUSR2, _signal.SIGQUIT):
        _signal.signal(number, _signal.SIG_IGN)
    if not hasattr(_signal, "sigtimedwait"):
        _signal.setitimer(_signal.ITIMER_REAL, 1.0, 1.0)  # macOS: the second after which to look up
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    os.open(os.devnull, os.O_RDWR)
    os.dup2(0, 1)
    os.dup2(0, 2)
    adopts = adopt_orphans()
    os.write(ready, b"+")
    os.close(ready)
    parent = os.getppid()
    status = None
    while status is None:
        number = wait_signal()
        if number == _signal.SIGUSR1:
            os.kill(pid, _signal.SIGUSR2)  # faulthandler writes the stack to the captured output
            time.sleep(0.03)
        if number in (_signal.SIGTERM, _signal.SIGUSR1) or os.getppid() != parent:
            kill_group(pid)
        status = reap(pid)
    kill_group(pid)
    if adopts:
        sweep()
    if os.getppid() != parent:
        remove_scratch()
    end_like(status)


def remove_scratch() -> None:
    """Delete the folder for temporary files in place of the parent, which was killed and cannot."""
    scratch = os.environ.get("TMPDIR", "")
    if os.path.basename(scratch)[:7] == "posvec-":
        import shutil

        shutil.rmtree(scratch, ignore_errors=True)


def adopt_orphans() -> bool:
    """Become the process that orphans below this one are handed to (Linux, PR_SET_CHILD_SUBREAPER)."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0)
    except Exception:
        return False


def wait_signal() -> int:
    """Return the next signal that matters, or 0 after a second: the parent may have died without a word."""
    watched = [_signal.SIGCHLD, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGALRM]
    if hasattr(_signal, "sigtimedwait"):
        info = _signal.sigtimedwait(watched, 1.0)
        return 0 if info is None else info.si_signo
    return int(_signal.sigwait(watched))


def reap(pid: int) -> int | None:
    """Collect every child that has ended; return the status of ``pid`` if it is one of them."""
    found = None
    while True:
        try:
            done, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0 if found is None else found
        if done == pid:
            found = status
        if done == 0:
            return found


def kill_group(pid: int) -> None:
    """Kill a process and its group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, _signal.SIGKILL)
        except OSError:
            pass


def sweep() -> None:
    """Kill all that is left below this process; new ones may appear while that is done."""
    for _ in range(400):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, _signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.005)


def descendants(root: int) -> list[int]:
    """Return the processes below ``root``, from /proc."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat", "rb") as file:
                    below.setdefault(int(file.read().rsplit(b")", 1)[1].split()[1]), []).append(int(name))
            except (OSError, IndexError, ValueError):
                pass
    found = []
    todo = [root]
    while todo:
        for pid in below.get(todo.pop(), ()):
            found.append(pid)
            todo.append(pid)
    return found


def end_like(status: int) -> NoReturn:
    """End with the exit status or the signal of the process that was waited for."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if number not in (_signal.SIGKILL, _signal.SIGSTOP):
                _signal.signal(number, _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
            os.kill(os.getpid(), number)
        except Exception:
            pass
        os._exit(128 + number)
    os._exit(os.WEXITSTATUS(status))


def split() -> int | None:
    """Fork; the parent becomes the supervisor. Return the descriptor that says when it is ready."""
    if not hasattr(os, "fork"):
        return None
    watched = [_signal.SIGCHLD, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGALRM]
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, watched)
    ready, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(ready)
        supervise(pid, tell)
    os.close(tell)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    os.setsid()  # a target that signals its group reaches neither the supervisor nor posvec
    return ready


def main() -> None:
    """Serve requests until there are no more."""
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
    channel.send({"op": "hello", "pid": channel.pid})
    if ready is not None:
        os.read(ready, 1)
        os.close(ready)
    watch = Watch(request["watch"])
    try:
        function = load(request)
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


if __name__ == "__main__":
    main()
