"""Reading the plain HDF5 files that posvec writes, without the HDF5 library, and nothing else.

A file from elsewhere may be damaged or made to harm. The HDF5 library is not safe on such files: of 4,339 golden
files with a few bytes of their structure changed, HDF5 2.0.0 crashed on 9 and hung on 5. So they are read
here instead: the small, old part of the format that posvec writes (superblock 0, groups as symbol tables, object
headers of version 1, fixed datatypes, contiguous data, or chunks along the first dimension with gzip, shuffle and
fletcher32). Everything else (links out of the file or within it, external and virtual storage, references,
committed, compound and variable-length types, other filters) is refused: nothing here knows how to follow it.

Every read lies within the file, no structure is visited twice within one walk, and every size is held against the
size of the file before memory is taken for it.

The format: https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from posvec.vectors.hdf5_dataset import Dataset
from posvec.vectors.hdf5_messages import ATTRIBUTE, SYMBOL_TABLE, NotPlain
from posvec.vectors.hdf5_structures import Structures

__all__ = ["Dataset", "Group", "NotPlain", "PlainFile"]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SUPERBLOCK = struct.Struct("<8s8BHHIQQQQ")
_ENTRY = struct.Struct("<QQII16x")
_LARGEST_HEAP = 1 << 24
_DEEPEST_GROUP = 8
_LONGEST_NAME = 255


class PlainFile:
    """An open file; :attr:`root` is its root group.

    Attributes:
        size: Bytes in the file.

    Raises:
        NotPlain: From every method: the file is damaged or not plain.
        OSError: It cannot be read.

    """

    def __init__(self, path: Path) -> None:
        self._stream = path.open("rb", buffering=0)
        try:
            structures = Structures(self._stream)
            self.size = structures.size
            self.root = Group(structures, _root_address(structures), "/")
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __getitem__(self, name: str) -> Dataset:
        return self.root.dataset(name)


class Group:
    """A group: what is in it, by name. Nothing below it is read before it is asked for."""

    def __init__(self, structures: Structures, address: int, name: str) -> None:
        self._structures, self.name = structures, name
        found = structures.messages(address, f"group {name}")
        tables = [message for message in found if message.kind == SYMBOL_TABLE]
        if len(tables) != 1 or any(message.kind not in (SYMBOL_TABLE, ATTRIBUTE) for message in found):
            raise NotPlain(f"{name} is no plain group: no link out of the file is followed")
        self.attrs = structures.attributes(found, name)
        self._members = dict(self._entries(*struct.unpack_from("<QQ", tables[0].body.ljust(16, b"\0"))))
        self._groups: dict[str, Group] = {}

    def walk(self, *, depth: int = 0) -> Iterator[tuple[str, Group | Dataset]]:
        """Yield everything below this group, with its path, in the order of the names."""
        if depth == _DEEPEST_GROUP:
            raise NotPlain(f"{self.name[:80]} lies too deep")
        for name in self:
            what = self._path(name)
            if any(message.kind == SYMBOL_TABLE for message in self._structures.messages(self._member(name), what)):
                group = self.group(name)
                yield what, group
                yield from group.walk(depth=depth + 1)
            else:
                yield what, self.dataset(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def group(self, name: str) -> Group:
        """Return the group ``name`` in this one."""
        if name not in self._groups:
            self._groups[name] = Group(self._structures, self._member(name), self._path(name))
        return self._groups[name]

    def dataset(self, name: str) -> Dataset:
        """Return the dataset ``name``, a path below this group."""
        here, _, rest = name.partition("/")
        if rest:
            return self.group(here).dataset(rest)
        return Dataset(self._structures, self._member(name), self._path(name))

    def _member(self, name: str) -> int:
        if name not in self._members:
            raise NotPlain(f"{self._path(name)} is missing")
        address = self._members[name]
        if address is None:
            raise NotPlain(f"{self._path(name)} is a link out of its place")
        return address

    def _path(self, name: str) -> str:
        return name if self.name == "/" else f"{self.name}/{name}"

    def _entries(self, tree: int, heap: int) -> Iterator[tuple[str, int | None]]:
        """Yield the name of each member and the address of its header, None for a link."""
        what = f"group {self.name}"
        signature, version, size, _, at = struct.unpack("<4sB3xQQQ", self._structures.read(heap, 32, what))
        if signature != b"HEAP" or version != 0 or size > _LARGEST_HEAP:
            raise NotPlain(f"{what} has no names")
        names = self._structures.read(at, size, f"the names of {what}")
        known: set[str] = set()
        for _, node in self._structures.tree(tree, 0, struct.Struct("<Q"), what):
            signature, version, count = struct.unpack("<4sBxH", self._structures.read(node, 8, what))
            if signature != b"SNOD" or version != 1:
                raise NotPlain(f"{what} has a damaged list of members")
            entries = self._structures.read(node + 8, count * _ENTRY.size, what)
            for start, address, cached, _ in _ENTRY.iter_unpack(entries):
                name = _name(names, start, what)
                if name in known:
                    raise NotPlain(f"{what} has two members of one name")
                known.add(name)
                yield name, address if cached < 2 else None


def _root_address(structures: Structures) -> int:
    head = structures.read(0, 96, "the superblock") if structures.size >= 96 else b""
    if not head.startswith(_SIGNATURE):
        raise NotPlain("it does not begin as an HDF5 file")
    _, version, *others, _, _, _, base, _, end, _ = _SUPERBLOCK.unpack_from(head)
    if version != 0 or others[:4] != [0, 0, 0, 0] or others[4:6] != [8, 8] or base != 0:
        raise NotPlain("it is an HDF5 file of a newer or unusual form")
    if end != structures.size:
        raise NotPlain(f"it has {structures.size} bytes and should have {end}")
    _, address, cached, _ = _ENTRY.unpack_from(head, 56)
    if cached > 1:
        raise NotPlain("its root is a link")
    return int(address)


def _name(heap: bytes, start: int, what: str) -> str:
    end = heap.find(b"\0", start)
    if not 0 < start < end <= start + _LONGEST_NAME:
        raise NotPlain(f"{what} has a member without a name")
    try:
        return heap[start:end].decode("ascii")
    except UnicodeDecodeError:
        raise NotPlain(f"{what} has a member whose name is no text") from None
