"""Opening HDF5 files that may be damaged or hostile, and writing them so that the same content is the same bytes.

A file from elsewhere may hold external links, virtual datasets or declared sizes of terabytes. Nothing is read
before the dataset has been checked to be plain, local and of the exact dtype and shape that is expected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from posvec.schemas.errors import VectorsError
from posvec.vectors.output_file import OutputFile

# gzip cannot do better than about 1032:1, so a file that declares more than that per byte has holes or lies.
_LARGEST_RATIO = 1100
_MANIFEST_LIMIT = 64 * 1024 * 1024
# A flipped bit surfaces as any of these, depending on which structure it hits.
DAMAGE = (
    OSError,
    RuntimeError,
    KeyError,
    ValueError,
    TypeError,
    IndexError,
    OverflowError,
    MemoryError,
    AttributeError,
    UnicodeError,
)


@contextmanager
def opened(path: Path, *, kind: str, remedy: str) -> Iterator[h5py.File]:
    """Open ``path`` for reading; whatever is wrong with it is a :class:`VectorsError`."""
    if not path.exists():
        raise VectorsError(path, f"there is no such {kind}", remedy=remedy)
    if path.is_dir():
        raise VectorsError(path, f"is a directory, not a {kind}", remedy=remedy)
    if not path.is_file():
        raise VectorsError(path, f"is no regular file, so no {kind}", remedy=remedy)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except VectorsError:
        raise
    except PermissionError as error:
        raise VectorsError(path, "cannot be read: permission denied", remedy=remedy) from error
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:160]
        raise VectorsError(path, f"is damaged or not a {kind} ({reason})", remedy=remedy) from error


def plain_dataset(file: h5py.File, name: str, dtype: str | None, shape: tuple[int, ...] | None) -> h5py.Dataset:
    """Return the dataset ``name`` after checking that it is local, plain and of this dtype and shape.

    Raises:
        ValueError: It is anything else.

    """
    where: Any = file
    for part in name.split("/"):
        link = where.get(part, getlink=True)
        if link is None:
            raise ValueError(f"dataset {name} is missing")
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"{name} is a link out of its place")
        where = where[part]
    if not isinstance(where, h5py.Dataset):
        raise ValueError(f"{name} is no dataset")
    if where.is_virtual or where.external is not None:
        raise ValueError(f"{name} keeps its data elsewhere")
    if dtype is not None and where.dtype.str != dtype:
        raise ValueError(f"{name} has dtype {where.dtype.str}, not {dtype}")
    if shape is not None and where.shape != shape:
        raise ValueError(f"{name} has shape {where.shape}, not {shape}")
    if where.size and where.nbytes > _LARGEST_RATIO * max(1, where.id.get_storage_size()):
        raise ValueError(f"{name} declares {where.nbytes} bytes but stores {where.id.get_storage_size()}")
    return where


def read_manifest_text(file: h5py.File) -> str:
    """Return the text of the dataset ``manifest``."""
    dataset = plain_dataset(file, "manifest", None, ())
    if dataset.dtype.kind != "S" or not 0 < dataset.dtype.itemsize <= _MANIFEST_LIMIT:
        raise ValueError("manifest is no text")
    text: bytes = dataset[()]
    return text.decode("ascii")


def create_dataset(file: h5py.File, name: str, shape: tuple[int, ...], dtype: str) -> h5py.Dataset:
    """Create a dataset, compressed and checksummed unless it is empty, without times, readable by any HDF5 ≥ 1.8."""
    if 0 in shape or not shape:
        return file.create_dataset(name, shape, dtype, track_times=False)
    row = max(1, int(np.prod(shape[1:], dtype=np.int64)))
    chunk = (max(1, min(shape[0], 262_144 // row)), *shape[1:])
    return file.create_dataset(
        name,
        shape,
        dtype,
        chunks=chunk,
        compression="gzip",
        compression_opts=6,
        shuffle=True,
        fletcher32=True,
        track_times=False,
    )


@contextmanager
def new_file(path: Path) -> Iterator[h5py.File]:
    """Create ``path`` in the oldest format that HDF5 writes, which every reader knows.

    Raises:
        OSError: The file cannot be written; an error of the disk is raised when the block ends.

    """
    with OutputFile(path) as output:
        try:
            with h5py.File(output, "w", libver="earliest", track_order=False) as file:
                yield file
        finally:
            output.check()


class ContentDigest:
    """SHA-256 over named arrays: name, dtype, shape and little-endian bytes of each, in the order they are added."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def text(self, name: str, text: str) -> None:
        """Add a text."""
        data = text.encode()
        self._hash.update(f"{name} text {len(data)}\n".encode())
        self._hash.update(data)

    def dataset(self, name: str, dataset: h5py.Dataset | NDArray[Any]) -> None:
        """Add an array, read some rows at a time so that memory stays bounded."""
        rows = max(1, 1_048_576 // max(1, int(np.prod(dataset.shape[1:], dtype=np.int64))))
        self._hash.update(f"{name} {dataset.dtype.str} {dataset.shape}\n".encode())
        for start in range(0, dataset.shape[0], rows):
            self._hash.update(np.ascontiguousarray(dataset[start : start + rows]).tobytes())

    def hexdigest(self) -> str:
        """Return the digest."""
        return self._hash.hexdigest()
