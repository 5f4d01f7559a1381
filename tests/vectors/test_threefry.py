"""threefry-2x32 against the values its authors published, and against JAX's own block function."""

import numpy as np
import pytest

from posvec.vectors.threefry import encrypt, threefry2x32

# Random123 1.14, tests/kat_vectors, lines "threefry2x32 20": counter, key, output.
KNOWN_ANSWERS = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_known_answer(counter, key, expected):
    """The published block of Random123 comes out."""
    assert tuple(encrypt(np.array(key, np.uint32), *counter).tolist()) == expected


def test_blocks_are_independent_of_shape_and_scratch():
    """A block in a matrix equals the same block alone, with a scratch array or without."""
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 2**32, (5, 2), dtype=np.uint32)
    counters = rng.integers(0, 2**32, (2, 5, 7), dtype=np.uint32)
    alone = np.array([[encrypt(keys[i], *counters[:, i, j]) for j in range(7)] for i in range(5)])
    for scratch in (None, np.empty((5, 7), np.uint32)):
        x0, x1 = counters.copy()
        threefry2x32(keys[:, :1], keys[:, 1:], x0, x1, scratch)
        assert np.array_equal(np.stack([x0, x1], axis=-1), alone)


def test_wider_integers_are_refused():
    """int64 counters would not wrap at 2**32, so they are an error and not a wrong answer."""
    words = np.zeros(3, np.uint32)
    with pytest.raises(TypeError, match="uint32"):
        threefry2x32(words, words, words.astype(np.int64), words.copy())


def test_jax_agrees_on_random_blocks():
    """``jax.extend.random.threefry_2x32`` gives the same words for 10,000 blocks under each of 8 keys."""
    threefry = pytest.importorskip("jax.extend.random").threefry_2x32
    rng = np.random.default_rng(20)
    for key in rng.integers(0, 2**32, (8, 2), dtype=np.uint32):
        counters = rng.integers(0, 2**32, (2, 10_000), dtype=np.uint32)
        expected = np.asarray(threefry(key, counters.reshape(-1))).reshape(2, -1)
        assert np.array_equal(encrypt(key, *counters).T, expected)
