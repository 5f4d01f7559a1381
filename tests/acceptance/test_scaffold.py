"""``posvec scaffold``: programs that do all of the protocol except the function."""

import ast
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from posvec.verifier.scaffolds.languages import STEM, Language
from tests.acceptance.conftest import EXAMPLES
from tests.acceptance.programs import EXTREMES, NAMES, PORTED, PORTS, build, converse, values

REQUESTS = [(seed, T, 4) for seed in EXTREMES for T in (0, 3)]


def parts(text):
    """Return what stands before, within and after the part of a program that its user fills in."""
    lines = text.splitlines(keepends=True)
    first, last = (index for index, line in enumerate(lines) if " ---- The " in line)
    return ["".join(lines[part]) for part in (slice(0, first), slice(first, last), slice(last, None))]


@pytest.fixture
def scaffold(posvec, tmp_path):
    """Write the scaffold of a language and return its path."""

    def write(name):
        ran = posvec("scaffold", name)
        assert (ran.status, ran.err) == (0, "")
        return tmp_path / f"{STEM}{Language.parse(name).suffix}"

    return write


@pytest.mark.parametrize("name", NAMES)
def test_a_scaffold_answers_every_case_with_an_error_until_it_is_filled_in(posvec, scaffold, name):
    words = build(name, scaffold(name))
    for answer in converse(words, REQUESTS):
        assert "not implemented: fill in learned_pos_embed_forward" in answer["error"]
    ran = posvec("verify", "--quick", "--exec", *words)
    assert (ran.status, ran.report["counts"]["error"]) == (1, ran.report["counts"]["selected"]), ran.out + ran.err


@pytest.mark.parametrize("name", PORTED)
def test_a_scaffold_conforms_once_its_function_is_filled_in(posvec, scaffold, name):
    path = scaffold(name)
    before, _, after = parts(path.read_text())
    path.write_text(before + parts((PORTS / f"port{path.suffix}").read_text())[1] + after)
    ran = posvec("verify", "--match", "equivalent", "--stream", "original", "--exec", *build(name, path))
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 2079), ran.out + ran.err


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("c", 'out[0] = NAN, out[1] = -INFINITY; return d_model == 1 ? NULL : "it \\"panicked\\"\\n\\\\";'),
        ("javascript", "if (d_model === 1) return [NaN, -Infinity]; throw new Error('it \"panicked\"\\n\\\\');"),
        ("rust", 'if d_model == 1 { Ok(vec![f32::NAN, -f32::INFINITY]) } else { panic!("it\\n") }'),
    ],
)
def test_a_function_that_returns_no_numbers_or_raises_costs_its_case_only(scaffold, name, body):
    path = scaffold(name)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(body if "not implemented" in line else line for line in lines) + "\n")
    first, second, third = converse(build(name, path), [(0, 2, 1), (0, 1, 2), (1, 2, 1)])
    assert values(first).tolist()[1] == values(third).tolist()[1] == float("-inf")
    assert str(values(first)[0]) == "nan"
    assert "panicked" in second["error"]


@pytest.fixture
def python(scaffold):
    """Write the Python scaffold with this function in it and return the words that start it."""

    def write(function):
        path = scaffold("python")
        before, _, after = parts(path.read_text())
        path.write_text(f'{before}NAME = VERSION = "1"\n\n{function}\n\n{after}')
        return [sys.executable, str(path)]

    return write


def test_the_python_scaffold_conforms_with_the_numpy_port_in_it(posvec, python):
    words = python((EXAMPLES / "numpy_port.py").read_text())
    ran = posvec("verify", "--match", "equivalent", "--exec", *words)
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 2079), ran.out + ran.err


def test_the_python_scaffold_takes_lists_and_arrays_and_knows_the_stream(python):
    words = python(
        "import numpy\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    if d_model == 1: return [seed % 7, 0.1, float('nan'), float('-inf'), numpy.float32(0.5)]\n"
        "    if d_model == 2: return numpy.arange(4, dtype='>f8').reshape(2, 2).T\n"
        "    raise KeyError(stream)\n"
    )
    listed, array, raised = converse(words, [(-(2**63), 1, 1), (0, 1, 2), (0, 1, 3)], stream="original")
    assert values(listed).astype(str).tolist() == [str(float(-(2**63) % 7)), "0.1", "nan", "-inf", "0.5"]
    assert (array["dtype"], values(array).tolist()) == ("float64", [[0.0, 2.0], [1.0, 3.0]])
    assert raised["error"] == "KeyError: 'original'"


def test_what_the_function_prints_or_reads_does_not_disturb_the_python_scaffold(python):
    words = python(
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        '    print(\'{"id": 0, "values": [1]}\', flush=True)\n'
        "    os.system('cat; echo {}')\n"
        "    return []\n"
    )
    assert [answer["values"] for answer in converse(words, REQUESTS)] == [[]] * len(REQUESTS)


def test_the_python_scaffold_is_python_3_8(scaffold):
    ast.parse(scaffold("python").read_text(), feature_version=(3, 8))


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("python", ["posvec verify --match equivalent --exec python3 posvec_target.py"]),
        ("javascript", ["posvec verify --match equivalent --exec node posvec_target.js"]),
        (
            "C",
            [
                "cc -O2 -o posvec_target posvec_target.c -lm",
                "posvec verify --match equivalent --exec ./posvec_target",
            ],
        ),
        (
            "Rust",
            ["rustc -O -o posvec_target posvec_target.rs", "posvec verify --match equivalent --exec ./posvec_target"],
        ),
        ("julia", ["posvec verify --match equivalent --exec julia posvec_target.jl"]),
    ],
)
def test_scaffold_says_which_commands_come_next(posvec, name, commands):
    head, listed = posvec("scaffold", name).out.split("\n\n")
    assert head.endswith(" is written. Fill in learned_pos_embed_forward, then:")
    assert [line.strip() for line in listed.splitlines()] == commands


@pytest.mark.parametrize(
    ("output", "path", "commands"),
    [
        ("folder", "folder/posvec_target.c", ("folder/posvec_target folder/posvec_target.c", "folder/posvec_target")),
        ("my port.c", "my port.c", ("'my port' 'my port.c'", "'./my port'")),
        ("-x.c", "-x.c", ("./-x ./-x.c", "./-x")),
    ],
)
def test_output_names_a_folder_or_a_file(posvec, tmp_path, output, path, commands):
    (tmp_path / "folder").mkdir()
    ran = posvec("scaffold", "c", "-o", output)
    assert (ran.status, (tmp_path / path).read_bytes()) == (0, Language.parse("c").source())
    built, checked = ran.out.splitlines()[-2:]
    assert built == f"  cc -O2 -o {commands[0]} -lm"
    assert checked == f"  posvec verify --match equivalent --exec {commands[1]}"


@pytest.mark.parametrize("there", ["file", "link to a file", "link to nothing"])
def test_scaffold_never_overwrites(posvec, tmp_path, there):
    path, mine = tmp_path / "posvec_target.rs", tmp_path / "mine"
    if there != "link to nothing":
        mine.write_text("mine")
    if there == "file":
        mine.rename(path)
    else:
        path.symlink_to(mine)
    for arguments in ((), ("--output", "posvec_target.rs"), ("--output", str(tmp_path))):
        ran = posvec("scaffold", "rust", *arguments)
        assert (ran.status, ran.out) == (3, "")
        assert "posvec_target.rs could not be written: it is there already; name another" in ran.err
        assert len(ran.err.splitlines()) == 1
    assert mine.exists() == (there == "link to a file")
    assert there == "link to nothing" or path.read_text() == "mine"


def test_a_scaffold_that_cannot_be_written_whole_leaves_nothing(tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run(
        [Path(sys.executable).with_name("posvec"), "scaffold", "c"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=small_files,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, list(tmp_path.iterdir())) == (3, [])
    assert (
        done.stderr
        == "posvec: posvec_target.c could not be written: File too large; name another file with --output.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (
            ("pyhton",),
            2,
            "LANG must be one of python, javascript, c, rust, julia, got 'pyhton'; the nearest is python.",
        ),
        (("js",), 2, "the nearest is javascript."),
        (("node",), 2, "the nearest is javascript."),
        (("cobol",), 2, "got 'cobol'."),
        ((), 2, "LANG"),
        (("c", "-o", "port.rs"), 2, "--output must be a folder or a file named *.c, got 'port.rs'."),
        (("c", "-o", "none/port.c"), 3, "none/port.c could not be written: No such file or directory; name another"),
    ],
)
def test_a_wrong_argument_is_one_sentence(posvec, tmp_path, arguments, status, says):
    ran = posvec("scaffold", *arguments)
    assert (ran.status, ran.out) == (status, "")
    assert says in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
