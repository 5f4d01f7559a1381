"""Rotary position embedding of features half a head apart: the layout of GPT-NeoX and Llama.

Black et al., GPT-NeoX-20B (2022), https://arxiv.org/abs/2204.06745; in its code ``rotate_half`` and
``apply_rotary_pos_emb`` (https://github.com/EleutherAI/gpt-neox/blob/main/megatron/model/positional_embeddings.py),
which Hugging Face's Llama took over. Angles are those of Su et al. 2021; only which features make a pair differs:

    result[i]         = x[i] * cos(angle) - x[i + D / 2] * sin(angle)
    result[i + D / 2] = x[i + D / 2] * cos(angle) + x[i] * sin(angle)

Weights trained with one layout give nonsense with the other, unless the rows of the query and key projections are
permuted.

The reference is that formula in float32; see ``angles`` for the exact values and for the room around them, within which
level ``equivalent`` accepts. At position 0 nothing turns, and only x itself is right.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from posvec.generator.case_suite import CaseSuite
from posvec.generator.references.inputs import Float32, Int32
from posvec.generator.references.rotations import OUTPUT, PARAMETERS, adjacent, cases, expecting, halves, mistakes
from posvec.schemas.suite import Suite


@jax.jit
def rope_half(x: Float32 | jax.Array, positions: Int32 | jax.Array, base: float) -> jax.Array:
    """Return queries or keys turned by their positions.

    Compiled, because each new shape would else compile each operation by itself.

    Args:
        x: float32 of shape (B, T, H, D), D even.
        positions: Position of each token, int32 of shape (B, T), at least 0.
        base: Base of the frequencies; 10000 in the paper.

    Returns:
        float32 array of shape (B, T, H, D).

    """
    D = x.shape[-1]
    frequencies = 1 / jnp.power(jnp.float32(base), jnp.arange(0, D, 2, dtype=jnp.float32) / D)
    angles = jnp.asarray(positions)[:, :, None, None].astype(jnp.float32) * frequencies
    both = jnp.concatenate([angles, angles], axis=-1)
    x = jnp.asarray(x)
    rotated_half = jnp.concatenate([-x[..., D // 2 :], x[..., : D // 2]], axis=-1)
    return x * jnp.cos(both) + rotated_half * jnp.sin(both)


SUITE = CaseSuite(
    suite=Suite(
        name="rope_half",
        function="rope_half",
        summary="Rotary embedding of x at the given positions, features i and i + D / 2 of each head turned by "
        "positions[b, t] * base**(-2i / D). D is even, T may be 0, positions are at least 0. Expected values are "
        "correctly rounded.",
        source="Black et al. 2022, GPT-NeoX, "
        "https://github.com/EleutherAI/gpt-neox/blob/main/megatron/model/positional_embeddings.py",
        parameters=PARAMETERS,
        output=OUTPUT,
        coercion=False,
        default_match="equivalent",
    ),
    reference=rope_half,
    cases=partial(cases, "rope_half"),
    expected=expecting(halves),
    mistakes=mistakes(halves, adjacent),
)
