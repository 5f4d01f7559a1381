"""With Torch: a right port, and what people write in place of one."""

import numpy as np
import torch
from numpy_table import MAX_T, flax_key, prng_key, random_bits


def port(seed, T, d_model):
    """Return the right draws, by Torch's own erfinv."""
    words = random_bits(flax_key(prng_key(seed)), MAX_T * int(d_model)) >> np.uint32(9)
    uniform = torch.from_numpy(words.astype(np.float32)) * 2**-22 + float(np.nextafter(np.float32(-1), np.float32(0)))
    weight = torch.erfinv(uniform) * 2**0.5 * 0.02
    return weight.reshape(MAX_T, int(d_model))[: int(T)].reshape(-1)


def randn(seed, T, d_model):
    """Torch's generator for JAX's."""
    torch.manual_seed(int(seed))
    return (0.02 * torch.randn(MAX_T, int(d_model)))[: int(T)].reshape(-1)


def embedding(seed, T, d_model):
    """A module with its default initialisation, which is standard normal."""
    torch.manual_seed(int(seed))
    module = torch.nn.Embedding(MAX_T, int(d_model))
    return module(torch.arange(int(T))).reshape(-1)


def half_precision(seed, T, d_model):
    """A module in bfloat16."""
    return port(seed, T, d_model).to(torch.bfloat16)
