"""The structures that an HDF5 file of the oldest form is made of: object headers, B-trees, heaps. Each is checked."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

from posvec.vectors.hdf5_messages import ATTRIBUTE, CONTINUATION, IGNORED, Message, NotPlain, attribute, messages

_LARGEST_HEADER = 1 << 20
_MOST_BLOCKS = 256
_LARGEST_HEAP = 1 << 24
_DEEPEST_TREE = 8


class Structures:
    """What is at an address of an open file. Nothing outside the file is read, and nothing twice in one walk.

    Attributes:
        size: Bytes in the file.

    Raises:
        NotPlain: From every method: the structure is damaged or not plain.
        OSError: The file cannot be read.

    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = os.fstat(stream.fileno()).st_size

    def read(self, address: int, size: int, what: str) -> bytes:
        """Return ``size`` bytes at ``address``."""
        if address + size > self.size:
            raise NotPlain(f"{what} lies outside the file")
        self._stream.seek(address)
        data = self._stream.read(size) or b""
        while len(data) < size:
            more = self._stream.read(size - len(data))
            if not more:
                raise NotPlain(f"{what} lies outside the file")
            data += more
        return data

    def messages(self, address: int, what: str) -> list[Message]:
        """Return the messages of the object header at ``address``."""
        version, size = struct.unpack("<B7xI", self.read(address, 12, what))
        if version != 1:
            raise NotPlain(f"{what} has an object header of version {version}")
        found: list[Message] = []
        blocks = [(address + 16, size)]
        seen = {address + 16}
        for start, length in blocks:  # grows while it is walked
            if sum(length for _, length in blocks) > _LARGEST_HEADER or len(blocks) > _MOST_BLOCKS:
                raise NotPlain(f"{what} has a header of more than {_LARGEST_HEADER:,} bytes")
            for message in messages(self.read(start, length, f"the header of {what}"), what):
                if message.kind == CONTINUATION:
                    where, more = struct.unpack_from("<QQ", message.body.ljust(16, b"\0"))
                    if where in seen:
                        raise NotPlain(f"{what} has a header that goes in a circle")
                    seen.add(where)
                    blocks.append((where, more))
                elif message.kind not in IGNORED:
                    found.append(message)
        return found

    def _global_heap_object(self, address: int, index: int, size: int, what: str) -> bytes:
        """Return the first ``size`` bytes of an object of a global heap."""
        signature, version, total = struct.unpack("<4sB3xQ", self.read(address, 16, what))
        if signature != b"GCOL" or version != 1 or not 16 <= total <= _LARGEST_HEAP:
            raise NotPlain(f"{what} has no heap")
        heap = self.read(address, total, what)
        at = 16
        while at + 16 <= total:
            number, length = struct.unpack_from("<HxxxxxxQ", heap, at)
            if number == 0:
                break
            if number == index:
                if length < size or at + 16 + size > total:
                    break
                return heap[at + 16 : at + 16 + size]
            at += 16 + (length + 7) // 8 * 8
        raise NotPlain(f"{what} points to nothing")

    def tree(self, address: int, kind: int, key: struct.Struct, what: str) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield the left key and the address of every child of the leaves of a version 1 B-tree, in order."""
        entry = key.size + 8
        pending, seen = [(address, _DEEPEST_TREE)], set()
        while pending:
            at, limit = pending.pop()
            if at in seen:
                raise NotPlain(f"{what} has an index that goes in a circle")
            seen.add(at)
            signature, found, level, used = struct.unpack("<4sBBH", self.read(at, 8, f"the index of {what}"))
            if signature != b"TREE" or found != kind or level >= limit:
                raise NotPlain(f"{what} has a damaged index")
            body = self.read(at + 24, used * entry, f"the index of {what}")
            children = [
                (key.unpack_from(body, start), int.from_bytes(body[start + key.size : start + entry], "little"))
                for start in range(0, len(body), entry)
            ]
            if level:
                pending += [(child, level) for _, child in reversed(children)]
            else:
                yield from children

    def attributes(self, found: list[Message], name: str) -> dict[str, str | int]:
        """Return the attributes, texts and integers, among the messages of an object."""
        attributes: dict[str, str | int] = {}
        for message in found:
            if message.kind == ATTRIBUTE:
                key, value = attribute(message.body, name)
                if key in attributes:
                    raise NotPlain(f"{name} has two attributes {key}")
                attributes[key] = value if isinstance(value, int) else self._text(*value, f"attribute {key} of {name}")
        return attributes

    def _text(self, size: int, address: int, index: int, what: str) -> str:
        try:
            return self._global_heap_object(address, index, size, what).decode("utf-8") if size else ""
        except UnicodeDecodeError:
            raise NotPlain(f"{what} is no text") from None
