"""A file that HDF5 can write to although the disk is full.

When a write fails inside the HDF5 library, the file can no longer be closed: each handle fails again, loudly, as
it is released, and the library may crash as the process ends. Written through this file object, it never
learns of the failure: the rest goes nowhere, everything closes, and then the first error is raised.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any


class OutputFile(io.RawIOBase):
    """A binary file, open for reading and writing, that keeps its first error for :meth:`check`."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=0)
        self._error: OSError | None = None

    def check(self) -> None:
        """Raise the first error that occurred, if any."""
        if self._error is not None:
            raise self._error

    def write(self, data: Any) -> int:
        """Write all of ``data``, or drop it if an earlier write failed."""
        view = memoryview(data).cast("B")
        size = view.nbytes
        try:
            while view.nbytes and self._error is None:
                view = view[self._file.write(view) or 0 :]
        except OSError as error:
            self._error = error
        return size

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer``; what was dropped or lies beyond the end reads as zeros."""
        view = memoryview(buffer).cast("B")
        got = self._file.readinto(view) or 0
        view[got:] = bytes(view.nbytes - got)
        return view.nbytes

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, as in any file."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file."""
        try:
            return self._file.truncate(size)
        except OSError as error:
            self._error = self._error or error
            return size or 0

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
