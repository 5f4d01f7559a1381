"""Targets as real files, and cases for them."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from posvec.schemas.answer import Answer
from posvec.schemas.case import Case
from posvec.verifier.running.runner import RunOptions, Session
from posvec.verifier.running.target import parse_target


class OpenSession(Protocol):
    """Writes a target and opens a session on it."""

    def __call__(self, source: str, *, name: str = "answer.py", **options: object) -> Session: ...


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(source: str, name: str = "answer.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    return write


@pytest.fixture
def open_session(write: Callable[..., Path]) -> Iterator[OpenSession]:
    sessions = []

    def open_session(source: str, *, name: str = "answer.py", **options: object) -> Session:
        target = parse_target(str(write(source, name)))
        session = Session(target, "fn", RunOptions(**options))  # type: ignore[arg-type]
        sessions.append(session)
        return session

    yield open_session
    for session in sessions:
        session.close()


@pytest.fixture
def answers(open_session: OpenSession) -> Callable[..., list[Answer]]:
    """Run a target on T = 0, 1, … and return what it answered, in order; the session is closed after."""

    def answers(source: str, count: int = 3, **options: object) -> list[Answer]:
        with open_session(source, **options) as session:
            return list(session.run(cases(count)))

    return answers


def cases(count: int) -> list[Case]:
    """Cases with T = 0, 1, …"""
    return [Case(id=f"suite/T={T}", args={"seed": 0, "T": T, "d_model": 4}) for T in range(count)]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or b") Z" not in stat.read_bytes()


def gone(pids: list[int]) -> bool:
    """Whether these processes end: a killed one takes the kernel a moment, longer on a busy machine."""
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def printed(session: Session, words: int) -> list[str]:
    """Return the words that the target has printed, once there are so many: answers come on another pipe."""
    deadline = time.monotonic() + 10
    while len(session.output.text.split()) < words and time.monotonic() < deadline:
        time.sleep(0.01)
    return session.output.text.split()
