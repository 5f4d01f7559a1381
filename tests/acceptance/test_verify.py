import json
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from posvec.schemas.validate import violation
from tests.acceptance.conftest import EXAMPLES, ROOT

REFERENCE = f"{ROOT}/generator/references/learned_pos_embed.py:learned_pos_embed_forward"


def forward(expression):
    return f"def learned_pos_embed_forward(seed, T, d_model):\n    return {expression}\n"


# Verdicts


def test_the_reference_is_exact_and_the_canonical_build_is_named(posvec):
    ran = posvec("verify", REFERENCE, "--select", "*/d_model=4/T=[14]*")
    assert ran.status == 0
    assert ran.out.startswith("EXACT (bit-identical to JAX 0.10.2 eager, FMA) in 108 of 2,079 cases")
    assert ran.report["levels_held"] == ["exact", "equivalent", "ulp:0"]
    assert ran.report["counts"]["pass"] == 108
    assert ran.report["coercion"] == {"checked": 1, "failed": 0}


def test_the_reference_under_jit_is_exact_too(posvec, tmp_path):
    path = tmp_path / "jitted.py"
    path.write_text(
        "import jax, sys\n"
        f"sys.path.insert(0, {str(EXAMPLES)!r})\n"
        "from flax_reference import learned_pos_embed_forward as forward\n"
        "learned_pos_embed_forward = jax.jit(forward, static_argnums=(0, 1, 2))\n"
    )
    ran = posvec("verify", path, "--select", "*/seed=42/d_model=[48]/T=[9]")
    assert ran.status == 0
    assert ran.out.startswith("EXACT (bit-identical to JAX 0.10.2 jit, FMA")


def test_an_independent_port_has_the_same_draws_and_is_equivalent(inside):
    ran = inside("verify", EXAMPLES / "numpy_port.py")
    assert ran.status == 1
    assert ran.out.startswith("SAME DRAWS, OTHER ROUNDING in ")
    assert "of 465,696 elements, at most 3 ULP: not\nexact; --match equivalent accepts it" in ran.out
    assert ran.report["counts"]["value"] == 0
    assert ran.report["counts"]["rounding"] > 500
    assert ran.report["levels_held"] == ["equivalent", "ulp:3"]
    accepted = inside("verify", EXAMPLES / "numpy_port.py", "--match", "equivalent")
    assert (accepted.status, accepted.report["verdict"]["code"]) == (0, "equivalent")
    assert accepted.report["counts"]["pass"] == 2079
    assert inside("verify", EXAMPLES / "numpy_port.py", "--quick", "--match", "ulp:3").status == 0
    assert inside("verify", EXAMPLES / "numpy_port.py", "--quick", "--match", "ulp:2").status == 1


def test_a_wrong_key_does_not_conform_and_is_named(posvec):
    ran = posvec("verify", EXAMPLES / "unfolded_key.py", "--select", "*/d_model=4/T=3")
    assert ran.status == 1
    assert ran.out.startswith("NOT CONFORMING: 9 of 9 cases fail (9 value)\n")
    assert [e["mistakes"][0]["id"] for e in ran.report["diagnosis"]["explanations"]] == ["unfolded-key"]
    failure = ran.report["failure"]
    assert failure["detail"] == "draw 7,949,607 instead of 4,448,874"
    assert (failure["expected_bits"], failure["got_bits"]) == ("0x3ac79a5d", "0x3d04ed46")
    assert (failure["position"], failure["feature"], failure["more_elements"], failure["more_cases"]) == (0, 0, 11, 8)


def test_the_command_that_a_failure_gives_shows_that_failure_alone(inside, target):
    path = target(forward("right(seed, T, d_model) * np.float32(3 if T == 7 else 1)"))
    ran = inside("verify", path, "--match", "equivalent", "--select", "*/d_model=8/*")
    words = ran.report["failure"]["reproduce"].split()
    assert words[:2] == ["posvec", "verify"]
    again = inside(*words[1:])
    assert (again.status, again.report["counts"]["value"], again.report["counts"]["selected"]) == (1, 1, 1)
    assert again.report["failure"]["case"] == ran.report["failure"]["case"]
    assert "the right draw times 3: the scale differs" in " ".join(again.out.split())


def test_one_wrong_case_among_all_is_found(inside, target):
    path = target(forward("right(seed, T, d_model) + np.float32((seed, T, d_model) == (2**31, 31, 16))"))
    ran = inside("verify", path, "--match", "equivalent")
    assert (ran.status, ran.report["counts"]["value"]) == (1, 1)
    assert ran.report["failure"]["case"] == "learned_pos_embed/seed=2147483648/d_model=16/T=31"


@pytest.mark.parametrize(
    ("bits", "expression"),
    [
        (32, "(words.astype(np.float64) * 2.0**-32)"),
        (32, "((words.astype(np.float64) + 0.5) * 2.0**-32)"),
        (24, "((words >> 8).astype(np.float64) * 2.0**-24)"),
    ],
)
def test_a_finer_uniform_is_told_by_its_cells(inside, target, bits, expression):
    path = target(
        "from scipy.special import erfinv\n"
        "from posvec.vectors.derive import table_bits\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    words = table_bits([int(seed)], int(d_model), stream='partitionable').reshape(-1)\n"
        "    words = words[: int(T) * int(d_model)]\n"
        f"    u = {expression} * 2 - (1 - 2.0**-24)\n"
        "    return (erfinv(u) * 2**0.5 * 0.02).astype(np.float32)\n"
    )
    ran = inside("verify", path, "--quick", "--match", "equivalent")
    assert ran.status == 1
    assert f"The uniform has {bits} bits instead of 23" in ran.out


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("right(seed, 32, d_model).reshape(32, -1)[(np.arange(T) * 7 + 3) % 32].ravel()", "in the wrong place: rows"),
        ("right(seed, T, d_model)[::-1]", "the right ones in another order"),
        ("right(seed + 5, T, d_model)", "those of another random stream: each value is a right one"),
        ("right(seed, T, d_model) * np.float32(7)", "the right draw times 7: the scale differs"),
        ("np.full(T * d_model, 0.25, np.float32)", "Every element of the failing cases is 0.25"),
        ("np.full(T * d_model, np.nan, np.float32)", "Every value of the failing cases is NaN"),
        ("right(seed, T, d_model) / np.float32(0)", "Every value of the failing cases is infinite"),
        ("right(seed, T, d_model) ** 2", "no constant multiple of the right ones"),
        ("right(seed, T, d_model) * np.float32(1 if seed < 2 else 3)", "Right for seed = 0 only"),
    ],
)
def test_what_failing_values_have_in_common_is_said(inside, target, expression, says):
    ran = inside(
        "verify", target(forward(expression)), "--match", "equivalent", "--select", "*seed=[02]/d_model=8/T=2*"
    )
    assert ran.status == 1
    assert says in " ".join(ran.out.split())


def test_the_original_stream_has_its_own_golden_file(posvec):
    wrong = posvec("verify", EXAMPLES / "flax_reference.py", "--select", "*d_model=4/T=3", "--stream", "original")
    assert wrong.status == 1
    assert "its JAX draws the other stream, partitionable" in wrong.out.replace("\n", " ")
    assert "add --stream partitionable, or set JAX_THREEFRY_PARTITIONABLE=0" in " ".join(wrong.out.split())
    right = posvec(
        "verify", EXAMPLES / "flax_reference.py", "--select", "*d_model=4/T=3", "--stream", "original",
        env={"JAX_THREEFRY_PARTITIONABLE": "0"},
    )  # fmt: skip
    assert right.status == 0
    assert right.report["cases"][0]["id"].startswith("learned_pos_embed.original/")


def test_x64_is_said_with_the_line_that_mends_it(posvec):
    ran = posvec("verify", EXAMPLES / "flax_reference.py", "--select", "*d_model=4/T=3", env={"JAX_ENABLE_X64": "1"})
    assert ran.status == 1
    first = ran.out.splitlines()[0]
    assert first.startswith("NOT CONFORMING: 9 of 9 cases fail (9 layout); the target ran with x64")
    assert "unset JAX_ENABLE_X64" in ran.out
    assert "dtype float64 came, not float32" in ran.report["failure"]["detail"]


def test_one_build_can_be_asked_for(inside):
    select = ("--select", "*d_model=8/T=9")
    own = inside("verify", EXAMPLES / "flax_reference.py", *select, "--build", "JAX 0.10.2 eager, FMA")
    assert own.status == 0
    other = inside("verify", EXAMPLES / "flax_reference.py", *select, "--build", "JAX 0.7.2 jit, FMA")
    assert other.status == 1
    assert "but not of the one asked for" in " ".join(other.out.split())
    unknown = inside("verify", EXAMPLES / "flax_reference.py", *select, "--build", "JAX 9")
    assert (unknown.status, "--build must be a recorded build such as" in unknown.err) == (2, True)


# Fresh cases


def test_fresh_cases_are_in_no_golden_file_and_can_be_repeated(inside):
    first = inside("verify", EXAMPLES / "numpy_port.py", "--fresh", "20", "--match", "equivalent")
    assert (first.status, first.report["counts"]["pass"]) == (0, 20)
    seed = first.report["vectors"]["fresh_seed"]
    assert f"--fresh-seed {seed}" in first.out
    again = inside("verify", EXAMPLES / "numpy_port.py", "--fresh", "20", "--fresh-seed", seed, "--match", "ulp:9")
    ids = [[case["id"] for case in ran.report["cases"]] for ran in (first, again)]
    assert ids[0] == ids[1]
    other = inside("verify", EXAMPLES / "numpy_port.py", "--fresh", "20", "--match", "equivalent")
    assert [case["id"] for case in other.report["cases"]] != ids[0]


def test_the_reference_is_exact_on_fresh_cases_at_any_width(inside):
    ran = inside("verify", REFERENCE, "--fresh", "4", "--fresh-seed", "5")
    assert ran.status == 0
    assert ran.out.startswith("EXACT (bit-identical to JAX 0.10.2 eager, FMA)")


def test_golden_cases_can_run_beside_fresh_ones(inside):
    ran = inside("verify", EXAMPLES / "numpy_port.py", "--fresh", "3", "--golden", "--match", "equivalent")
    assert ran.report["counts"]["pass"] == 2079 + 3


def test_memorised_answers_fail_on_fresh_cases(inside, target):
    path = target(
        "seeds = {0, 1, 2, 42, 2**31 - 1, 2**31, 2**32 - 1, -1, 2**32 + 5}\n"
        + forward("right(seed, T, d_model) if int(seed) in seeds else np.zeros(int(T) * int(d_model), np.float32)")
    )
    assert inside("verify", path, "--match", "equivalent", "--quick").status == 0
    fresh = inside("verify", path, "--match", "equivalent", "--fresh", "5")
    assert (fresh.status, fresh.report["counts"]["value"]) == (1, 5)


# What decides and what does not


def test_empty_arrays_alone_prove_only_the_layout(inside, target):
    path = target(forward("np.zeros(0, np.float32)"))
    ran = inside("verify", path, "--select", "*/T=0")
    assert (ran.status, ran.report["verdict"]["code"]) == (3, "could-not-judge")
    assert "T = 0 proves only the layout" in ran.report["verdict"]["sentence"]
    wrong = inside("verify", target(forward("np.zeros((0, int(d_model)), np.float32)")), "--select", "*/T=0")
    assert (wrong.status, wrong.report["counts"]["layout"]) == (1, 63)


def test_arguments_that_are_not_converted_fail_as_coercion_only(inside, target):
    path = target(forward("right(seed + 0, T + 0, d_model + 0)"))
    ran = inside("verify", path, "--quick", "--match", "equivalent")
    assert (ran.status, ran.report["counts"]["coercion"]) == (0, 2)
    assert "of 8 cases with arguments such as" in ran.out
    assert inside("verify", path, "--quick", "--match", "equivalent", "--strict").status == 1


def test_behaviour_is_reported_and_decides_only_if_strict(inside, target):
    shared = target(
        "buffer = np.empty(32 * 64, np.float32)\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    out = buffer[: int(T) * int(d_model)]\n"
        "    out[:] = right(seed, T, d_model)\n"
        "    return out\n"
    )
    ran = inside("verify", shared, "--quick", "--match", "equivalent")
    assert ran.status == 0
    assert ran.report["behaviour"]["aliasing"]
    assert "A later call changed an array that an earlier call had returned" in ran.out
    assert inside("verify", shared, "--quick", "--match", "equivalent", "--strict").status == 1


def test_fail_fast_stops_at_the_first_failure(inside, target):
    path = target(forward("right(seed, T, d_model) * np.float32(3 if T == 7 else 1)"))
    ran = inside("verify", path, "--fail-fast", "--match", "equivalent", "--select", "*/d_model=8/*")
    assert ran.status == 1
    outcomes = [case["outcome"] for case in ran.report["cases"]]
    first = outcomes.index("value")
    assert set(outcomes[:first]) == {"pass"}
    assert set(outcomes[first + 1 :]) == {"not-run"}


def test_output_that_depends_on_earlier_calls_is_seen_by_calling_again(inside, target):
    path = target(
        "calls = 0\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    global calls\n"
        "    calls += 1\n"
        "    return right(seed, T, d_model) * np.float32(2 if calls > 100 else 1)\n"
    )
    ran = inside("verify", path, "--quick", "--match", "equivalent")
    assert (ran.status, len(ran.report["behaviour"]["order"])) == (0, 32)
    assert "What a call returns depends on the calls before it" in ran.out


@pytest.mark.parametrize("deed", ["os.remove(path)", "open(path, 'r+b').write(b'x' * 3000)"])
def test_a_golden_file_that_changes_while_the_target_runs_is_noticed(inside, target, tmp_path, deed):
    golden = tmp_path / "golden.h5"
    shutil.copy(ROOT / "vectors" / "learned_pos_embed.h5", golden)
    path = target(
        f"import os\npath = {str(golden)!r}\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        f"    if T == 7 and os.path.exists(path): {deed}\n"
        "    return right(seed, T, d_model)\n"
    )
    ran = inside("verify", path, "--quick", "--vectors", golden)
    assert ran.status == 3
    assert ran.report["counts"]["not-run"] == 92
    assert "was changed or removed while the target ran" in ran.report["verdict"]["sentence"]


def test_a_golden_file_that_changes_after_the_cases_is_noticed(inside, target, tmp_path):
    golden = tmp_path / "golden.h5"
    shutil.copy(ROOT / "vectors" / "learned_pos_embed.h5", golden)
    path = target(
        "calls = []\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    calls.append((seed, T, d_model))\n"
        f"    if calls.count(calls[-1]) == 2: open({str(golden)!r}, 'r+b').write(b'x' * 3000)\n"
        "    return right(seed, T, d_model)\n"
    )
    ran = inside("verify", path, "--select", "*/seed=0/d_model=4/T=3", "--vectors", golden)
    assert ran.status == 3
    assert "was changed or removed while the target ran" in ran.report["verdict"]["sentence"]


@pytest.mark.parametrize(
    ("expression", "status", "note"),
    [
        (
            "np.repeat(right(seed, T, d_model), 2)[::2]",
            0,
            "2 arrays came with gaps or out of order (strided) in memory",
        ),
        (
            "np.asfortranarray(right(seed, T, d_model).reshape(T, d_model))",
            1,
            "in column-major (Fortran) order in memory",
        ),
    ],
)
def test_arrays_are_judged_in_the_order_of_their_elements_and_that_of_memory_is_told(
    inside, target, expression, status, note
):
    path = target(forward(expression))
    ran = inside("verify", path, "--match", "equivalent", "--select", "*/seed=0/d_model=4/T=[23]")
    assert ran.status == status
    assert note in ran.report["notes"][0]
    assert status == 0 or "the values, read as flat float32, are right" in ran.report["failure"]["detail"]


def test_a_coercion_case_alone_decides(inside, target):
    path = target(forward("right(seed, T, d_model) * np.float32(1 if isinstance(T, int) else 2)"))
    ran = inside("verify", path, "--match", "equivalent", "--select", "*/d_model=1/T=1/as=str")
    assert (ran.status, ran.report["counts"]["coercion"]) == (1, 1)


def test_crashes_cost_only_their_case_until_there_are_too_many(inside, target):
    one = target(forward("__import__('os')._exit(0) if (seed, T) == (1, 2) else right(seed, T, d_model)"))
    ran = inside("verify", one, "--match", "equivalent", "--select", "*/d_model=2/*")
    assert (ran.status, ran.report["counts"]["crash"], ran.report["counts"]["pass"]) == (1, 1, 296)
    always = target(forward("__import__('os')._exit(0)"))
    ran = inside("verify", always, "--select", "*/d_model=2/*")
    assert (ran.report["counts"]["crash"], ran.report["counts"]["not-run"]) == (3, 294)
    shown = " ".join(ran.out.split())
    assert "! 294 cases were not run after 3 crashes or timeouts in a row." in shown
    assert "started again 2 times after crashes or timeouts (at most 10, 3 in a row)" in shown


def test_a_case_that_hangs_is_a_timeout(inside, target):
    path = target(forward("exec('while T == 2: pass') or right(seed, T, d_model)"))
    ran = inside("verify", path, "--match", "equivalent", "--select", "*/seed=0/d_model=2/*", "--timeout", "0.5")
    assert (ran.status, ran.report["counts"]["timeout"], ran.report["counts"]["pass"]) == (1, 1, 32)


# Reports


def test_reports_follow_their_schema_and_text_from_the_target_is_made_safe(posvec, target, tmp_path):
    path = target(
        "print('\\x1b[31mred\\x00 <b>&\\ud800'.encode('utf8', 'surrogatepass').decode('latin1'), flush=True)\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    raise ValueError('\\x1b]0;owned\\x07 <script> \\x00 ]]> \\ufffe')\n"
    )
    junit = tmp_path / "out" / "junit.xml"
    junit.parent.mkdir()
    ran = posvec("verify", path, "--select", "*/d_model=2/T=2", "--report", f"junit={junit}")
    assert (ran.status, ran.report["counts"]["error"]) == (1, 9)
    assert violation(ran.report, "report.schema.json") is None
    assert "\x1b" not in ran.out
    assert "\\x1b]0;owned" in ran.out
    tree = ET.parse(junit).getroot()
    assert len(tree.findall(".//testcase")) == 9
    assert len(tree.findall(".//testcase/error")) == 9
    assert "\\x1b" in tree.find(".//testcase/error").text


def test_a_long_message_is_capped(inside, target):
    path = target("def learned_pos_embed_forward(seed, T, d_model):\n    raise ValueError('x' * 10**7)\n")
    ran = inside("verify", path, "--select", "*/d_model=2/T=2")
    assert len(json.dumps(ran.report)) < 200_000
    assert len(ran.out) < 20_000


def test_two_reports_need_two_files(inside, tmp_path):
    same = tmp_path / "r.json"
    ran = inside("verify", EXAMPLES / "numpy_port.py", "--report", f"junit={same}", "--report", f"json={same}")
    assert (ran.status, "a file of its own for each report" in ran.err) == (2, True)


def test_an_output_that_cannot_be_written_is_no_verdict():
    command = [Path(sys.executable).with_name("posvec"), "info"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1)
    assert "the output could not be written" in done.stderr
    closed = subprocess.run(["/bin/sh", "-c", f"exec {command[0]} info >&- 2>&-"])
    assert closed.returncode == 0


def test_a_report_that_cannot_be_written_is_found_before_the_run(inside, target, tmp_path):
    path = target(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n" + forward("right(seed, T, d_model)"))
    for bad in (tmp_path / "none" / "r.json", tmp_path):
        ran = inside("verify", path, "--report", f"junit={bad}")
        assert ran.status == 3
        assert "could not be written" in ran.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_writes_the_report_of_what_ran(target, tmp_path, number):
    marker = tmp_path / "reached"
    path = target(
        "import time\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    if T == 9:\n"
        f"        open({str(marker)!r}, 'w').close()\n"
        "        time.sleep(60)\n"
        "    return right(seed, T, d_model)\n"
    )
    command = [str(Path(sys.executable).with_name("posvec")), "verify", str(path), "--match", "equivalent"]
    process = subprocess.Popen(
        [*command, "--timeout", "50", "--report", f"json={tmp_path / 'r.json'}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not marker.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out.startswith("INTERRUPTED after ")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["verdict"]["code"] == "interrupted"
    assert report["counts"]["pass"] > 0
    assert violation(report, "report.schema.json") is None


@pytest.mark.slow  # it takes as long as it takes to foresee that the run will
def test_a_long_run_says_so_and_names_quick(target):
    path = target("import time\n" + forward("time.sleep(0.06) or right(seed, T, d_model)"))
    command = [Path(sys.executable).with_name("posvec"), "verify", path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert line.startswith("posvec: this run will take about ")
    assert "--quick runs at most 100 cases" in line


# Bad input


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--match", "close"), "--match must be exact, equivalent or ulp:N"),
        (("--select", "nothing"), "--select must be a pattern that matches a case id, got 'nothing'"),
        (("--timeout", "0"), "--timeout must be"),
        (("--timeout", "soon"), "--timeout"),
        (("--jobs", "0"), "--jobs must be"),
        (("--stream", "new"), "--stream"),
        (("--report", "pdf=x"), "badge=FILE or html=FILE, got 'pdf=x'"),
        (("--fresh", "0"), "--fresh must be a number of cases from 1 to"),
        (("--fresh-seed", "1"), "--fresh-seed must be given beside --fresh N"),
        (("--python", "/no/such/python"), "/no/such/python"),
        (("--bogus",), "--bogus"),
    ],
)
def test_a_wrong_argument_is_one_sentence_and_exit_2(inside, arguments, says):
    ran = inside("verify", EXAMPLES / "numpy_port.py", *arguments)
    assert ran.status == 2
    assert says in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert ran.out == ""


@pytest.mark.parametrize("target", ["", ":", ":fn", "a b:fn", "examples:1x", "x.py:fn:"])
def test_a_malformed_target_is_exit_2(inside, target):
    ran = inside("verify", target)
    assert ran.status in (2, 3)
    assert ran.err.startswith("posvec: ")


def test_what_cannot_be_loaded_is_exit_3_with_the_imports_own_traceback(inside, target, tmp_path):
    missing = inside("verify", "no/such/file.py:fn")
    assert (missing.status, "no/such/file.py" in missing.err) == (3, True)
    module = inside("verify", "no_such_module_anywhere:fn")
    assert (module.status, module.report["verdict"]["code"]) == (3, "could-not-judge")
    attribute = inside("verify", f"{target(forward('None'))}:learned_pos_embed_forwrad")
    assert attribute.status == 3
    assert "learned_pos_embed_forward" in attribute.out
    raising = tmp_path / "raising.py"
    raising.write_text("def helper():\n    raise RuntimeError('while importing')\nhelper()\n")
    ran = inside("verify", raising)
    assert ran.status == 3
    assert "RuntimeError: while importing" in ran.out
    assert "running/child" not in ran.out
    assert ran.report["counts"]["not-run"] == 2079


def test_an_import_that_hangs_is_exit_3(inside, tmp_path):
    path = tmp_path / "hangs.py"
    path.write_text("while True:\n    pass\n")
    ran = inside("verify", path, "--start-timeout", "1")
    assert ran.status == 3
    assert "not ready after 1 s" in " ".join(ran.out.split())


def test_a_golden_file_that_is_missing_or_damaged_is_exit_3(inside, tmp_path):
    ran = inside("verify", EXAMPLES / "numpy_port.py", "--vectors", tmp_path / "none.h5")
    assert (ran.status, "there is no such golden file" in ran.err) == (3, True)
    broken = tmp_path / "broken.h5"
    broken.write_bytes((ROOT / "vectors" / "learned_pos_embed.h5").read_bytes()[:5000])
    ran = inside("verify", EXAMPLES / "numpy_port.py", "--vectors", broken)
    assert (ran.status, "is damaged" in ran.err) == (3, True)
    folder = inside("verify", EXAMPLES / "numpy_port.py", "--vectors", tmp_path)
    assert (folder.status, "there is no golden file learned_pos_embed.h5 in this folder" in folder.err) == (3, True)


def test_an_unknown_command_is_answered_with_the_nearest(inside):
    ran = inside("verfy", "x")
    assert (ran.status, "did you mean 'verify'?" in ran.err) == (2, True)
