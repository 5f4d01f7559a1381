"""Writing a golden file that is a list of cases. The same cases give the same file, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec import __version__
from posvec.schemas.case import Case
from posvec.schemas.case_manifest import CaseEntry, CaseManifest
from posvec.schemas.manifest import FORMAT, FORMAT_VERSION
from posvec.schemas.suite import DTYPES, Suite
from posvec.vectors.case_golden import ACCEPT, content_digest, group
from posvec.vectors.hdf5_write import create_dataset, new_file
from posvec.vectors.replace import replacing_golden

_SMALL = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseValues:
    """What must come of one case: None for all three if the function must raise."""

    case: Case
    expected: NDArray[Any] | None
    below: NDArray[np.uint32] | None = None
    above: NDArray[np.uint32] | None = None


def write_cases(path: Path, *, suite: Suite, cases: Sequence[CaseValues], command: str) -> CaseManifest:
    """Write the golden file at ``path`` and its manifest beside it, and return the manifest.

    Args:
        path: The ``.h5`` file; the manifest goes to the same name with ``.json``. Replaced only when whole.
        suite: The function under test.
        cases: The cases, in order.
        command: The command that makes the file, in normal form.

    Raises:
        OutputError: The file could not be written; what was there is untouched.

    """
    entries = tuple(_entry(suite, values) for values in cases)
    manifest = CaseManifest(suite=suite, cases=entries, command=command, posvec=__version__)
    with replacing_golden(path) as (temporary, beside):
        manifest = _write(temporary, manifest, cases)
        beside.write_text(manifest.to_json(), "ascii", newline="\n")
    return manifest


def _entry(suite: Suite, values: CaseValues) -> CaseEntry:
    args = {
        parameter.name: np.shape(values.case.args[parameter.name])
        if parameter.kind == "array"
        else float(values.case.args[parameter.name])
        if parameter.kind == "float"
        else int(values.case.args[parameter.name])
        for parameter in suite.parameters
    }
    bounds = [bound for bound in (values.below, values.above) if bound is not None and bound.any()]
    return CaseEntry(
        id=values.case.id,
        args=args,
        shape=None if values.expected is None else values.expected.shape,
        accept=bool(bounds),
        neighbour=values.case.neighbour,
    )


def _write(path: Path, manifest: CaseManifest, cases: Sequence[CaseValues]) -> CaseManifest:
    arrays = {p.name: DTYPES[p.dtype] for p in manifest.suite.parameters if p.kind == "array"}
    with new_file(path) as file:
        file.attrs["format"] = FORMAT
        file.attrs["format_version"] = FORMAT_VERSION
        file.attrs["name"] = manifest.name
        for number, (entry, values) in enumerate(zip(manifest.cases, cases, strict=True)):
            found = {f"args/{name}": (values.case.args[name], dtype) for name, dtype in arrays.items()}
            if values.expected is not None:
                found["expected"] = values.expected, DTYPES[manifest.suite.output.dtype]
            if entry.accept:
                bounds = zip(ACCEPT, (values.below, values.above), strict=True)
                found |= {name: (bound, "<u4") for name, bound in bounds}
            for name, (array, dtype) in found.items():
                where, values_of = f"{group(number)}/{name}", np.asarray(array, dtype)
                if values_of.nbytes < _SMALL:  # compressed it would be larger
                    file.create_dataset(where, data=values_of, track_times=False)
                else:
                    create_dataset(file, where, values_of.shape, dtype)[...] = values_of
        manifest = replace(manifest, content_sha256=content_digest(file, manifest))
        file.create_dataset("manifest", data=np.bytes_(manifest.to_json().encode("ascii")), track_times=False)
    return manifest
