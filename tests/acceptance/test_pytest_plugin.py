"""The plugin in a pytest of its own, as students run it."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

QUIET = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
NO_XDIST = ("-p", "no:xdist")  # to be quicker where it is not used
ONE = ("-k", "d_model=1 and seed=0")


@dataclass(frozen=True, kw_only=True)
class Ran:
    status: int
    out: str


@pytest.fixture
def run(tmp_path):
    """Run ``pytest`` in the folder of the test, where warnings are errors and markers must be known."""

    def run(*words, settings=""):
        (tmp_path / "pytest.ini").write_text(
            f"[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n{settings}"
        )
        done = subprocess.run(
            [Path(sys.executable).with_name("pytest"), *QUIET, *(() if "-n" in words else NO_XDIST), *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80", "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ran(status=done.returncode, out=done.stdout + done.stderr)

    return run


def test_a_failing_item_shows_what_the_command_shows_and_k_chooses_one(run, target, inside):
    target("def learned_pos_embed_forward(seed, T, d_model):\n    return right(seed, T, d_model).reshape(T, d_model)")
    ran = run("--posvec", "target.py", "--posvec-match", "equivalent", *ONE)
    assert (ran.status, "63 items / 62 deselected / 1 selected" in ran.out) == (1, True)
    shown = re.search(r"_ posvec learned_pos_embed/seed=0/d_model=1 _+\n(.*?)=+ posvec =", ran.out, re.DOTALL)[1]
    said = inside("verify", "target.py", "--match", "equivalent", "--select", "*/seed=0/d_model=1/T=*").out
    assert shown.startswith("NOT CONFORMING: 33 of 33 cases fail (33 layout)\n")
    assert said[said.index("The mistake") : said.index("\n\n  target")] in shown
    assert said[said.index("First failure") :].strip() in shown
    assert "FAILED posvec::learned_pos_embed/seed=0/d_model=1 - Failed: NOT CONFORMING" in ran.out


def test_each_worker_of_xdist_has_one_process_and_the_report_is_that_of_all(run, target, tmp_path):
    target(
        f"import os\nopen({str(tmp_path / 'started')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "assert 'pytest' not in sys.modules\nlearned_pos_embed_forward = right"
    )
    ran = run("--posvec", "target.py", "--posvec-match", "equivalent", "-n", "2", "-q", "-k", "d_model=1 or d_model=2")
    assert (ran.status, "18 passed" in ran.out) == (0, True)
    assert re.search(r"^EQUIVALENT: same draws, other rounding in \S+ % of 14,256 elements", ran.out, re.MULTILINE)
    assert "cases      594 pass" in ran.out
    assert len((tmp_path / "started").read_text().split()) == 2


def test_settings_check_a_target_in_plain_pytest_but_not_beside_tests_that_are_named(run, target, tmp_path):
    target("learned_pos_embed_forward = right")
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    settings = "posvec = target.py\nposvec_match = equivalent\nposvec_quick = true\n"
    everything = run("-q", settings=settings)
    assert (everything.status, "64 passed" in everything.out) == (0, True)
    named = run("-q", "test_own.py", settings=settings)
    assert (named.status, "1 passed" in named.out, "posvec" in named.out) == (0, True, False)
    (tmp_path / "target.py").unlink()  # the homework is not there yet: other tests run
    absent = run("-q", "-k", "own or (d_model=1 and seed=0)", settings=settings)
    assert (absent.status, "1 failed, 1 passed" in absent.out) == (1, True)
    assert "targettarget.py:thereisnosuchfile;" in "".join(absent.out.split())


def test_a_wrong_option_is_a_usage_error_in_one_sentence(run):
    ran = run("--posvec", "os:getcwd", "--posvec-match", "close")
    assert (ran.status, "ERROR: posvec: --posvec-match must be exact, equivalent or ulp:N" in ran.out) == (4, True)


def test_known_failures_are_expected_and_fail_when_they_pass(run, target, tmp_path):
    target(
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    if T == 7: raise ValueError('no seven')\n    return right(seed, T, d_model)"
    )
    (tmp_path / "known").write_text("*/seed=0/d_model=1/T=7  # no seven yet\n*/seed=1/d_model=1/T=8  # mended\n")
    words = ("--posvec", "target.py", "--posvec-match", "equivalent", "--posvec-known-failing", "known", "-rx")
    ran = run(*words, "-k", "d_model=1 and (seed=0 or seed=1 or seed=2)")
    assert (ran.status, "2 failed, 60 deselected, 1 xfailed" in ran.out) == (1, True)
    assert "XFAIL posvec::learned_pos_embed/seed=0/d_model=1 - 1 of 33 cases: no seven yet" in ran.out
    assert "line 2, */seed=1/d_model=1/T=8: learned_pos_embed/seed=1/d_model=1/T=8 passes" in " ".join(ran.out.split())


def test_a_fixture_and_a_list_of_cases_judge_in_tests_of_ones_own(run, target, tmp_path):
    target("def fn(seed, T, d_model):\n    return right(seed, T, d_model) + np.float32(T == 7)")
    (tmp_path / "test_own.py").write_text(
        "import sys\nsys.path.insert(0, '.')\nimport pytest\nimport posvec.verifier\nfrom target import fn\n"
        "@pytest.mark.posvec(quick=True, match='equivalent')\n"
        "def test_fixture(posvec_case):\n"
        "    posvec_case.check(fn(posvec_case.seed, posvec_case.T, posvec_case.d_model))\n"
        "CASES = posvec.verifier.cases(select='*/seed=0/d_model=4/T=[78]', match='equivalent')\n"
        "@pytest.mark.parametrize('case', CASES, ids=str)\n"
        "def test_list(case):\n"
        "    case.check_call(fn)\n"
    )
    ran = run("-q", "test_own.py")
    assert ran.status == 1
    failed = re.findall(r"^FAILED test_own.py::(\w+)\[learned_pos_embed/seed=(\S+)/T=7\]", ran.out, re.MULTILINE)
    assert [name for name, _ in failed] == ["test_fixture"] * 3 + ["test_list"]
    assert "known_cases.py" not in ran.out.replace("posvec.verifier.known_cases", "")  # no frames of posvec's own
    assert ">       case.check_call(fn)" in ran.out
    assert "E         at position t=0, feature d=0" in ran.out


def test_a_run_that_does_not_use_it_loads_nothing(run, tmp_path):
    (tmp_path / "test_own.py").write_text(
        "import sys\n"
        "def test_own():\n"
        "    loaded = {name for name in sys.modules if name.startswith('posvec')}\n"
        "    assert loaded == {'posvec', 'posvec.verifier', 'posvec.verifier.pytest_plugin'}\n"
        "    assert not {'numpy', 'h5py', 'click', 'rich'} & set(sys.modules)\n"
    )
    assert run("-q").status == 0
