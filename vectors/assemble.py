"""Writing a golden file: recorded bytes, what the draw table adds to them, and the manifest.

Everything is streamed over seeds, so memory does not grow with their number, and sorted, so that the order in
which builds were recorded does not show: the same content gives the same file, byte for byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from posvec import __version__
from posvec.schemas.axes import Axis
from posvec.schemas.build import Build, Stream
from posvec.schemas.errors import ReferenceDisagrees
from posvec.schemas.manifest import FORMAT, FORMAT_VERSION, Manifest, Recording
from posvec.schemas.suite import Suite
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.vectors.golden import INTERVALS, Golden, content_digest
from posvec.vectors.hdf5_write import create_dataset, new_file
from posvec.vectors.replace import replacing_golden
from posvec.vectors.suites import MAX_T
from posvec.vectors.ulp import Float32, ordered

_CHUNK_ELEMENTS = 1_048_576

Read = Callable[[int, int, int], Float32]
"""``read(d_model, start, stop)``: tables of the seeds at these positions, float32 ``(stop - start, rows, d_model)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Bytes that a build returned, to be read back chunk by chunk."""

    build: Build
    read: Read


@dataclass(slots=True, kw_only=True)
class _Source:
    """One set of bytes on its way into the file, with every name it has."""

    read: Read
    digest: str
    builds: set[Build] = field(default_factory=set)
    arithmetics: set[str] = field(default_factory=set)

    @property
    def sort_key(self) -> tuple[Any, ...]:
        canonical = any(build.is_canonical for build in self.builds)
        return (not canonical, not self.builds, sorted(self.builds), sorted(self.arithmetics))


def write_golden(
    path: Path,
    *,
    suite: Suite,
    stream: Stream,
    axes: Mapping[str, Axis],
    recordings: Sequence[Recorded],
    existing: Golden | None,
    table: DrawTable,
    command: str,
) -> Manifest:
    """Write the golden file at ``path`` and its manifest beside it, and return the manifest.

    ``expected`` is the canonical build's recording, else what the draw table derives for that build.

    Args:
        path: The ``.h5`` file; the manifest goes to the same name with ``.json``. Replaced only when whole.
        suite: The function under test.
        stream: Which integers a seed gives.
        axes: The values of each argument.
        recordings: What builds returned.
        existing: A golden file of the same axes whose recordings are all kept.
        table: The draw table.
        command: The command that makes the file, in normal form.

    Raises:
        OutputError: The file could not be written; what was there is untouched.
        ReferenceDisagrees: A recorded value lies outside its accept interval.

    """
    writer = _Writer(suite=suite, stream=stream, axes=axes, table=table, command=command)
    sources = writer.sources(recordings, existing)
    with replacing_golden(path) as (temporary, beside):
        manifest = writer.write(temporary, sources)
        beside.write_text(manifest.to_json(), "ascii", newline="\n")
    return manifest


class _Writer:
    def __init__(
        self, *, suite: Suite, stream: Stream, axes: Mapping[str, Axis], table: DrawTable, command: str
    ) -> None:
        self._suite, self._stream, self._axes, self._table, self._command = (
            suite,
            stream,
            axes,
            table,
            command,
        )
        self._draw_cache: tuple[tuple[int, int, int], NDArray[np.uint32]] | None = None

    def sources(self, recordings: Sequence[Recorded], existing: Golden | None) -> list[_Source]:
        """Group all bytes by what they are: builds and arithmetics with equal bytes are one source."""
        by_digest: dict[str, _Source] = {}

        def add(read: Read) -> _Source:
            digest = self._digest(read)
            return by_digest.setdefault(digest, _Source(read=read, digest=digest))

        if existing is not None:
            for recording in existing.recordings:
                if recording.builds:
                    source = add(_reader(existing, recording))
                    source.builds |= set(recording.builds)
        for recorded in recordings:
            add(recorded.read).builds.add(recorded.build)
        for arithmetic in self._table.arithmetics:
            source = add(self._derived(arithmetic.id))
            source.arithmetics.add(arithmetic.id)
        canonical = next(s for s in by_digest.values() if self._table.canonical in s.arithmetics)
        ordered_sources = sorted(by_digest.values(), key=lambda source: source.sort_key)
        if not any(build.is_canonical for build in ordered_sources[0].builds):
            ordered_sources.remove(canonical)
            ordered_sources.insert(0, canonical)
        return ordered_sources

    def write(self, path: Path, sources: list[_Source]) -> Manifest:
        recordings = tuple(
            Recording(
                id=f"r{number:02d}",
                builds=tuple(sorted(source.builds)),
                arithmetics=tuple(a.id for a in self._table.arithmetics if a.id in source.arithmetics),
            )
            for number, source in enumerate(sources)
        )
        manifest = Manifest(
            suite=self._suite,
            stream=self._stream,
            axes=self._axes,
            rows=MAX_T,
            recordings=recordings,
            slack_ulp=self._table.slack_ulp,
            draw_table_sha256=self._table.content_sha256,
            command=self._command,
            posvec=__version__,
        )
        with new_file(path) as file:
            file.attrs["format"] = FORMAT
            file.attrs["format_version"] = FORMAT_VERSION
            file.attrs["name"] = manifest.name
            self._write_axes(file)
            for d_model in self._axes["d_model"]:
                self._write_expected(file.create_group(f"d_model={d_model}"), d_model, sources[0].read)
            # Recordings outermost: a derived one needs its whole arithmetic in memory.
            for source, recording in zip(sources[1:], recordings[1:], strict=True):
                for d_model in self._axes["d_model"]:
                    self._write_recording(file[f"d_model={d_model}"], d_model, source.read, recording)
            manifest = replace(manifest, content_sha256=content_digest(file, manifest))
            file.create_dataset("manifest", data=np.bytes_(manifest.to_json().encode("ascii")), track_times=False)
        return manifest

    def _write_axes(self, file: h5py.File) -> None:
        for name, axis in self._axes.items():
            dataset = create_dataset(file, f"axes/{name}", (len(axis),), "<i8")
            for start in range(0, len(axis), _CHUNK_ELEMENTS):
                dataset[start : start + _CHUNK_ELEMENTS] = axis.slice(start, start + _CHUNK_ELEMENTS)

    def _write_expected(self, group: h5py.Group, d_model: int, read: Read) -> None:
        shape = (len(self._axes["seed"]), MAX_T, d_model)
        expected = create_dataset(group, "expected", shape, "<f4")
        draw = create_dataset(group, "draw", shape, "<u4")
        intervals = {name: _Growing(group, name, shape, ("|u1", "<u2", "<u4")) for name in INTERVALS}
        for start, stop in self._chunks(d_model):
            values, draws = read(d_model, start, stop), self._draws(d_model, start, stop)
            expected[start:stop], draw[start:stop] = values, draws
            for name, bounds in self._intervals(values, draws).items():
                intervals[name].put(start, stop, bounds)

    def _write_recording(self, group: h5py.Group, d_model: int, read: Read, recording: Recording) -> None:
        differences = _Growing(group, f"recordings/{recording.id}", group["expected"].shape, ("|i1", "<i2", "<i4"))
        for start, stop in self._chunks(d_model):
            values = read(d_model, start, stop)
            difference = ordered(values).astype(np.int64) - ordered(group["expected"][start:stop])
            self._check_accepted(
                recording,
                d_model,
                start,
                difference,
                group["accept_below"][start:stop],
                group["accept_above"][start:stop],
            )
            differences.put(start, stop, difference)

    def _intervals(self, expected: Float32, draws: NDArray[np.uint32]) -> dict[str, NDArray[np.int64]]:
        position = ordered(expected).astype(np.int64)
        accept_low, accept_high = (bound.astype(np.int64) for bound in self._table.accept(draws))
        cell_low, cell_high = (bound.astype(np.int64) for bound in self._table.cell(draws))
        return {
            "accept_below": position - accept_low,
            "accept_above": accept_high - position,
            "cell_below": position - np.maximum(cell_low, accept_low),
            "cell_above": np.minimum(cell_high, accept_high) - position,
        }

    def _check_accepted(
        self,
        recording: Recording,
        d_model: int,
        start: int,
        difference: NDArray[np.int64],
        below: NDArray[Any],
        above: NDArray[Any],
    ) -> None:
        outside = np.argwhere((difference < -below.astype(np.int64)) | (difference > above.astype(np.int64)))
        if len(outside):
            row, t, d = (int(i) for i in outside[0])
            seed = self._axes["seed"].slice(start + row, start + row + 1)[0]
            raise ReferenceDisagrees(
                f"{recording.label} gives a value {difference[row, t, d]} ULP from the expected one at seed {seed}, "
                f"d_model {d_model}, position {t}, feature {d}, which is outside the accept interval; nothing was "
                "written: no build recorded so far rounds like this, so please report it with its XLA_FLAGS."
            )

    def _derived(self, arithmetic: str) -> Read:
        return lambda d_model, start, stop: self._table.values_at(arithmetic, self._draws(d_model, start, stop))

    def _draws(self, d_model: int, start: int, stop: int) -> NDArray[np.uint32]:
        key = (d_model, start, stop)
        if self._draw_cache is None or self._draw_cache[0] != key:
            seeds = self._axes["seed"].slice(start, stop)
            self._draw_cache = key, table_draws(seeds, d_model, stream=self._stream, rows=MAX_T)
        return self._draw_cache[1]

    def _digest(self, read: Read) -> str:
        digest = hashlib.sha256()
        for d_model in self._axes["d_model"]:
            for start, stop in self._chunks(d_model):
                digest.update(np.ascontiguousarray(read(d_model, start, stop)).tobytes())
        return digest.hexdigest()

    def _chunks(self, d_model: int) -> Iterator[tuple[int, int]]:
        seeds = len(self._axes["seed"])
        size = max(1, _CHUNK_ELEMENTS // (MAX_T * d_model))
        for start in range(0, seeds, size):
            yield start, min(seeds, start + size)


class _Growing:
    """A dataset of the narrowest integer type that holds all of it, found while writing."""

    def __init__(self, group: h5py.Group, name: str, shape: tuple[int, ...], dtypes: tuple[str, ...]) -> None:
        self._group, self._name, self._shape, self._dtypes = group, name, shape, dtypes
        self._dataset = create_dataset(group, name, shape, dtypes[0])

    def put(self, start: int, stop: int, values: NDArray[np.int64]) -> None:
        limits = np.iinfo(self._dataset.dtype)
        if values.size and (values.min() < limits.min or values.max() > limits.max):
            self._widen(values)
        self._dataset[start:stop] = values

    def _widen(self, values: NDArray[np.int64]) -> None:
        wider = next(d for d in self._dtypes if values.min() >= np.iinfo(d).min and values.max() <= np.iinfo(d).max)
        narrow = self._dataset
        del self._group[self._name]
        self._dataset = create_dataset(self._group, self._name, self._shape, wider)
        rows = max(1, _CHUNK_ELEMENTS // int(np.prod(self._shape[1:])))
        for start in range(0, self._shape[0], rows):
            self._dataset[start : start + rows] = narrow[start : start + rows]


def _reader(golden: Golden, recording: Recording) -> Read:
    return lambda d_model, start, stop: golden.read(recording, d_model, start, stop)
