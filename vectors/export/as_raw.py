"""Raw little-endian numbers, one array after another, and a JSON index that says where each begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.export.cases import Source


def write_raw(path: Path, index: Path, source: Source, *, name: str) -> None:
    """Write the numbers to ``path`` and where they are to ``index``, one case a line.

    Every element has 4 bytes: float32, int32 or uint32. In the index an array is ``{"dtype", "shape", "offset"}``,
    the offset in bytes from the beginning of the file called ``name``.
    """
    with path.open("wb") as data, index.open("w", encoding="ascii", newline="\n") as file:
        header = {**source.header(), "file": name, "byte_order": "little"}
        file.write(json.dumps(header, indent=1).removesuffix("\n}") + ',\n "cases": [')
        for number, case in enumerate(source):
            entry: dict[str, Any] = {
                "id": case.id,
                "args": {
                    name: _append(data, value) if isinstance(value, np.ndarray) else value
                    for name, value in case.args.items()
                },
                "must_raise": case.expected is None,
            }
            if case.expected is not None:
                entry["expected"] = _append(data, case.expected)
            entry |= {name: _append(data, array) for name, array in case.also.items()}
            file.write((",\n  " if number else "\n  ") + json.dumps(entry))
        file.write("\n ]\n}\n")


def _append(file: BinaryIO, array: NDArray[Any]) -> dict[str, Any]:
    offset = file.tell()
    file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return {"dtype": array.dtype.newbyteorder("=").name, "shape": list(array.shape), "offset": offset}
