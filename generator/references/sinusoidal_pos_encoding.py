"""The fixed sinusoidal position encoding, sines and cosines interleaved.

Vaswani et al., Attention Is All You Need (2017), section 3.5, https://arxiv.org/abs/1706.03762:

    PE[pos, 2i]     = sin(pos / base**(2i / d_model))
    PE[pos, 2i + 1] = cos(pos / base**(2i / d_model))

with base 10000. Both columns of a pair have the exponent of the even one. An odd d_model is no special case: the last
pair has no cosine, and d_model itself stays in the exponent.

The reference is that formula in float32. It is not correctly rounded, and no ordinary code is: see ``angles`` for the
exact values and for the room around them, within which level ``equivalent`` accepts.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from posvec.generator.case_suite import CaseSuite
from posvec.generator.references.sinusoids import (
    OUTPUT,
    PARAMETERS,
    cases,
    expecting,
    halves,
    interleaved,
    mistakes,
)
from posvec.schemas.suite import Suite


@partial(jax.jit, static_argnames=("T", "d_model"))
def sinusoidal_pos_encoding(T: int, d_model: int, base: float) -> jax.Array:
    """Return the encoding of positions 0 to T - 1.

    Compiled, because each new shape would else compile each operation by itself.

    Args:
        T: Positions, at least 0.
        d_model: Features, at least 1; odd or even.
        base: Base of the frequencies; 10000 in the paper.

    Returns:
        float32 array of shape (T, d_model), columns sine, cosine, sine, …

    """
    positions = jnp.arange(T, dtype=jnp.float32)[:, None]
    exponents = jnp.arange(0, d_model, 2, dtype=jnp.float32) / d_model
    angles = positions / jnp.power(jnp.float32(base), exponents)
    pairs = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)
    return pairs.reshape(T, 2 * len(exponents))[:, :d_model]


SUITE = CaseSuite(
    suite=Suite(
        name="sinusoidal_pos_encoding",
        function="sinusoidal_pos_encoding",
        summary="The fixed encoding of positions 0 to T - 1, interleaved: column 2i is sin(pos / base**(2i / d_model)) "
        "and column 2i + 1 the cosine of the same angle. T may be 0; an odd d_model ends in a sine. Expected values "
        "are correctly rounded.",
        source="Vaswani et al. 2017, section 3.5, https://arxiv.org/abs/1706.03762",
        parameters=PARAMETERS,
        output=OUTPUT,
        coercion=False,
        default_match="equivalent",
    ),
    reference=sinusoidal_pos_encoding,
    cases=cases,
    expected=expecting(interleaved),
    mistakes=mistakes(interleaved, ("columns-in-halves", halves)),
)
