"""What is installed, and that a verifier install does without JAX."""

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from tests.acceptance.conftest import EXAMPLES, ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A virtual environment with the wheel and its own dependencies, and nothing else."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True
    )
    return python


def test_the_wheel_holds_every_source_file_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    kinds = (".py", ".json", ".h5", ".typed", ".c", ".jl", ".css", ".js", ".rs", ".txt")
    sources = {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}"
        for package, folder in mapping.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds and "__pycache__" not in path.parts
    }
    assert names == sources


@pytest.mark.slow
def test_without_jax_everything_but_generate_works(installed, tmp_path):
    def posvec(*words):
        # From an empty folder: the sources must not be found through the current directory.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [installed.with_name("posvec"), *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    absent = subprocess.run([installed, "-c", "import jax"], capture_output=True)
    assert absent.returncode == 1
    assert posvec("--help").returncode == 0
    assert posvec("info").returncode == 0
    assert posvec("verify", "--help").returncode == 0
    assert posvec("generate", "--help").returncode == 0
    verified = posvec("verify", str(EXAMPLES / "numpy_port.py"), "--match", "equivalent")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert verified.stdout.startswith("EQUIVALENT: same draws")
    listed = posvec("mistakes", "unfolded-key")
    assert (listed.returncode, "Flax's key folding" in listed.stdout) == (0, True)
    tested = posvec("selftest", "--only", "*:unfolded*")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "skipped: jax not installed" in " ".join(tested.stdout.split())
    assert "OK: 2 of 3 implementations are judged as they must be, 1 skipped." in tested.stdout
    unrun = posvec("selftest", "--only", "nnx_*")
    assert (unrun.returncode, "NOTHING RUN: all 3 implementations were skipped." in unrun.stdout) == (1, True)
    fresh = posvec("verify", str(EXAMPLES / "numpy_port.py"), "--match", "equivalent", "--fresh", "5")
    assert fresh.returncode == 0
    shown = posvec("show", "--seed", "0", "--d-model", "4", "--T", "1")
    table = DrawTable.load()
    values = table.values_at(table.canonical, table_draws([0], 4, stream="partitionable")[0, 0])
    assert shown.stdout.split() == ["0:", *map(str, values)]
    refused = posvec("generate", "-o", str(tmp_path / "out"))
    assert (refused.returncode, "pip install 'posvec[jax]'" in refused.stderr) == (3, True)
    assert len(refused.stderr.strip().splitlines()) == 1


def test_the_module_runs_too():
    done = subprocess.run([sys.executable, "-m", "posvec", "--version"], capture_output=True, text=True, cwd=Path("/"))
    assert (done.returncode, done.stdout.startswith("posvec ")) == (0, True)
