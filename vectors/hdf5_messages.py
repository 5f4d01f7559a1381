"""The messages of an HDF5 object header, version 1, that posvec's own files have; every other one is refused."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

DATASPACE: Final = 0x0001
DATATYPE: Final = 0x0003
LAYOUT: Final = 0x0008
FILTERS: Final = 0x000B
ATTRIBUTE: Final = 0x000C
CONTINUATION: Final = 0x0010
SYMBOL_TABLE: Final = 0x0011
# Nothing, and both forms of a fill value: what is read was written whole.
IGNORED: Final = frozenset({0x0000, 0x0004, 0x0005})
UNDEFINED: Final = 2**64 - 1

_SHARED = 0x02
_MOST_DIMENSIONS = 32
_LARGEST_TEXT = 64 * 1024 * 1024
_FIXED, _FLOAT, _STRING, _VARIABLE = 0, 1, 3, 9
# IEEE 754 binary32 and binary64, little endian, as the format describes them.
_FLOATS: Final[dict[tuple[int, bytes, bytes], np.dtype[Any]]] = {
    (4, bytes((0x20, 31, 0)), struct.pack("<HHBBBBI", 0, 32, 23, 8, 0, 23, 127)): np.dtype("<f4"),
    (8, bytes((0x20, 63, 0)), struct.pack("<HHBBBBI", 0, 64, 52, 11, 0, 52, 1023)): np.dtype("<f8"),
}


class NotPlain(ValueError):
    """A file that is damaged, or holds what posvec does not write and does not follow."""


class Message(NamedTuple):
    """One message: what it is about, and its bytes."""

    kind: int
    body: bytes


class Layout(NamedTuple):
    """Where data lies: in one piece of ``size`` bytes (``chunk`` None), or in chunks of elements of ``size`` bytes."""

    address: int
    size: int
    chunk: tuple[int, ...] | None


class Filter(NamedTuple):
    """One filter of a pipeline: ``undo(stored, size, itemsize)`` returns what was filtered, at most ``size`` bytes."""

    undo: Callable[[bytes, int, int], bytes]


Filters = tuple[Filter, ...]


def messages(block: bytes, what: str) -> Iterator[Message]:
    """Yield the messages in one block of an object header."""
    at = 0
    while at + 8 <= len(block):
        kind, size, flags = struct.unpack_from("<HHB", block, at)
        at += 8
        if at + size > len(block) or (flags & _SHARED and kind not in IGNORED):
            raise NotPlain(f"{what} has a damaged or shared header message")
        yield Message(kind, block[at : at + size])
        at += size


def dataspace(body: bytes, what: str) -> tuple[int, ...]:
    """Return the shape that a dataspace message declares."""
    version, rank, flags, kind = _unpack("<BBBB", body, 0, what)
    if version == 1 and flags in (0, 1):
        start = 8
    elif version == 2 and flags in (0, 1) and kind == bool(rank):
        start = 4
    else:
        raise NotPlain(f"{what} has no simple dataspace")
    if rank > _MOST_DIMENSIONS:
        raise NotPlain(f"{what} has {rank} dimensions")
    return _unpack(f"<{rank}Q", body, start, what)


def datatype(body: bytes, what: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a datatype message: a little-endian integer or float, or bytes of fixed length."""
    head, b0, b1, b2, size = _unpack("<BBBBI", body, 0, what)
    kind, version = head & 15, head >> 4
    if version != 1:
        raise NotPlain(f"{what} has a datatype of version {version}")
    if kind == _FIXED and size in (1, 2, 4, 8) and b0 in (0, 8) and not b1 and not b2:
        if _unpack("<HH", body, 8, what) == (0, 8 * size):
            return np.dtype(f"<{'i' if b0 else 'u'}{size}")
    elif kind == _FLOAT:
        found = _FLOATS.get((size, bytes((b0, b1, b2)), body[8:20]))
        if found is not None:
            return found
    elif kind == _STRING and 0 < size <= _LARGEST_TEXT:
        return np.dtype(f"S{size}")
    raise NotPlain(f"{what} has a datatype of class {kind} and {size} bytes, which posvec does not use")


def layout(body: bytes, what: str) -> Layout:
    """Return where the data of a dataset lies."""
    version, kind = _unpack("<BB", body, 0, what)
    if version == 3 and kind == 1:
        address, size = _unpack("<QQ", body, 2, what)
        return Layout(address, size, None)
    if version == 3 and kind == 2:
        (count,) = _unpack("<B", body, 2, what)
        (address,) = _unpack("<Q", body, 3, what)
        if not 2 <= count <= _MOST_DIMENSIONS + 1:
            raise NotPlain(f"{what} has chunks of {count - 1} dimensions")
        *chunk, size = _unpack(f"<{count}I", body, 11, what)
        return Layout(address, size, tuple(chunk))
    raise NotPlain(f"{what} keeps its data elsewhere or in an unusual layout")


def filters(body: bytes, what: str) -> Filters:
    """Return the filters of a pipeline, in the order in which they were applied."""
    version, count = _unpack("<BB", body, 0, what)
    if version != 1 or not 0 < count <= len(_FILTERS):
        raise NotPlain(f"{what} has an unusual filter pipeline")
    found: list[Filter] = []
    at = 8
    for _ in range(count):
        number, name_size, _, values = _unpack("<HHHH", body, at, what)
        known = _FILTERS.get(number)
        if known is None or known in found:
            raise NotPlain(f"{what} has a filter that posvec does not use, number {number}")
        found.append(known)
        at += 8 + (name_size + 7) // 8 * 8 + 4 * (values + values % 2)
    return tuple(found)


def attribute(body: bytes, what: str) -> tuple[str, int | tuple[int, int, int]]:
    """Return the name of a scalar attribute and its integer, or length, address and index of its text in a heap."""
    version, flags, name_size, type_size, space_size = _unpack("<BBHHH", body, 0, what)
    at = 8
    if version == 3 and not flags:
        at, align = 9, 1
    elif version == 1:
        align = 8
    else:
        raise NotPlain(f"{what} has an attribute of version {version}")
    parts: list[bytes] = []
    for size in (name_size, type_size, space_size):
        parts.append(body[at : at + size])
        at += -(-size // align) * align
    name, kind, space = parts
    try:
        text = name.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError:
        raise NotPlain(f"{what} has an attribute whose name is no text") from None
    if not text.isidentifier() or dataspace(space, what) != ():
        raise NotPlain(f"{what} has an attribute that is not one value")
    if kind[:1] and kind[0] & 15 == _VARIABLE:
        # Bit 0 of the class bits: a string, not a sequence.
        if kind[1] & 15 != 1:
            raise NotPlain(f"{what} has an attribute {text} that is no text")
        size, address, index = _unpack("<IQI", body, at, what)
        return text, (size, address, index)
    dtype = datatype(kind, what)
    if dtype.kind not in "iu" or at + dtype.itemsize > len(body):
        raise NotPlain(f"{what} has an attribute {text} that is neither text nor integer")
    return text, int(np.frombuffer(body, dtype, 1, at)[0])


def _unpack(form: str, body: bytes, at: int, what: str) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, body, at)
    except struct.error:
        raise NotPlain(f"{what} has a header message that is too short") from None


def _inflate(data: bytes, size: int, itemsize: int) -> bytes:  # noqa: ARG001 - every filter is called alike
    """Undo gzip; what would grow beyond what is wanted is not unpacked."""
    stream = zlib.decompressobj()
    try:
        unpacked = stream.decompress(data, size + 1)
    except zlib.error as error:
        raise NotPlain(f"its compressed data is damaged ({error})") from None
    if len(unpacked) > size or not stream.eof:
        raise NotPlain("its compressed data is damaged (it has not the size that it should have)")
    return unpacked


def _unshuffle(data: bytes, size: int, itemsize: int) -> bytes:  # noqa: ARG001
    """Undo shuffle, which puts first all first bytes of the elements, then all second bytes, and so on."""
    whole = len(data) // itemsize * itemsize
    return np.frombuffer(data, np.uint8, whole).reshape(itemsize, -1).T.tobytes() + data[whole:]


def _drop_checksum(data: bytes, size: int, itemsize: int) -> bytes:  # noqa: ARG001
    """Drop fletcher32's checksum: the SHA-256 that is checked before use covers more than it."""
    return data[:-4]


# Numbers of the filters: https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html, filter pipeline message
_FILTERS: Final = {1: Filter(_inflate), 2: Filter(_unshuffle), 3: Filter(_drop_checksum)}
