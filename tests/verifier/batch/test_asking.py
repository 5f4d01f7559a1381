"""What is asked of a batch means the same wherever a submission runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from posvec.verifier.batch.asking import settle


def test_an_interpreter_is_found_from_here_and_keeps_the_name_of_its_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each submission runs in a folder of its own, and a virtual environment is known by the link's name."""
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    assert settle(python="./python")[0].python == str(tmp_path / "python")
    assert settle(python="./python", local=False)[0].python == "./python"
