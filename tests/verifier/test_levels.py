from dataclasses import replace

import numpy as np
import pytest

from posvec.schemas.errors import InvalidArgument
from posvec.vectors.known import Known
from posvec.vectors.ulp import from_ordered, ordered
from posvec.verifier.levels import NOT_FINITE, cell_allowance, compare, differences, failing
from posvec.verifier.match import Match

EXPECTED = np.array([0.01, -0.02, 0.03, 1e-6], np.float32)


def known(recordings=((0, 0, 0, 0), (1, 0, -2, 0)), accept=5, cell=2, expected=EXPECTED):
    from posvec.vectors.golden import first_difference

    table = np.array(recordings, np.int32)
    width = np.full(len(expected), accept, np.uint8), np.full(len(expected), cell, np.uint8)
    return Known(
        shape=expected.shape,
        expected=expected,
        features=2,
        draw=np.arange(len(expected), dtype=np.uint32),
        accept_below=width[0],
        accept_above=width[0],
        cell_below=width[1],
        cell_above=width[1],
        recordings=table,
        same_until=first_difference(table),
    )


def shifted(*ulp):
    return from_ordered(ordered(EXPECTED) + np.array(ulp, np.int32))


EXACT, EQUIVALENT = Match.parse("exact"), Match.parse("equivalent")


def test_the_expected_bytes_are_explained_by_the_recordings_that_equal_them():
    same = compare(EXPECTED, known())
    assert (same.unexplained, same.max_ulp, same.explained_by) == (0, 0, 0b01)
    assert compare(EXPECTED[:0], known()).explained_by == 0b11
    twice = known(recordings=((0, 0, 0, 0), (0, 0, 0, 0)))
    assert compare(EXPECTED, twice).explained_by == 0b11


def test_bytes_of_another_recording_are_exact():
    other = compare(shifted(1, 0, -2, 0), known())
    assert other.holds(EXACT)
    assert (other.differing, other.unexplained, other.explained_by) == (2, 0, 0b10)


def test_exact_is_judged_element_by_element_so_builds_may_mix():
    mixed = compare(shifted(1, 0, 0, 0), known())
    assert mixed.holds(EXACT)
    assert mixed.explained_by == 0


def test_one_build_can_be_asked_for():
    assert not compare(shifted(1, 0, 0, 0), known(), build=0).holds(EXACT)
    assert compare(EXPECTED, known(), build=0).holds(EXACT)
    assert not compare(EXPECTED, known(), build=1).holds(EXACT)
    assert failing(EXPECTED, known(), EXACT, build=1) == [0, 2]


def test_the_wrong_recording_of_an_element_does_not_count():
    swapped = compare(shifted(-2, 0, 1, 0), known())
    assert (swapped.unexplained, swapped.holds(EXACT)) == (2, False)
    assert failing(shifted(-2, 0, 1, 0), known(), EXACT) == [0, 2]


def test_the_accept_interval_includes_its_ends_and_nothing_more():
    assert compare(shifted(5, -5, 0, 0), known()).holds(EQUIVALENT)
    beyond = compare(shifted(6, -6, 0, 0), known())
    assert (beyond.outside_accept, beyond.holds(EQUIVALENT)) == (2, False)
    assert compare(shifted(0, 0, 3, -2), known()).outside_cell == 1


def test_ulp_counts_float32_steps_from_the_expected_value():
    assert compare(shifted(0, 7, 0, 0), known()).max_ulp == 7
    assert compare(shifted(0, 7, 0, 0), known()).holds(Match.parse("ulp:7"))
    assert not compare(shifted(0, -8, 0, 0), known()).holds(Match.parse("ulp:7"))


def test_elements_are_counted_by_their_distance_and_all_that_are_five_off_or_more_together():
    assert compare(EXPECTED, known()).ulp_histogram == (0, 0, 0, 0, 0)
    assert compare(shifted(0, -1, 2, 3), known()).ulp_histogram == (1, 1, 1, 0, 0)
    assert compare(shifted(4, 5, -6, 1000), known()).ulp_histogram == (0, 0, 0, 1, 3)


def test_integers_differ_by_ones():
    about = known(expected=np.array([3, -2, 0, 2**31 - 1], np.int32), accept=0, cell=0)
    got = np.array([5, -3, 0, -(2**31)], np.int32)
    assert differences(got, about).tolist() == [2, -1, 0, -(2**32) + 1]
    assert failing(got, about, Match.parse("ulp:1")) == [0, 3]


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_no_level_accepts_what_is_not_finite(value):
    got = EXPECTED.copy()
    got[1] = value
    found = compare(got, known())
    assert found.max_ulp == NOT_FINITE
    assert not any(found.holds(Match.parse(level)) for level in ("exact", "equivalent", "ulp:9999999999"))


def test_distance_is_counted_across_zero_and_tells_the_zeros_apart():
    assert ordered(np.array([-0.0, 0.0], np.float32)).tolist() == [-1, 0]
    far = compare(-EXPECTED, known())
    assert far.max_ulp == 2 * int(ordered(EXPECTED[2:3])[0]) + 1


@pytest.mark.parametrize(
    "text", ["", "Exact", "ulp", "ulp:", "ulp:-1", "ulp:1.5", "ulp: 3", "close", "ulp:99999999999"]
)
def test_an_unknown_level_is_refused_with_those_there_are(text):
    with pytest.raises(InvalidArgument, match="--match must be exact, equivalent or ulp:N"):
        Match.parse(text)


def test_at_most_two_or_one_in_a_thousand_elements_may_lie_outside_their_cell():
    assert [cell_allowance(n) for n in (0, 32, 2999, 3000, 465_696)] == [2, 2, 2, 3, 465]


def test_identical_arrays_count_nothing_but_their_elements():
    same, empty = compare(EXPECTED, known()), compare(EXPECTED[:0], known())
    counts = ("differing", "unexplained", "other_build", "outside_accept", "outside_cell", "max_ulp")
    assert [getattr(same, name) for name in counts] == [0] * 6
    assert [getattr(empty, name) for name in counts] == [0] * 6
    assert (same.elements, empty.elements) == (4, 0)


def test_a_recording_explains_a_prefix_that_ends_where_it_begins_to_differ():
    late = ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (1, 0, 0, 0))
    for length, explained in ((4, 0b0001), (3, 0b0011), (2, 0b0111), (1, 0b0111)):
        part = known(recordings=[row[:length] for row in late], expected=EXPECTED[:length])
        whole = known(recordings=late)
        beyond = replace(part, same_until=whole.same_until)
        assert compare(EXPECTED[:length], beyond).explained_by == explained


def test_each_recording_has_its_own_bit():
    three = ((0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))
    assert compare(shifted(0, 0, 1, 0), known(recordings=three)).explained_by == 0b1000
    assert compare(shifted(0, 1, 0, 0), known(recordings=three)).explained_by == 0b0100


def test_elements_outside_accept_are_not_counted_as_outside_their_cell_too():
    found = compare(shifted(6, 3, 2, 0), known())
    assert (found.outside_accept, found.outside_cell) == (1, 1)
    none = compare(shifted(6, -6, 9, 0), known())
    assert (none.outside_accept, none.outside_cell) == (3, 0)


def test_a_level_in_ulp_holds_up_to_its_number_and_names_what_is_beyond():
    got = shifted(3, -4, 0, 5)
    held = {level: compare(got, known()).holds(Match.parse(f"ulp:{level}")) for level in (4, 5, 6, 9)}
    assert held == {4: False, 5: True, 6: True, 9: True}
    beyond = {level: failing(got, known(), Match.parse(f"ulp:{level}")) for level in (0, 2, 3, 4, 5, 9)}
    assert beyond == {0: [0, 1, 3], 2: [0, 1, 3], 3: [1, 3], 4: [3], 5: [], 9: []}


def test_what_fails_is_named_at_each_level():
    got = shifted(1, 3, -6, 0)
    assert failing(got, known(), EXACT) == [1, 2]
    assert failing(got, known(), EQUIVALENT) == [2]
    assert failing(got, known(), EXACT, build=0) == [0, 1, 2]


def test_ulp_without_a_number_is_zero():
    assert Match(kind="ulp").ulp == 0
