"""The JAX environments whose bytes are recorded, and building them: one virtual environment a version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from posvec.schemas.build import Stream
from posvec.schemas.errors import PosvecError

STAMP = "posvec-ready.txt"
_PROBE = "import ensurepip, sys, venv; print(sys.version_info[0], sys.version_info[1])"


class EnvironmentMissingError(PosvecError, RuntimeError):
    """An environment that cannot be built here (exit 3)."""

    def __init__(self, jax: str, problem: str, *, remedy: str) -> None:
        super().__init__(jax, problem, remedy)
        self.jax, self.problem, self.remedy = jax, problem, remedy

    def __str__(self) -> str:
        return f"JAX {self.jax}: {self.problem}; {self.remedy}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """Versions that decide the bytes of one environment, and the Pythons that have wheels of all of them."""

    jax: str
    flax: str
    numpy: str
    first_python: int
    last_python: int
    ml_dtypes: str = "0.6.0"

    @property
    def default_stream(self) -> Stream:
        """The stream that this JAX draws unless it is told otherwise."""
        return "original" if self.jax.startswith("0.4.") else "partitionable"

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip installs, one requirement each. jaxlib always has JAX's own version here."""
        return (
            f"jax=={self.jax}",
            f"jaxlib=={self.jax}",
            f"flax=={self.flax}",
            f"numpy=={self.numpy}",
            f"ml_dtypes=={self.ml_dtypes}",
        )


# At least one a rounding: erf_inv changed in 0.7.0 and 0.8.3, the stream's default in 0.5.0, the initializer
# in 0.12.
ENVIRONMENTS = (
    Pins(jax="0.4.38", flax="0.10.4", numpy="2.4.6", first_python=11, last_python=13),
    Pins(jax="0.5.3", flax="0.10.6", numpy="2.4.6", first_python=11, last_python=13),
    Pins(jax="0.6.2", flax="0.11.2", numpy="2.4.6", first_python=11, last_python=13),
    Pins(jax="0.7.2", flax="0.12.0", numpy="2.4.6", first_python=11, last_python=14),
    Pins(jax="0.8.0", flax="0.12.0", numpy="2.4.6", first_python=11, last_python=14),
    Pins(jax="0.8.3", flax="0.12.6", numpy="2.4.6", first_python=11, last_python=14),
    Pins(jax="0.9.2", flax="0.12.6", numpy="2.4.6", first_python=11, last_python=14),
    Pins(jax="0.10.2", flax="0.12.8", numpy="2.4.6", first_python=11, last_python=14),
    Pins(jax="0.11.2", flax="0.12.12", numpy="2.5.5", first_python=12, last_python=14),
    Pins(jax="0.12.0.1", flax="0.12.12", numpy="2.5.5", first_python=12, last_python=14),
)


def interpreter(venv: Path) -> Path:
    """Return the Python of a virtual environment."""
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def build(pins: Pins, *, folder: Path, root: Path) -> Path:
    """Make the virtual environment of ``pins`` under ``folder``, unless it is there, and return its Python.

    Args:
        pins: What to install.
        folder: Where the environments lie.
        root: The checkout of posvec, installed into it as editable, so that it generates with this very code.

    Raises:
        EnvironmentMissingError: No fitting Python is found, or an install fails.

    """
    venv = folder / f"jax-{pins.jax}"
    stamp, wanted = venv / STAMP, "\n".join((*pins.requirements, str(root.resolve())))
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted and interpreter(venv).exists():
        return interpreter(venv)
    python = find_python(pins)
    shutil.rmtree(venv, ignore_errors=True)
    _run(pins, [str(python), "-m", "venv", str(venv)], "install the venv module of that Python")
    pip = [str(interpreter(venv)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run(pins, [*pip, *pins.requirements, "--editable", str(root)], "see what pip says above")
    stamp.write_text(wanted, encoding="utf-8")
    return interpreter(venv)


def find_python(pins: Pins) -> Path:
    """Return the oldest Python on this machine for which all of ``pins`` have wheels.

    Looks at the running one, at ``python3.N`` on PATH, and at pyenv's versions.

    Raises:
        EnvironmentMissingError: There is none.

    """
    found: dict[int, Path] = {}
    for candidate in _candidates(pins):
        minor = _minor(candidate)
        if minor is not None and pins.first_python <= minor <= pins.last_python:
            found.setdefault(minor, candidate)
    if not found:
        raise EnvironmentMissingError(
            pins.jax,
            f"needs a Python 3.{pins.first_python} to 3.{pins.last_python} with venv and ensurepip, and none was found",
            remedy=f"install one, for instance as python3.{pins.first_python} on PATH or with pyenv",
        )
    return found[min(found)]


def clean_environ(**added: str) -> dict[str, str]:
    """Return this process's environment without what steers JAX, XLA, Flax or Python, and with ``added``."""
    steering = ("JAX", "XLA", "FLAX", "TF_XLA", "PYTHON", "EAGER_CONSTANT")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    return {**kept, "JAX_PLATFORMS": "cpu", **added}


def _candidates(pins: Pins) -> Iterator[Path]:
    yield Path(sys.executable)
    for minor in range(pins.first_python, pins.last_python + 1):
        found = shutil.which(f"python3.{minor}")
        if found:
            yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob("3.*/bin/python"))


def _minor(python: Path) -> int | None:
    """Return N of a working Python 3.N that can make virtual environments; pyenv's shims may fail."""
    try:
        done = subprocess.run([str(python), "-I", "-c", _PROBE], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = (int(word) for word in done.stdout.split())
    return minor if major == 3 else None


def _run(pins: Pins, command: list[str], remedy: str) -> None:
    done = subprocess.run(command, env=clean_environ(), capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        problem = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "no output")
        raise EnvironmentMissingError(pins.jax, f"`{' '.join(command[:4])} …` failed: {problem}", remedy=remedy)
