"""Opening a file of vectors, and saying in one sentence what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posvec.schemas.errors import VectorsError
from posvec.vectors.hdf5_read import NotPlain, PlainFile


@contextmanager
def opened(path: Path, *, kind: str, remedy: str) -> Iterator[PlainFile]:
    """Open ``path`` for reading; whatever is wrong with it, there and in the block, is a :class:`VectorsError`."""
    try:
        if not path.exists():
            raise VectorsError(path, f"there is no such {kind}", remedy=remedy)
        if path.is_dir():
            raise VectorsError(path, f"is a directory, not a {kind}", remedy=remedy)
        if not path.is_file():
            raise VectorsError(path, f"is no regular file, so no {kind}", remedy=remedy)
        with PlainFile(path) as file:
            yield file
    except VectorsError:
        raise
    except PermissionError as error:
        raise VectorsError(path, "cannot be read: permission denied", remedy=remedy) from error
    except OSError as error:
        raise VectorsError(path, f"cannot be read: {error.strerror or error}", remedy=remedy) from error
    except MemoryError as error:
        raise VectorsError(path, "needs more memory than there is", remedy=remedy) from error
    except NotPlain as error:
        raise VectorsError(path, f"is damaged or not a {kind} ({error})", remedy=remedy) from error
