"""A program: updates a copy again and again while things go wrong, and prints what was left each time, as JSON.

``killed OLD NEW FOLDER``: killed at each file that moves. ``limited OLD NEW FOLDER``: files may only have so many
bytes, more each time. OLD and NEW are folders with golden files, FOLDER is empty.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from posvec.schemas.errors import OutputError
from posvec.vectors.vendoring.check import check
from posvec.vectors.vendoring.contents import Contents
from posvec.vectors.vendoring.place import vendor


def fresh(old: Path, folder: Path) -> None:
    """Make the copy that is then updated."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    vendor(folder, Contents(vectors=old))


def in_child(what: Callable[[], object]) -> int:
    """Do it in another process and return how that ended: 0 done, 3 could not be written, 128 + signal."""
    child = os.fork()
    if not child:
        try:
            what()
        except OutputError:
            os._exit(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(mode: str, old: Path, new: Path, folder: Path) -> None:
    """Print of each trial: how it ended, the copy's status then, and after another run."""
    move = Path.replace
    for n in range(1000):
        fresh(old, folder)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        left = n

        def dying(self: Path, target: Path) -> Path:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return move(self, target)

        def update(size: int = n * 20_000) -> None:
            if mode == "killed":
                Path.replace = dying  # type: ignore[method-assign]
            else:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            vendor(folder, Contents(vectors=new))

        ended = in_child(update)
        status = check(folder, vectors=new).status
        untouched = {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()} == before
        vendor(folder, Contents(vectors=new))
        after = check(folder, vectors=new).status
        left_over = sorted(path.name for path in folder.iterdir() if path.name.startswith(".posvec"))
        print(json.dumps([ended, status, untouched, after, left_over]))
        if ended == 0:
            return


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
