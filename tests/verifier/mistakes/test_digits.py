"""Too few digits are recognised whatever they were printed with, and nothing else is taken for them."""

from __future__ import annotations

import numpy as np
import pytest

from posvec.vectors.files import locate
from posvec.vectors.golden import Golden
from posvec.verifier.mistakes.digits import short_digits


@pytest.fixture(scope="module")
def known():
    golden = Golden.open(locate(None, None))
    return [golden.known(case) for case in golden.cases() if case.args["T"] == 32 and case.args["d_model"] == 16]


@pytest.mark.parametrize(
    ("format_", "told"),
    [
        ("%f", (6, "digits after the point", "%.6f")),
        ("%.4f", (4, "digits after the point", "%.4f")),
        ("%.8f", (8, "digits after the point", "%.8f")),
        ("%g", (6, "significant digits", "%.6g")),
        ("%.7e", (8, "significant digits", "%.8g")),
        ("%.3g", (3, "significant digits", "%.3g")),
    ],
)
def test_short_numbers_are_named(known, format_, told):
    pairs = [(np.array([np.float32(format_ % float(v)) for v in k.expected]), k) for k in known]
    assert short_digits(pairs) == told


@pytest.mark.parametrize("steps", [1, -2, 10**6])
def test_other_errors_are_not(known, steps):
    assert short_digits([((k.expected.view(np.int32) + steps).view(np.float32), k) for k in known]) is None


def test_right_values_of_9_digits_are_not(known):
    assert short_digits([(np.array([np.float32(f"{float(v):.9g}") for v in k.expected]), k) for k in known]) is None


def test_rounded_values_of_something_else_are_not(known):
    assert short_digits([(np.round(k.expected[::-1], 6), k) for k in known]) is None


def test_few_elements_prove_nothing():
    golden = Golden.open(locate(None, None))
    few = [golden.known(case) for case in golden.cases() if case.args["T"] * case.args["d_model"] == 1][:1]
    assert short_digits([(np.round(k.expected, 6), k) for k in few]) is None
