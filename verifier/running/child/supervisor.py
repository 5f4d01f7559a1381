"""The process above the target's: it waits, and kills what the target left behind."""

from __future__ import annotations

import _signal
import builtins
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Functions below look names up here, not in the builtins that a target can replace.
globals()["__builtins__"] = dict(vars(builtins))


def supervise(pid: int, ready: int) -> NoReturn:
    """Wait for the target's process, then kill whatever it left behind, and end the same way.

    SIGTERM asks for the end; SIGUSR1 asks first for the place where the target hangs. On Linux this process
    adopts orphans, so that a daemon of the target is found here too.
    """
    for number in (_signal.SIGINT, _signal.SIGHUP, _signal.SIGUSR2, _signal.SIGQUIT):
        _signal.signal(number, _signal.SIG_IGN)
    if not hasattr(_signal, "sigtimedwait"):
        _signal.setitimer(_signal.ITIMER_REAL, 1.0, 1.0)  # macOS: the second after which to look up
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    os.open(os.devnull, os.O_RDWR)
    os.dup2(0, 1)
    os.dup2(0, 2)
    adopts = adopt_orphans()
    os.write(ready, b"+")
    os.close(ready)
    parent = os.getppid()
    status = None
    while status is None:
        number = wait_signal()
        if number == _signal.SIGUSR1:
            os.kill(pid, _signal.SIGUSR2)  # faulthandler writes the stack to the captured output
            time.sleep(0.03)
        if number in (_signal.SIGTERM, _signal.SIGUSR1) or os.getppid() != parent:
            kill_group(pid)
        status = reap(pid)
    kill_group(pid)
    if adopts:
        sweep()
    if os.getppid() != parent:
        remove_scratch()
    end_like(status)


def remove_scratch() -> None:
    """Delete the folder for temporary files in place of the parent, which was killed and cannot."""
    scratch = os.environ.get("TMPDIR", "")
    if os.path.basename(scratch)[:7] == "posvec-":
        import shutil

        shutil.rmtree(scratch, ignore_errors=True)


def adopt_orphans() -> bool:
    """Become the process that orphans below this one are handed to (Linux, PR_SET_CHILD_SUBREAPER)."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0)
    except Exception:
        return False


def wait_signal() -> int:
    """Return the next signal that matters, or 0 after a second: the parent may have died without a word."""
    watched = [_signal.SIGCHLD, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGALRM]
    if hasattr(_signal, "sigtimedwait"):
        info = _signal.sigtimedwait(watched, 1.0)
        return 0 if info is None else info.si_signo
    return int(_signal.sigwait(watched))


def reap(pid: int) -> int | None:
    """Collect every child that has ended; return the status of ``pid`` if it is one of them."""
    found = None
    while True:
        try:
            done, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0 if found is None else found
        if done == pid:
            found = status
        if done == 0:
            return found


def kill_group(pid: int) -> None:
    """Kill a process and its group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, _signal.SIGKILL)
        except OSError:
            pass


def sweep() -> None:
    """Kill all that is left below this process; new ones may appear while that is done."""
    for _ in range(400):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, _signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.005)


def descendants(root: int) -> list[int]:
    """Return the processes below ``root``, from /proc."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat", "rb") as file:
                    below.setdefault(int(file.read().rsplit(b")", 1)[1].split()[1]), []).append(int(name))
            except (OSError, IndexError, ValueError):
                pass
    found = []
    todo = [root]
    while todo:
        for pid in below.get(todo.pop(), ()):
            found.append(pid)
            todo.append(pid)
    return found


def end_like(status: int) -> NoReturn:
    """End with the exit status or the signal of the process that was waited for."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if number not in (_signal.SIGKILL, _signal.SIGSTOP):
                _signal.signal(number, _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
            os.kill(os.getpid(), number)
        except Exception:
            pass
        os._exit(128 + number)
    os._exit(os.WEXITSTATUS(status))


def split() -> int | None:
    """Fork; the parent becomes the supervisor. Return the descriptor that says when it is ready."""
    if not hasattr(os, "fork"):
        return None
    watched = [_signal.SIGCHLD, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGALRM]
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, watched)
    ready, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(ready)
        supervise(pid, tell)
    os.close(tell)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    os.setsid()  # a target that signals its group reaches neither the supervisor nor posvec
    return ready
