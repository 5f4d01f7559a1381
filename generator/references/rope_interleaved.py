"""Rotary position embedding of adjacent features.

Su et al., RoFormer (2021), section 3.2.2, equations 14, 15 and 34, https://arxiv.org/abs/2104.09864: features 2i and
2i + 1 of a head are the coordinates of a point in a plane, which a token at position p turns by
``p * base**(-2 * i / D)``.

    result[2i]     = x[2i] * cos(angle) - x[2i + 1] * sin(angle)
    result[2i + 1] = x[2i] * sin(angle) + x[2i + 1] * cos(angle)

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
def rope_interleaved(x: Float32 | jax.Array, positions: Int32 | jax.Array, base: float) -> jax.Array:
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
    sine, cosine = jnp.sin(angles), jnp.cos(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1)
    return turned.reshape(x.shape)


SUITE = CaseSuite(
    suite=Suite(
        name="rope_interleaved",
        function="rope_interleaved",
        summary="Rotary embedding of x at the given positions, features 2i and 2i + 1 of each head turned by "
        "positions[b, t] * base**(-2i / D). D is even, T may be 0, positions are at least 0. Expected values are "
        "correctly rounded.",
        source="Su et al. 2021, section 3.2.2, https://arxiv.org/abs/2104.09864",
        parameters=PARAMETERS,
        output=OUTPUT,
        coercion=False,
        default_match="equivalent",
    ),
    reference=rope_interleaved,
    cases=partial(cases, "rope_interleaved"),
    expected=expecting(adjacent),
    mistakes=mistakes(adjacent, halves),
)
