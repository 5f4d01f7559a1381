"""Scratch folders and locks beside the output: nothing half-written stays, and no two runs undo each other.

A run holds a lock on its own scratch folder as long as it lives, so that the next run can tell the leftovers
of a killed one. The output folder itself is locked only while files in it are written. Locks are ``flock`` on
the open folder: no lock file remains, and the system drops them with the process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from posvec.schemas.build import STREAMS
from posvec.schemas.errors import OutputError
from posvec.vectors.files import DEFAULT_SUITE, file_name
from posvec.vectors.replace import TEMPORARY_SUFFIX

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: generate is not supported there, but the module can be imported
    fcntl = None

_PREFIX = ".generate-"
_GOLDEN = [Path(file_name(DEFAULT_SUITE.name, stream)) for stream in STREAMS]


@contextmanager
def scratch(folder: Path, *, needed: int) -> Iterator[Path]:
    """Make ``folder`` where it is missing, and yield a scratch folder in it that is removed in the end.

    Args:
        folder: Where the output will go: the scratch lies on the same file system.
        needed: Bytes that will be put there.

    Raises:
        OutputError: The folder cannot be made or written to, or its file system has too little space.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            remove_leftovers(folder)
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=TEMPORARY_SUFFIX, dir=folder))
            handle = _try_lock(path)
    except OSError as error:
        raise output_error(folder, error) from error
    try:
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise OutputError(
                folder,
                f"{needed:,} bytes are needed and {free:,} are free",
                remedy="sweep fewer seeds or widths, or choose another folder with -o",
            )
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


@contextmanager
def writing(folder: Path, *, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of an output folder: reading a file, merging into it and replacing it is one step.

    Args:
        folder: The output folder.
        waiting: Called once if another run holds the lock.

    """
    with _locked(folder, waiting=waiting):
        yield


def remove_leftovers(folder: Path, *golden: Path) -> None:
    """Remove what killed runs left in ``folder``, of ``golden`` files too; call it with the folder's lock held."""
    own = tuple(f".{path.with_suffix(suffix).name}." for path in (*_GOLDEN, *golden) for suffix in (".h5", ".json"))
    for path in folder.glob(f".*{TEMPORARY_SUFFIX}"):
        if not path.is_dir():
            # A golden file is written only with the folder's lock held, so the owner of its copy is dead. Any other
            # file's may be alive: of `posvec verify --report json=here/report.json`, say.
            if path.name.startswith(own):
                with suppress(OSError):
                    path.unlink()
            continue
        handle = _try_lock(path)
        if handle is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(handle)


def output_error(path: Path, error: OSError) -> OutputError:
    """Return the error that says why ``path`` could not be written."""
    if isinstance(error, OutputError):
        return error
    where = Path(error.filename) if isinstance(error.filename, str) else path
    if where != path and TEMPORARY_SUFFIX in str(where):
        where = path  # the scratch's own name tells nobody anything
    return OutputError(
        where, error.strerror or str(error) or type(error).__name__, remedy="choose another folder with -o"
    )


@contextmanager
def _locked(folder: Path, *, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            # Some network file systems have no flock; renames keep files whole there, but two runs that merge
            # at the same moment may lose one recording.
            yield
            return
        yield
    finally:
        os.close(handle)


def _try_lock(folder: Path) -> int | None:
    """Return an open handle that holds the lock of ``folder``, or None if another process does."""
    if fcntl is None:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
