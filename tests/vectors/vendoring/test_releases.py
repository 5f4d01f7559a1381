"""The version of the shipped vectors changes when they do."""

import json
from itertools import pairwise

from posvec.vectors.files import SHIPPED
from posvec.vectors.vendoring.contents import _LICENCE_TEXT
from posvec.vectors.vendoring.releases import current, key, releases, step
from tests.acceptance.conftest import ROOT


def test_the_shipped_files_are_those_of_the_current_release():
    """If this fails, the vectors have changed: add a release to vectors/vendoring/releases.json, as its rule says."""
    shipped = {
        path.with_suffix(".h5").name: json.loads(path.read_text("ascii"))["content_sha256"]
        for path in SHIPPED.glob("*.json")
    }
    assert releases()[current()] == shipped


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
