"""NumPy's own archive, read by ``np.load`` without pickle, and by whatever reads zip files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.export.cases import Source

_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_npz(path: Path, source: Source) -> None:
    """Write ``ID/args/NAME`` and ``ID/expected`` of each case, or ``ID/must_raise``; ``ids``, and ``header`` as JSON.

    Nothing is compressed and no time is stored, so that the same cases are the same bytes.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        _put(archive, "header", np.array(json.dumps(source.header())))
        _put(archive, "ids", np.array([case.id for case in source.cases], np.str_))
        for case in source:
            for name, value in case.args.items():
                _put(archive, f"{case.id}/args/{name}", np.asarray(value))
            if case.expected is None:
                _put(archive, f"{case.id}/must_raise", np.array(True))
            else:
                _put(archive, f"{case.id}/expected", case.expected)
            for name, array in case.also.items():
                _put(archive, f"{case.id}/{name}", array)


def _put(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
    entry.create_system = 3  # as on Unix, whatever the system: the same bytes
    entry.external_attr = 0o644 << 16
    with archive.open(entry, "w") as member:
        np.lib.format.write_array(member, array, allow_pickle=False)
