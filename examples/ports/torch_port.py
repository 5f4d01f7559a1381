"""The learned position embedding in PyTorch: the random integers by hand, then ``torch.erfinv``.

posvec verify --match equivalent examples/ports/torch_port.py
"""

import torch

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
WORD = 0xFFFFFFFF
"""PyTorch has hardly any uint32 arithmetic: words are kept in int64 and cut to 32 bits after each sum and shift."""


def threefry2x32(key, x0, x1):
    """Return the two words that 20 rounds of threefry-2x32 make of the counters x0 and x1.

    Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11), as
    ``jax._src.prng.threefry2x32`` has it. Works on Python integers and on int64 tensors.
    """
    schedule = (key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA)
    x0, x1 = (x0 + schedule[0]) & WORD, (x1 + schedule[1]) & WORD
    for group in range(5):
        for r in ROTATIONS[group % 2]:
            x0 = (x0 + x1) & WORD
            x1 = ((x1 << r | x1 >> (32 - r)) & WORD) ^ x0
        x0 = (x0 + schedule[(group + 1) % 3]) & WORD
        x1 = (x1 + schedule[(group + 2) % 3] + group + 1) & WORD
    return x0, x1


def learned_pos_embed_forward(seed, T, d_model):
    """Return the first T rows of the table, flattened: float32, shape (T * d_model,)."""
    # jax.random.PRNGKey keeps the low 32 bits of the seed; Flax folds in the first four bytes, big endian, of the SHA-1
    # of the byte 1 (jax.random.fold_in, flax.core.scope._fold_in_static).
    key = threefry2x32((0, int(seed) & WORD), 0, 0xBF8B4530)
    index = torch.arange(int(T) * int(d_model))
    # The partitionable stream of jax.random.bits: both words of the block with counter (0, i), xored.
    x0, x1 = threefry2x32(key, torch.zeros_like(index), index)
    draw = (x0 ^ x1) >> 9
    u = draw.to(torch.float32) * 2**-22 - (1 - 2**-24)  # jax.random.uniform in (-1, 1); exact
    return (torch.erfinv(u) * 2**0.5 * 0.02).numpy()
