"""Where tasks run: in processes of this machine that are kept, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from posvec.schemas.errors import ClusterUnavailable, InvalidArgument, first_line, shorten
from posvec.verifier.batch.task import judge, shelter
from posvec.verifier.running.launch import make_scratch, remove_scratch

_CONNECT_SECONDS = 10
_ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?(\[[0-9A-Fa-f:.]+\]|[^\s/:\[\]]+)(:\d{1,5})?")
_GRACE = 5.0


class LocalPool:
    """A process pool that can be made anew, and whose processes end when it is closed, also while they are at work."""

    def __init__(self, jobs: int) -> None:
        """Prepare a pool of ``jobs`` processes; they start when they are needed."""
        self.width = jobs
        self._scratch = make_scratch()
        shelter(Path(self._scratch))
        self.executor: Executor = self._made()

    def _made(self) -> Executor:
        # spawn: nothing of this process, its open files and its memory, is in those that judge.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.width, mp_context=context, initializer=_begin, initargs=(self._scratch,))

    def renew(self) -> Executor:
        """Replace the broken pool and return the new one."""
        self.executor.shutdown(wait=False)
        self.executor = self._made()
        return self.executor

    def close(self, *, at_once: bool) -> None:
        """End the processes: when they have nothing to do, or at once."""
        if at_once:
            for process in multiprocessing.active_children():
                process.terminate()  # see _begin: targets are killed and their files deleted first
        self.executor.shutdown(cancel_futures=True)
        remove_scratch(self._scratch)


@contextmanager
def local_pool(jobs: int) -> Iterator[LocalPool]:
    """Yield a pool of ``jobs`` processes; at an exception or an interruption they are ended at once."""
    pool = LocalPool(jobs)
    try:
        yield pool
    except BaseException:
        pool.close(at_once=True)
        raise
    pool.close(at_once=False)


@contextmanager
def copied(path: Path) -> Iterator[str]:
    """Yield the path of a copy of a file, which is there while the block runs."""
    folder = make_scratch()
    try:
        yield shutil.copy(path, folder)
    finally:
        remove_scratch(folder)


@contextmanager
def dask_cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """Yield an executor on the Dask cluster with that scheduler, and how many threads its workers have.

    Raises:
        InvalidArgument: It is no address.
        ClusterUnavailable: ``distributed`` is not installed, no scheduler answers, or it has no workers.

    """
    if not _ADDRESS.fullmatch(address):
        raise InvalidArgument("--scheduler", address, "the address of a Dask scheduler, such as tcp://host:8786")
    try:
        from distributed import Client
    except ImportError:
        raise ClusterUnavailable(
            address, "Dask is not installed here", remedy="install the extra: pip install 'posvec[dask]'"
        ) from None
    try:
        client: Any = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        why = first_line(error)
        raise ClusterUnavailable(
            address,
            f"no scheduler answers there ({shorten(why)})",
            remedy="an address looks like tcp://host:8786; start one with `dask scheduler`",
        ) from error
    try:
        width = sum(client.nthreads().values())
        if not width:
            raise ClusterUnavailable(
                address, "the cluster has no workers", remedy=f"start one: dask worker {shorten(address)}"
            )
        yield client.get_executor(pure=False), width
    finally:
        client.close(timeout=_GRACE)


def _begin(scratch: str) -> None:
    """Prepare a process of the pool: it ends when it is asked to or its parent is gone, and leaves nothing behind.

    ``scratch`` is for its temporary files: what a process that is killed leaves there, the pool deletes.
    """
    tempfile.tempdir = scratch
    # A handler, not SIG_IGN: that would be inherited by the submissions. The parent gets Ctrl-C, and tells.
    signal.signal(signal.SIGINT, _ignore)
    signal.signal(signal.SIGTERM, _end)
    threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True, name="posvec-parent").start()


def _ignore(number: int, frame: FrameType | None) -> None:
    """Take no notice of a signal."""


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler gets both
    """Interrupt the submission that is under way, which cleans up behind it; where none is, end."""
    while frame is not None:
        if frame.f_code is judge.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back
    os._exit(0)


def _end_with_parent(scratch: str) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(_GRACE)
        remove_scratch(scratch)
        os._exit(1)
