"""Reading a golden file: its manifest, its cases and what is known about each of them.

In the file every seed and d_model has one table of shape ``(rows, d_model)``, and the expected array of a case is
the first ``T * d_model`` elements of it. For d_model 4, say, the group ``d_model=4`` holds

- ``expected`` float32, ``draw`` uint32, both of shape ``(seeds, rows, 4)``,
- ``accept_below``, ``accept_above``, ``cell_below``, ``cell_above``: unsigned integers, ULP from ``expected``,
- ``recordings/r01``, …: signed integers, ULP from ``expected`` (``r00`` is ``expected`` itself),

and ``axes/seed``, ``axes/T``, ``axes/d_model`` hold the axes, ``manifest`` the text of the manifest. The cases are all
combinations of the axes' values or, where the manifest lists a ``subset``, those; the tables are whole either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.axes import Axis
from posvec.schemas.build import Stream
from posvec.schemas.case import Case
from posvec.schemas.errors import VectorsError
from posvec.schemas.manifest import SCHEMA_FILE, Manifest, Recording, case_id
from posvec.schemas.suite import Suite
from posvec.vectors.content_digest import ContentDigest, Rows
from posvec.vectors.derive import N_DRAWS
from posvec.vectors.hdf5_read import Dataset, NotPlain, PlainFile
from posvec.vectors.known import Known
from posvec.vectors.manifest_text import REMEDY, check_digest, check_unchanged, manifest_text, parse
from posvec.vectors.opening import opened
from posvec.vectors.ulp import Float32, from_ordered, ordered

INTERVALS = ("accept_below", "accept_above", "cell_below", "cell_above")
_UNSIGNED = ("|u1", "<u2", "<u4")
_SIGNED = ("|i1", "<i2", "<i4")
_BLOCK_ELEMENTS = 262_144
# About 500 bytes each.
_MOST_CASES = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The tables of one d_model for some consecutive seeds, each array of shape ``(seeds, rows * d_model)``."""

    known: Known
    start: int


@dataclass(frozen=True, kw_only=True)
class Golden:
    """A golden file whose form and content digest have been checked.

    No expected value stays in memory until :meth:`known` is called.
    """

    path: Path
    manifest: Manifest
    _blocks: Any = field(repr=False, compare=False, default=None)

    @classmethod
    def open(cls, path: Path | str) -> Golden:
        """Check the file at ``path`` and return it.

        Raises:
            VectorsError: It is missing, damaged, of another format version, violates the schema, or its content is
                not what its digest says.

        """
        path = Path(path)
        with opened(path, kind="golden file", remedy=REMEDY) as file:
            manifest = parse_manifest(path, manifest_text(path, file))
            digest = _checked_digest(file, manifest)
        check_digest(path, digest, manifest.content_sha256)
        golden = cls(path=path, manifest=manifest)
        object.__setattr__(golden, "_blocks", lru_cache(maxsize=32)(golden._block))
        return golden

    def check_unchanged(self) -> None:
        """Check the content digest again: a target that ran meanwhile may have edited the file.

        Raises:
            VectorsError: The content is no longer what it was when the file was opened.

        """
        check_unchanged(self.path, lambda file: _checked_digest(file, self.manifest), self.manifest.content_sha256)

    @property
    def suite(self) -> Suite:
        """The function under test and its contract."""
        return self.manifest.suite

    @property
    def stream(self) -> Stream:
        """Which integers a seed gives."""
        return self.manifest.stream

    @property
    def name(self) -> str:
        """What case ids begin with."""
        return self.manifest.name

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """The recordings; the first is ``expected``."""
        return self.manifest.recordings

    def cases(self) -> Sequence[Case]:
        """Return every case: seeds outermost, then d_model, then T.

        Raises:
            VectorsError: There are more than memory is taken for.

        """
        axes = self.manifest.axes
        if self.manifest.cases > _MOST_CASES:
            raise VectorsError(
                self.path,
                f"holds {self.manifest.cases:,} cases, and at most {_MOST_CASES:,} are verified at once",
                remedy="generate several smaller files",
            )
        if self.manifest.subset:
            return tuple(table_case(self.name, seed=seed, T=T, d_model=d) for seed, d, T in self.manifest.subset)
        return _grid(self.name, axes["seed"], axes["d_model"], axes["T"])

    def known(self, case: Case) -> Known:
        """Return what the file knows about the output of ``case``: views into a table."""
        seed, T, d_model = case.args["seed"], case.args["T"], case.args["d_model"]
        position = self.manifest.axes["seed"].index(seed)
        size = _block_seeds(self.manifest.rows, d_model)
        block: Block = self._blocks(d_model, position - position % size)
        return prefix(block.known, position - block.start, T * d_model)

    def check_values(self) -> None:
        """Look through all tables for values that cannot be.

        Raises:
            VectorsError: There is one.

        """
        for d_model in self.manifest.axes["d_model"]:
            for start in range(0, len(self.manifest.axes["seed"]), _block_seeds(self.manifest.rows, d_model)):
                self._block(d_model, start)

    def read_intervals(self, d_model: int, start: int, stop: int) -> NDArray[np.int64]:
        """Return accept interval and cell, in ULP from ``expected``: int64, ``(4, stop - start, rows, d_model)``."""
        with self._tables(d_model) as table:
            return np.stack([table(name)[start:stop].astype(np.int64) for name in INTERVALS])

    def read(self, recording: Recording, d_model: int, start: int, stop: int) -> Float32:
        """Return the tables of a recording, float32 of shape ``(stop - start, rows, d_model)``.

        ``start`` and ``stop`` are positions on the seed axis.
        """
        with self._tables(d_model) as table:
            expected: Float32 = table("expected")[start:stop]
            if recording.id == self.recordings[0].id:
                return expected
            return from_ordered(ordered(expected) + table(f"recordings/{recording.id}")[start:stop].astype(np.int32))

    def read_draws(self, d_model: int, start: int, stop: int) -> NDArray[np.uint32]:
        """Return the draws behind the tables, uint32 of shape ``(stop - start, rows, d_model)``."""
        with self._tables(d_model) as table:
            draws: NDArray[np.uint32] = table("draw")[start:stop]
            return draws

    @contextmanager
    def _tables(self, d_model: int) -> Iterator[Callable[[str], Dataset]]:
        """Open the file and yield what returns a table of ``d_model``, whose form is checked: it may have changed."""
        shape = (len(self.manifest.axes["seed"]), self.manifest.rows, d_model)
        with opened(self.path, kind="golden file", remedy=REMEDY) as file:
            yield lambda name: _plain(file, f"d_model={d_model}/{name}", _dtypes(name), shape)

    def _block(self, d_model: int, start: int) -> Block:
        stop = start + _block_seeds(self.manifest.rows, d_model)
        with self._tables(d_model) as table:

            def flat(name: str) -> NDArray[Any]:
                rows = table(name)[start:stop]
                return rows.reshape(len(rows), -1)

            expected = flat("expected")
            zero = np.zeros(expected.shape, np.int8)
            differences = [zero, *(flat(f"recordings/{recording.id}") for recording in self.recordings[1:])]
            stacked = np.stack([d.astype(np.int32) for d in differences], axis=1)
            known = Known(
                expected=expected,
                shape=expected.shape,
                features=d_model,
                draw=flat("draw"),
                **{name: flat(name) for name in INTERVALS},
                recordings=stacked,
                same_until=first_difference(stacked),
            )
        impossible = _impossible(known)
        if impossible:
            raise VectorsError(self.path, f"holds what cannot be, in d_model={d_model}: {impossible}", remedy=REMEDY)
        return Block(known=known, start=start)


def _impossible(known: Known) -> str:
    """Say what in a block of tables no right file holds, if anything: a digest proves only that it is as written."""
    if not np.isfinite(known.expected).all():
        return "an expected value that is not finite"
    if known.draw.max(initial=0) >= N_DRAWS:
        return f"a draw above {N_DRAWS - 1}"
    below, above = known.accept_below.astype(np.int64), known.accept_above.astype(np.int64)
    if (known.cell_below > below).any() or (known.cell_above > above).any():
        return "a cell wider than its accept interval"
    if ((known.recordings < -below[:, None]) | (known.recordings > above[:, None])).any():
        return "a recorded value outside its accept interval"
    return ""


def first_difference(recordings: NDArray[Any]) -> NDArray[np.int64]:
    """Return, along the last axis, the index of the first element that is not 0, or the axis' length."""
    differs = recordings != 0
    first: NDArray[np.int64] = np.where(differs.any(axis=-1), differs.argmax(axis=-1), recordings.shape[-1])
    return first


def prefix(tables: Known, row: int, length: int) -> Known:
    """Return the first ``length`` elements of table ``row`` of a block of tables, as views."""
    return replace(
        tables,
        expected=tables.expected[row, :length],
        shape=(length,),
        draw=tables.draw[row, :length],
        accept_below=tables.accept_below[row, :length],
        accept_above=tables.accept_above[row, :length],
        cell_below=tables.cell_below[row, :length],
        cell_above=tables.cell_above[row, :length],
        recordings=tables.recordings[row, :, :length],
        same_until=tables.same_until[row],
    )


@lru_cache(maxsize=4)  # a process that judges many targets asks again and again
def _grid(name: str, seeds: Axis, d_models: Axis, lengths: Axis) -> tuple[Case, ...]:
    return tuple(
        table_case(name, seed=seed, T=T, d_model=d_model) for seed in seeds for d_model in d_models for T in lengths
    )


def table_case(name: str, *, seed: int, T: int, d_model: int) -> Case:
    """Return the case of the vectors called ``name`` with these arguments."""
    return Case(id=case_id(name, seed, d_model, T), args={"seed": seed, "T": T, "d_model": d_model})


def dataset_shapes(manifest: Manifest) -> Iterator[tuple[str, tuple[str, ...], tuple[int, ...]]]:
    """Yield every dataset of a golden file but ``manifest``: name, allowed dtypes, shape; in digest order."""
    for axis, values in manifest.axes.items():
        yield f"axes/{axis}", ("<i8",), (len(values),)
    for d_model in manifest.axes["d_model"]:
        shape = (len(manifest.axes["seed"]), manifest.rows, d_model)
        for name in ("expected", "draw", *INTERVALS, *(f"recordings/{r.id}" for r in manifest.recordings[1:])):
            yield f"d_model={d_model}/{name}", _dtypes(name), shape


def _dtypes(table: str) -> tuple[str, ...]:
    if table.startswith("recordings/"):
        return _SIGNED
    return {"expected": ("<f4",), "draw": ("<u4",)}.get(table, _UNSIGNED)


class Datasets(Protocol):
    """An open golden file: one that is read, or one that is being written."""

    def __getitem__(self, name: str, /) -> Rows:
        """Return the dataset of this name."""


def content_digest(file: Datasets, manifest: Manifest) -> str:
    """Return the SHA-256 of everything in an open golden file, the manifest's own digest field left empty."""
    digest = ContentDigest()
    digest.text("manifest", replace(manifest, content_sha256="").to_json())
    for name, _, _ in dataset_shapes(manifest):
        digest.dataset(name, file[name])
    return digest.hexdigest()


def _block_seeds(rows: int, d_model: int) -> int:
    return max(1, _BLOCK_ELEMENTS // (rows * d_model))


def parse_manifest(path: Path, text: str) -> Manifest:
    """Return the manifest in the golden file ``path``, whose text this is.

    Raises:
        VectorsError: It is no JSON, violates the schema, contradicts itself, or is not in its normal form.

    """
    return parse(path, text, Manifest.from_dict, SCHEMA_FILE)


def _plain(file: PlainFile, name: str, dtypes: tuple[str, ...], shape: tuple[int, ...]) -> Dataset:
    dataset = file[name]
    if dataset.shape != shape:
        raise NotPlain(f"{name} has shape {dataset.shape}, not {shape}")
    if dataset.dtype.str not in dtypes:
        raise NotPlain(f"{name} has dtype {dataset.dtype.str}, not {' or '.join(dtypes)}")
    return dataset


def _checked_digest(file: PlainFile, manifest: Manifest) -> str:
    _check_datasets(file, manifest)
    return content_digest(file, manifest)


def _check_datasets(file: PlainFile, manifest: Manifest) -> None:
    stored = 0
    for name, dtypes, shape in dataset_shapes(manifest):
        stored += _plain(file, name, dtypes, shape).stored
        # Many datasets that share their bytes would take any time to unpack.
        if stored > file.size:
            raise NotPlain(f"its datasets, up to {name}, overlap")
    for name, axis in manifest.axes.items():
        dataset = file[f"axes/{name}"]
        for start in range(0, len(axis), _BLOCK_ELEMENTS):
            if dataset[start : start + _BLOCK_ELEMENTS].tolist() != axis.slice(start, start + _BLOCK_ELEMENTS):
                raise NotPlain(f"axes/{name} does not hold what the manifest says")
