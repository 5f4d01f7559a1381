"""Slopes and biases, against exact arithmetic and against the ways in which float32 code computes them."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from posvec.generator.references.alibi_bias import slopes
from tests.generator.references.conftest import golden, refusals

NAME = "alibi_bias"


def authors_slopes(n: int) -> list[float]:
    """The recursion of the paper's code, with its own arithmetic."""
    if math.log2(n).is_integer():
        first = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [first * first**head for head in range(n)]
    closest = 2 ** math.floor(math.log2(n))
    return authors_slopes(closest) + authors_slopes(2 * closest)[0::2][: n - closest]


@pytest.mark.parametrize("n", [*range(1, 34), 48, 96, 128])
def test_slopes_are_those_of_the_papers_code_in_float32(n: int):
    np.testing.assert_array_equal(np.float32(slopes(n)), np.float32(authors_slopes(n)), strict=True)


def test_slopes_are_correctly_rounded():
    with mpmath.workprec(100):
        for n in (8, 16, 32, 64, 128):
            for head, slope in enumerate(np.float32(slopes(n)), start=1):
                exact = mpmath.mpf(2) ** (mpmath.mpf(-8 * head) / n)
                neighbours = np.nextafter(slope, np.float32([0, 1]))
                assert all(abs(float(slope) - exact) <= abs(float(other) - exact) for other in neighbours)


def test_the_diagonal_is_positive_zero_and_the_past_is_negative():
    for case, expected in golden(NAME):
        bias, T = expected.values, case.args["T"]
        assert bias.shape == (case.args["n_heads"], T, T)
        distance = np.arange(T)[None, :] - np.arange(T)[:, None]
        assert (np.sign(bias) == np.sign(distance)).all()
        assert (np.signbit(bias) == (distance < 0)).all()


def test_one_multiplication_of_a_float32_slope_is_exact_in_numpy_and_pytorch():
    torch = pytest.importorskip("torch")

    def by_numpy(n_heads, T):
        distance = np.subtract.outer(np.arange(T), np.arange(T)).T
        return np.float32(authors_slopes(n_heads)).reshape(-1, 1, 1) * distance.astype(np.float32)

    def by_torch(n_heads, T):
        positions = torch.arange(T)
        return (torch.tensor(authors_slopes(n_heads))[:, None, None] * (positions[None] - positions[:, None])).numpy()

    assert list(refusals(NAME, by_numpy, "exact")) == []
    assert list(refusals(NAME, by_torch, "exact")) == []


def test_float32_powers_and_float64_products_are_equivalent():
    def powers(n: int) -> np.ndarray:
        return np.float32(2 ** (-8 / n)) ** np.arange(1, n + 1, dtype=np.float32)

    def multiplied(n: int) -> np.ndarray:
        return np.multiply.accumulate(np.full(n, 2 ** (-8 / n), dtype=np.float32))

    def bias(series, n_heads, T):
        whole = 2 ** math.floor(math.log2(n_heads))
        slope = np.concatenate([series(whole), series(2 * whole)[0::2][: n_heads - whole]])
        return (slope[:, None, None] * (np.arange(T)[None, :] - np.arange(T)[:, None])).astype(np.float32)

    for series in (powers, multiplied, lambda n: 2.0 ** (-8 * np.arange(1, n + 1) / n)):
        refused = list(refusals(NAME, lambda n_heads, T, series=series: bias(series, n_heads, T), "equivalent"))
        assert [case.axes for case in refused] == []
