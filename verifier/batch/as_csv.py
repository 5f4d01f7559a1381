"""The table of a batch as CSV (RFC 4180, UTF-8), which a spreadsheet shows and does not run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO

from posvec.schemas.batch import Row
from posvec.verifier.reports.untrusted import csv_cell

COLUMNS = (
    "name",
    "verdict",
    "exit_code",
    "conforms",
    "problem",
    "mistakes",
    "diagnosis",
    "sentence",
    "cases",
    "passed",
    "failed",
    "not_run",
    "levels_held",
    "seconds",
    "target",
    "digest",
    "notes",
)


def to_csv(rows: Sequence[Row]) -> bytes:
    """Return the rows, a line each, below a line of :data:`COLUMNS`."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(
            [
                csv_cell(row.name),
                row.verdict,
                row.exit_code,
                "yes" if row.exit_code == 0 else "no",
                row.problem,
                csv_cell(row.mistake_text),
                csv_cell(row.diagnosis),
                csv_cell(row.sentence),
                row.counts.get("selected", 0),
                row.counts.get("pass", 0),
                row.failed_cases,
                row.counts.get("not-run", 0),
                " ".join(row.levels_held),
                f"{row.seconds:.3f}",
                csv_cell(row.target),
                row.digest,
                csv_cell(" ".join(row.notes)),
            ]
        )
    return text.getvalue().encode("utf-8", "backslashreplace")
