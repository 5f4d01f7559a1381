"""Running the real command, and the smallest sweep."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TINY = ("--seeds=0,-1", "--d-model=1")
STEERING = ("JAX", "XLA", "FLAX", "EAGER")


def environ(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
    return {**kept, "JAX_PLATFORMS": "cpu", **variables}


# Not by preexec_fn: that forks, and another test may have started JAX's threads in this process.
LIMITED = (
    "import os, resource, sys; limit = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def start(
    *arguments: str, variables: dict[str, str] | None = None, file_size: int | None = None, **options: Any
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "posvec", "generate", *arguments]
    if file_size is not None:
        command = [sys.executable, "-c", LIMITED, str(file_size), *command]
    return subprocess.Popen(
        command,
        env=environ(**(variables or {})),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def generate(
    *arguments: str, variables: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    process = start(*arguments, variables=variables, **options)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the golden file of two seeds and d_model 1, not to be written to."""
    folder = tmp_path_factory.mktemp("tiny")
    done = generate(*TINY, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    return folder
