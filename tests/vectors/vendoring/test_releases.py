"""The version of the shipped vectors changes when they do."""

from itertools import pairwise

import pytest

from posvec.schemas.errors import VectorsError
from posvec.vectors.vendoring.check import Change
from posvec.vectors.vendoring.contents import _LICENCE_TEXT
from posvec.vectors.vendoring.new_release import next_version, shipped_digests
from posvec.vectors.vendoring.releases import current, key, releases, step
from tests.acceptance.conftest import ROOT


def test_the_shipped_files_are_those_of_the_current_release():
    """If this fails, the vectors have changed: `python -m posvec.vectors.vendoring.new_release COPY` records them."""
    assert releases()[current()] == shipped_digests()


def test_releases_go_up_and_no_golden_file_goes_but_with_the_format():
    found = list(releases().items())
    for (old, before), (new, after) in pairwise(found):
        assert key(old) < key(new)
        assert before != after
        assert before.keys() <= after.keys() or step(old, new).startswith("major")


def test_the_parts_of_a_version_say_what_changed():
    assert step("1.2.3", "2.0.0") == "major: another format"
    assert step("1.2.3", "1.10.0") == "minor: more cases"
    assert step("1.2.3", "1.2.10") == "patch: corrections"
    assert key("1.10.0") > key("1.9.9")


def test_the_licence_of_a_copy_is_the_whole_one():
    assert _LICENCE_TEXT.read_bytes() == (ROOT / "LICENSES" / "CC0-1.0.txt").read_bytes()


@pytest.mark.parametrize(
    ("changes", "version"),
    [
        ([("coverage", True)], "1.3.0"),
        ([("rounding", False), ("equal", False)], "1.2.4"),
        ([("draws", False), ("coverage", True)], "1.3.0"),
        ([("format", False), ("coverage", True)], "2.0.0"),
    ],
)
def test_the_next_version_follows_from_what_changed(changes, version):
    found = [Change(name="a.h5", kind=kind, what="", more=more) for kind, more in changes]
    assert next_version("1.2.3", found) == version


def test_no_release_may_lack_a_case_that_was_released():
    with pytest.raises(VectorsError, match="ids never change"):
        next_version("1.2.3", [Change(name="a.h5", kind="coverage", what="", gone=True)])
