import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posvec.schemas.axes import Axis
from posvec.schemas.errors import InvalidArgument

SEEDS = {"name": "--seeds", "minimum": -(2**63), "maximum": 2**63 - 1}


@pytest.mark.parametrize(
    ("text", "values", "normal"),
    [
        ("0..3,42,-1", [0, 1, 2, 3, 42, -1], "0..3,42,-1"),
        ("5", [5], "5"),
        ("-3..-1", [-3, -2, -1], "-3..-1"),
        ("1,2", [1, 2], "1,2"),
        ("1,2,3", [1, 2, 3], "1..3"),
        (" 1 , +2 ", [1, 2], "1,2"),
        ("7,7,7", [7], "7"),
        ("3,1..5", [3, 1, 2, 4, 5], "3,1,2,4,5"),
        ("9223372036854775807,-9223372036854775808", [2**63 - 1, -(2**63)], "9223372036854775807,-9223372036854775808"),
    ],
)
def test_a_list_of_values_and_ranges_is_read_in_order_and_has_a_normal_form(text, values, normal):
    axis = Axis.parse(text, **SEEDS)
    assert list(axis) == values
    assert str(axis) == normal
    assert Axis.parse(normal, **SEEDS) == axis


@pytest.mark.parametrize("text", ["", "x", "1..", "..2", "1...2", "1,,2", "1.5", "0x10", "1;2", "٣", "1 2", "9" * 5000])
def test_what_is_no_list_of_integers_is_refused_by_name(text):
    with pytest.raises(InvalidArgument, match="--seeds must be integers and inclusive ranges"):
        Axis.parse(text, **SEEDS)


def test_a_descending_range_is_refused_with_the_ascending_one():
    with pytest.raises(InvalidArgument, match=r"ascending range, got '5\.\.1'; write 1\.\.5"):
        Axis.parse("5..1", **SEEDS)


@pytest.mark.parametrize("text", ["33", "-1", "0..33", "-1..2", "3,99"])
def test_values_out_of_range_are_refused_with_the_range(text):
    with pytest.raises(InvalidArgument, match=r"--T must be within 0\.\.32"):
        Axis.parse(text, name="--T", minimum=0, maximum=32)


def test_four_billion_seeds_cost_no_memory():
    axis = Axis.parse("0..4294967295", **SEEDS)
    assert len(axis) == 2**32
    assert axis.slice(4_294_967_290, 2**40) == list(range(4_294_967_290, 2**32))
    assert axis.index(77) == 77


@given(st.lists(st.integers(-20, 20), max_size=30))
def test_an_axis_is_the_distinct_values_in_order(values):
    axis = Axis.of(values)
    distinct = list(dict.fromkeys(values))
    assert list(axis) == distinct
    assert len(axis) == len(distinct)
    assert [axis.index(value) for value in distinct] == list(range(len(distinct)))
    assert axis.slice(3, 9) == distinct[3:9]
    assert all((value in axis) == (value in distinct) for value in range(-21, 22))


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 6)), min_size=1, max_size=8))
def test_ranges_that_overlap_are_each_value_once_in_the_order_given(ranges):
    axis = Axis.parse(",".join(f"{first}..{first + more}" for first, more in ranges), name="x", minimum=-99, maximum=99)
    expected = list(dict.fromkeys(value for first, more in ranges for value in range(first, first + more + 1)))
    assert list(axis) == expected
    assert (axis.lowest, axis.highest, axis.total) == (min(expected), max(expected), sum(expected))


def test_a_list_of_a_hundred_thousand_values_is_read_soon_and_a_longer_one_refused():
    values = range(199_998, -2, -2)
    began = time.monotonic()
    assert len(Axis.parse(",".join(map(str, values)), name="x", minimum=0, maximum=10**6)) == 100_000
    assert time.monotonic() - began < 30
    with pytest.raises(InvalidArgument, match="at most 100,000"):
        Axis.parse("0," * 100_000 + "0", name="x", minimum=0, maximum=1)
