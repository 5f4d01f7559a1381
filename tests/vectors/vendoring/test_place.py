"""A copy is written whole or not at all, and never over what somebody else wrote."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posvec.schemas.errors import InvalidArgument, OverwriteRefused, VectorsError
from posvec.vectors.vendoring.check import check
from posvec.vectors.vendoring.contents import Contents
from posvec.vectors.vendoring.place import STAGING, vendor
from posvec.vectors.vendoring.record import FILE, Record, read_record

FAULTS = Path(__file__).with_name("writing_under_faults.py")


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def own(make_golden, tmp_path):
    """Two folders with golden files: in the second more cases, but one file less."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    make_golden("old/learned_pos_embed.h5", seed="0", T="0..3", d_model="1")
    make_golden("old/learned_pos_embed.original.h5", seed="0", T="0..3", d_model="1", stream="original")
    make_golden("new/learned_pos_embed.h5", seed="0,1", T="0..3", d_model="1")
    return tmp_path / "old", tmp_path / "new"


def test_an_update_replaces_adds_and_removes_files_of_posvec(own, tmp_path):
    folder = tmp_path / "a" / "b"
    assert vendor(folder, Contents(vectors=own[0])).changed
    first = content(folder)
    assert not vendor(folder, Contents(vectors=own[0])).changed
    assert content(folder) == first
    (folder / "LICENSE").unlink()
    assert vendor(folder, Contents(vectors=own[0])).changed
    assert content(folder) == first
    record = vendor(folder, Contents(vectors=own[1])).record
    assert record == read_record(folder / FILE)
    assert sorted(content(folder)) == sorted([*record.files, FILE])
    assert "learned_pos_embed.original.h5" not in content(folder)
    assert check(folder, vectors=own[1]).status == "unchanged"


def test_the_record_of_a_copy_names_no_place_and_no_time(own, tmp_path):
    folders = [tmp_path / "x", tmp_path / "y" / "z"]
    for folder in folders:
        vendor(folder, Contents(vectors=own[0].absolute()))
    assert content(folders[0]) == content(folders[1])
    assert not any(str(tmp_path).encode() in data for data in content(folders[0]).values())


def _stranger(folder):
    (folder / "notes.txt").write_text("mine")


def _edited(folder):
    (folder / "README.md").write_text("mine")


def _link(folder):
    outside = folder.with_name("outside")
    outside.write_bytes((folder / "LICENSE").read_bytes())
    (folder / "LICENSE").unlink()
    (folder / "LICENSE").symlink_to(outside)


def _record(folder):
    (folder / FILE).write_text((folder / FILE).read_text().replace('"all"', '"quick"'))


def _no_record(folder):
    (folder / FILE).unlink()


def _staging(folder):
    (folder / STAGING).symlink_to(folder.parent)


def _work_in_staging(folder):
    (folder / STAGING / "mine").mkdir(parents=True)


def _unreadable_record(folder):
    (folder / FILE).write_text("{}")


def test_what_is_not_as_posvec_wrote_it_is_left_alone(own, tmp_path):
    def everything():
        return {path: (path.is_symlink(), path.is_file() and path.read_bytes()) for path in tmp_path.rglob("*")}

    vendor(tmp_path / "first", Contents(vectors=own[0]))
    for change in (_stranger, _edited, _link, _record, _no_record, _staging, _work_in_staging, _unreadable_record):
        folder = tmp_path / change.__name__
        shutil.copytree(tmp_path / "first", folder)
        change(folder)
        before = everything()
        with pytest.raises(OverwriteRefused) as refused:
            vendor(folder, Contents(vectors=own[1]))
        assert refused.value.exit_code == 1
        assert everything() == before, change.__name__


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks there")
def test_two_at_once_do_not_get_in_each_others_way(own, tmp_path):
    """While one writes, another is refused and changes nothing."""
    import fcntl

    folder = tmp_path / "copy"
    vendor(folder, Contents(vectors=own[0]))
    before = content(folder)
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(OverwriteRefused, match="another `posvec vendor` is writing to it"):
        vendor(folder, Contents(vectors=own[1]))
    os.close(descriptor)
    assert content(folder) == before
    assert vendor(folder, Contents(vectors=own[1])).changed


def test_a_record_that_names_files_elsewhere_is_not_believed(own, tmp_path):
    """An update removes the files that the record names."""
    folder = tmp_path / "copy"
    record = vendor(folder, Contents(vectors=own[0])).record
    for name in ("../old/learned_pos_embed.h5", "/etc/passwd", "..", "VERSION", "a/b"):
        files = {**record.files, name: record.files["LICENSE"]}
        text = Record(vectors="own", posvec="0", command="x", subset="all", files=files).to_json()
        (folder / FILE).write_text(text)
        with pytest.raises(VectorsError, match="is not what `posvec vendor` wrote"):
            read_record(folder / FILE)


def test_a_missing_source_leaves_nothing_behind(own, tmp_path):
    with pytest.raises(VectorsError):
        vendor(tmp_path / "a" / "b", Contents(vectors=tmp_path / "none.h5"))
    with pytest.raises(VectorsError):
        vendor(tmp_path / "a" / "b", Contents(suites=("rope_half",), vectors=own[0] / "learned_pos_embed.h5"))
    assert not (tmp_path / "a").exists()
    with pytest.raises(InvalidArgument, match="DIR must be a folder"):
        vendor(own[0] / "learned_pos_embed.h5", Contents())


def _trials(mode, own, tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, FAULTS, mode, *own, folder], capture_output=True, text=True, check=True, timeout=120
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_killed_at_any_file_it_leaves_the_old_copy_or_one_that_the_next_run_finishes(own, tmp_path):
    trials = _trials("killed", own, tmp_path)
    assert len(trials) > 8
    assert [ended for ended, *_ in trials] == [-9] * (len(trials) - 1) + [0]
    # The first move is that of the new VERSION into the staging folder: before it, nothing counts.
    assert [status for _, status, *_ in trials] == ["outdated", *["damaged"] * (len(trials) - 2), "unchanged"]
    assert all((after, left_over) == ("unchanged", []) for *_, after, left_over in trials)


def test_a_full_disk_leaves_the_old_copy(own, tmp_path):
    trials = _trials("limited", own, tmp_path)
    assert len(trials) > 1
    assert all(trial == [3, "outdated", True, "unchanged", []] for trial in trials[:-1])
    assert trials[-1][:2] == [0, "unchanged"]
