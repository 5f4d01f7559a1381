"""``posvec verify --exec``: programs of their own, run as a user runs them."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from tests.acceptance.conftest import EXAMPLES, ROOT

PRELUDE = f"""
import json, os, sys, time
sys.path.insert(0, {str(EXAMPLES)!r})
from numpy_port import learned_pos_embed_forward as right
"""


@pytest.fixture
def served(tmp_path):
    """Write a program that serves a function with this body, and return its command line."""

    def served(body="return right(seed, T, d_model)", **names):
        path = tmp_path / "port.py"
        given = "".join(f", {name}={value!r}" for name, value in names.items())
        path.write_text(
            f"{PRELUDE}from posvec.verifier import serve\n"
            f"def forward(seed, T, d_model):\n    {body}\nserve(forward{given})\n"
        )
        return ["--exec", sys.executable, path]

    return served


@pytest.fixture
def printing(tmp_path):
    """Write a program that prints one case, and return its command line."""

    def printing(body):
        path = tmp_path / "print.py"
        path.write_text(f"{PRELUDE}values = right(*map(int, sys.argv[1:4]))\n{body}\n")
        return ["--per-case", "--exec", sys.executable, path, "{seed}", "{T}", "{d_model}"]

    return printing


def test_a_served_function_conforms(posvec, served):
    ran = posvec("verify", "--match", "equivalent", *served(name="mine", version="7"))
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 2079)
    # How many differ depends on the CPU: NumPy's logarithm of float32 rounds otherwise with AVX-512.
    assert re.match(r"EQUIVALENT: same draws, other rounding in \d\.\d % of 465,696 elements", ran.out)
    assert f"ran on     mine 7, Python {sys.version.split()[0]}" in ran.out
    assert ran.report["coercion"]["checked"] == 0
    assert ran.report["behaviour"]["checked"] == 32
    assert sum(ran.report["elements"]["ulp_histogram"].values()) == 465_696


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        ("return right(seed, T, d_model).reshape(T, d_model)", "layout", "shape (3, 4) came, which is not flattened"),
        ("return right(seed, T, d_model).astype('f8')", "layout", "dtype float64 came, not float32"),
        ("return right(seed, T, d_model).astype('>f4')", "layout", "'>f4' is no dtype"),
        ("return right(seed, T, d_model).tolist()", "layout", "list of 12 float"),
        ("return right(seed + 1, T, d_model)", "value", "draw "),
        ("raise ValueError('not today')", "error", "ValueError: not today"),
        ("sys.exit(0)", "error", "SystemExit: 0"),
        ("os._exit(0)", "crash", "ended with exit status 0"),
    ],
)
def test_a_served_function_is_judged_as_the_function_itself(posvec, served, body, outcome, words):
    ran = posvec("verify", "--select", "*/seed=0/d_model=4/T=3", *served(body))
    assert (ran.status, ran.report["counts"][outcome]) == (1, 1)
    assert words in ran.report["failure"]["detail"]


def test_what_a_served_function_prints_is_shown_and_harmless(posvec, served):
    body = "print('here', T); print(json.dumps({'id': 0, 'values': []})); return right(seed + 1, T, d_model)"
    ran = posvec("verify", "--select", "*/seed=0/d_model=4/T=3", *served(body))
    assert ran.report["counts"]["value"] == 1
    assert '  | here 3\n  | {"id": 0, "values": []}\n' in ran.out


def test_every_message_is_as_the_schema_says(posvec, tmp_path):
    schema = json.loads((ROOT / "schemas" / "protocol.schema.json").read_text())
    log = tmp_path / "log"
    path = tmp_path / "port.py"
    path.write_text(
        f"{PRELUDE}log = open({str(log)!r}, 'w')\n"
        "for line in sys.stdin:\n"
        "    log.write(line); m = json.loads(line)\n"
        "    if 'protocol' in m: say = {'protocol': 1, 'name': 'p', 'version': '', 'language': 'Python'}\n"
        "    else: say = {'id': m['id'], 'values': right(m['seed'], m['T'], m['d_model']).tolist()}\n"
        "    print(json.dumps(say), flush=True)\n"
    )
    program = ["--exec", sys.executable, path]
    posvec("verify", "--stream", "original", "--quick", "--match", "equivalent", *program)
    hello, *requests = map(json.loads, log.read_text().splitlines())
    assert hello == {"protocol": 1, "suite": "learned_pos_embed", "stream": "original"}
    for request in requests:
        jsonschema.validate(request, {"$ref": "#/$defs/request", "$defs": schema["$defs"]})
    assert len({request["id"] for request in requests}) == len(requests) == 92 + 96


def test_a_printing_program_conforms(posvec, printing):
    ran = posvec(
        "verify",
        "--match",
        "equivalent",
        "--select",
        "*/seed=42/d_model=*/T=1",
        *printing("print(*map(repr, values.tolist()))"),
    )
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 7)


def test_raw_output_is_taken_bit_for_bit(posvec, printing):
    ran = posvec(
        "verify",
        "--output",
        "f32le",
        "--match",
        "equivalent",
        "--select",
        "*/seed=42/d_model=16/T=[14]",
        *printing("sys.stdout.buffer.write(values.tobytes())"),
    )
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 2)


def test_too_few_digits_are_named(posvec, printing):
    ran = posvec("verify", "--select", "*/seed=42/d_model=64/T=2", *printing("print(*('%f' % v for v in values))"))
    assert ran.status == 1
    (found,) = ran.report["diagnosis"]["explanations"]
    assert [mistake["id"] for mistake in found["mistakes"]] == ["too-few-digits"]
    assert "at most 6 digits after the point, as %.6f of printf prints them" in found["evidence"]


def test_the_command_that_a_failure_gives_runs_that_case_alone(posvec, printing):
    ran = posvec(
        "verify", "--match", "equivalent", "--select", "*/seed=42/d_model=4/T=[23]", *printing("print(*values[::-1])")
    )
    words = shlex.split(ran.report["failure"]["reproduce"])
    assert words[:2] == ["posvec", "verify"]
    again = posvec(*words[1:])
    assert (again.status, again.report["counts"]["value"], again.report["counts"]["selected"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--exec"], 2, "--exec must be followed by a program and its arguments"),
        (["x.py", "--exec", "cat"], 2, "--exec must be given without TARGET, got 'x.py'"),
        (["--python", "p", "--exec", "cat"], 2, "--python must be given with TARGET, not with --exec"),
        (["--output", "f32le", "--exec", "cat"], 2, "--output must be given with --per-case"),
        (["--per-case", "x.py"], 2, "--per-case must be given with --exec, not with TARGET"),
        (["--per-case", "--exec", "echo", "{seed}", "{T}"], 2, "whose arguments hold {d_model}"),
        (["--output", "f16", "--exec", "cat"], 2, "'text', 'f32le'"),
        ([], 2, "Missing argument 'TARGET'"),
        (["--exec", "no-such-program"], 3, "there is no program 'no-such-program' on PATH"),
        (["--exec", "./here"], 3, "there is no file ./here"),
    ],
)
def test_a_wrong_command_is_one_sentence(posvec, arguments, status, words):
    ran = posvec("verify", *arguments)
    assert (ran.status, ran.out) == (status, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_an_option_after_exec_goes_to_the_program_with_a_hint(posvec, served):
    command = served("return right(seed, T, d_model) if '--quick' in sys.argv else None")
    ran = posvec("verify", "--match", "equivalent", "--select", "*/T=1", *command, "--quick")
    assert ran.status == 0
    assert ran.err.startswith("posvec: note: --quick comes after --exec, so it goes to the program;")


def test_a_program_that_cannot_be_judged_gives_a_report(posvec):
    ran = posvec("verify", "--exec", "cat")
    assert (ran.status, ran.report["verdict"]["code"], ran.report["counts"]["not-run"]) == (3, "could-not-judge", 2079)
    assert "docs/protocol.md" in " ".join(ran.out.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reports_what_ran(served, tmp_path, number):
    stuck = tmp_path / "stuck"
    command = served(f"T > 3 and (open({str(stuck)!r}, 'w').close(), time.sleep(1000)); return right(seed, T, d_model)")
    report = tmp_path / "report.json"
    words = ["verify", "--match", "equivalent", "--timeout", "100", "--report", f"json={report}", *command]
    process = subprocess.Popen(
        [Path(sys.executable).with_name("posvec"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not stuck.exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.startswith("INTERRUPTED after ")
    assert json.loads(report.read_text())["counts"]["not-run"] > 2000
