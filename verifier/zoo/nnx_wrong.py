"""Mistakes that people make with Flax NNX in place of Linen."""

import jax.numpy as jnp
from flax import linen as nn
from flax import nnx


class LearnedPos(nnx.Module):
    """The table as an NNX module."""

    def __init__(self, d_model, *, rngs):
        """Draw the table from the stream of parameters."""
        self.pos_embed = nnx.Param(nnx.initializers.normal(0.02)(rngs.params(), (32, d_model)))

    def __call__(self, T):
        """Return T rows."""
        return self.pos_embed[...][:T]


def module(seed, T, d_model):
    """NNX makes its keys in a way of its own."""
    return LearnedPos(int(d_model), rngs=nnx.Rngs(int(seed)))(int(T)).reshape(-1)


def embed(seed, T, d_model):
    """nnx.Embed with its default initialisation."""
    return nnx.Embed(32, int(d_model), rngs=nnx.Rngs(int(seed)))(jnp.arange(int(T))).reshape(-1)


class Linen(nn.Module):
    """The right Linen module."""

    d_model: int

    @nn.compact
    def __call__(self, T):
        """Return T rows."""
        return self.param("pos_embed", nn.initializers.normal(0.02), (32, self.d_model))[:T]


def bridged(seed, T, d_model):
    """The right Linen module through the bridge."""
    bridge = nnx.bridge.ToNNX(Linen(int(d_model)), rngs=nnx.Rngs(int(seed)))
    nnx.bridge.lazy_init(bridge, int(T))
    return bridge(int(T)).reshape(-1)
