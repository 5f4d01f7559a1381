"""A program: writes a golden file again and again while things go wrong, and prints what was left each time, as JSON.

Modes: ``killed FOLDER N``, N processes killed in the middle; ``limited FOLDER STEP``, a limit on the size of files that
grows by STEP; ``full FOLDER STEP``, a tmpfs at FOLDER that grows so. FOLDER is empty.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from posvec.generator.scratch import remove_leftovers
from posvec.schemas.axes import Axis
from posvec.schemas.build import Build
from posvec.schemas.errors import OutputError
from posvec.vectors.assemble import Recorded, write_golden
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.vectors.suites import LEARNED_POS_EMBED

TABLE = DrawTable.load()
SEEDS = Axis.of(range(4))
NAMES = ("learned_pos_embed.h5", "learned_pos_embed.json")
BUILD = {"jaxlib": "0.7.2", "flax": "0.12.8", "mode": "eager", "platform": "linux", "machine": "x86_64"}


def write(folder: Path, version: str) -> None:
    """Write the old or the new vectors: they were recorded from other versions of JAX."""
    build = Build(jax=version, backend="cpu", isa="AVX2", cpu_isa="AVX512", **BUILD)

    def read(d_model: int, start: int, stop: int) -> np.ndarray:
        draws = table_draws(SEEDS.slice(start, stop), d_model, stream="partitionable")
        return TABLE.values_at(TABLE.canonical, draws)

    write_golden(
        folder / NAMES[0],
        suite=LEARNED_POS_EMBED,
        stream="partitionable",
        axes={"seed": SEEDS, "T": Axis.of(range(33)), "d_model": Axis.of((1, 8))},
        recordings=[Recorded(build=build, read=read)],
        existing=None,
        table=TABLE,
        command="posvec generate",
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Judge:
    """Knows the old and the new files, and says which of them lies in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write(folder, "0.7.0")
        self.old = contents(folder)
        began = time.monotonic()
        write(folder, "0.7.2")
        self.seconds = time.monotonic() - began
        self.new = contents(folder)
        self.restore()

    def restore(self) -> None:
        for name, data in self.old.items():
            (self.folder / name).write_bytes(data)

    def found(self) -> dict[str, object]:
        """Say what lies there now, and put the old files back."""
        now = contents(self.folder)
        which = [
            "old" if now.get(name) == self.old[name] else "new" if now.get(name) == self.new[name] else "broken"
            for name in NAMES
        ]
        left = sorted(set(now) - set(NAMES))
        remove_leftovers(self.folder)
        stays = sorted(set(contents(self.folder)) - set(NAMES))
        self.restore()
        return {"files": which, "left": left, "stays": stays}


def killed(folder: Path, count: int) -> Iterator[dict[str, object]]:
    judge = Judge(folder)
    chosen = random.Random(7)  # noqa: S311 - moments, not secrets
    for _ in range(count):
        process = os.fork()
        if process == 0:
            write(folder, "0.7.2")
            os._exit(0)
        time.sleep(chosen.uniform(0, 1.1 * judge.seconds))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        yield judge.found()


def attempt(folder: Path) -> str:
    """Write the new files and return what was said of it: nothing if it went well."""
    try:
        write(folder, "0.7.2")
    except OutputError as error:
        return str(error)
    return ""


def limited(folder: Path, step: int) -> Iterator[dict[str, object]]:
    judge = Judge(folder)
    for limit in range(0, len(judge.new[NAMES[0]]) + step, step):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        said = attempt(folder)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        yield {"said": said, **judge.found()}


def full(folder: Path, step: int) -> Iterator[dict[str, object]]:
    def mount(size: int, *options: str) -> None:
        options = (f"size={size}", *options)
        subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "none", str(folder)], check=True)

    mount(2**24)
    judge = Judge(folder)
    held = sum(-(-len(data) // 4096) * 4096 for data in judge.old.values())
    for size in range(held, held + 2 * len(judge.new[NAMES[0]]), step):
        mount(size, "remount")
        said = attempt(folder)
        yield {"said": said, **judge.found()}


if __name__ == "__main__":
    MODES = {"killed": killed, "limited": limited, "full": full}
    print(json.dumps(list(MODES[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3])))))
