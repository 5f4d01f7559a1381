"""The Flax learned position embedding that every ``learned_pos_embed`` golden file is made from.

This file imports nothing of posvec, so that it can itself be verified as a target under any interpreter.
"""

from __future__ import annotations

import jax
from flax import linen as nn

MAX_T = 32
"""Rows of the table. All of them are drawn, whatever ``T`` is."""

STDDEV = 0.02
"""Standard deviation of the entries."""


class LearnedPos(nn.Module):
    """A table with one trainable row for each absolute position; a call returns its first ``T`` rows.

    The absolute position embedding of Devlin et al., BERT (2018), https://arxiv.org/abs/1810.04805: trained
    rows, added to token embeddings by the caller, initialised with standard deviation 0.02 (here an ordinary
    normal distribution, not a truncated one).

    Attributes:
        max_T: Number of rows.
        d_model: Features in a row.

    """

    max_T: int  # noqa: N815 - the name that the exercise prescribes
    d_model: int

    @nn.compact
    def __call__(self, T: int) -> jax.Array:
        """Return rows 0 to T - 1, float32 of shape (T, d_model)."""
        initializer = nn.initializers.normal(stddev=STDDEV)
        pos_embed: jax.Array = self.param("pos_embed", initializer, (self.max_T, self.d_model))
        return pos_embed[:T]


def learned_pos_embed_forward(seed: int, T: int, d_model: int) -> jax.Array:
    """Return the first ``T`` rows of a freshly initialised table, flattened row by row.

    Args:
        seed: Seed of the key; without x64 only its low 32 bits count.
        T: Rows to return, 0 to 32.
        d_model: Features in a row, at least 1.

    Returns:
        float32 array of shape (T * d_model,): feature d of position t is at index ``t * d_model + d``.

    """
    seed, T, d_model = int(seed), int(T), int(d_model)
    module = LearnedPos(max_T=MAX_T, d_model=d_model)
    variables = module.init(jax.random.PRNGKey(seed), T)
    positions: jax.Array = module.apply(variables, T)  # type: ignore[assignment]
    return positions.reshape(-1)


learned_pos_embed_forward_jit = jax.jit(learned_pos_embed_forward, static_argnums=(0, 1, 2))
"""The same function as one compiled program. All three arguments shape the program, so they are static."""
