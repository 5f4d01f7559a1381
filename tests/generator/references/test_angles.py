"""Exact values of sinusoidal encodings and rotations, and the room that float32 code needs around them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from posvec.generator.references import rotations as rotary
from posvec.generator.references import sinusoids
from posvec.generator.references.angles import Angles, exactly
from posvec.vectors.ulp import from_ordered, ordered
from tests.generator.references.conftest import golden
from tests.generator.references.float32_code import rotations, sinusoidal_encodings

INTERLEAVED, CONCATENATED = "sinusoidal_pos_encoding", "sinusoidal_pos_encoding_concat"
ENCODINGS = sinusoidal_encodings()


def test_an_angle_is_the_exact_product_to_105_bits():
    positions = np.array([1, 3, 1000, 4095, 131071, 2**26])
    angles = Angles.of(positions, 10000.0, 128)
    with mpmath.workprec(200):
        for (row, pair), high in np.ndenumerate(angles.high):
            exact = int(positions[row]) * mpmath.power(10000, -mpmath.mpf(2 * pair) / 128)
            assert abs(mpmath.mpf(high) + mpmath.mpf(angles.low[row, pair]) - exact) <= exact * 2.0**-104


@pytest.mark.parametrize("position", [-1, 2**26 + 1])
def test_positions_whose_angles_would_not_be_exact_are_refused(position: int):
    with pytest.raises(ValueError, match="positions must lie within"):
        Angles.of(np.array([0, position]), 10000.0, 4)


def test_encodings_are_correctly_rounded():
    rng = np.random.default_rng(0)
    for case, expected in golden(INTERLEAVED):
        T, d_model, base = case.args["T"], case.args["d_model"], case.args["base"]
        if not T:
            continue
        for position, column in zip(rng.integers(T, size=40), rng.integers(d_model, size=40), strict=True):
            a, b = (1.0, 0.0) if column % 2 else (0.0, 1.0)
            value = exactly(int(position), int(column) // 2, base, d_model, a, b)
            assert ordered(expected.values[position, column]) == ordered(value)


@pytest.mark.parametrize(("name", "pairs"), [("rope_interleaved", rotary.adjacent), ("rope_half", rotary.halves)])
def test_rotations_are_correctly_rounded(name: str, pairs: rotary.Pairs):
    rng = np.random.default_rng(0)
    for case, expected in golden(name):
        x, positions, base = case.args["x"], case.args["positions"], case.args["base"]
        B, T, H, D = x.shape
        if not T:
            continue
        first, second = pairs(D)
        for _ in range(20):
            b, t, h, i = (int(rng.integers(length)) for length in (B, T, H, D // 2))
            one, other = float(x[b, t, h, first[i]]), float(x[b, t, h, second[i]])
            turned = exactly(int(positions[b, t]), i, base, D, one, -other)
            assert ordered(expected.values[b, t, h, first[i]]) == ordered(turned)
            turned = exactly(int(positions[b, t]), i, base, D, other, one)
            assert ordered(expected.values[b, t, h, second[i]]) == ordered(turned)


def test_a_value_near_a_tie_is_decided_by_mpmath():
    # sin(16) and a + b * sin(16) with the sum within 2**-60 of the middle of two floats
    with mpmath.workprec(200):
        sine, cosine = mpmath.sin(16), mpmath.cos(16)
        middle = mpmath.mpf(1.5) + mpmath.mpf(2) ** -24
        a, b = (float(np.float32(float(part))) for part in (middle * cosine, middle * sine))
        exact = a * cosine + b * sine
    got = Angles.of(np.array([16]), 10000.0, 2).combined(np.float32([[a]]), np.float32([[b]]), ulp=0).values[0, 0]
    assert abs(float(got) - exact) <= min(abs(float(np.nextafter(got, np.float32(end))) - exact) for end in (0, 2))


def test_the_two_layouts_of_the_encoding_have_the_same_columns():
    for (case, one), (_, other) in zip(golden(INTERLEAVED), golden(CONCATENATED), strict=True):
        order = sinusoids.halves(np.arange(case.args["d_model"]))
        for part in ("values", "below", "above"):
            np.testing.assert_array_equal(getattr(one, part)[:, order], getattr(other, part), strict=True)


def test_position_zero_is_exact():
    for name in (INTERLEAVED, CONCATENATED, "rope_interleaved", "rope_half"):
        for case, expected in golden(name):
            at_zero = case.args["positions"] == 0 if "positions" in case.args else np.arange(case.args["T"]) == 0
            assert not expected.below[at_zero].any()
            assert not expected.above[at_zero].any()
            assert (expected.below[~at_zero] > 0).all()
            if "x" in case.args:
                assert expected.values[at_zero].tobytes() == case.args["x"][at_zero].tobytes()


def share_of_room(name: str, function) -> float:
    """The largest share of its room that any element needs, as distances between values and not in steps."""
    worst = 0.0
    for case, expected in golden(name):
        got = np.asarray(function(**case.args)).astype(np.float64)
        away = got - expected.values
        order = ordered(expected.values).astype(np.int64)
        end = from_ordered(np.where(away < 0, order - expected.below, order + expected.above))
        needed = away != 0
        worst = max([worst, *(away[needed] / (end.astype(np.float64) - expected.values)[needed])])
    return worst


@pytest.mark.parametrize("code", ENCODINGS)
def test_ordinary_float32_encodings_need_at_most_half_of_the_room(code: str):
    assert 0 < share_of_room(INTERLEAVED, ENCODINGS[code]) < 0.5


@pytest.mark.parametrize("code", rotations(half=False))
@pytest.mark.parametrize(("half", "name"), [(False, "rope_interleaved"), (True, "rope_half")])
def test_ordinary_float32_rotations_need_at_most_half_of_the_room(half: bool, name: str, code: str):
    assert 0 < share_of_room(name, rotations(half)[code]) < 0.5


def test_rounding_float64_once_is_exact():
    def encoding(T, d_model, base):
        pairs = np.arange(d_model) // 2 * 2
        angles = np.arange(T)[:, None] / base ** (pairs / d_model)
        return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles)).astype(np.float32)

    assert share_of_room(INTERLEAVED, encoding) < 0.01
