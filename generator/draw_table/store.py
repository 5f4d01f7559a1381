"""Writes the draw table: picks the smallest encoding, the same bytes each time, in one atomic step."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np
from numpy.typing import NDArray

from posvec.generator.draw_table.theorem import Proof
from posvec.vectors import draw_file
from posvec.vectors.draws import Arithmetic
from posvec.vectors.replace import replacing
from posvec.vectors.ulp import Int32

SLACK_ULP: Final = 4
"""How far beyond the span honest float32 code may lie; docs/exactness.md has the measurements."""

_CHUNK: Final = 1 << 18
_COMPRESSION: Final = 7
"""9 would save 7 % more and take ten times as long."""


def write(
    path: Path,
    arithmetics: Sequence[Arithmetic],
    orders: Mapping[str, Int32],
    canonical: str,
    rounded: Int32,
    proof: Proof,
) -> None:
    """Write a draw table.

    Args:
        path: where; replaced only when the new file is complete.
        arithmetics: what to say of each arithmetic, in the order readers list them.
        orders: the ordered value of every draw, by arithmetic.
        canonical: the id of the one that is the base of all others.
        rounded: the ordered correctly rounded values.
        proof: of the theorem, for these very arrays.

    Raises:
        OverflowError: a value lies more than 127 ULP from the one it would be stored relative to.

    """
    base = orders[canonical]
    parents = choose_parents(orders, canonical)
    with replacing(path) as temporary, h5py.File(temporary, "w", libver="earliest", track_order=False) as file:
        _write_base(file, base)
        for arithmetic in arithmetics:
            parent = parents[arithmetic.id]
            difference = orders[arithmetic.id] - orders[parent] if parent else np.empty(0, np.int32)
            dataset = _write(file, f"{draw_file.ARITHMETICS}/{arithmetic.id}", _narrow(difference, np.int8))
            dataset.attrs["description"] = arithmetic.description
            dataset.attrs["relative_to"] = parent
            dataset.attrs["recordings"] = json.dumps([r.to_dict() for r in arithmetic.recordings])
        _write(file, draw_file.CORRECTLY_ROUNDED, _narrow(rounded - base, np.int8))
        _write(file, draw_file.SPAN_BELOW, _narrow(base - proof.low, np.uint8))
        _write(file, draw_file.SPAN_ABOVE, _narrow(proof.high - base, np.uint8))
        file.attrs["format"] = draw_file.FORMAT
        file.attrs["format_version"] = draw_file.FORMAT_VERSION
        file.attrs["canonical"] = canonical
        file.attrs["slack_ulp"] = SLACK_ULP
        file.attrs["smallest_gap"] = proof.smallest_gap
        file.attrs["order"] = json.dumps([arithmetic.id for arithmetic in arithmetics])
        file.attrs["content_sha256"] = draw_file.content_digest(_attributes(file))


def _attributes(file: h5py.File) -> dict[str, dict[str, str | int]]:
    def plain(item: h5py.HLObject) -> dict[str, str | int]:
        return {name: value if isinstance(value, str) else int(value) for name, value in item.attrs.items()}

    attributes = {"/": plain(file)}
    file.visititems(lambda name, item: attributes.__setitem__(name, plain(item)))
    return attributes


def choose_parents(orders: Mapping[str, Int32], canonical: str) -> dict[str, str]:
    """Return what each arithmetic is stored relative to: the base, or one that is, whichever is smaller.

    Judged by how well every 16th block of 4096 differences compresses; chains have at most two links, so that
    loading one arithmetic reads three arrays at most.
    """

    def cost(name: str, parent: str) -> int:
        difference = (orders[name] - orders[parent]).reshape(-1, 4096)[::16]
        return len(zlib.compress(difference.astype(np.int8).tobytes(), 1))

    direct = {name: cost(name, canonical) for name in orders if name != canonical}
    parents = {canonical: ""} | dict.fromkeys(direct, canonical)
    for name in sorted(direct, key=direct.__getitem__, reverse=True):
        if any(parent == name for parent in parents.values()):
            continue
        siblings = [other for other in direct if other != name and parents[other] == canonical]
        costs = {other: cost(name, other) for other in siblings}
        best = min(costs, key=costs.__getitem__, default=canonical)
        if costs.get(best, direct[name]) < 0.7 * direct[name]:
            parents[name] = best
    return parents


def _write_base(file: h5py.File, base: Int32) -> None:
    steps = np.diff(base.astype(np.int64), prepend=0)
    wide = np.flatnonzero((steps < 0) | (steps > 255))
    narrow = steps.copy()
    narrow[wide] = 0
    _write(file, draw_file.BASE_STEPS, _narrow(narrow, np.uint8))
    _write(file, draw_file.BASE_WIDE_DRAW, _narrow(wide, np.int32))
    _write(file, draw_file.BASE_WIDE_STEP, _narrow(steps[wide], np.int32))


def _write(file: h5py.File, name: str, array: NDArray[Any]) -> h5py.Dataset:
    options = {}
    if array.size:
        options = {
            "chunks": (min(_CHUNK, array.size),),
            "compression": "gzip",
            "compression_opts": _COMPRESSION,
            "shuffle": array.itemsize > 1,
            "fletcher32": True,
        }
    dataset = file.create_dataset(name, data=array, track_times=False, **options)
    dataset.attrs["sha256"] = draw_file.digest(array)
    return dataset


def _narrow(array: NDArray[Any], dtype: type[np.integer[Any]]) -> NDArray[Any]:
    limits = np.iinfo(dtype)
    if array.size and not (limits.min <= array.min() and array.max() <= limits.max):
        raise OverflowError(f"{array.min()}..{array.max()} does not fit {limits.dtype}")
    return array.astype(dtype)
