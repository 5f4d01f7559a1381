"""A dataset of a plain HDF5 file: its form is checked first, and its data read when it is asked for."""

from __future__ import annotations

import struct
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.hdf5_messages import (
    ATTRIBUTE,
    DATASPACE,
    DATATYPE,
    FILTERS,
    LAYOUT,
    SYMBOL_TABLE,
    UNDEFINED,
    Filters,
    Layout,
    NotPlain,
    dataspace,
    datatype,
    filters,
    layout,
)
from posvec.vectors.hdf5_structures import Structures

_LARGEST_CHUNK = 1 << 28
_LONGEST_EMPTY = 1 << 31  # an array without elements may still be too long a shape for NumPy
# deflate stores what it cannot compress with 5 bytes for every 16 KiB; shuffle adds none, fletcher32 adds 4.
_LONGEST_STORED = 1.01


class _Chunk(NamedTuple):
    address: int
    size: int
    skipped: int


class Dataset:
    """A dataset whose form has been checked; its data is read when it is indexed.

    Attributes:
        dtype: Little-endian integers or floats, or a text of fixed length.
        shape: Lengths of the dimensions.

    """

    def __init__(self, structures: Structures, address: int, name: str) -> None:
        self._structures, self.name = structures, name
        found = structures.messages(address, name)
        kinds = [message.kind for message in found]
        if SYMBOL_TABLE in kinds or any(kinds.count(kind) != 1 for kind in (DATASPACE, DATATYPE, LAYOUT)):
            raise NotPlain(f"{name} is no dataset")
        if kinds.count(FILTERS) > 1 or not set(kinds) <= {DATASPACE, DATATYPE, LAYOUT, FILTERS, ATTRIBUTE}:
            raise NotPlain(f"{name} is no plain dataset")
        body = {message.kind: message.body for message in found}
        self.dtype: np.dtype[Any] = datatype(body[DATATYPE], name)
        self.shape = dataspace(body[DATASPACE], name)
        self._layout: Layout = layout(body[LAYOUT], name)
        self._filters: Filters = filters(body[FILTERS], name) if FILTERS in body else ()
        self.nbytes = prod(self.shape) * self.dtype.itemsize
        self._found = found
        self._check_form()
        self._chunks = self._index()
        self._cached: tuple[int, NDArray[Any]] | None = None

    @property
    def attrs(self) -> dict[str, str | int]:
        """The attributes."""
        return self._structures.attributes(self._found, self.name)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: slice | tuple[()]) -> NDArray[Any]:
        """Return some rows (``[start:stop]``), or the whole (``[()]``), as a new array."""
        start, stop, step = key.indices(self.shape[0]) if isinstance(key, slice) else (0, self.rows, 1)
        if step != 1:
            raise IndexError("rows are read one after the other")
        if self._layout.chunk is None:
            row = self.nbytes // self.rows if self.rows else 0
            count = max(0, stop - start)
            at = self._layout.address + start * row if count * row else 0
            data = self._structures.read(at, count * row, self.name)
            return np.frombuffer(bytearray(data), self.dtype).reshape((count, *self.shape[1:]) if self.shape else ())
        height = self._layout.chunk[0]
        rows = np.empty((max(0, stop - start), *self.shape[1:]), self.dtype)
        for number in range(start // height, -(-stop // height) if stop > start else 0):
            first, last = max(start, number * height), min(stop, (number + 1) * height)
            rows[first - start : last - start] = self._chunk(number)[first - number * height : last - number * height]
        return rows

    @property
    def stored(self) -> int:
        """Bytes that the data takes in the file."""
        return self.nbytes if self._layout.chunk is None else sum(chunk.size for chunk in self._chunks)

    @property
    def rows(self) -> int:
        """Length of the first dimension; 1 for a scalar."""
        return self.shape[0] if self.shape else 1

    def _check_form(self) -> None:
        chunk = self._layout.chunk
        if not self.nbytes and max(self.shape, default=0) > _LONGEST_EMPTY:
            raise NotPlain(f"{self.name} is empty and has the shape {self.shape}")
        if chunk is None:
            if self._filters:
                raise NotPlain(f"{self.name} has filters and no chunks")
            if self.nbytes and (self._layout.address == UNDEFINED or self._layout.size != self.nbytes):
                raise NotPlain(f"{self.name} declares {self.nbytes} bytes but stores {self._layout.size}")
            if self.nbytes and self._layout.address + self.nbytes > self._structures.size:
                raise NotPlain(f"{self.name} lies outside the file")
            return
        if self._layout.size != self.dtype.itemsize or len(chunk) != len(self.shape) or not self.nbytes:
            raise NotPlain(f"{self.name} has chunks that are not of its form")
        if chunk[1:] != self.shape[1:] or not 0 < chunk[0] <= self.shape[0]:
            raise NotPlain(f"{self.name} of shape {self.shape} has chunks of shape {chunk}")
        if prod(chunk) * self.dtype.itemsize > _LARGEST_CHUNK:
            raise NotPlain(f"{self.name} has chunks of more than {_LARGEST_CHUNK:,} bytes")

    def _index(self) -> list[_Chunk]:
        """Return where the chunks lie, in order, after checking that there are all of them and no others."""
        chunk = self._layout.chunk
        if chunk is None:
            return []
        count = -(-self.shape[0] // chunk[0])
        size = prod(chunk) * self.dtype.itemsize
        found: list[_Chunk] = []
        key = struct.Struct(f"<II{len(chunk) + 1}Q")
        if self._layout.address != UNDEFINED:
            for (stored, skipped, *offset), address in self._structures.tree(self._layout.address, 1, key, self.name):
                if offset != [len(found) * chunk[0], *[0] * len(chunk)] or len(found) == count:
                    raise NotPlain(f"{self.name} has a chunk out of its place")
                if stored > size * _LONGEST_STORED + 64 or address + stored > self._structures.size:
                    raise NotPlain(f"{self.name} has a chunk that lies outside the file")
                found.append(_Chunk(address, stored, skipped))
        if len(found) != count:
            raise NotPlain(f"{self.name} declares {self.nbytes} bytes in {count} chunks but stores {len(found)} chunks")
        return found

    def _chunk(self, number: int) -> NDArray[Any]:
        if self._cached is None or self._cached[0] != number:
            chunk = self._chunks[number]
            data = self._structures.read(chunk.address, chunk.size, self.name)
            shape = self._layout.chunk or ()
            size = prod(shape) * self.dtype.itemsize
            for position in range(len(self._filters) - 1, -1, -1):
                if not chunk.skipped >> position & 1:
                    data = self._filters[position].undo(data, size, self.dtype.itemsize)
            if len(data) != size:
                raise NotPlain(f"{self.name} has a chunk of {len(data)} bytes, not {size}")
            self._cached = number, np.frombuffer(data, self.dtype).reshape(shape)
        return self._cached[1]
