"""Arguments of cases are made of integers alone, and narrower types round as the real ones do."""

from __future__ import annotations

from fractions import Fraction

import jax
import ml_dtypes
import numpy as np

from posvec.generator.references.inputs import bell, dyadic, ids, words
from posvec.generator.references.narrow import bfloat16, float16


def test_words_are_those_of_jax_under_the_key_of_the_text():
    # The first eight bytes of SHA-256("abc"), FIPS 180-2, appendix B.1.
    key = jax.random.wrap_key_data(np.array([0xBA7816BF, 0x8F01CFEA], np.uint32), impl="threefry2x32")
    np.testing.assert_array_equal(words("abc", 5, 3), jax.random.bits(key, (5, 3)), strict=True)


def test_dyadic_values_are_odd_multiples_whose_sums_are_exact():
    values = dyadic("x", 4096)
    numerators = values.astype(np.float64) * 256
    assert (numerators % 2 == 1).all()
    assert np.abs(numerators).max() < 4096
    assert (values > 0).any()
    assert (values < 0).any()
    assert Fraction(float(np.add.accumulate(values)[-1])) == sum(map(Fraction, values.tolist()))


def test_bell_values_have_the_deviation_asked_for_and_use_every_bit():
    values = bell("x", 100, 1000, scale=0.02)
    assert abs(float(values.std(dtype=np.float64)) / 0.02 - 1) < 0.01
    assert abs(float(values.mean(dtype=np.float64))) < 0.02 * 0.01
    assert (values.view(np.uint32) & 1).mean() > 0.49
    assert (np.abs(values) > np.finfo(np.float32).tiny).all()


def test_ids_cover_their_range():
    assert sorted(set(ids("x", 300, count=7).tolist())) == list(range(7))


def test_another_text_gives_other_values():
    assert not (dyadic("a", 64) == dyadic("b", 64)).all()


def test_bfloat16_and_float16_round_as_the_types_do():
    values = np.concatenate([bell("narrow", 4096), np.array([1 + 2**-8, 1 + 3 * 2**-8, -0.0], np.float32)])
    np.testing.assert_array_equal(bfloat16(values), values.astype(ml_dtypes.bfloat16).astype(np.float32), strict=True)
    np.testing.assert_array_equal(float16(values), values.astype(np.float16).astype(np.float32), strict=True)
