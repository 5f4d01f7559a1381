"""Writing files so that a reader sees the old one or the new one, never a broken one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from posvec.schemas.errors import OutputError, PosvecError

TEMPORARY_SUFFIX = ".posvec-tmp"
_OPEN_FILES = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that takes the place of ``path`` when the block ends without an error.

    It lies in the same folder, is flushed to disk before the rename, and removed if the block raises. A symbolic
    link keeps pointing where it points: its target is replaced. A pipe or a device is written to, not replaced.
    """
    special = is_stream(path)
    path = path if special else path.resolve()
    handle, name = tempfile.mkstemp(
        prefix=f".{path.name}.", suffix=TEMPORARY_SUFFIX, dir=None if special else path.parent
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if special:
            with temporary.open("rb") as source, path.open("ab") as target:
                shutil.copyfileobj(source, target)
            return
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        temporary.chmod(mode)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def told_of(path: Path, *, remedy: str) -> Iterator[None]:
    """Raise the OutputError that says what to do for any OSError of the block, in which ``path`` is written."""
    try:
        yield
    except OSError as error:
        if isinstance(error, PosvecError):
            raise
        raise OutputError(path, error.strerror or str(error), remedy=remedy) from error


@contextmanager
def replacing_golden(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield temporary paths that take the places of the golden file ``path`` and of the manifest beside it.

    Raises:
        OutputError: One could not be written; what was there is untouched.

    """
    try:
        with replacing(path) as temporary, replacing(path.with_suffix(".json")) as beside:
            yield temporary, beside
    except (OSError, RuntimeError) as error:  # h5py reports a full disk as either
        if isinstance(error, PosvecError):
            raise
        raise OutputError(
            path,
            getattr(error, "strerror", None) or str(error),
            remedy="free some space or choose another folder with -o",
        ) from error


def is_stream(path: Path) -> bool:
    """Whether ``path`` is a pipe, a device or an open file of this process, which can only be written to.

    What such a name stands for need not have a name of its own: ``/dev/fd/63`` of a shell's ``>(…)``.
    """
    if str(path).startswith(_OPEN_FILES):
        return path.exists()
    return path.exists() and not path.is_file() and not path.is_dir()


def probe_folder(path: Path) -> None:
    """Raise the OSError that :func:`replacing` would meet when it creates a file beside ``path``."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=TEMPORARY_SUFFIX, dir=path.parent)
    os.close(handle)
    Path(name).unlink()


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
