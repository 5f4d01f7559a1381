import os
from pathlib import Path

import pytest

from posvec.schemas.errors import InvalidArgument
from posvec.verifier.batch.pattern import Pattern
from posvec.verifier.batch.results import file_names
from posvec.verifier.batch.submissions import Submission, find_submissions


def found(*paths, results=Path("no/such")):
    return find_submissions(paths, Pattern(), results=results)


def names(result):
    return [one.name for one in result.submissions]


def write(folder, *files):
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def test_a_folder_holds_a_submission_a_file_and_a_sub_folder(tmp_path):
    write(tmp_path, "ada/a.py", "bob.py", "carl.ipynb", "dan.zip", "empty/x", ".hidden/a.py", ".b.py", "README.md")
    result = found(tmp_path)
    assert names(result) == ["ada", "bob.py", "carl.ipynb", "dan.zip", "empty"]
    assert result.skipped == ("README.md (no submission)",)


def test_golden_folders_results_and_those_of_tools_are_skipped(tmp_path):
    write(
        tmp_path,
        "ada/a.py",
        "golden/x.h5",
        "golden/x.json",
        "old/batch.json",
        "old/results.csv",
        "new/index.html",
        "env/pyvenv.cfg",
        "__pycache__/a.pyc",
    )
    result = found(tmp_path, results=tmp_path / "new")
    assert names(result) == ["ada"]
    assert sorted(result.skipped) == [
        "__pycache__ (of a tool)",
        "env (of a tool)",
        "golden (golden files)",
        "new (results)",
        "old (results)",
    ]


def test_a_submission_is_not_hidden_by_putting_golden_files_or_results_beside_it(tmp_path):
    write(tmp_path, "ada/a.py", "ada/x.h5", "ada/x.json", "eve/a.py", "eve/batch.json", "eve/results.csv")
    assert names(found(tmp_path)) == ["ada", "eve"]


def test_files_that_are_named_are_submissions_whatever_they_are(tmp_path):
    write(tmp_path, "a.py", "b.docx")
    assert names(found(tmp_path / "a.py", tmp_path / "b.docx", tmp_path / "a.py")) == ["a.py", "b.docx"]


def test_names_are_unique_and_safe_to_show(tmp_path):
    write(tmp_path, "one/a.py", "two/a.py", "one/b\n\x1b[2J.py", os.fsdecode(b"one/caf\xe9.py"))
    assert names(found(tmp_path / "one", tmp_path / "two")) == [
        f"{tmp_path}/one/a.py",
        "b\\n\\x1b[2J.py",
        "caf\\udce9.py",
        f"{tmp_path}/two/a.py",
    ]


@pytest.mark.parametrize(
    ("path", "says"), [("none", "a file or a folder that is there"), ("empty", "a folder with submissions")]
)
def test_nothing_to_verify_is_a_mistake_of_whoever_asks(tmp_path, path, says):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgument, match=says):
        found(tmp_path / path)


def test_names_of_results_are_plain_short_and_differ_on_any_file_system():
    given = ["ada", "Bob", "bob", "../x", "=1+1", "a/b", "a_b", "CON", "x" * 300, "caf\\udce9.py", "...", "-rf.py"]
    submissions = [Submission(name=name, path=Path(f"{number}/{name}")) for number, name in enumerate(given)]
    made = file_names(submissions)
    assert made[0] == "ada.json"
    assert len({name.casefold() for name in made}) == len(given)
    assert all(name.isascii() and "/" not in name and name[0] not in ".=-" and len(name) < 110 for name in made)
    assert made[7] != "CON.json"
