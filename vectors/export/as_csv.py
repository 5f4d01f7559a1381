"""CSV with one line for each number, for spreadsheets, R and databases."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.export.cases import ExportedCase, Source
from posvec.vectors.export.numbers import decimals, double_bits, double_text, float_bits

COLUMNS = ("case", "part", "dtype", "shape", "index", "value", "bits")


def write_csv(path: Path, source: Source) -> None:
    """Write a line of column names, then one line for each element of each part of each case.

    ``part`` is ``args.NAME``, ``expected``, ``accept_below``, ``accept_above`` or ``draw``; ``index`` counts in
    row-major order. An empty array has one line without index and value, a case that must raise one in which
    ``value`` says so. ``bits`` are those of a float, ``0x3c23d70a``, which no spreadsheet takes for a number.
    """
    with path.open("w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for case in source:
            writer.writerows(_lines(case))


def _lines(case: ExportedCase) -> Iterator[tuple[object, ...]]:
    for name, value in case.args.items():
        part = f"args.{name}"
        if isinstance(value, np.ndarray):
            yield from _elements(case.id, part, value)
        elif isinstance(value, float):
            yield case.id, part, "float64", "", 0, double_text(value), double_bits(value)
        else:
            yield case.id, part, "int64", "", 0, value, ""
    if case.expected is None:
        yield case.id, "expected", "", "", "", "must raise", ""
    else:
        yield from _elements(case.id, "expected", case.expected)
    for name, array in case.also.items():
        yield from _elements(case.id, name, array)


def _elements(case: str, part: str, array: NDArray[Any]) -> Iterator[tuple[object, ...]]:
    dtype = array.dtype.newbyteorder("=").name
    shape = "x".join(map(str, array.shape))
    if not array.size:
        yield case, part, dtype, shape, "", "", ""
        return
    bits = float_bits(array) if dtype == "float32" else [""] * array.size
    for index, (value, word) in enumerate(zip(decimals(array), bits, strict=True)):
        yield case, part, dtype, shape, index, value, word
