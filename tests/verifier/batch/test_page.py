"""The page of a batch in a real browser, with what a hostile class puts into it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from posvec.schemas.batch import Row
from posvec.verifier.batch.as_html import Detail, to_html
from posvec.verifier.batch.statistics import statistics
from tests.acceptance.browser import CHROMIUM, on_a_phone

HOSTILE = "<script>alert(1)</script>" + "x" * 250


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_no_name_and_no_output_pushes_the_verdicts_off_the_page(tmp_path: Path) -> None:
    """However long what cannot be broken is, all else stays on a screen of 390 pixels."""
    row = Row(
        name=HOSTILE,
        path=HOSTILE,
        verdict="not-conforming",
        exit_code=1,
        sentence=HOSTILE,
        counts={"selected": 9, "error": 9},
        seconds=1.5,
        notes=(HOSTILE,),
    )
    detail = Detail(facts=(HOSTILE,), failure=HOSTILE, reproduce=HOSTILE, output=HOSTILE)
    page = tmp_path / "index.html"
    page.write_bytes(to_html([(row, detail)] * 2, statistics([row] * 2), {"golden file": HOSTILE}, complete=False))
    found, complaints = on_a_phone(page, tmp_path, dark=False)
    measured = json.loads(found)
    assert measured["width"] <= 390
    assert (measured["outside"], measured["scripts"], measured["requests"], measured["focusable"]) == (0, 0, 0, 0)
    assert not complaints
