"""Suites whose cases hold arrays, from the Python file that defines one to the verdict."""

from __future__ import annotations

import json
import sys

import jsonschema
import pytest

from tests.acceptance.conftest import EXAMPLES, ROOT

RIGHT = """
import numpy as np
def layer_norm(x, gain, bias, eps):
    x64 = x.astype(np.float64)
    y = (x64 - x64.mean(-1, keepdims=True)) / np.sqrt(x64.var(-1, keepdims=True) + eps)
    return (y * gain + bias).astype(np.float32)
"""


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """The golden file of examples/layer_norm.py."""
    import subprocess
    from pathlib import Path

    folder = tmp_path_factory.mktemp("golden")
    posvec = Path(sys.executable).with_name("posvec")
    done = subprocess.run(
        [posvec, "generate", "--suite", f"{EXAMPLES / 'layer_norm.py'}:suite", "-o", folder],
        capture_output=True,
        text=True,
        check=True,
        env={"JAX_PLATFORMS": "cpu", "PATH": ""},
    )
    assert done.stdout.endswith("8 cases, 484 elements; they refuse 2 of 2 listed mistakes\n")
    return folder / "layer_norm.h5"


@pytest.fixture
def layer_norm(posvec, golden, tmp_path):
    """Verify a function made from the right one and this code."""

    def run(code="", *options):
        path = tmp_path / "homework.py"
        path.write_text(f"{RIGHT}\nright = layer_norm\n{code}\n")
        return posvec("verify", "--vectors", golden, *options, path)

    return run


def change(expression):
    return f"def layer_norm(x, gain, bias, eps):\n    return {expression}\n"


def test_a_right_function_is_found_by_the_name_in_the_golden_file(layer_norm):
    ran = layer_norm()
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 8)
    assert ran.out.startswith("EXACT (bit-identical to the expected values)")
    assert ran.report["behaviour"]["mutation"] == []


@pytest.mark.parametrize(
    ("expression", "outcome", "words"),
    [
        ("right(x, gain, bias, 0.1)", "value", "at index [0, 0]\n"),
        ("right(x, gain, bias, eps).astype('f8')", "layout", "dtype float64 came, not float32"),
        ("right(x, gain, bias, eps).T", "layout", "shape (3, 2) came, not (2, 3)"),
        ("right(x, gain, bias, eps).reshape(-1)", "layout", "shape (6,) came, not (2, 3)"),
        ("right(x, gain, bias, eps)[None]", "layout", "shape (1, 2, 3) came, not (2, 3)"),
        ("right(x, gain, bias, eps).tolist()", "layout", "list of 2 list of 3 float came"),
        ("x.nothing", "error", "AttributeError"),
    ],
)
def test_a_wrong_function_is_told_what_is_wrong(layer_norm, expression, outcome, words):
    ran = layer_norm(change(expression))
    assert (ran.status, ran.report["counts"][outcome]) == (1, 8)
    assert words in ran.out


def test_other_rounding_within_the_intervals_is_equivalent(layer_norm):
    nudged = change("np.nextafter(right(x, gain, bias, eps), np.float32(9))")
    ran = layer_norm(nudged)
    assert (ran.status, ran.report["verdict"]["code"]) == (0, "equivalent")
    assert ran.out.startswith("EQUIVALENT: all within the accept intervals, other rounding in ")
    exact = layer_norm(nudged, "--match", "exact")
    assert (exact.status, exact.report["counts"]["rounding"]) == (1, 8)


def test_a_function_that_writes_to_its_arguments_is_noticed_and_sees_fresh_ones_each_time(layer_norm):
    ran = layer_norm("def layer_norm(x, gain, bias, eps):\n    y = right(x, gain, bias, eps); x *= 0; return y\n")
    assert ran.status == 0
    assert len(ran.report["behaviour"]["mutation"]) == 8
    assert "! The function wrote to an array that it was given (in 8 of 8 cases" in ran.out
    assert (
        layer_norm(
            "def layer_norm(x, gain, bias, eps):\n    y = right(x, gain, bias, eps); x *= 0; return y\n", "--strict"
        ).status
        == 1
    )


def test_the_command_that_a_failure_gives_shows_that_case_alone(layer_norm, posvec):
    ran = layer_norm(change("right(x, gain, bias, 0.1)"))
    again = posvec(*ran.report["failure"]["reproduce"].split()[1:])
    assert (again.status, again.report["counts"]["selected"], again.report["failure"]["index"]) == (1, 1, [0, 0])


def test_a_program_gets_and_gives_arrays(posvec, golden, tmp_path):
    schema = json.loads((ROOT / "schemas" / "protocol.schema.json").read_text())
    log = tmp_path / "log"
    path = tmp_path / "port.py"
    path.write_text(
        f"{RIGHT}\nimport base64, json, sys\nlog = open({str(log)!r}, 'w')\n"
        "def array(v): return np.frombuffer(base64.b64decode(v['data']), v['dtype']).reshape(v['shape'])\n"
        "for line in sys.stdin:\n"
        "    log.write(line); m = json.loads(line)\n"
        "    if 'protocol' in m: say = {'protocol': 1, 'name': 'p', 'version': '', 'language': 'Python'}\n"
        "    else:\n"
        "        y = layer_norm(array(m['x']), array(m['gain']), array(m['bias']), m['eps'])\n"
        "        if m['id'] % 2: say = {'id': m['id'], 'values': y.reshape(-1).tolist()}\n"
        "        else: say = {'id': m['id'], 'data': base64.b64encode(y.tobytes()).decode(), 'dtype': 'float32',\n"
        "                     'shape': y.shape}\n"
        "    print(json.dumps(say), flush=True)\n"
    )
    ran = posvec("verify", "--vectors", golden, "--exec", sys.executable, path)
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 8)
    hello, *requests = map(json.loads, log.read_text().splitlines())
    assert hello == {"protocol": 1, "suite": "layer_norm"}
    for request in requests:
        jsonschema.validate(request, {"$ref": "#/$defs/request", "$defs": schema["$defs"]})


def test_a_served_function_gets_arrays(posvec, golden, tmp_path):
    path = tmp_path / "port.py"
    path.write_text(f"{RIGHT}\nfrom posvec.verifier import serve\nserve(layer_norm)\n")
    assert posvec("verify", "--vectors", golden, "--exec", sys.executable, path).report["counts"]["pass"] == 8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fresh", "5", "x.py:f"], "--fresh must be left out: every case of layer_norm is in its golden file"),
        (["--stream", "original", "x.py:f"], "--stream must be left out"),
        (["--build", "JAX", "x.py:f"], "--build must be left out: these vectors record no builds"),
        (["--per-case", "--exec", "echo", "{x}"], "--per-case must be given for a suite without arrays"),
    ],
)
def test_options_that_do_not_fit_are_refused(posvec, golden, tmp_path, options, words):
    (tmp_path / "x.py").write_text("f = print\n")
    ran = posvec("verify", "--vectors", golden, *options)
    assert ran.status == 2
    assert words in ran.err


def test_info_names_the_contract_and_every_case(posvec, golden):
    ran = posvec("info", golden)
    assert ran.status == 0
    assert "layer_norm(x, gain, bias, eps) -> float32 (B, D)" in ran.out
    assert ran.out.endswith("  layer_norm/B=4/D=33/eps=1e-12\n")


def test_check_says_whether_the_file_still_holds(posvec, golden, tmp_path):
    suite = f"{EXAMPLES / 'layer_norm.py'}:suite"
    ran = posvec("generate", "--suite", suite, "--check", "-o", golden.parent)
    assert (ran.status, ran.out) == (0, f"{golden}: holds\n")
    other = tmp_path / "other.py"
    other.write_text((EXAMPLES / "layer_norm.py").read_text().replace("(5, 16)", "(5, 17)"))
    ran = posvec("generate", "--suite", f"{other}:suite", "--check", "-o", golden.parent)
    assert ran.status == 1
    assert ran.out == f"{golden}: DOES NOT HOLD in layer_norm/B=5/D=16/eps=1e-05\n"


def test_check_sees_that_only_the_intervals_changed(posvec, golden, tmp_path):
    other = tmp_path / "other.py"
    other.write_text((EXAMPLES / "layer_norm.py").read_text().replace("error = 16 *", "error = 17 *"))
    ran = posvec("generate", "--suite", f"{other}:suite", "--check", "-o", golden.parent)
    assert ran.status == 1
    assert ran.out.startswith(f"{golden}: DOES NOT HOLD in layer_norm/")


@pytest.mark.slow
def test_what_a_killed_run_left_is_removed_and_a_folder_that_cannot_be_made_is_named(posvec, tmp_path):
    suite = f"{EXAMPLES / 'layer_norm.py'}:suite"
    left = tmp_path / ".layer_norm.json.x.posvec-tmp"
    left.touch()
    assert posvec("generate", "--suite", suite, "-o", tmp_path).status == 0
    assert not left.exists()
    below = tmp_path / "layer_norm.h5" / "below"
    ran = posvec("generate", "--suite", suite, "-o", below)
    assert (ran.status, ran.out) == (3, "")
    assert ran.err == f"posvec: {below} could not be written: Not a directory; choose another folder with -o.\n"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("(5, 16), (4, 33)", "(5, 16), (4, 8)"), None),
        (("((2, 3), (3, 8), (5, 16), (4, 33))", "((1, 3), (1, 8))"), "cases must be a sweep with several lengths B"),
        (("((2, 3), (3, 8), (5, 16), (4, 33))", "((3, 3), (8, 8))"), "a sweep in which B and D differ"),
        (("bell(salt, B, D)", "np.ones((B, D), np.float32)"), "arrays that are not constant"),
        (("bell(salt, B, D)", "bell(salt, B, D, scale=1e-42)"), "none of them subnormal"),
        (("/ jnp.sqrt(variance + eps)", "/ jnp.sqrt(variance + 2)"), "is not equivalent to the expected values"),
        (
            ("return (x - mean)", "return x[:1]; (x - mean)"),
            "is not equivalent to the expected values (float32 of shape (1, ",
        ),
        (("mean = jnp.mean", "mean = jnp.meen"), "The reference raised AttributeError"),
        (("suite = CaseSuite", "other = CaseSuite"), "it defines other"),
        (("import jax\n", "import jaxx\n"), "raised ModuleNotFoundError when it was loaded"),
        (('"bias": bell(salt + " bias", D), ', ""), "and must have x, gain, bias, eps"),
    ],
)
def test_a_suite_that_cannot_be_generated_is_one_sentence(posvec, tmp_path, change, words):
    path = tmp_path / "mine.py"
    text = (EXAMPLES / "layer_norm.py").read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    ran = posvec("generate", "--suite", f"{path}:suite", "-o", tmp_path / "golden")
    if words is None:
        assert ran.status == 0
        return
    assert ran.status in (2, 3)
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "golden" / "layer_norm.h5").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suite", "learned_pos_embed_ad"], "did you mean learned_pos_embed_add?"),
        (["--suite", "nothing.py:suite"], "--suite must be a file that is there, got 'nothing.py'"),
        (["--suite", "learned_pos_embed_add", "--seeds", "1"], "--seeds goes with the suite learned_pos_embed only"),
    ],
)
def test_a_suite_that_is_not_there_is_one_sentence(posvec, arguments, words):
    ran = posvec("generate", *arguments)
    assert ran.status == 2
    assert words in ran.err


# Cases in which the function must raise


@pytest.mark.parametrize(
    ("body", "counts", "words"),
    [
        ("assert x.shape[1] <= len(table)", {"pass": 46}, "EXACT (bit-identical to the expected values)"),
        ("if x.shape[1] > len(table): sys.exit(3)", {"pass": 46}, "EXACT"),
        ("table = np.resize(table, x.shape[1:])", {"pass": 44, "value": 2}, "the function must raise"),
        ("raise ValueError", {"error": 46}, "46 of 46 cases fail (46 error)"),
        ("if x.shape[1] >= len(table): raise ValueError", None, "it must raise here, and it also raised in"),
        ("if x.shape[1] > len(table): os._exit(1)", {"pass": 44, "crash": 2}, "ended with exit status 1"),
    ],
)
def test_a_case_that_must_raise_passes_only_if_its_neighbour_does_not_raise(posvec, tmp_path, body, counts, words):
    path = tmp_path / "homework.py"
    path.write_text(
        "import os, sys\nimport numpy as np\ndef learned_pos_embed_add(x, table):\n"
        f"    {body}\n    return x + table[: x.shape[1]]\n"
    )
    ran = posvec("verify", "--suite", "learned_pos_embed_add", path)
    found = {outcome: n for outcome, n in ran.report["counts"].items() if n and outcome not in ("total", "selected")}
    if counts is not None:
        assert found == counts
    details = " ".join(case["detail"] for case in ran.report["cases"])
    assert words in " ".join(ran.out.split()) + details
    assert ran.status == (0 if found == {"pass": 46} else 1)


def test_the_suites_are_listed_with_their_contracts(posvec):
    ran = posvec("suites")
    assert ran.status == 0
    assert "learned_pos_embed_add(x (B, T, D), table (max_T, D)) -> float32" in " ".join(ran.out.split())
    assert all(len(line) <= 80 or "https://" in line for line in ran.out.splitlines())
    names = posvec("suites", "--names").out.split()
    assert {"learned_pos_embed", "learned_pos_embed_add"} <= set(names)


def test_a_case_is_shown_with_its_arguments(posvec):
    ids = posvec("show", "--suite", "learned_pos_embed_add").out.split()
    assert len(ids) == 46
    ran = posvec("show", "--suite", "learned_pos_embed_add", "--case", ids[0].split("/", 1)[1])
    assert ran.out.startswith(f"{ids[0]}\nx: float32 (2, 3, 4)\n")
    document = json.loads(posvec("show", "--suite", "learned_pos_embed_add", "--case", ids[0], "--json").out)
    assert document["args"]["table"]["shape"] == [8, 4]
    assert posvec("show", "--suite", "learned_pos_embed_add", "--case", "x").status == 2
    assert posvec("show", "--suite", "learned_pos_embed_add", "--seed", "1").status == 2
