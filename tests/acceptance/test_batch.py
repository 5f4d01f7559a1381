"""`posvec batch` as a grader runs it, on a class in which everything happens that students hand in."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest

from posvec.schemas.batch import BATCH_SCHEMA, SUBMISSION_SCHEMA
from posvec.schemas.report import SCHEMA_FILE
from posvec.schemas.validate import violation
from posvec.verifier.batch.asking import settle
from posvec.verifier.batch.batch import Batch
from posvec.verifier.batch.pattern import Pattern
from posvec.verifier.batch.results import ResultsFolder
from posvec.verifier.batch.submissions import find_submissions
from posvec.verifier.cli import run
from tests.acceptance.conftest import EXAMPLES, ROOT, Ran

FEW = ("--select", "*/d_model=4/T=3", "--match", "equivalent")
PORT = (EXAMPLES / "numpy_port.py").read_text()


def port(expression, *, before=""):
    """Return a submission that is the NumPy port, changed."""
    return (
        f"{PORT}\nright = learned_pos_embed_forward\n{before}\n"
        f"def learned_pos_embed_forward(seed, T, d_model):\n    return {expression}\n"
    )


def returning(expression):
    return f"import os\ndef learned_pos_embed_forward(seed, T, d_model):\n    return {expression}\n"


# Kills whatever judges it: the parent of the process above it.
KILLER = """
import os, pathlib, signal
stat = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text()
os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
"""
SUBMISSIONS = {
    "ada/homework.py": PORT,
    "bob/homework.py": PORT,
    "shifted/homework.py": port("right(seed + 1, T, d_model)"),
    "siblings/homework.py": "from model import learned_pos_embed_forward\n",
    "siblings/model.py": PORT,
    "writer/homework.py": port("right(seed, T, d_model)", before="open('../ada.py', 'w'); open('here', 'w')"),
    "remover/homework.py": port("right(seed, T, d_model)", before="import os; os.remove(__file__)"),
    "razer/homework.py": port("right(seed, T, d_model)", before="from shutil import rmtree; rmtree('../..', True)"),
    "empty/homework.py": "\n",
    "syntax/homework.py": "def f(\n",
    "zeros/homework.py": "x = 1\0\n",
    "other/homework.py": "def learned_pos_embed_forwards(seed, T, d_model): pass\n",
    "two/homework.py": "",
    "two/homework2.py": "",
    "none/readme.txt": "",
    "note/a.ipynb": "{}",
    "import/homework.py": "from os import *\nexit((len(sched_getaffinity(0)), environ['OMP_NUM_THREADS']))\n",
    "flood/homework.py": "print('\\x1b[2J<b>' + 'x' * 3_000_000)\n" + returning("os._exit(9)"),
    "=cmd|' !A0.py": returning("1 / 0"),
    "<script>.py": returning("[0.0]"),
    "new\nline\x1b[2J.py": "raise ValueError('</details><script>alert(1)</script>')\n",
    "old.zip": "PK",
    "golden/x.h5": "",
    "golden/x.json": "",
}
EXPECTED = {
    "ada": ("equivalent", ""),
    "bob": ("equivalent", ""),
    "shifted": ("not-conforming", ""),
    "siblings": ("equivalent", ""),
    "writer": ("equivalent", ""),
    "remover": ("equivalent", ""),
    "razer": ("equivalent", ""),
    "empty": ("could-not-judge", "empty"),
    "syntax": ("could-not-judge", "syntax"),
    "zeros": ("could-not-judge", "syntax"),
    "other": ("could-not-judge", "no-function"),
    "two": ("could-not-judge", "several-files"),
    "none": ("could-not-judge", "no-file"),
    "note": ("could-not-judge", "notebook"),
    "import": ("could-not-judge", "import"),
    "flood": ("not-conforming", ""),
    "=cmd|' !A0.py": ("not-conforming", ""),
    "<script>.py": ("not-conforming", ""),
    "new\\nline\\x1b[2J.py": ("could-not-judge", "import"),
    "old.zip": ("could-not-judge", "archive"),
    "leak.py": ("could-not-judge", "link"),
}


def hand_in(folder, submissions):
    for name, content in submissions.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def table(results):
    return {row["name"]: row for row in csv.DictReader(StringIO((results / "results.csv").read_text()))}


@pytest.fixture
def klass(tmp_path):
    folder = hand_in(tmp_path / "class", SUBMISSIONS)
    (folder / "leak.py").symlink_to("/etc/hostname")
    return folder


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no process can be kept to some processors here")
def test_a_class_in_which_everything_happens(posvec, klass, tmp_path):
    before = {path: path.read_bytes() for path in klass.rglob("*") if path.is_file()}
    ran = posvec("batch", klass, *FEW, "--target", "homework*.py", "-o", klass / "results", "--jobs", 2)
    assert ran.status == 0, ran.err
    assert {path: path.read_bytes() for path in klass.rglob("*") if path in before} == before
    assert [path.name for path in tmp_path.iterdir()] == ["class"]

    rows = table(klass / "results")
    assert {name.lstrip("'"): (row["verdict"], row["problem"]) for name, row in rows.items()} == EXPECTED
    assert "'=cmd|' !A0.py" in rows  # an apostrophe keeps it from being a formula
    assert rows["shifted"]["mistakes"] == "seed-plus-one"
    assert (rows["shifted"]["cases"], rows["shifted"]["passed"]) == ("9", "0")
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    assert rows["import"]["notes"] == f"SystemExit: ({share}, '{share}')"
    assert "did you mean learned_pos_embed_forwards?" in rows["other"]["sentence"]
    assert rows["syntax"]["notes"] == "SyntaxError: '(' was never closed (File \"homework.py\", line 1)"
    assert rows["'=cmd|' !A0.py"]["diagnosis"].endswith("T=3: error, ZeroDivisionError: division by zero")
    assert rows["flood"]["diagnosis"].endswith("T=3: crash, the process ended with exit status 9")

    results = [json.loads(path.read_text()) for path in (klass / "results/submissions").iterdir()]
    assert len(results) == len(EXPECTED)
    for found in results:
        assert violation(found, SUBMISSION_SCHEMA) is None
        assert found["report"] is None or violation(found["report"], SCHEMA_FILE) is None
    flood = next(found["report"] for found in results if found["submission"]["name"] == "flood")
    assert len(flood["output"]) < 66_000
    assert flood["output"].startswith("\\x1b[2J")

    summary = json.loads((klass / "results/batch.json").read_text())
    assert violation(summary, BATCH_SCHEMA) is None
    statistics = summary["statistics"]
    assert (statistics["submissions"], statistics["conform"], statistics["undecided"]) == (21, 6, 11)
    assert statistics["mistakes"]["seed-plus-one"] == 1
    assert ["ada", "bob"] in [[name for name in names if name in ("ada", "bob")] for names in statistics["same"]]

    page = (klass / "results/index.html").read_text()
    assert page.count("<script") == 0
    assert "&lt;script&gt;.py" in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    for text in (ran.out, page, (klass / "results/results.csv").read_text()):
        assert "\x1b" not in text
        assert str(tmp_path.parent.parent / "posvec-") not in text
    assert "21 submissions: 6 conform, 4 do not, 11 could not be judged" in ran.out
    assert "golden (golden files)" in ran.out
    assert max(map(len, ran.out.splitlines())) <= max(80, len(str(klass / "results/index.html")) + 13)


@pytest.fixture
def batch(monkeypatch, tmp_path, capsys):
    """Run ``posvec batch`` in this process, which has loaded all that it takes; submissions run elsewhere as always."""
    monkeypatch.chdir(tmp_path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def batch(*words):
        status = run(["batch", *map(str, words)])
        out, err = capsys.readouterr()
        return Ran(status=status, out=out, err=err)

    yield batch
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.slow
def test_what_has_not_changed_is_kept_with_the_same_fresh_cases_and_what_has_is_run_again(batch, tmp_path):
    folder = hand_in(tmp_path / "class", {f"{name}.py": returning(f"[{name!r}]") for name in ("a", "b", "c")})
    results = tmp_path / "results"
    asked = (folder, "--fresh", 3, "--match", "equivalent", "--jobs", 1, "--strict", "-o", results)
    first = batch(*asked)
    assert first.status == 1
    assert "kept" not in first.out
    assert "3 fresh ones, the same for all: --fresh-seed" in first.out
    cases = [
        [case["id"] for case in json.loads(path.read_text())["report"]["cases"]]
        for path in (results / "submissions").iterdir()
    ]
    assert cases == [cases[0]] * 3
    (folder / "b.py").write_text(PORT)
    (results / "submissions/c.py.json").write_text('{"key": ')
    written = (results / "submissions/a.py.json").stat().st_mtime_ns
    second = batch(*asked)
    assert second.status == 1
    assert "kept       1 of 3 from before" in second.out
    assert (results / "submissions/a.py.json").stat().st_mtime_ns == written
    assert [row["conforms"] for row in table(results).values()] == ["no", "yes", "no"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds its judge in /proc")
def test_one_that_kills_its_judge_takes_too_long_or_edits_the_golden_file_costs_only_its_own_row(batch, tmp_path):
    vectors = shutil.copy(ROOT / "vectors/learned_pos_embed.h5", tmp_path)
    folder = hand_in(
        tmp_path / "class",
        {
            "editor.py": f"open({vectors!r}, 'r+b').write(bytes(9))\n{returning('0')}",
            "killer.py": KILLER + returning("0"),
            "right.py": PORT,
            "slow.py": "import time\n" + returning("time.sleep(0.8)"),
        },
    )
    ran = batch(folder, *FEW, "--vectors", vectors, "--limit", 3, "--jobs", 2, "-o", tmp_path / "results")
    assert ran.status == 0, ran.err
    rows = table(tmp_path / "results")
    assert (rows["editor.py"]["verdict"], Path(vectors).read_bytes()[:9]) == ("not-conforming", bytes(9))
    assert (rows["killer.py"]["problem"], rows["right.py"]["verdict"]) == ("killed", "equivalent")
    assert rows["slow.py"]["verdict"] == "out-of-time"
    assert "the limit for a submission, when" in rows["slow.py"]["sentence"]
    assert 0 < int(rows["slow.py"]["not_run"]) < 9


def test_an_interrupted_batch_leaves_its_rows_and_goes_on_where_it_was(batch, tmp_path):
    folder = hand_in(
        tmp_path / "class", {"a.py": "import nothing\n", "b.py": f"import time\n{returning('time.sleep(60)')}"}
    )
    results = tmp_path / "results"
    words = [str(Path(sys.executable).with_name("posvec")), "batch", folder, *FEW, "--timeout", "60", "-o", results]
    with subprocess.Popen([*map(str, words), "--jobs", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not (results / "submissions/a.py.json").exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"the same command goes on with the rest" in err
    assert b"Traceback" not in err
    assert list(table(results)) == ["a.py"]
    assert json.loads((results / "batch.json").read_text())["complete"] is False
    assert "Interrupted" in (results / "index.html").read_text()
    (folder / "b.py").write_text("import nothing\n")
    assert "kept       1 of 2" in batch(folder, *FEW, "--timeout", 60, "-o", results).out


def test_what_cannot_be_written_or_read_is_found_before_anything_runs(batch, tmp_path):
    folder = hand_in(tmp_path / "class", {"a.py": returning("print(1)"), "mine/notes.txt": "mine"})
    for output, says in (
        (folder / "a.py", "File exists"),
        (folder / "a.py/below", "Not a directory"),
        (folder / "mine", "it holds files, and no results of posvec batch; choose an empty folder with -o"),
    ):
        ran = batch(folder, "-o", output)
        assert (ran.status, ran.out) == (3, "")
        assert says in ran.err
    assert (folder / "mine/notes.txt").read_text() == "mine"
    none = batch(folder, "--vectors", tmp_path / "none.h5", "-o", tmp_path / "results")
    assert (none.status, (tmp_path / "results").exists()) == (3, False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Missing option '-o'"),
        (("-o", "r", "--target", "../x.py"), "--target must be GLOB or GLOB:function"),
        (("-o", "r", "--jobs", "0"), "--jobs must be"),
        (("-o", "r", "--limit", "0"), "--limit must be"),
        (("-o", "r", "--python", "no/python"), "--python must be the path of a Python interpreter, got 'no/python'"),
        (("-o", "r", "--all", "--fresh", "3"), "--all must be left out"),
        (("-o", "r", "--scheduler", "no:where"), "--scheduler must be the address of a Dask scheduler"),
    ],
)
def test_usage(batch, tmp_path, words, says):
    hand_in(tmp_path, {"a.py": ""})
    ran = batch("a.py", *words)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err


def test_help_loads_nothing_heavy(posvec):
    ran = posvec("batch", "--help", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert ran.status == 0
    assert not [line for line in ran.err.splitlines() if line.rpartition("|")[2].strip() in ("numpy", "h5py", "rich")]


def test_it_runs_on_any_executor(tmp_path):
    folder = hand_in(
        tmp_path / "class", {"a.py": PORT, "b.py": port("right(seed + 1, T, d_model)"), "c.py": "import x"}
    )
    settings, facts = settle(select=FEW[1], match=FEW[3])
    results = ResultsFolder.open(tmp_path / "results")
    found = find_submissions([folder], Pattern(), results=results.path)
    batch = Batch(submissions=found.submissions, pattern=Pattern(), settings=settings, facts=facts, results=results)
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    with ThreadPoolExecutor(2) as executor:
        outcome = batch.run_on(executor, width=2)
    assert [row.reason for row in outcome.rows] == ["", "seed-plus-one", "raised while imported"]
    assert allowed is None or os.sched_getaffinity(0) == allowed
    with ThreadPoolExecutor(1) as closed:
        pass
    again = Batch(
        submissions=found.submissions, pattern=Pattern(), settings=settings, facts=facts, results=results, rerun=True
    )
    assert [row.problem for row in again.run_on(closed, width=1).rows] == ["failed"] * 3


@pytest.mark.slow
def test_it_runs_on_a_dask_cluster(posvec, tmp_path):
    distributed = pytest.importorskip("distributed")
    submissions = {f"{number}.py": port(f"right(seed + {number}, T, d_model)") for number in range(4)}
    folder = hand_in(tmp_path / "class", {**submissions, "killer.py": KILLER + returning("0"), "none.py": "x"})
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        ran = posvec("batch", folder, *FEW, "-o", tmp_path / "results", "--scheduler", cluster.scheduler_address)
    assert ran.status == 0, ran.err
    rows = table(tmp_path / "results")
    assert [row["verdict"] for row in rows.values()] == [
        "equivalent", "not-conforming", "not-conforming", "not-conforming", "could-not-judge", "could-not-judge"
    ]  # fmt: skip
    assert (rows["killer.py"]["problem"], rows["none.py"]["problem"]) == ("killed", "import")
    gone = posvec("batch", folder, "--rerun", "-o", tmp_path / "results", "--scheduler", cluster.scheduler_address)
    assert (gone.status, gone.out) == (3, "")
    assert "no scheduler answers there" in gone.err
    assert table(tmp_path / "results") == rows
