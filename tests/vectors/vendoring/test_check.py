"""A copy is unchanged, damaged, edited or outdated, and what an update changes is said as ``posvec diff`` says it."""

import json
import shutil
from dataclasses import replace

import h5py
import pytest

from posvec.schemas.errors import VectorsError
from posvec.vectors.vendoring.check import check
from posvec.vectors.vendoring.contents import Contents
from posvec.vectors.vendoring.place import STAGING, vendor
from posvec.vectors.vendoring.record import FILE, read_record
from tests.vectors.conftest import CANONICAL, OTHER

NAME = "learned_pos_embed.h5"
EAGER = "jax0.10.2-fma-eager"


@pytest.fixture
def copy(make_golden, tmp_path):
    """Vendor a small golden file; return the folder of the copy."""
    golden = make_golden("own.h5", seed="0", T="0..3", d_model="2", builds=[(CANONICAL, EAGER)])
    vendor(tmp_path / "copy", Contents(vectors=golden.path))
    return tmp_path / "copy"


def faults(folder):
    found = check(folder, vectors=None)
    return found.status, [(fault.name, fault.kind) for fault in found.faults]


def test_whole_and_as_it_was_written_it_is_unchanged(copy):
    assert faults(copy) == ("unchanged", [])


def test_what_cannot_be_read_any_more_is_damaged(copy):
    data = (copy / NAME).read_bytes()
    (copy / NAME).write_bytes(data[:-100])
    (copy / "learned_pos_embed.json").write_text("{")
    (copy / "LICENSE").unlink()
    (copy / "README.md").write_bytes(b"\xff\x00")
    assert faults(copy) == (
        "damaged",
        [
            ("LICENSE", "damaged"),
            ("README.md", "damaged"),
            (NAME, "damaged"),
            ("learned_pos_embed.json", "damaged"),
        ],
    )


def test_values_changed_in_place_are_damage_whole_files_of_another_content_are_edits(copy, make_golden):
    with h5py.File(copy / NAME, "r+") as file:
        file["d_model=2/expected"][0, 0, 0] = 1
    assert faults(copy) == ("damaged", [(NAME, "damaged")])
    other = make_golden("other.h5", seed="1", T="0..3", d_model="2")
    shutil.copyfile(other.path, copy / NAME)
    assert faults(copy) == ("edited", [(NAME, "edited")])


def test_edited_text_other_line_ends_and_strangers_are_edits(copy):
    (copy / "README.md").write_text("mine\n")
    (copy / "LICENSE").write_bytes((copy / "LICENSE").read_bytes().replace(b"\n", b"\r\n"))
    (copy / "notes.txt").write_text("mine")
    found = check(copy, vectors=None)
    assert found.status == "edited"
    assert {fault.name: "line ends" in fault.what for fault in found.faults} == {
        "README.md": False,
        "LICENSE": True,
        "notes.txt": False,
    }


def test_an_edited_version_does_not_pass(copy):
    document = json.loads((copy / FILE).read_text())
    document["vectors"] = "9.0.0"
    (copy / FILE).write_text(json.dumps(document, indent=1) + "\n")
    assert not read_record(copy / FILE).genuine
    assert faults(copy) == ("edited", [(FILE, "edited")])


def test_an_interrupted_update_is_finished_by_its_own_command(copy):
    (copy / STAGING).mkdir()
    staged = replace(read_record(copy / FILE), command="posvec vendor . --suite=alibi_bias")
    (copy / STAGING / FILE).write_text(staged.to_json(), "ascii", newline="\n")
    found = check(copy, vectors=None)
    assert ([fault.name for fault in found.faults], found.command) == ([STAGING], staged.command)


def test_without_a_version_there_is_nothing_to_check(copy):
    (copy / FILE).write_text("[" * 100_000)
    with pytest.raises(VectorsError, match="is not what `posvec vendor` wrote"):
        check(copy, vectors=None)
    (copy / FILE).unlink()
    with pytest.raises(VectorsError, match="no vendored copy"):
        check(copy, vectors=None)


@pytest.mark.parametrize(
    ("axes", "builds", "kind", "says"),
    [
        ({"seed": "0,1"}, [(CANONICAL, EAGER)], "coverage", "seed 0 here, 0,1 then"),
        ({}, [(CANONICAL, EAGER, 1)], "rounding", "at most 1 ULP"),
        ({}, [(CANONICAL, EAGER), (OTHER, EAGER, 1)], "rounding", "not the same builds' bytes"),
        ({}, [(OTHER, EAGER)], "equal", "another manifest"),
    ],
)
def test_an_update_is_told_by_what_it_changes(copy, make_golden, axes, builds, kind, says):
    golden = make_golden("new.h5", builds=builds, **{"seed": "0", "T": "0..3", "d_model": "2", **axes})
    found = check(copy, vectors=golden.path)
    assert (found.status, found.gravest, [change.name for change in found.changes]) == ("outdated", kind, [NAME])
    assert says in found.changes[0].what


def test_the_gravest_change_is_other_draws(copy, make_golden, tmp_path):
    """Another stream under the first one's name is as grave as a wrong seed."""
    golden = make_golden("new.h5", stream="original", seed="0", T="0..3", d_model="2")
    vendor(tmp_path / "other", Contents(vectors=golden.path))
    found = check(copy, vectors=golden.path)
    assert {(change.name, change.kind) for change in found.changes} == {
        (NAME, "suite"),
        ("learned_pos_embed.original.h5", "coverage"),
    }


def test_a_copy_of_the_quick_cases_is_compared_with_the_quick_cases(make_golden, tmp_path):
    golden = make_golden("own.h5", builds=[(CANONICAL, EAGER)])
    vendor(tmp_path / "copy", Contents(vectors=golden.path, subset="quick"))
    assert check(tmp_path / "copy", vectors=golden.path).status == "unchanged"
