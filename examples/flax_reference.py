"""A right implementation: a Flax module that owns a table of 32 rows and returns the first T of them."""

import jax
from flax import linen as nn


class PositionTable(nn.Module):
    """A learned position embedding; only the initial values are used here."""

    d_model: int

    def setup(self):
        """Declare the table; the parameter's name does not change its values."""
        self.table = self.param("pos_embed", nn.initializers.normal(0.02), (32, self.d_model))

    def __call__(self, T):
        """Return the vectors of positions 0 to T - 1."""
        return self.table[:T]


def learned_pos_embed_forward(seed, T, d_model):
    """Return the first T rows, flattened: float32, shape (T * d_model,)."""
    seed, T, d_model = int(seed), int(T), int(d_model)
    module = PositionTable(d_model)
    variables = module.init(jax.random.PRNGKey(seed), T)
    return module.apply(variables, T).reshape(-1)
