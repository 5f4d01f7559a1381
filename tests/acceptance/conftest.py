"""Running the real command as a user does, and the implementations that it is run on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from posvec.verifier import cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
STEERING = ("JAX", "XLA", "FLAX", "COLUMNS")


@dataclass(frozen=True, kw_only=True)
class Ran:
    status: int
    out: str
    err: str
    report: dict | None = None


@pytest.fixture
def posvec(tmp_path):
    """Run ``posvec`` in an empty folder and return status, output and, for verify, the JSON report."""

    def run(*arguments, env=None, cwd=None, python=sys.executable):
        words = [str(argument) for argument in arguments]
        report = tmp_path / "report.json"
        if words and words[0] == "verify" and "--help" not in words:
            words[1:1] = ["--report", f"json={report}"]  # --exec, if it is there, is last
        kept = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
        done = subprocess.run(
            [str(Path(python).with_name("posvec")), *words],
            cwd=cwd or tmp_path,
            env={**kept, "COLUMNS": "80", "JAX_PLATFORMS": "cpu", **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in done.stderr, done.stderr
        found = json.loads(report.read_text()) if report.exists() else None
        report.unlink(missing_ok=True)
        return Ran(status=done.returncode, out=done.stdout, err=done.stderr, report=found)

    return run


@pytest.fixture
def inside(tmp_path, monkeypatch, capsys):
    """Run ``posvec`` as the fixture ``posvec`` does, in this process: quicker where a process of its own adds nothing.

    The target has one of its own all the same.
    """
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(STEERING)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments):
        words = [str(argument) for argument in arguments]
        report = tmp_path / "report.json"
        words[1:1] = ["--report", f"json={report}"] if words[0] == "verify" else []
        status = cli.run(words)
        out, err = capsys.readouterr()
        found = json.loads(report.read_text()) if report.exists() else None
        report.unlink(missing_ok=True)
        return Ran(status=status, out=out, err=err, report=found)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def target(tmp_path):
    """Write a module with ``learned_pos_embed_forward`` made from the NumPy port and return its path."""

    def write(body, name="target.py"):
        path = tmp_path / name
        prelude = f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\nimport numpy as np\nimport numpy_port\n"
        path.write_text(f"{prelude}right = numpy_port.learned_pos_embed_forward\n{body}\n")
        return path

    return write
