"""The digests of files: of the bytes, and of what a golden file holds, however that is stored."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Rows(Protocol):
    """An array, in memory or in a file, that is read some rows at a time."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        """Return some rows."""


class ContentDigest:
    """SHA-256 over named arrays: name, dtype, shape and little-endian bytes of each, in the order they are added."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def text(self, name: str, text: str) -> None:
        """Add a text."""
        data = text.encode()
        self._hash.update(f"{name} text {len(data)}\n".encode())
        self._hash.update(data)

    def dataset(self, name: str, dataset: Rows) -> None:
        """Add an array, read some rows at a time so that memory stays bounded."""
        rows = max(1, 1_048_576 // max(1, int(np.prod(dataset.shape[1:], dtype=np.int64))))
        self._hash.update(f"{name} {dataset.dtype.str} {dataset.shape}\n".encode())
        for start in range(0, dataset.shape[0], rows):
            self._hash.update(np.ascontiguousarray(dataset[start : start + rows]).data)

    def hexdigest(self) -> str:
        """Return the digest."""
        return self._hash.hexdigest()
