"""Code of other projects reaches the level, or makes the mistake, that docs/suites.md says."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.conftest import ROOT
from tests.generator.references.independent_checks import CHECKS, Check, is_mistake, level_reached

PARAMETERS = [
    pytest.param(check, id=check.name.replace(" ", "-"), marks=[pytest.mark.slow] if check.slow else [])
    for check in CHECKS
]


@pytest.mark.parametrize("check", PARAMETERS)
def test_a_project_reaches_the_level_or_makes_the_mistake_that_is_known_of_it(check: Check):
    if check.version is None:
        pytest.skip(f"{check.package} is not installed")
    assert check.cases()
    assert level_reached(check) == check.level
    if check.mistake is not None:
        assert is_mistake(check)


def test_the_page_on_suites_tells_what_is_tested_of_other_projects():
    page = (ROOT / "docs" / "suites.md").read_text()
    rows = re.findall(r"^\| [\w.-]+ (?:None|[\d.]+) (\| .*)$", page, re.MULTILINE)
    assert rows == [check.row().partition(" ")[2].partition(" ")[2].partition(" ")[2] for check in CHECKS]
