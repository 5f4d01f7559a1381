import re
from collections import Counter

import pytest

from posvec.schemas.errors import InvalidArgument
from posvec.verifier.mistakes.catalogue import CATALOGUE, find
from posvec.verifier.mistakes.pages import document, explained, listed
from tests.acceptance.conftest import ROOT


def test_ids_are_unique_and_fit_a_command_line():
    assert [name for name, count in Counter(mistake.id for mistake in CATALOGUE).items() if count > 1] == []
    assert [mistake.id for mistake in CATALOGUE if not re.fullmatch(r"[a-z0-9]+(-[A-Za-z0-9]+)*", mistake.id)] == []


@pytest.mark.parametrize("mistake", CATALOGUE, ids=lambda mistake: mistake.id)
def test_an_entry_says_all_that_a_page_needs(mistake):
    assert not mistake.title.endswith(".")
    assert mistake.title[0].isupper()
    assert mistake.why.endswith(".")
    assert mistake.fix.endswith(".")
    assert mistake.example.strip()
    assert mistake.reference.startswith("https://")
    phrases = [variant.phrase for variant in mistake.variants]
    assert all(phrases)
    assert len(set(phrases)) == len(phrases)
    assert len({type(variant) for variant in mistake.variants}) == 1
    assert set(mistake.implies) <= {other.id for other in CATALOGUE}
    assert len(list(explained(mistake, 80))) > 4


def test_the_list_fits_80_columns_uncut():
    lines = list(listed(CATALOGUE, 80))
    assert len(lines) == len(CATALOGUE)
    assert [line for line in lines if len(line) > 80 or "…" in line] == []


def test_no_two_ways_to_make_mistakes_are_said_in_the_same_words():
    phrases = Counter(variant.phrase for mistake in CATALOGUE for variant in mistake.variants)
    assert [phrase for phrase, count in phrases.items() if count > 1] == []


def test_the_document_is_the_catalogue():
    written = (ROOT / "docs" / "mistakes.md").read_text("utf-8")
    assert written == document(CATALOGUE), "run: python -m posvec.verifier.mistakes.pages > docs/mistakes.md"


def test_a_mistake_is_found_by_its_id_and_an_unknown_one_answered_with_the_nearest():
    assert find("unfolded-key").id == "unfolded-key"
    with pytest.raises(InvalidArgument, match="got 'unfoldet-kee'; the nearest is 'unfolded-key'"):
        find("unfoldet-kee")
    with pytest.raises(InvalidArgument, match="`posvec mistakes` lists them"):
        find("0")
