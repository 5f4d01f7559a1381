"""Reading a golden file that is a list of cases.

The group ``cases/0000`` and so on holds of each case ``args/NAME``, its arguments that are arrays; ``expected``, unless
the function must raise; and, where the manifest says ``accept``, ``accept_below`` and ``accept_above``: float32 steps
from ``expected`` that ``equivalent`` allows. ``manifest`` is the text of the manifest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.case import Case
from posvec.schemas.case_manifest import SCHEMA_FILE, STORAGE, CaseEntry, CaseManifest
from posvec.schemas.errors import VectorsError
from posvec.schemas.manifest import Recording
from posvec.schemas.suite import DTYPES, Suite
from posvec.vectors.content_digest import ContentDigest
from posvec.vectors.golden import Datasets, Golden
from posvec.vectors.hdf5_read import NotPlain, PlainFile
from posvec.vectors.known import Known
from posvec.vectors.manifest_text import REMEDY, check_digest, check_unchanged, manifest_text, parse
from posvec.vectors.opening import opened

ACCEPT = ("accept_below", "accept_above")


@dataclass(frozen=True, kw_only=True)
class CaseGolden:
    """A golden file of cases whose form and content digest have been checked.

    Arguments are read when :meth:`cases` is called, expected values when :meth:`known` first is.
    """

    path: Path
    manifest: CaseManifest

    @classmethod
    def open(cls, path: Path) -> CaseGolden:
        """Check the file at ``path`` and return it.

        Raises:
            VectorsError: It is missing, damaged, of another format, or its content is not what its digest says.

        """
        with opened(path, kind="golden file", remedy=REMEDY) as file:
            manifest = parse(path, manifest_text(path, file), CaseManifest.from_dict, SCHEMA_FILE)
            digest = _checked_digest(file, manifest)
        check_digest(path, digest, manifest.content_sha256)
        return cls(path=path, manifest=manifest)

    def check_unchanged(self) -> None:
        """Check the content digest again: a target that ran meanwhile may have edited the file.

        Raises:
            VectorsError: The content is no longer what it was when the file was opened.

        """
        check_unchanged(self.path, lambda file: _checked_digest(file, self.manifest), self.manifest.content_sha256)

    def check_values(self) -> None:
        """Look for expected values that cannot be.

        Raises:
            VectorsError: There is one.

        """
        for entry in self.manifest.cases:
            if entry.shape is not None and not np.isfinite(self._expected[entry.id][0]).all():
                raise VectorsError(self.path, f"holds a value that is not finite, in {entry.id}", remedy=REMEDY)

    @property
    def suite(self) -> Suite:
        """The function under test and its contract."""
        return self.manifest.suite

    @property
    def stream(self) -> None:
        """No random stream is behind these vectors."""

    @property
    def name(self) -> str:
        """What case ids begin with."""
        return self.manifest.name

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """No builds are recorded: every case has one expected array."""
        return ()

    def cases(self) -> list[Case]:
        """Return every case, with its arguments read."""
        with opened(self.path, kind="golden file", remedy=REMEDY) as file:
            return [
                Case(
                    id=entry.id,
                    args={name: self._argument(file, i, name, value) for name, value in entry.args.items()},
                    axes=entry.axes,
                    must_raise=entry.shape is None,
                    neighbour=entry.neighbour,
                )
                for i, entry in enumerate(self.manifest.cases)
            ]

    def known(self, case: Case) -> Known:
        """Return what the file knows about the output of ``case``, which does not raise."""
        expected, below, above = self._expected[case.id]
        n = expected.size
        return Known(
            expected=expected.reshape(-1),
            shape=expected.shape,
            features=expected.shape[-1] if expected.ndim and n else 1,
            draw=np.zeros(0, np.uint32),
            accept_below=below.reshape(-1),
            accept_above=above.reshape(-1),
            cell_below=below.reshape(-1),
            cell_above=above.reshape(-1),
            recordings=np.zeros((1, n), np.int8),
            same_until=np.array([n]),
        )

    @cached_property
    def _expected(self) -> dict[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        found = {}
        with opened(self.path, kind="golden file", remedy=REMEDY) as file:
            for i, entry in enumerate(self.manifest.cases):
                if entry.shape is None:
                    continue
                values = file[f"{group(i)}/expected"][()]
                zero = np.zeros(values.shape, np.uint32)
                bounds = [file[f"{group(i)}/{name}"][()] if entry.accept else zero for name in ACCEPT]
                found[entry.id] = (values, bounds[0], bounds[1])
        return found

    def _argument(self, file: PlainFile, number: int, name: str, value: Any) -> Any:
        return file[f"{group(number)}/args/{name}"][()] if isinstance(value, tuple) else value


def open_golden(path: Path | str) -> Golden | CaseGolden:
    """Check the golden file at ``path``, of either kind, and return it.

    Raises:
        VectorsError: It is missing, damaged, of another format, or its content is not what its digest says.

    """
    path = Path(path)
    with opened(path, kind="golden file", remedy=REMEDY) as file:
        is_cases = STORAGE in file.root  # if that is a lie, the reader says what is wrong
    return CaseGolden.open(path) if is_cases else Golden.open(path)


def group(number: int) -> str:
    """Return the name of the group that holds a case's arrays."""
    return f"{STORAGE}/{number:04d}"


def dataset_shapes(manifest: CaseManifest) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield every dataset of such a file but ``manifest``: name, dtype, shape; in digest order."""
    dtypes = {p.name: DTYPES[p.dtype] for p in manifest.suite.parameters if p.kind == "array"}
    for number, case in enumerate(manifest.cases):
        yield from _of_case(group(number), case, dtypes, DTYPES[manifest.suite.output.dtype])


def _of_case(
    where: str, case: CaseEntry, dtypes: dict[str, str], output: str
) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    for name, value in case.args.items():
        if isinstance(value, tuple):
            yield f"{where}/args/{name}", dtypes[name], value
    if case.shape is not None:
        yield f"{where}/expected", output, case.shape
        if case.accept:
            for bound in ACCEPT:
                yield f"{where}/{bound}", "<u4", case.shape


def content_digest(file: Datasets, manifest: CaseManifest) -> str:
    """Return the SHA-256 of everything in an open file, the manifest's own digest field left empty."""
    digest = ContentDigest()
    digest.text("manifest", replace(manifest, content_sha256="").to_json())
    for name, _, shape in dataset_shapes(manifest):
        rows = file[name]
        digest.dataset(name, np.asarray(rows[()]).reshape(1) if shape == () else rows)  # type: ignore[index]
    return digest.hexdigest()


def _checked_digest(file: PlainFile, manifest: CaseManifest) -> str:
    stored = 0
    for name, dtype, shape in dataset_shapes(manifest):
        dataset = file[name]
        if dataset.shape != shape or dataset.dtype.str != dtype:
            raise NotPlain(f"{name} has dtype {dataset.dtype.str} and shape {dataset.shape}, not {dtype} and {shape}")
        stored += dataset.stored
        # Many datasets that share their bytes would take any time to unpack.
        if stored > file.size:
            raise NotPlain(f"its datasets, up to {name}, overlap")
    return content_digest(file, manifest)
