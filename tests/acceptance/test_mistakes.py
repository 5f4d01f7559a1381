"""A failing run names the mistake; the catalogue and the self-test as a user runs them."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from posvec.schemas.validate import violation
from posvec.verifier.mistakes.catalogue import CATALOGUE
from tests.acceptance.conftest import EXAMPLES
from tests.acceptance.test_verify import forward


def named(ran):
    return [[mistake["id"] for mistake in one["mistakes"]] for one in ran.report["diagnosis"]["explanations"]]


# Failing runs


def test_a_failing_run_says_what_it_is_why_and_what_to_change(posvec):
    ran = posvec("verify", EXAMPLES / "unfolded_key.py", "--select", "*/d_model=4/T=3")
    assert ran.out.startswith(
        "NOT CONFORMING: 9 of 9 cases fail (9 value)\n"
        "\n"
        "The mistake: The seed's key is used without Flax's key folding.\n"
        "  evidence   All 9 cases (108 values) are, bit for bit, what the reference\n"
        "             returns with the key of the seed itself, unfolded:\n"
        "             `normal(PRNGKey(seed), …)`.\n"
        "  why        Flax hands a parameter's initializer not the key given to init but\n"
        "             that key folded with a hash of the parameter's place, so\n"
        "             `normal(PRNGKey(seed), …)` draws from another key. Equinox and\n"
        "             plain JAX do so.\n"
        "  change     Create the table with Module.param and init, or fold the key as\n"
        "             Flax does.\n"
        "  code       key = jax.random.fold_in(jax.random.PRNGKey(seed), 0xBF8B4530)\n"
        "  more       posvec mistakes unfolded-key\n"
        "\n"
        "  target "
    )
    assert [line for line in ran.out.splitlines() if len(line) > 80 and "examples" not in line] == []


def test_all_cases_of_the_default_sweep_are_evidence_and_the_diagnosis_is_quick(posvec, target):
    ran = posvec("verify", target(forward("right(int(seed) + 1, T, d_model).reshape(int(T), int(d_model))")))
    (explanation,) = ran.report["diagnosis"]["explanations"]
    assert named(ran) == [["seed-plus-one", "not-flattened"]]
    assert (explanation["cases"], explanation["elements"], explanation["level"]) == (2079, 465_696, "draws")
    assert "Two mistakes together: The seed is one too large. The result is not flattened." in ran.out
    # The goal is 1 s on an idle machine; `make bench` measures it.
    assert ran.report["seconds"]["diagnosis"] < 5


@pytest.mark.slow
def test_mistakes_that_cannot_be_told_apart_are_told_apart_by_the_case_that_is_suggested(posvec):
    few = posvec("verify", EXAMPLES / "unfolded_key.py", "--select", "*/seed=0/d_model=4/T=3")
    assert sorted(named(few)) == [["keras-seed"], ["unfolded-key"]]
    separate = few.report["diagnosis"]["separate"]
    assert separate in " ".join(few.out.split())
    one = posvec("verify", EXAMPLES / "unfolded_key.py", *separate.rpartition(": ")[2].split())
    assert named(one) == [["unfolded-key"]]


def test_a_run_that_nothing_known_explains_says_so_and_gives_facts(posvec, target):
    ran = posvec("verify", target(forward("right(seed, T, d_model) * np.float32(3 if T == 7 else 1)")), "--quick",
                 "--match", "equivalent")  # fmt: skip
    assert ran.report["diagnosis"]["explanations"] == []
    said = " ".join(ran.out.split())
    assert "None of the known mistakes gives what came (`posvec mistakes` lists them)." in said
    assert "- Wrong for T = 7 only." in said


def test_output_that_changes_from_call_to_call_is_told_so(posvec, target):
    ran = posvec("verify", target(forward("np.random.randn(int(T) * int(d_model)).astype(np.float32)")), "--quick")
    assert named(ran) == [["not-repeatable"]]
    assert "The output changes from call to call, so its values were not diagnosed." in " ".join(ran.out.split())


def test_right_implementations_are_accused_of_nothing(posvec):
    rounding = posvec("verify", EXAMPLES / "numpy_port.py")
    assert (rounding.status, rounding.report["verdict"]["code"], rounding.report["diagnosis"]) == (1, "rounding", None)
    passing = posvec("verify", EXAMPLES / "numpy_port.py", "--match", "equivalent", "--quick")
    assert (passing.status, passing.report["diagnosis"]) == (0, None)


def test_nothing_of_the_catalogue_is_loaded_where_all_passes():
    code = (
        "import sys\nfrom posvec.verifier.cli import run\n"
        f"status = run(['verify', {str(EXAMPLES / 'numpy_port.py')!r}, '--quick', '--match', 'equivalent'])\n"
        "loaded = [name for name in sys.modules if name.startswith(('posvec.verifier.mistakes', 'torch', 'jax'))]\n"
        "raise SystemExit(f'{status} {loaded}')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "0 []"


def test_reports_carry_the_diagnosis(posvec, tmp_path):
    junit = tmp_path / "report.xml"
    ran = posvec("verify", EXAMPLES / "unfolded_key.py", "--select", "*/d_model=4/T=[03]", "--report", f"junit={junit}")
    assert violation(ran.report, "report.schema.json") is None
    suite = ET.parse(junit).getroot()[0]
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties["diagnosis"].startswith(
        "The mistake: The seed's key is used without Flax's key folding.\nAll 18 "
    )
    failures = list(suite.iter("failure"))
    assert len(failures) == 9
    assert all(f.text.endswith("\nThe mistake: The seed's key is used without Flax's key folding.") for f in failures)


# The catalogue


def test_the_catalogue_is_listed_a_line_each(posvec):
    ran = posvec("mistakes")
    lines = ran.out.splitlines()
    assert (ran.status, len(lines)) == (0, len(CATALOGUE))
    assert [line.split()[0] for line in lines] == [mistake.id for mistake in CATALOGUE]
    assert max(map(len, lines)) <= 80


def test_one_mistake_is_explained_with_an_example_and_its_reference(posvec):
    ran = posvec("mistakes", "embed-default")
    assert ran.status == 0
    for part in (
        "The table has the default initialisation of `nn.Embed`.\n",
        "  change     Give nn.Embed the initializer.\n",
        "  code       nn.Embed(32, d_model, embedding_init=nn.initializers.normal(0.02))\n",
        "  wrong      table = nn.Embed(32, d_model)\n",
        "  see        https://flax-linen.readthedocs.io/",
    ):
        assert part in ran.out


def test_an_unknown_id_is_answered_with_the_nearest(posvec):
    ran = posvec("mistakes", "unfolded")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == "posvec: ID must be the id of a known mistake, got 'unfolded'; the nearest is 'unfolded-key'.\n"


# The self-test


@pytest.mark.slow
def test_the_selftest_without_jax_passes(posvec):
    ran = posvec("selftest", "--only", "numpy_layouts*")
    assert ran.status == 0, ran.out
    assert ran.out.splitlines()[0].split() == ["implementation", "expected", "got"]
    assert "OK: 12 of 12 implementations are judged as they must be." in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.slow
def test_the_whole_selftest_passes(posvec):
    ran = posvec("selftest")
    assert ran.status == 0, ran.out
    assert "skipped" not in ran.out


def test_a_wrong_expectation_fails_the_selftest(tmp_path):
    code = (
        "import dataclasses, sys\n"
        "from posvec.verifier import specimens\n"
        "changed = dataclasses.replace(specimens.SPECIMENS[0], verdict='exact')\n"
        "specimens.SPECIMENS = (changed,)\n"
        "from posvec.verifier.cli import run\n"
        "if __name__ == '__main__':\n    sys.exit(run(['selftest']))\n"
    )
    script = tmp_path / "changed.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "NO  numpy_right:port" in done.stdout
    assert "FAILED: 1 of 1 implementations are not judged as they must be." in done.stdout


def test_no_implementation_of_that_name_is_exit_2(posvec):
    ran = posvec("selftest", "--only", "nothing")
    assert (ran.status, "--only must be a pattern that matches a name, got 'nothing'" in ran.err) == (2, True)
    assert posvec("selftest", "--jobs", "0").status == 2


def test_implementations_of_the_selftest_are_targets_and_know_nothing_of_posvec():
    zoo = Path(sys.modules["posvec.verifier.mistakes.catalogue"].__file__).parents[1] / "zoo"
    assert not (zoo / "__init__.py").exists()
    for source in zoo.glob("*.py"):
        assert "posvec" not in source.read_text(), source.name


@pytest.mark.slow
def test_the_confusion_matrix_is_printed(posvec):
    ran = posvec("selftest", "--confusion")
    assert ran.status == 0
    assert ran.out.count("pairs that no case tells apart: none") == 2
    assert "63  rows-from-one, rotated-rows" in ran.out
    assert ran.out.count("2,079 cases") == 2
