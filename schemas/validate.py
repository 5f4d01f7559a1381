"""Checks JSON documents against the schemas in this folder (draft 2020-12)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

_ENOUGH = 100


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema in the file ``name`` of this folder."""
    schema: dict[str, Any] = json.loads(files("posvec.schemas").joinpath(name).read_text("utf-8"))
    return schema


def violation(document: object, schema_file: str) -> str | None:
    """Return one sentence about the first violation of the schema, or None if the document is valid."""
    from jsonschema import Draft202012Validator

    # A hostile document may have millions of violations: the first of them are enough to name one.
    error = min(
        islice(Draft202012Validator(load_schema(schema_file)).iter_errors(document), _ENOUGH),
        key=lambda e: list(map(str, e.path)),
        default=None,
    )
    if error is None:
        return None
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return f"{where.lstrip('.') or 'the document'}: {error.message[:300]}"
