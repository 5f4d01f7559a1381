"""The ports in other languages, built with the real compilers and judged by the real command."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posvec.verifier.scaffolds.languages import STEM, Language
from tests.acceptance.conftest import ROOT
from tests.acceptance.programs import EXTREMES, PORTED, PORTS, build, converse, true_values, values

PROTOCOL = re.compile(r"^.. ---- The protocol .*\Z", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """Return the words that start the port to a language; built once."""
    started = {}

    def start(name):
        if name not in started:
            source = PORTS / f"port{Language.parse(name).suffix}"
            started[name] = build(name, Path(shutil.copy(source, tmp_path_factory.mktemp(name))))
        return started[name]

    return start


@pytest.mark.parametrize("stream", ["partitionable", "original"])
@pytest.mark.parametrize("name", PORTED)
def test_a_port_conforms_in_both_streams_and_on_cases_of_no_golden_file(posvec, port, name, stream):
    words = ["verify", "--match", "equivalent", "--stream", stream]
    ran = posvec(*words, "--exec", *port(name))
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 2079), ran.out + ran.err
    assert (ran.report["elements"]["outside_accept"], ran.report["elements"]["outside_cell"]) == (0, 0)
    fresh = posvec(*words, "--fresh", "300", "--exec", *port(name))
    assert (fresh.status, fresh.report["counts"]["pass"]) == (0, 300), fresh.out + fresh.err


@pytest.mark.parametrize("stream", ["partitionable", "original"])
@pytest.mark.parametrize("name", PORTED)
def test_a_port_rounds_correctly_whatever_the_seed(port, name, stream):
    requests = [(seed, T, d_model) for seed in EXTREMES for T in (0, 1, 17, 32) for d_model in (1, 3, 64)]
    for request, answer in zip(requests, converse(port(name), requests, stream=stream), strict=True):
        assert values(answer).tobytes() == true_values(*request, stream).tobytes(), request


@pytest.mark.parametrize("name", PORTED)
def test_a_port_refuses_more_rows_than_the_table_has(port, name):
    (answer,) = converse(port(name), [(0, 33, 4)])
    assert "at most 32" in answer["error"]


@pytest.mark.parametrize("name", PORTED)
def test_a_port_speaks_the_protocol_as_the_scaffold_of_its_language_does(name):
    suffix = Language.parse(name).suffix
    mine = PROTOCOL.search((PORTS / f"port{suffix}").read_text())
    assert mine[0] == PROTOCOL.search((ROOT / "verifier" / "scaffolds" / f"{STEM}{suffix}").read_text())[0]


@pytest.mark.slow
def test_the_pytorch_port_conforms_too(posvec):
    pytest.importorskip("torch")
    ran = posvec("verify", PORTS / "torch_port.py", "--match", "equivalent")
    assert (ran.status, ran.report["counts"]["pass"]) == (0, 2079), ran.out + ran.err
    assert ran.report["elements"]["outside_cell"] == 0


@pytest.mark.slow
def test_the_demonstration_leaves_out_what_is_not_installed_and_tables_the_rest(tmp_path):
    (tmp_path / "cc").symlink_to(shutil.which("cc") or pytest.skip("cc is not installed"))
    for tool in ("as", "ld"):  # which cc starts
        (tmp_path / tool).symlink_to(shutil.which(tool))
    done = subprocess.run(
        [sys.executable, PORTS / "demo.py"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Rust: rustc is not installed here, so port.rs is left out." in done.stdout
    table = done.stdout.split("\n\n")[-1].splitlines()
    assert [line.split()[0] for line in table] == ["port", "C", "NumPy", "PyTorch"]
    assert all(len(line) <= 80 for line in table)
    for line in table[1:]:
        assert line.split()[1] == "equivalent"
        assert sum(float(share.rstrip("%")) for share in line.split()[2:-1]) == pytest.approx(100, abs=0.1)
