"""However a run ends - interrupted at any stage, on a full disk, without an output - what ran is not lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.conftest import EXAMPLES
from tests.verifier.running.conftest import gone

POSVEC = Path(sys.executable).with_name("posvec")
ONE = ("--match", "equivalent", "--select", "*/seed=0/d_model=2/T=3")
PRELUDE = f"""
import os, sys, time
sys.path.insert(0, {str(EXAMPLES)!r})
from numpy_port import learned_pos_embed_forward as right
def reach():
    with open(os.path.join(os.path.dirname(__file__), "part"), "w") as file: file.write(str(os.getpid()))
    os.rename(file.name, file.name[:-4] + "reached")
    time.sleep(1000)
"""
STAGES = {
    "start": "reach()\nfrom posvec.verifier import serve\nserve(right)",
    "case": "def learned_pos_embed_forward(seed, T, d_model): reach()",
    "behaviour": (
        "calls = []\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    calls.append(1); len(calls) > 1 and reach()\n"
        "    return right(seed, T, d_model)"
    ),
    "end": "from posvec.verifier import serve\nserve(right)\nreach()",
}


class Run:
    """A running ``posvec verify`` whose target has reached a stage and stays there."""

    def __init__(self, folder, body, *options, **popen):
        path = folder / "target.py"
        path.write_text(f"{PRELUDE}{body}\n")
        self.report, self.temporary = folder / "report.json", folder / "tmp"
        self.temporary.mkdir()
        program = ["--exec", sys.executable, path] if "serve(" in body else [path]
        words = [POSVEC, "verify", "--timeout", "100", "--report", f"json={self.report}", *options, *program]
        self.process = subprocess.Popen(
            words,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **popen,
        )
        deadline = time.monotonic() + 60
        while not (folder / "reached").exists() and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        self.pid = int((folder / "reached").read_text())

    def finish(self):
        """Return what was printed, when nothing is left of the run."""
        out, err = self.process.communicate(timeout=60)
        assert gone([self.pid])
        assert list(self.temporary.iterdir()) == []
        assert err == ""
        return out


@pytest.mark.parametrize(("stage", "ran"), [("start", 0), ("case", 0), ("behaviour", 1), ("end", 1)])
def test_ctrl_c_in_any_stage_gives_the_report_of_what_ran_and_leaves_nothing(tmp_path, stage, ran):
    run = Run(tmp_path, STAGES[stage], *ONE)
    run.process.send_signal(signal.SIGINT)
    out = run.finish()
    assert run.process.returncode == 130
    assert out.startswith(f"INTERRUPTED after {ran} of 1 cases: 0 failed\n")
    counts = json.loads(run.report.read_text())["counts"]
    assert (counts["pass"], counts["not-run"]) == (ran, 1 - ran)


def test_a_run_under_nohup_goes_on_when_the_terminal_closes(tmp_path):
    body = (
        "os.path.exists('go') or os.mkfifo('go')\n"
        "def learned_pos_embed_forward(seed, T, d_model):\n"
        "    time.sleep = lambda _: open('go').close()\n"
        "    os.path.exists(os.path.join(os.path.dirname(__file__), 'reached')) or reach()\n"
        "    return right(seed, T, d_model)"
    )
    run = Run(tmp_path, body, *ONE, cwd=tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    run.process.send_signal(signal.SIGHUP)
    (tmp_path / "go").open("w").close()
    assert run.finish().startswith(("EXACT", "EQUIVALENT"))
    assert run.process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_report_that_finds_the_disk_full_costs_neither_verdict_nor_the_other_report(posvec, target):
    path = target("learned_pos_embed_forward = right")
    ran = posvec("verify", *ONE, "--report", "junit=/dev/full", path)
    assert (ran.status, ran.out.partition(" ")[0]) == (3, "EXACT")
    assert ran.report["verdict"]["code"] == "exact"
    assert (
        ran.err
        == "posvec: /dev/full could not be written: No space left on device; choose another file for --report.\n"
    )


@pytest.mark.parametrize(("output", "status"), [(">&-", 0), ("> /dev/full", 3)])
def test_a_report_is_written_although_nothing_can_be_printed(target, tmp_path, output, status):
    path, report = target("learned_pos_embed_forward = right"), tmp_path / "report.json"
    command = f"exec {POSVEC} verify --report json={report} {path} --match equivalent --select '{ONE[-1]}' {output}"
    assert subprocess.run(["/bin/sh", "-c", command], capture_output=True).returncode == status
    assert json.loads(report.read_text())["verdict"]["code"] == "exact"
