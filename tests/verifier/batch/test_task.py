"""One submission verified, where its folder does not outlive the run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from posvec.schemas.batch import TRANSIENT
from posvec.verifier.batch.asking import settle
from posvec.verifier.batch.package import Package
from posvec.verifier.batch.task import Task, judge, shelter

RAZER = b"import shutil, os\nshutil.rmtree('../../../..', ignore_errors=True)\nos._exit(1)\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="elsewhere no folder in use can be deleted")
def test_where_all_private_folders_were_deleted_no_one_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried twice, says so, and runs again with the next batch; the next submission finds a folder."""
    pool = tmp_path / "pool"
    pool.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(pool))
    settings, _ = settle(select="*/d_model=4/T=3")

    def judged(source: bytes) -> str:
        package = Package(files=(("a.py", source),))
        return judge(
            Task(name="a", path="a.py", package=package, file="a.py", attribute=None, settings=settings)
        ).row.problem

    assert judged(RAZER) == "failed"
    assert "failed" in TRANSIENT
    assert judged(b"import os\nos._exit(1)\n") == "crash"


def test_what_is_in_a_shelter_is_not_found_by_looking(tmp_path: Path) -> None:
    shelter(tmp_path / "pool")
    assert (tmp_path / "pool").stat().st_mode & 0o777 == 0o300
