"""The report for programs: JSON, as ``report.schema.json`` describes it."""

from __future__ import annotations

import json

from posvec.schemas.report import Report


def to_json(report: Report) -> bytes:
    """Return the report as ``report.schema.json`` describes it, ASCII with a final line end."""
    return (json.dumps(report.to_dict(), indent=1, ensure_ascii=True) + "\n").encode("ascii")
