"""``VERSION`` in a copy: which vectors these are, the command that made them, and the digest of every file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posvec.schemas.errors import VectorsError
from posvec.schemas.manifest import check_text, matching
from posvec.schemas.reading import one_of, read

FILE = "VERSION"
SUMS = "SHA256SUMS"
OWN = "own"
"""What stands for the version of vectors that are not those shipped with posvec."""
SUBSETS = ("all", "quick")
_FORMAT = "posvec-vendored"
_FORMAT_VERSION = 1
_LARGEST = 1_000_000
_NAME = re.compile(r"\.?[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}|own")
_REMEDY = "restore it from your version control, or vendor into an empty folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class VendoredFile:
    """One file of a copy: its SHA-256 and, of a golden file, the digest of its content."""

    sha256: str
    content_sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What ``VERSION`` says.

    Attributes:
        vectors: Version of the vectors, ``1.0.0``; ``own`` for those that are not shipped with posvec.
        posvec: Version of posvec that made the copy.
        command: The command that makes it again, in its folder.
        subset: ``all`` or ``quick``.
        files: Every other file, by name.
        genuine: Whether the text that was read is as it was written.

    """

    vectors: str
    posvec: str
    command: str
    subset: str
    files: Mapping[str, VendoredFile]
    genuine: bool = True

    @property
    def golden(self) -> list[str]:
        """Names of the golden files."""
        return [name for name, file in self.files.items() if file.content_sha256]

    def to_json(self) -> str:
        """Return the text of ``VERSION``; it ends with the digest of itself, that digest left empty."""
        data = self._to_dict("")
        digest = hashlib.sha256(_text(data).encode("ascii")).hexdigest()
        return _text(self._to_dict(digest))

    def _to_dict(self, digest: str) -> dict[str, Any]:
        files = {
            name: {"sha256": file.sha256} | ({"content_sha256": file.content_sha256} if file.content_sha256 else {})
            for name, file in sorted(self.files.items())
        }
        return {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            "vectors": self.vectors,
            "posvec": self.posvec,
            "command": self.command,
            "subset": self.subset,
            "files": files,
            "sha256": digest,
        }

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Read what :meth:`to_json` wrote; if it was edited since, but holds all it must, it is not ``genuine``.

        Raises:
            KeyError, TypeError, ValueError: It is no such text.

        """
        data = json.loads(text)
        check_text(data)
        one_of(read(data, "format", str), (_FORMAT,))
        one_of(read(data, "format_version", int), (_FORMAT_VERSION,))
        files = {
            matching(name, _NAME): VendoredFile(
                sha256=matching(read(file, "sha256", str), _SHA256),
                content_sha256=matching(read(file, "content_sha256", str), _SHA256) if "content_sha256" in file else "",
            )
            for name, file in read(data, "files", dict).items()
        }
        if FILE in files:
            raise ValueError(f"{FILE} cannot list itself")
        record = cls(
            vectors=matching(read(data, "vectors", str), _VERSION),
            posvec=read(data, "posvec", str),
            command=read(data, "command", str),
            subset=one_of(read(data, "subset", str), SUBSETS),
            files=files,
        )
        return replace(record, genuine=record.to_json() == text)


def read_record(path: Path) -> Record:
    """Return what the ``VERSION`` at ``path`` says.

    Raises:
        VectorsError: There is none, or it cannot be read.

    """
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise VectorsError(path, "is no regular file", remedy=_REMEDY)
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError as error:
        remedy = "`posvec vendor DIR` makes a copy that has one"
        raise VectorsError(path, "there is no such file, so this is no vendored copy", remedy=remedy) from error
    except VectorsError:
        raise
    except OSError as error:
        raise VectorsError(path, f"cannot be read: {error.strerror or error}", remedy=_REMEDY) from error
    try:
        if len(data) > _LARGEST:
            raise ValueError(f"more than {_LARGEST:,} bytes")
        return Record.from_json(data.decode("ascii"))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise VectorsError(path, f"is not what `posvec vendor` wrote ({error!s:.120})", remedy=_REMEDY) from error


def _text(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=True) + "\n"
