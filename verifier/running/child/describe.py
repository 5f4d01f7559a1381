"""What a target returned or raised, described without asking the objects themselves."""

from __future__ import annotations

import builtins
import os
import sys
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Functions below look names up here, not in the builtins that a target can replace.
globals()["__builtins__"] = dict(vars(builtins))

MAX_DATA = 64 * 2**20
MAX_DETAIL = 16 * 1024
MAX_FRAMES = 60
MAX_ELEMENTS = 2**20
MAX_NAMES = 200

_HERE = os.path.dirname(os.path.abspath(__file__))
_TracebackException = traceback.TracebackException
_modules = sys.modules
_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__
_name_of = type.__dict__["__name__"].__get__
_qualname_of = type.__dict__["__qualname__"].__get__
_module_of = type.__dict__["__module__"].__get__
_method_descriptor = type(str.upper)


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
    """Say whether a traceback's file is of this package or the import machinery."""
    return filename[: len(_HERE)] == _HERE or filename[:9] == "<frozen i"
