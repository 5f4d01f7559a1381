"""JSON that people read too: one number in decimal and, of a float32, in bits; a line for each row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.export.cases import ExportedCase, Source
from posvec.vectors.export.numbers import decimals, float_bits

_NOT_JSON = ("NaN", "Infinity", "-Infinity")


def write_json(path: Path, source: Source) -> None:
    """Write one document: a header and ``cases``, in order.

    An array is ``{"dtype", "shape", "values", "bits"}``, both flat in row-major order; only float32 has ``bits``.
    """
    with path.open("w", encoding="ascii", newline="\n") as file:
        header = json.dumps(source.header(), indent=1)
        file.write(header.removesuffix("\n}") + ',\n "cases": [')
        for number, case in enumerate(source):
            file.write(",\n" if number else "\n")
            file.write(_case(case))
        file.write("\n ]\n}\n")


def _case(case: ExportedCase) -> str:
    scalars = {name: value for name, value in case.args.items() if not isinstance(value, np.ndarray)}
    fields = [f'"id": {json.dumps(case.id)}']
    if len(scalars) == len(case.args):
        fields.append(f'"args": {json.dumps(scalars)}')
    else:
        args = [f"{json.dumps(name)}: {_value(value)}" for name, value in case.args.items()]
        fields.append('"args": {\n    ' + ",\n    ".join(args) + "\n   }")
    fields.append(f'"must_raise": {json.dumps(case.expected is None)}')
    if case.expected is not None:
        fields.append(f'"expected": {_array(case.expected, case.row)}')
    fields += [f'"{name}": {_array(array, case.row)}' for name, array in case.also.items()]
    return "  {\n   " + ",\n   ".join(fields) + "\n  }"


def _value(value: Any) -> str:
    return _array(value, value.shape[-1] if value.ndim else 1) if isinstance(value, np.ndarray) else json.dumps(value)


def _array(array: NDArray[Any], row: int) -> str:
    dtype = array.dtype.newbyteorder("=").name
    fields = [f'"dtype": "{dtype}", "shape": {json.dumps(list(array.shape))}']
    values = [f'"{text}"' if text in _NOT_JSON else text for text in decimals(array)]
    fields.append(f'"values": {_rows(values, row)}')
    if dtype == "float32":
        fields.append(f'"bits": {_rows([json.dumps(text) for text in float_bits(array)], row)}')
    return "{" + ",\n    ".join(fields) + "}"


def _rows(texts: list[str], row: int) -> str:
    lines = [", ".join(texts[start : start + row]) for start in range(0, len(texts), max(1, row))]
    return "[\n     " + ",\n     ".join(lines) + "]" if lines else "[]"
