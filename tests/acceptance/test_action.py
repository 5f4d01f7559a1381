"""The GitHub action: its own scripts, run by the shell that runs them there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.acceptance.conftest import EXAMPLES, ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
INSTALL, VERIFY = ACTION["runs"]["steps"]


@pytest.fixture
def action(tmp_path):
    """Run the verify step with these inputs, posvec already installed; return its status, outputs and summary."""
    (tmp_path / "posvec").symlink_to(Path(sys.executable).parents[1])

    def run(**given):
        inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | given
        names = {name: value.removeprefix("${{ inputs.").removesuffix(" }}") for name, value in VERIFY["env"].items()}
        output, summary = tmp_path / "output", tmp_path / "summary.md"
        summary.write_text("an earlier step\n")
        output.unlink(missing_ok=True)
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", VERIFY["run"]],
            cwd=tmp_path,
            env={
                **os.environ,
                "RUNNER_TEMP": str(tmp_path),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                **{name: inputs[source] for name, source in names.items()},
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done, outputs, summary.read_text()

    return run


def test_the_action_verifies_fails_as_verify_does_and_leaves_reports_and_a_summary(action, target):
    path = target("def learned_pos_embed_forward(seed, T, d_model):\n    return right(seed + 1, T, d_model)")
    done, outputs, summary = action(target=str(path), match="equivalent", options="--quick\n--select\n*/T=3\n")
    assert done.returncode == 1, done.stderr
    assert (outputs["verdict"], outputs["exit-code"]) == ("not-conforming", "1")
    assert summary.startswith("an earlier step\n")
    assert "one too large" in summary
    reports = Path(outputs["reports"])
    assert {file.name for file in reports.iterdir()} == {
        "report.json", "report.xml", "report.md", "report.html", "badge.json",
    }  # fmt: skip
    report = json.loads((reports / "report.json").read_text())
    assert (report["level_asked"], report["failure"]["expected"]) == ("equivalent", None)

    done, outputs, summary = action(exec=f"{sys.executable} {EXAMPLES / 'absent.py'}", options="--quick")
    assert (done.returncode, outputs["verdict"], outputs["exit-code"]) == (3, "could-not-judge", "3")

    done, outputs, summary = action()
    assert (done.returncode, outputs["verdict"], outputs["exit-code"]) == (2, "", "2")
    assert "TARGET" in done.stderr
    assert summary == "an earlier step\n"


def test_no_input_is_text_of_a_script():
    """Whatever an input holds, the shell sees it as the value of a variable."""
    assert not [step["name"] for step in ACTION["runs"]["steps"] if "${{" in step["run"]]
    assert all(f"inputs.{name} " in "".join(VERIFY["env"].values()) for name in ACTION["inputs"])


@pytest.mark.slow
def test_the_install_step_installs_a_posvec_that_runs(tmp_path):
    copy = tmp_path / "posvec-sources"
    subprocess.run(["git", "clone", "--quiet", ROOT, copy], check=True)
    environment = {**os.environ, "RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(copy)}
    subprocess.run(["bash", "-e", "-c", INSTALL["run"]], env=environment, check=True)
    done = subprocess.run([tmp_path / "posvec/bin/posvec", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("posvec ")
