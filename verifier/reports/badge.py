"""The report for a README: what https://shields.io/badges/endpoint-badge shows."""

from __future__ import annotations

import json

from posvec.schemas.report import Report, safe_text

_COLOURS = {
    "exact": "brightgreen",
    "equivalent": "green",
    "ulp": "green",
    "known-failures": "yellowgreen",
    "rounding": "orange",
}
_BY_STATUS = {0: "green", 1: "red"}
_LIMIT = 200


def to_badge(report: Report) -> bytes:
    """Return the JSON of an endpoint badge; a failing one is an error, whose colour a URL cannot change."""
    badge = {
        "schemaVersion": 1,
        "label": safe_text(f"posvec {report.vectors['name']}", limit=_LIMIT),
        "message": safe_text(_message(report), limit=_LIMIT),
        "color": _COLOURS.get(report.verdict, _BY_STATUS.get(report.exit_code, "lightgrey")),
        "isError": report.exit_code != 0,
    }
    return (json.dumps(badge, indent=1) + "\n").encode("ascii")


def _message(report: Report) -> str:
    plain = [result for result in report.results if not result.coercion]
    if report.verdict == "not-conforming":
        failed = sum(result.outcome not in ("pass", "not-run") for result in plain)
        return f"not conforming, {failed:,} of {len(plain):,} cases fail" if failed else "not conforming"
    words = {
        "ulp": f"within {report.level_asked.removeprefix('ulp:')} ULP",
        "rounding": "same draws, other rounding",
        "known-failures": "only known failures",
        "outdated-list": "known failures out of date",
    }
    message = words.get(report.verdict, report.verdict.replace("-", " "))
    if report.exit_code == 0 and len(plain) < report.total:
        message += f" in {len(plain):,} of {report.total:,} cases"
    return message
