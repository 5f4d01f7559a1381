"""Rows, keys and the three reports made of them."""

import csv
from dataclasses import replace
from io import StringIO

import pytest

from posvec.schemas.batch import Row
from posvec.schemas.errors import OutputError
from posvec.verifier.batch.as_csv import to_csv
from posvec.verifier.batch.as_html import Detail, to_html
from posvec.verifier.batch.results import ResultsFolder
from posvec.verifier.batch.settings import Settings
from posvec.verifier.batch.statistics import statistics
from posvec.verifier.batch.table import statistics_lines, table_lines
from posvec.verifier.batch.task import not_judged

SETTINGS = Settings(match="exact", digest="0" * 64)
RIGHT = Row(name="ada", path="ada", verdict="exact", exit_code=0, sentence="EXACT", counts={"selected": 9, "pass": 9})
WRONG = replace(RIGHT, verdict="not-conforming", exit_code=1, counts={"selected": 9, "pass": 2, "value": 6, "crash": 1})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (RIGHT, ""),
        (WRONG, "7 of 9 cases: value, crash"),
        (replace(WRONG, mistakes=(("list",), ("float64", "zeros"))), "list or float64 + zeros"),
        (not_judged("ada", "ada", "syntax", "no").row, "not valid Python"),
        (replace(WRONG, verdict="out-of-time", counts={"selected": 9, "not-run": 7, "pass": 2}), "2 of 9 cases ran"),
    ],
)
def test_a_row_says_in_a_few_words_what_is_wrong(row, reason):
    assert row.reason == reason
    assert Row.from_dict(row.to_dict()) == row


def test_what_makes_a_result_another_one_is_in_its_key():
    changed = [
        replace(SETTINGS, match="equivalent"),
        replace(SETTINGS, digest="1" * 64),
        replace(SETTINGS, fresh=3, fresh_seed=1),
        replace(SETTINGS, fresh=3, fresh_seed=2),
        replace(SETTINGS, quick=False),
        replace(SETTINGS, timeout=3.0),
    ]
    keys = {one.key("submission", "a.py") for one in (SETTINGS, *changed)}
    keys |= {SETTINGS.key("another", "a.py"), SETTINGS.key("submission", "b.py")}
    assert len(keys) == len(changed) + 3
    assert replace(SETTINGS, vectors="/elsewhere/same.h5").key("s", "a.py") == SETTINGS.key("s", "a.py")


def test_a_result_is_kept_unless_it_was_the_fault_of_where_it_ran(tmp_path):
    folder = ResultsFolder.open(tmp_path / "results")
    for problem, kept in (("syntax", True), ("killed", False), ("failed", False), ("vectors", False)):
        result = not_judged("ada", "ada", problem, "no")
        folder.save("ada.json", result, "key")
        assert folder.kept("ada", "ada.json", "key") == (result if kept else None)
    assert folder.kept("ada", "ada.json", "another key") is None
    assert folder.kept("bob", "bob.json", "key") is None


def test_a_damaged_summary_does_not_cost_the_results_beside_it(tmp_path):
    folder = ResultsFolder.open(tmp_path / "results")
    folder.summary.write_text("{")
    assert ResultsFolder.open(folder.path) == folder
    (folder.path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="no results of posvec batch"):
        ResultsFolder.open(folder.path)


def test_a_class_is_counted():
    rows = [
        replace(RIGHT, source_sha256="1", seconds=3.0),
        replace(WRONG, name="bob", mistakes=(("list", "zeros"),), source_sha256="1", seconds=5.0),
        replace(WRONG, name="eve", mistakes=(("zeros",),)),
        replace(WRONG, name="dan", mistakes=(("a",), ("b",))),
        replace(WRONG, name="zoe"),
        not_judged("x", "x", "empty", "no").row,
    ]
    found = statistics(rows)
    assert (found.submissions, found.conform, found.wrong, found.undecided, found.unnamed) == (6, 1, 4, 1, 1)
    assert found.mistakes == {"zeros": 2, "a or b": 1, "list": 1}
    assert list(found.verdicts) == ["exact", "not-conforming", "could-not-judge"]
    assert found.slowest[:2] == (("bob", 5.0), ("ada", 3.0))
    assert found.same == (("ada", "bob"),)
    text = "\n".join(statistics_lines(found, 80))
    assert "6 submissions: 1 conform, 4 do not, 1 could not be judged" in text
    assert "2 zeros, 1 a or b, 1 list, 1 none that is known" in text


def test_what_a_submission_says_runs_nowhere():
    hostile = "=cmd|' /C calc'!A0</td></details><script>alert(1)</script>\x1b[2J\x00\u202e" + "x" * 100_000
    row = replace(WRONG, name=hostile, sentence=hostile, diagnosis=hostile, target=hostile, notes=(hostile,))
    detail = Detail(advice=((hostile,) * 3,), facts=(hostile,), failure=hostile, reproduce=hostile, output=hostile)
    page = to_html([(row, detail)], statistics([row]), {"vectors": hostile}, complete=True).decode()
    assert "<script" not in page
    assert page.count("<details>") == page.count("</details>") == 1
    assert not any(c in page for c in "\x1b\x00\u202e")
    cells = next(iter(csv.DictReader(StringIO(to_csv([row]).decode()))))
    for name in ("name", "sentence", "diagnosis", "target", "notes"):
        assert cells[name].startswith("'=cmd")
        assert len(cells[name].encode()) < 66_000
        assert not any(c in cells[name] for c in "\x1b\x00\u202e")


def test_a_line_of_the_table_fits_a_terminal():
    rows = [replace(WRONG, name="n" * 200, mistakes=(("m" * 200,),)), RIGHT]
    lines = list(table_lines(rows, 80))
    assert [len(line) <= 80 for line in lines] == [True, True]
    assert lines[1].split() == ["ada", "exact"]
