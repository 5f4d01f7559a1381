"""A golden file that is written while things go wrong is the old one or the new one, and nothing else stays."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OLD, NEW = ["old", "old"], ["new", "new"]


def outcomes(folder: Path, mode: str, number: int, *, within: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    program = str(Path(__file__).with_name("writing_under_faults.py"))
    done = subprocess.run(
        [*within, sys.executable, program, mode, str(folder), str(number)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert [one["stays"] for one in found] == [[]] * len(found)
    assert "broken" not in [name for one in found for name in one["files"]]
    return found


@pytest.mark.parametrize("count", [30, pytest.param(500, marks=pytest.mark.slow)])
def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path, count: int):
    found = outcomes(tmp_path, "killed", count)
    # Had no kill come in the middle, this would prove nothing.
    assert sum(bool(one["left"]) for one in found) >= count // 3
    assert all(name.endswith(".posvec-tmp") for one in found for name in one["left"])
    assert all(one["files"][0] == "old" for one in found if len(one["left"]) == 2)


def refused_then_written(found: list[dict[str, Any]], reason: str) -> None:
    written = [one["files"] == NEW for one in found]
    assert written == sorted(written)
    assert 3 < sum(written) < len(written) - 3 or written.count(True) == 1
    for one in found:
        assert one["left"] == []
        assert one["files"] == (OLD if one["said"] else NEW)
        assert not one["said"] or reason in one["said"]


def test_a_limit_on_the_size_of_files_leaves_the_old_files_whatever_it_is(tmp_path: Path):
    refused_then_written(outcomes(tmp_path, "limited", 9000), "File too large; free some space")


def can_mount() -> bool:
    return (
        shutil.which("unshare") is not None
        and subprocess.run(
            ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
        ).returncode
        == 0
    )


def test_a_full_disk_leaves_the_old_files_however_full_it_is(tmp_path: Path):
    if not can_mount():
        pytest.skip("no file system can be mounted here, even in a namespace of its own")
    found = outcomes(tmp_path, "full", 12288, within=("unshare", "-Urm"))
    refused_then_written(found, "No space left on device; free some space")
