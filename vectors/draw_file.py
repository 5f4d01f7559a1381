"""How the draw table lies in its HDF5 file: names, encodings and the digests that are checked before use.

One arithmetic, the base, is stored as the steps between neighbouring draws (in ULP: a step of the integers
of :func:`posvec.vectors.ulp.ordered`) in one byte each, with a list of the few steps that need more.
Everything else is a distance of at most 127 ULP, in one byte, from the base or from an arithmetic stored so.

================================  ======  ===============================================================
dataset                           dtype   meaning
================================  ======  ===============================================================
``base/steps``                    uint8   step from draw k - 1 to k; 0 at draw 0 and at wide steps
``base/wide_draw``                int32   the draws whose step does not fit
``base/wide_step``                int32   their steps
``arithmetics/<id>``              int8    ULP from ``relative_to``; the base itself is an empty dataset
``correctly_rounded``             int8    ULP from the base to the correctly rounded value
``span/below``, ``span/above``    uint8   ULP from the base to the lowest and highest of all of these
================================  ======  ===============================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.errors import VectorsError
from posvec.vectors.derive import N_DRAWS
from posvec.vectors.hdf5_read import NotPlain, PlainFile
from posvec.vectors.opening import opened

FORMAT: Final = "posvec draw table"
FORMAT_VERSION: Final = 1

BASE_STEPS: Final = "base/steps"
BASE_WIDE_DRAW: Final = "base/wide_draw"
BASE_WIDE_STEP: Final = "base/wide_step"
ARITHMETICS: Final = "arithmetics"
CORRECTLY_ROUNDED: Final = "correctly_rounded"
SPAN_BELOW: Final = "span/below"
SPAN_ABOVE: Final = "span/above"


class DrawTableError(VectorsError):
    """The draw table is missing, damaged or of a format that this version does not read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, f"the draw table {problem}", remedy="reinstall posvec or run `make vectors`")


def digest(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's elements in C order, little endian, as hex."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return hashlib.sha256(plain.data).hexdigest()


def content_digest(attributes: Mapping[str, Mapping[str, str | int]]) -> str:
    """Return the SHA-256 of all attributes, by the path of what has them; among them the digest of each dataset.

    It covers the whole content, so it needs to read no dataset: each is checked against its own digest when
    it is loaded.
    """
    root = {name: value for name, value in attributes["/"].items() if name != "content_sha256"}
    return hashlib.sha256(json.dumps({**attributes, "/": root}, sort_keys=True).encode()).hexdigest()


def read_header(path: Path) -> dict[str, Any]:
    """Return the root attributes and, by id, those of the arithmetics, after checking them.

    Raises:
        DrawTableError: the file is missing, not HDF5, of another format, or its attributes were altered.

    """
    with _opened(path) as file:
        header: dict[str, Any] = file.root.attrs
        if header.get("format") != FORMAT:
            raise DrawTableError(path, "is an HDF5 file of another kind")
        version = header.get("format_version")
        if version != FORMAT_VERSION:
            raise DrawTableError(path, f"has format version {version!s:.20}, and this posvec reads {FORMAT_VERSION}")
        attributes = {"/": header} | {name: item.attrs for name, item in file.root.walk()}
        if content_digest(attributes) != header.get("content_sha256"):
            raise DrawTableError(path, "is damaged: its content does not match its SHA-256")
        members = {name: attributes[f"{ARITHMETICS}/{name}"] for name in file.root.group(ARITHMETICS)}
        return header | {ARITHMETICS: members}


def read_dataset(path: Path, name: str) -> NDArray[Any]:
    """Return one dataset, checked against its SHA-256.

    Raises:
        DrawTableError: the file is missing or damaged.

    """
    with _opened(path) as file:
        dataset = file[name]
        # Nothing in a draw table is longer; so says the file, and memory is taken for no more.
        if len(dataset.shape) != 1 or dataset.shape[0] > N_DRAWS:
            raise NotPlain(f"{name} has shape {dataset.shape}")
        array = dataset[()]
        if digest(array) != dataset.attrs.get("sha256"):
            raise DrawTableError(path, f"is damaged: {name} does not match its SHA-256")
    return array


@contextmanager
def _opened(path: Path) -> Iterator[PlainFile]:
    try:
        with opened(path, kind="draw table", remedy="") as file:
            yield file
    except DrawTableError:
        raise
    except VectorsError as error:
        missing = not path.exists()
        raise DrawTableError(path, "is missing" if missing else f"cannot be read: {error.problem}") from error
