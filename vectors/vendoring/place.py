"""Putting a copy into a folder: all of it or none, and never over what somebody else wrote.

The new files are written into ``.posvec-vendor`` in the folder and flushed to disk, ``VERSION`` last. Then each takes
its place, files that the new copy lacks go, and ``VERSION`` moves last. Killed before the new ``VERSION`` is there,
nothing has changed; killed after it, the next run finishes what was begun, and until then ``--check`` says so.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from posvec.schemas.errors import InvalidArgument, OutputError, OverwriteRefused, PosvecError, VectorsError, shorten
from posvec.vectors.content_digest import file_sha256
from posvec.vectors.replace import replacing
from posvec.vectors.vendoring.contents import Contents, write_contents
from posvec.vectors.vendoring.record import FILE, Record, read_record

STAGING = ".posvec-vendor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What came of it: the record of the copy, and whether anything was written."""

    record: Record
    changed: bool


def vendor(folder: Path, contents: Contents) -> Placed:
    """Write a copy into ``folder``, which is made if it is not there.

    Raises:
        InvalidArgument: ``folder`` is no folder.
        OverwriteRefused: It holds what is not from posvec, or what was edited or damaged since; nothing is changed.
        VectorsError: A golden file is missing or damaged; nothing is changed.
        OutputError: A file could not be written; nothing is changed, or the next run finishes what was begun.

    """
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument("DIR", str(folder), "a folder, or the name of a new one")
    with _made(folder), _alone(folder):
        _check_ours(folder)
        _finish(folder)
        record = _stage(folder, contents)
        before = read_record(folder / FILE) if (folder / FILE).exists() else None
        unchanged = before == record and all((folder / name).exists() for name in record.files)
        if unchanged:
            shutil.rmtree(folder / STAGING)
        else:
            _finish(folder)
    return Placed(record=record, changed=not unchanged)


def pending(folder: Path) -> Record | None:
    """Return what the copy in ``folder`` was about to become when its last update was interrupted, if it was."""
    path = folder / STAGING / FILE
    return read_record(path) if path.exists() else None


def _stage(folder: Path, contents: Contents) -> Record:
    staging = folder / STAGING
    try:
        staging.mkdir()
        record = write_contents(contents, staging)
        for path in staging.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        with replacing(staging / FILE) as temporary:
            temporary.write_text(record.to_json(), "ascii", newline="\n")
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return record


def _finish(folder: Path) -> None:
    """Move staged files to their places if all of them are there; if not, remove them."""
    staging = folder / STAGING
    if not staging.exists():
        return
    after = pending(folder)
    if after is None:
        shutil.rmtree(staging)
        return
    before = read_record(folder / FILE).files if (folder / FILE).exists() else {}
    for path in sorted(staging.iterdir()):
        if path.name != FILE:
            path.replace(folder / path.name)
    for name in before.keys() - after.files.keys():
        (folder / name).unlink(missing_ok=True)
    (staging / FILE).replace(folder / FILE)
    staging.rmdir()


def _check_ours(folder: Path) -> None:
    """Refuse a folder in which there is anything but what posvec wrote."""
    entries = _entries(folder)
    staging = entries.pop(STAGING, None)
    if staging is not None and not (
        staging.is_dir(follow_symlinks=False)
        and all(entry.is_file(follow_symlinks=False) for entry in _entries(folder / STAGING).values())
    ):
        raise OverwriteRefused(folder, f"{STAGING} in it is not from posvec", remedy="move it away, and run it again")
    if not entries:
        return
    ours = _digests(folder)
    entries.pop(FILE, None)
    strangers = [
        name for name, entry in entries.items() if name not in ours or not entry.is_file(follow_symlinks=False)
    ]
    if strangers:
        raise OverwriteRefused(
            folder,
            f"it holds {_named(strangers)}, not from posvec",
            remedy="choose an empty or a new folder, or move what is yours away",
        )
    changed = [name for name in entries if file_sha256(folder / name) not in ours[name]]
    if changed:
        raise OverwriteRefused(
            folder,
            f"{_named(changed)} {'was' if len(changed) == 1 else 'were'} edited or damaged since posvec wrote it",
            remedy="restore or delete what was changed, and run it again",
        )


def _entries(folder: Path) -> dict[str, os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return {entry.name: entry for entry in found}


def _digests(folder: Path) -> dict[str, set[str]]:
    """Return the digests that each file may have: as the last update, or one that was interrupted, wrote it."""
    found: dict[str, set[str]] = {}
    for path in (folder / FILE, folder / STAGING / FILE):
        if not os.path.lexists(path):
            continue
        try:
            record = read_record(path)
        except VectorsError as error:
            raise OverwriteRefused(folder, f"its {FILE} {error.problem}", remedy=error.remedy) from error
        if not record.genuine:
            raise OverwriteRefused(
                folder, f"its {FILE} was edited", remedy="restore it from your version control, and run it again"
            )
        for name, file in record.files.items():
            found.setdefault(name, set()).add(file.sha256)
    return found


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make the folder; if the block raises, remove what was made. Errors of the disk become one sentence."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as error:
        for path in new:
            with suppress(OSError):
                path.rmdir()
        if isinstance(error, (OSError, RuntimeError)) and not isinstance(error, PosvecError):
            problem = getattr(error, "strerror", None) or str(error)
            raise OutputError(folder, problem, remedy="free some space or choose another folder") from error
        raise


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other runs off the folder while the block runs; a lock ends with its process, however that ends."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise OverwriteRefused(
            folder, "another `posvec vendor` is writing to it", remedy="run it again when that has ended"
        ) from None
    except OSError:
        pass  # a file system without locks
    try:
        yield
    finally:
        os.close(descriptor)


def _named(names: list[str]) -> str:
    first = shorten(sorted(names)[0], 60)
    return first if len(names) == 1 else f"{first} and {len(names) - 1:,} more"
