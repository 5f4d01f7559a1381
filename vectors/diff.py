"""Compares two golden files: the same, other rounding, other draws, or only other cases."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.manifest import Recording
from posvec.vectors.golden import Golden
from posvec.vectors.ulp import ulp_distance

_CHUNK = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOnly:
    """Bytes that one of the two files records and the other does not, against the first file's ``expected``."""

    file: Literal["first", "second"]
    recording: Recording
    differing: int
    max_ulp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How two golden files differ, over the tables that both hold.

    Attributes:
        kind: ``equal``; ``coverage``: only other cases; ``intervals``: same values, other accept intervals or
            cells; ``rounding``: same draws, other bytes; ``draws``: other
            random integers; ``suite``: the files are of different suites, streams or layouts.
        elements: Table elements that both hold.
        other_draws: Elements whose draw differs.
        other_expected: Elements whose expected bytes differ, and ``max_ulp`` by how much at most.
        max_ulp: See ``other_expected``.
        other_intervals: Elements whose accept interval or cell differs.
        axes: The axes that differ, by name.
        subset: Whether, of the same axes, not the same cases are in both.
        recorded_only: Recorded bytes that only one file has.

    """

    kind: Literal["equal", "coverage", "intervals", "rounding", "draws", "suite"]
    elements: int = 0
    other_draws: int = 0
    other_expected: int = 0
    max_ulp: int = 0
    other_intervals: int = 0
    axes: tuple[str, ...] = ()
    subset: bool = False
    recorded_only: tuple[RecordedOnly, ...] = ()


def diff(first: Golden, second: Golden) -> Difference:
    """Compare two golden files."""
    a, b = first.manifest, second.manifest
    if (a.suite.name, a.rows) != (b.suite.name, b.rows):
        return Difference(kind="suite")
    axes = tuple(name for name in a.axes if a.axes[name] != b.axes[name])
    elements = other_draws = other_expected = other_intervals = max_ulp = 0
    for d_model, i, j, count in _common(first, second):
        draws = [file.read_draws(d_model, at, at + count) for file, at in ((first, i), (second, j))]
        values = [file.read(file.recordings[0], d_model, at, at + count) for file, at in ((first, i), (second, j))]
        distance = np.abs(ulp_distance(values[1], values[0]))
        elements += distance.size
        other_draws += int(np.count_nonzero(draws[0] != draws[1]))
        other_expected += int(np.count_nonzero(distance))
        max_ulp = max(max_ulp, int(distance.max(initial=0)))
        intervals = [file.read_intervals(d_model, at, at + count) for file, at in ((first, i), (second, j))]
        other_intervals += int(np.count_nonzero((intervals[0] != intervals[1]).any(axis=0)))
    only = () if other_draws else tuple(_recorded_only(first, second))
    kind: Literal["equal", "coverage", "intervals", "rounding", "draws"] = "equal"
    if other_draws:
        kind = "draws"
    elif other_expected or only:
        kind = "rounding"
    elif other_intervals or a.slack_ulp != b.slack_ulp:
        kind = "intervals"
    elif axes or a.subset != b.subset:
        kind = "coverage"
    return Difference(
        kind=kind,
        elements=elements,
        other_draws=other_draws,
        other_expected=other_expected,
        other_intervals=other_intervals,
        max_ulp=max_ulp,
        axes=axes,
        subset=a.subset != b.subset,
        recorded_only=only,
    )


def _common(first: Golden, second: Golden) -> Iterator[tuple[int, int, int, int]]:
    """Yield d_model, position in each file and number of the seeds that both files hold."""
    a, b = first.manifest.axes, second.manifest.axes
    for d_model in a["d_model"]:
        if d_model not in b["d_model"]:
            continue
        if a["seed"] == b["seed"]:
            for start in range(0, len(a["seed"]), _CHUNK):
                yield d_model, start, start, min(_CHUNK, len(a["seed"]) - start)
        else:
            for position, seed in enumerate(a["seed"]):
                if seed in b["seed"]:
                    yield d_model, position, b["seed"].index(seed), 1


def _recorded_only(first: Golden, second: Golden) -> Iterator[RecordedOnly]:
    recorded = {
        side: {
            _digest(file, recording, first, second, side): recording
            for recording in file.recordings
            if recording.builds
        }
        for side, file in (("first", first), ("second", second))
    }
    for side, file, other in (("first", first, "second"), ("second", second, "first")):
        for digest, recording in recorded[side].items():
            if digest not in recorded[other]:
                distances = [
                    np.abs(ulp_distance(own, expected))
                    for own, expected in _tables(file, recording, first, second, side)
                ]
                yield RecordedOnly(
                    file="first" if side == "first" else "second",
                    recording=recording,
                    differing=sum(int(np.count_nonzero(d)) for d in distances),
                    max_ulp=max((int(d.max(initial=0)) for d in distances), default=0),
                )


def _tables(
    file: Golden, recording: Recording, first: Golden, second: Golden, side: str
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    for d_model, i, j, count in _common(first, second):
        at = i if side == "first" else j
        yield (
            file.read(recording, d_model, at, at + count),
            first.read(first.recordings[0], d_model, i, i + count),
        )


def _digest(file: Golden, recording: Recording, first: Golden, second: Golden, side: str) -> str:
    digest = hashlib.sha256()
    for own, _ in _tables(file, recording, first, second, side):
        digest.update(np.ascontiguousarray(own).tobytes())
    return digest.hexdigest()
