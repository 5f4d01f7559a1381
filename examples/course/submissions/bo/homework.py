"""Bo's homework."""

import jax


def learned_pos_embed_forward(seed, T, d_model):
    table = jax.random.normal(jax.random.PRNGKey(seed), (32, d_model)) * 0.02
    return table[:T].reshape(-1)
