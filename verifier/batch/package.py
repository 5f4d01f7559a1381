"""What a submission consists of: its files as bytes, read without following a link out of it.

They are held in memory and written to a private folder where they run: so what a submission does to its own files
changes nothing here, and a worker on another machine needs no shared disk.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from posvec.schemas.errors import printable
from posvec.verifier.batch.refusal import Refused

MOST_BYTES = 32 * 2**20
MOST_FILES = 2000
_MOST_ENTRIES = 20_000
_MOST_NOTES = 20
_MOST_DEPTH = 32
FURNITURE = ("__pycache__", "node_modules")
"""Folders that belong to tools, not to whoever hands something in."""
_ADVICE = "take out what is no part of it"
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The files of a submission: path with ``/`` between its parts, and content; and what was left out."""

    files: tuple[tuple[str, bytes], ...]
    notes: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The path of each file."""
        return tuple(path for path, _ in self.files)

    @property
    def digest(self) -> str:
        """SHA-256 over the path and content of each file, in hex."""
        whole = hashlib.sha256()
        for path, content in sorted(self.files):
            for part in (os.fsencode(path), content):
                whole.update(len(part).to_bytes(8, "little") + part)
        return whole.hexdigest()

    def content(self, path: str) -> bytes:
        """Return what is in the file of that path."""
        return dict(self.files)[path]

    def write(self, folder: Path) -> None:
        """Write the files below ``folder``, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in self.files:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def read_package(path: Path) -> Package:
    """Read a submission: a file, or a folder with all below it that may belong to it.

    Hidden entries, ``__pycache__``, ``node_modules``, virtual environments and golden files are left out, and links
    that lead out of the folder are not followed; notes say so.

    Raises:
        Refused: It cannot be read, or holds more than :data:`MOST_BYTES` or :data:`MOST_FILES`.

    """
    try:
        if path.is_symlink():
            raise Refused("link", "is a symbolic link, which is not followed; put the file itself there")
        if path.is_dir():
            reader = _Reader(path)
            return Package(files=tuple(reader.files()), notes=tuple(reader.notes))
        return Package(files=((path.name, _read(path, MOST_BYTES)),))
    except OSError as error:
        where = printable(str(error.filename or path))
        raise Refused("unreadable", f"{where} cannot be read: {error.strerror or error}") from None


class _Reader:
    def __init__(self, root: Path) -> None:
        self._root, self._real = root, root.resolve()
        self._left, self._entries = MOST_BYTES, 0
        self.notes: list[str] = []

    def files(self) -> Iterator[tuple[str, bytes]]:
        for count, path in enumerate(self._walk(self._root, 0)):
            if count == MOST_FILES:
                raise Refused("too-large", f"holds more than {MOST_FILES:,} files; {_ADVICE}")
            content = _read(path, self._left)
            self._left -= len(content)
            yield path.relative_to(self._root).as_posix(), content

    def _walk(self, folder: Path, depth: int) -> Iterator[Path]:
        if depth > _MOST_DEPTH:
            raise Refused("too-large", f"holds folders more than {_MOST_DEPTH} deep; {_ADVICE}")
        below: list[Path] = []
        for entry in self._listed(folder):
            path = folder / entry.name
            shown = printable(path.relative_to(self._root).as_posix())
            if entry.is_symlink():
                if self._inside(path):
                    yield path
                else:
                    self._note(f"{shown} is a link to what is no file of this submission, and was not followed.")
            elif entry.is_dir():
                below.append(path)
            elif not entry.is_file():
                self._note(f"{shown} is no regular file and was left out.")
            elif is_golden(path):
                self._note(f"{shown} is a golden file and was left out.")
            else:
                yield path
        for path in below:
            if path.name not in FURNITURE and not (path / "pyvenv.cfg").exists():
                yield from self._walk(path, depth + 1)

    def _listed(self, folder: Path) -> list[os.DirEntry[str]]:
        with os.scandir(folder) as entries:
            found = list(islice(entries, _MOST_ENTRIES + 1 - self._entries))
        self._entries += len(found)
        if self._entries > _MOST_ENTRIES:
            raise Refused("too-large", f"holds more than {_MOST_ENTRIES:,} entries; {_ADVICE}")
        return sorted((entry for entry in found if not entry.name.startswith(".")), key=lambda entry: entry.name)

    def _inside(self, link: Path) -> bool:
        with suppress(OSError, RuntimeError):
            return link.is_file() and link.resolve().is_relative_to(self._real)
        return False

    def _note(self, note: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(note)


def is_golden(path: Path) -> bool:
    """Say whether a file is a golden file, judging by the manifest beside it."""
    return path.suffix == ".h5" and path.with_suffix(".json").is_file()


def _read(path: Path, most: int) -> bytes:
    # resolve(): the file behind a link that was found to stay inside, and no other that takes the link's place.
    descriptor = os.open(path.resolve(), os.O_RDONLY | _SAFELY)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - it is open already
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refused("unreadable", f"{printable(path.name)} is no regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise Refused("too-large", f"holds more than {MOST_BYTES // 2**20} MiB; {_ADVICE}")
    return content
