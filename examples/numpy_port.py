"""An independent port in NumPy alone: threefry-2x32, Flax's key folding and a float32 erf_inv.

It returns the right draws with a rounding of its own, so it conforms at `--match equivalent`, not at `exact`.
"""

import hashlib

import numpy as np

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
# Giles, "Approximating the erfinv function" (2010), single precision: for w < 5 and for w >= 5.
CENTRE = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
          -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
        0.00943887047, 1.00167406, 2.83297682)  # fmt: skip


def threefry2x32(key, x0, x1):
    """Return the two words that 20 rounds of threefry-2x32 make of the counters x0 and x1."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for group in range(5):
        for r in ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(r) | x1 >> np.uint32(32 - r)) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + (schedule[(group + 2) % 3] + np.uint32(group + 1))
    return x0, x1


def erf_inv(u):
    """Return the inverse of erf in float32."""
    w = -np.log1p(-u * u)
    centre = w < 5
    w = np.where(centre, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
    p = np.where(centre, np.float32(CENTRE[0]), np.float32(TAIL[0]))
    for a, b in zip(CENTRE[1:], TAIL[1:], strict=True):
        p = np.where(centre, np.float32(a), np.float32(b)) + p * w
    return p * u


def learned_pos_embed_forward(seed, T, d_model):
    """Return the first T rows of the table, flattened: float32, shape (T * d_model,)."""
    seed, T, d_model = int(seed), int(T), int(d_model)
    with np.errstate(over="ignore"):
        key = np.array([0, seed & 0xFFFFFFFF], np.uint32)
        word = int.from_bytes(hashlib.sha1(b"\x01", usedforsecurity=False).digest()[:4], "big")
        zero = np.zeros(1, np.uint32)
        folded = threefry2x32(key, zero, zero + np.uint32(word))
        index = np.arange(T * d_model, dtype=np.uint32)
        x0, x1 = threefry2x32((folded[0][0], folded[1][0]), np.zeros_like(index), index)
    draw = (x0 ^ x1) >> np.uint32(9)
    lo = np.nextafter(np.float32(-1), np.float32(0))
    u = draw.astype(np.float32) * np.float32(2**-22) + lo
    return erf_inv(u) * np.float32(2**0.5) * np.float32(0.02)
