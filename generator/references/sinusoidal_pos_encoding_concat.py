"""The fixed sinusoidal position encoding, all sines before all cosines.

The layout of ``get_timing_signal_1d`` in tensor2tensor, the paper's own code
(https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/layers/common_attention.py), with the frequencies
of the paper's text (Vaswani et al. 2017, section 3.5, https://arxiv.org/abs/1706.03762): columns 0, 2, 4, … of the
interleaved encoding and then columns 1, 3, 5, …

tensor2tensor itself differs in two points, each of which this suite knows as a mistake by name: it spaces the
frequencies by ``d_model / 2 - 1`` so that the last wavelength is exactly the base's (``spacing-half-minus-one``), and
it fills the last column of an odd d_model with zeros (``odd-column-zero``). Here an odd d_model has one sine more than
cosines.
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
def sinusoidal_pos_encoding_concat(T: int, d_model: int, base: float) -> jax.Array:
    """Return the encoding of positions 0 to T - 1.

    Compiled, because each new shape would else compile each operation by itself.

    Args:
        T: Positions, at least 0.
        d_model: Features, at least 1; odd or even.
        base: Base of the frequencies; 10000 in the paper.

    Returns:
        float32 array of shape (T, d_model): ``ceil(d_model / 2)`` sines, then ``d_model // 2`` cosines.

    """
    positions = jnp.arange(T, dtype=jnp.float32)[:, None]
    exponents = jnp.arange(0, d_model, 2, dtype=jnp.float32) / d_model
    angles = positions / jnp.power(jnp.float32(base), exponents)
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)[:, : d_model // 2]], axis=1)


SUITE = CaseSuite(
    suite=Suite(
        name="sinusoidal_pos_encoding_concat",
        function="sinusoidal_pos_encoding_concat",
        summary="The fixed encoding of positions 0 to T - 1, all sines and then all cosines: sin(pos / base**(2i / "
        "d_model)) for each pair i, then their cosines. T may be 0; an odd d_model has one sine more. Frequencies "
        "are those of the paper, not tensor2tensor's. Expected values are correctly rounded.",
        source="tensor2tensor, get_timing_signal_1d, "
        "https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/layers/common_attention.py",
        parameters=PARAMETERS,
        output=OUTPUT,
        coercion=False,
        default_match="equivalent",
    ),
    reference=sinusoidal_pos_encoding_concat,
    cases=cases,
    expected=expecting(halves),
    mistakes=mistakes(halves, ("columns-interleaved", interleaved)),
)
