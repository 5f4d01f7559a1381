"""What it takes to start a target's process: the interpreter, the first request, the environment."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.verifier.running.dialogue import Dialogue, Frames
from posvec.verifier.running.lines import Lines
from posvec.verifier.running.percase import PerCase
from posvec.verifier.running.program import Program
from posvec.verifier.running.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What it takes to start a target's process, the same each time.

    Attributes:
        python: The interpreter.
        request: The first request, without the token: where the target is.
        environment: The environment variables of the process.
        program: The program that runs there, if it is one.
        hello: What a program is told first.
        folder: The current directory of the process; None: that of posvec.

    """

    python: str
    request: Mapping[str, Any]
    environment: Mapping[str, str]
    program: Program | None = None
    hello: Mapping[str, Any]
    folder: str | None = None

    def dialogue(self) -> Dialogue:
        """Return what a new process and posvec will say to each other."""
        if self.program is None:
            return Frames(self.request)
        if self.program.per_case:
            return PerCase(self.request, self.program)
        return Lines(self.request, self.hello)


def prepare(
    target: Target | Program,
    attribute: str,
    python: str | None,
    scratch: str,
    watch: Sequence[Path],
    hello: Mapping[str, Any],
) -> Launch:
    """Return what starts ``target``: the user's own environment, but temporary files go to ``scratch``."""
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), scratch)}
    if isinstance(target, Program):
        request = {"program": target.path, "argv": list(target.argv), "per_case": target.per_case}
        return Launch(python=sys.executable, environment=environment, request=request, program=target, hello=hello)
    # Not resolve(): a target that is a symbolic link is to see the name that it was called by.
    path = None if target.path is None else os.path.abspath(target.path)  # noqa: PTH100
    return Launch(
        python=python or sys.executable,
        environment=environment,
        request={
            "path": path,
            "module": target.module,
            "attribute": attribute,
            "watch": [str(path.absolute()) for path in watch],
        },
        hello=hello,
    )


def make_scratch() -> str:
    """Make a folder for a target's temporary files: a process that is killed deletes none."""
    import tempfile

    return tempfile.mkdtemp(prefix="posvec-")


def remove_scratch(path: str) -> None:
    """Delete such a folder with all that is in it, also where a target has taken away the right to."""
    import shutil

    shutil.rmtree(path, ignore_errors=True)
    if not Path(path).exists():
        return
    with contextlib.suppress(OSError):
        Path(path).chmod(0o700)
        for folder, below, _ in os.walk(path):
            for name in below:
                inner = Path(folder, name)
                if not inner.is_symlink():  # what lies behind a link is not the target's to open
                    inner.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
