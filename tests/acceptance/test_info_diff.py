import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py

from tests.acceptance.conftest import ROOT

SHIPPED = ROOT / "vectors" / "learned_pos_embed.h5"


def test_info_says_what_is_in_the_shipped_file_and_that_it_is_whole(posvec):
    ran = posvec("info")
    assert ran.status == 0
    assert "2,079 (465,696 float32 values)" in ran.out
    assert "JAX 0.10.2 eager, FMA (recorded)" in ran.out
    assert "as it should be" in ran.out
    assert posvec("info", SHIPPED).out == ran.out
    assert json.loads(posvec("info", "--json").out) == json.loads(SHIPPED.with_suffix(".json").read_text())
    original = posvec("info", "--stream", "original")
    assert "stream     original" in original.out


def test_info_finds_damage(posvec, tmp_path):
    path = tmp_path / "x.h5"
    shutil.copy(SHIPPED, path)
    with h5py.File(path, "r+") as file:
        file["d_model=4/expected"][0, 0, 0] = 1
    ran = posvec("info", path)
    assert (ran.status, "it was damaged or edited" in ran.err) == (3, True)
    assert posvec("info", tmp_path / "none.h5").status == 3
    shutil.copy(SHIPPED, path)
    path.with_suffix(".json").write_text("{}")
    beside = posvec("info", path)
    assert (beside.status, "is not the manifest of x.h5" in beside.err) == (3, True)
    path.with_suffix(".json").unlink()
    os.mkfifo(path.with_suffix(".json"))
    pipe = posvec("info", path)
    assert (pipe.status, "is not the manifest of x.h5" in pipe.err) == (3, True)


def test_diff_tells_equal_files_from_other_draws(posvec, tmp_path):
    copy = tmp_path / "copy.h5"
    shutil.copy(SHIPPED, copy)
    same = posvec("diff", SHIPPED, copy)
    assert (same.status, same.out.startswith("EQUAL: 2,079 cases")) == (0, True)
    other = posvec("diff", SHIPPED, SHIPPED.with_name("learned_pos_embed.original.h5"))
    assert other.status == 1
    assert other.out.startswith("OTHER DRAWS in ")
    assert posvec("diff", SHIPPED, tmp_path / "none.h5").status == 3
    assert posvec("diff", SHIPPED).status == 2


def test_a_reader_that_has_gone_is_no_verdict():
    script = f"{Path(sys.executable).with_name('posvec')} show --seed 0 --d-model 4000 | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_what_is_no_regular_file_is_refused_at_once(posvec, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    ran = posvec("info", tmp_path / "pipe")
    assert (ran.status, "is no regular file" in ran.err) == (3, True)
