"""The manifest inside a golden file: its text, and what it says, checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from posvec.schemas.errors import VectorsError
from posvec.schemas.manifest import FORMAT, FORMAT_VERSION
from posvec.vectors.content_digest import file_sha256
from posvec.vectors.hdf5_read import NotPlain, PlainFile
from posvec.vectors.opening import opened

REMEDY = "copy it again, or make it anew with `posvec generate`"
_LARGEST_MANIFEST = 16 * 1024 * 1024
_SEEN: dict[str, str] = {}
"""By content digest: the SHA-256 of a file's bytes that were found to have it. Hashing them takes 1/30 of the time,
which counts where one process judges many targets."""


class _Written(Protocol):
    def to_json(self) -> str: ...


M = TypeVar("M", bound=_Written)


def manifest_text(path: Path, file: PlainFile) -> str:
    """Return the text of the manifest in an open golden file.

    Raises:
        VectorsError: It is no golden file, or of another format version.
        NotPlain: The manifest is no text.

    """
    found = file.root.attrs.get("format")
    if found != FORMAT:
        raise VectorsError(path, f"is an HDF5 file but no golden file (format {found!r:.40})", remedy=REMEDY)
    version = file.root.attrs.get("format_version")
    if version != FORMAT_VERSION:
        raise VectorsError(
            path,
            f"has format version {version!s:.20}, and this posvec reads version {FORMAT_VERSION}",
            remedy="use the posvec that the file came with, or make it anew with `posvec generate`",
        )
    dataset = file["manifest"]
    if dataset.shape != () or dataset.dtype.kind != "S" or dataset.nbytes > _LARGEST_MANIFEST:
        raise NotPlain(f"its manifest is no text of at most {_LARGEST_MANIFEST:,} bytes")
    try:
        return dataset[()].tobytes().decode("ascii")
    except UnicodeDecodeError:
        raise NotPlain("its manifest is not ASCII") from None


def check_digest(path: Path, digest: str, said: str) -> None:
    """Check that the content of the golden file ``path`` has the digest that its manifest says.

    Raises:
        VectorsError: It has another.

    """
    if digest != said:
        raise VectorsError(
            path,
            f"its content has the digest {digest[:12]}…, not {said[:12]}… as its manifest says:"
            " it was damaged or edited",
            remedy=REMEDY,
        )


def check_unchanged(path: Path, digest: Callable[[PlainFile], str], said: str) -> None:
    """Check the digest of a golden file that was opened before: a target that ran meanwhile may have edited it.

    Raises:
        VectorsError: The content is no longer what it was, or cannot be read.

    """
    before = _file_digest(path)
    if before and _SEEN.get(said) == before:
        return
    try:
        with opened(path, kind="golden file", remedy=REMEDY) as file:
            unchanged = digest(file) == said
    except VectorsError:
        unchanged = False
    if not unchanged:
        raise VectorsError(path, "was changed or removed while the target ran", remedy=REMEDY)
    if _file_digest(path) == before:
        _SEEN[said] = before


def _file_digest(path: Path) -> str:
    try:
        return file_sha256(path) if path.is_file() else ""
    except OSError:
        return ""


def parse(path: Path, text: str, from_dict: Callable[[Mapping[str, Any]], M], schema_file: str) -> M:
    """Return what the manifest ``text`` of the golden file ``path`` says.

    Raises:
        VectorsError: It is no JSON, violates the schema, contradicts itself, or is not in its normal form.

    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise VectorsError(path, f"its manifest cannot be read ({error!s:.120})", remedy=REMEDY) from error
    try:
        manifest = from_dict(data)
        if manifest.to_json() == text:
            return manifest
        problem = "contradicts itself or is not in its normal form"
    except (KeyError, TypeError, ValueError) as error:
        problem = f"is not valid: {error!s:.200}".rstrip(".")
    # Only a manifest that is wrong is held against the schema, which names what is: that takes 0.1 s to load.
    from posvec.schemas.validate import violation

    broken = violation(data, schema_file)
    if broken is not None:
        problem = f"violates {schema_file} at {broken}"
    raise VectorsError(path, f"its manifest {problem}", remedy=REMEDY)
