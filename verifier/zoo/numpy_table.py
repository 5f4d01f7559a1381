"""The right table in NumPy alone, for implementations that make their mistake with it: no mistake is in this file."""

import hashlib

import numpy as np

MAX_T = 32
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
# Giles, "Approximating the erfinv function" (2010), single precision: for w < 5 and for w >= 5.
CENTRE = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
          -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
        0.00943887047, 1.00167406, 2.83297682)  # fmt: skip
LOW = np.nextafter(np.float32(-1), np.float32(0))


def threefry2x32(key, x0, x1):
    """Return the two words that 20 rounds of threefry-2x32 make of the counters x0 and x1."""
    with np.errstate(over="ignore"):
        schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
        x0, x1 = x0 + schedule[0], x1 + schedule[1]
        for group in range(5):
            for r in ROTATIONS[group % 2]:
                x0 = x0 + x1
                x1 = (x1 << np.uint32(r) | x1 >> np.uint32(32 - r)) ^ x0
            x0 = x0 + schedule[(group + 1) % 3]
            x1 = x1 + (schedule[(group + 2) % 3] + np.uint32(group + 1))
    return x0, x1


def prng_key(seed):
    """Return jax.random.PRNGKey(seed)."""
    return np.array([0, int(seed) & 0xFFFFFFFF], np.uint32)


def fold_in(key, data):
    """Return jax.random.fold_in(key, data)."""
    x0, x1 = threefry2x32(key, np.zeros(1, np.uint32), np.array([data], np.uint32))
    return np.array([x0[0], x1[0]], np.uint32)


def flax_key(key):
    """Return the key that Flax hands to the first parameter of a module."""
    return fold_in(key, int.from_bytes(hashlib.sha1(b"\x01", usedforsecurity=False).digest()[:4], "big"))


def random_bits(key, size):
    """Return jax.random.bits(key, (size,))."""
    index = np.arange(size, dtype=np.uint32)
    x0, x1 = threefry2x32(key, np.zeros_like(index), index)
    return x0 ^ x1


def erf_inv(u):
    """Return the inverse of erf in float32."""
    w = -np.log1p(-u * u)
    centre = w < 5
    w = np.where(centre, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
    p = np.where(centre, np.float32(CENTRE[0]), np.float32(TAIL[0]))
    for a, b in zip(CENTRE[1:], TAIL[1:], strict=True):
        p = np.where(centre, np.float32(a), np.float32(b)) + p * w
    return p * u


def normal(key, size):
    """Return jax.random.normal(key, (size,))."""
    u = (random_bits(key, size) >> np.uint32(9)).astype(np.float32) * np.float32(2**-22) + LOW
    return erf_inv(u) * np.float32(2**0.5)


def table(seed, d_model, rows=MAX_T):
    """Return the table of a seed: float32, shape (rows, d_model)."""
    key = flax_key(prng_key(seed))
    return (normal(key, rows * int(d_model)) * np.float32(0.02)).reshape(rows, int(d_model))
