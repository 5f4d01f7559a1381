"""Writing an export: whole or not at all, and never over the golden file that it is taken from."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from posvec.schemas.errors import InvalidArgument, OutputError
from posvec.vectors.export.as_csv import write_csv
from posvec.vectors.export.as_json import write_json
from posvec.vectors.export.as_npz import write_npz
from posvec.vectors.export.as_raw import write_raw
from posvec.vectors.export.cases import Source
from posvec.vectors.replace import replacing, told_of

_WRITERS = {"npz": write_npz, "json": write_json, "csv": write_csv}
EXTENSIONS = {"npz": ".npz", "json": ".json", "csv": ".csv", "raw": ".bin"}
"""The formats, and what the names of their files end with."""


def export(source: Source, to: str, path: Path) -> tuple[Path, ...]:
    """Write ``source`` as ``npz``, ``json``, ``csv`` or ``raw`` and return the files that were written.

    The index of ``raw`` has the name of its file and ``.json``.

    Raises:
        InvalidArgument: ``path`` is the golden file itself or its manifest.
        OutputError: A file could not be written; what was there is untouched.

    """
    index = path.with_name(f"{path.name}.json")
    golden = source.golden.path.resolve()
    for file in (path, index) if to == "raw" else (path,):
        if file.resolve() in (golden, golden.with_suffix(".json")):
            raise InvalidArgument("-o", str(file), "another file than the golden file and its manifest")
        if file.is_dir():
            raise OutputError(file, "it is a folder", remedy="name a file with -o")
    with told_of(path, remedy="choose another place with -o"), replacing(path) as temporary:
        if to != "raw":
            _WRITERS[to](temporary, source)
            return (path,)
        with replacing(index) as beside:
            write_raw(temporary, beside, source, name=path.name)
        return path, index


def export_to_stream(source: Source, to: str, stream: BinaryIO) -> None:
    """Write ``source`` to a stream, once all of it is there.

    Raises:
        InvalidArgument: ``to`` is ``raw``, which is two files.

    """
    if to == "raw":
        raise InvalidArgument("-o", "-", "a file for raw, which is two files")
    with tempfile.TemporaryDirectory(prefix="posvec-") as folder:
        path = Path(folder, "export")
        _WRITERS[to](path, source)
        with path.open("rb") as file:
            shutil.copyfileobj(file, stream)
