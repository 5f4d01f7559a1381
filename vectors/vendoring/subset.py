"""Writing the quick subset of a golden file as a golden file of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from posvec.schemas.manifest import FORMAT, FORMAT_VERSION, Manifest
from posvec.vectors.case_golden import CaseGolden
from posvec.vectors.golden import Golden, content_digest, dataset_shapes
from posvec.vectors.hdf5_read import PlainFile
from posvec.vectors.hdf5_write import create_dataset, new_file
from posvec.vectors.manifest_text import REMEDY
from posvec.vectors.opening import opened
from posvec.vectors.quick import quick_subset
from posvec.vectors.write_cases import CaseValues, write_cases

_CHUNK = 64


def write_quick(golden: Golden | CaseGolden, path: Path) -> bool:
    """Write the quick cases of ``golden`` to ``path``, and the manifest beside it; the same bytes every time.

    The ids are the same, and so is what is known about each case. Tables are kept whole: the quick cases touch all.

    Returns:
        Whether there was anything to leave out; if not, nothing is written and the file itself is the subset.

    Raises:
        OutputError, OSError: It could not be written.
        VectorsError: ``golden`` has been damaged since it was opened.

    """
    cases = golden.cases()
    chosen = {case.id for case in quick_subset(cases)}
    if len(chosen) == len(cases):
        return False
    kept = [case for case in cases if case.id in chosen]
    if isinstance(golden, CaseGolden):
        values = []
        for case in kept:
            known = None if case.must_raise else golden.known(case)
            values.append(
                CaseValues(
                    case=case,
                    expected=None if known is None else known.expected.reshape(known.shape),
                    below=None if known is None else known.accept_below.reshape(known.shape),
                    above=None if known is None else known.accept_above.reshape(known.shape),
                )
            )
        write_cases(path, suite=golden.suite, cases=values, command=golden.manifest.command)
        return True
    subset = tuple((case.args["seed"], case.args["d_model"], case.args["T"]) for case in kept)
    with opened(golden.path, kind="golden file", remedy=REMEDY) as source:
        manifest = _write(path, source, replace(golden.manifest, subset=subset))
    path.with_suffix(".json").write_text(manifest.to_json(), "ascii", newline="\n")
    return True


def _write(path: Path, source: PlainFile, manifest: Manifest) -> Manifest:
    with new_file(path) as file:
        file.attrs["format"] = FORMAT
        file.attrs["format_version"] = FORMAT_VERSION
        file.attrs["name"] = manifest.name
        for name, _, shape in dataset_shapes(manifest):
            table = source[name]
            copy = create_dataset(file, name, shape, table.dtype.str)
            for start in range(0, shape[0], _CHUNK):
                copy[start : start + _CHUNK] = table[start : start + _CHUNK]
        manifest = replace(manifest, content_sha256=content_digest(file, manifest))
        file.create_dataset("manifest", data=np.bytes_(manifest.to_json().encode("ascii")), track_times=False)
    return manifest
