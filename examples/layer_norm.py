"""A suite of one's own: layer normalisation over the last axis.

    posvec generate --suite examples/layer_norm.py:suite -o golden
    posvec verify --vectors golden/layer_norm.h5 my_layer_norm.py:layer_norm

docs/own-suite.md goes through it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from posvec.generator.case_suite import CaseSuite, Expected, ReferenceCase
from posvec.generator.references.inputs import bell
from posvec.schemas.suite import Output, Parameter, Suite


def layer_norm(x: jax.Array, gain: jax.Array, bias: jax.Array, eps: float) -> jax.Array:
    """Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450: the variance is the biased one."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + eps) * gain + bias


def cases():
    """Yield the sweep: no batch of one only, no two lengths always equal, gains and biases that are not 1 and 0."""
    for B, D in ((2, 3), (3, 8), (5, 16), (4, 33)):
        for eps in (1e-5, 1e-12):
            salt = f"layer_norm {B} {D}"
            args = {"x": bell(salt, B, D), "gain": bell(salt + " gain", D), "bias": bell(salt + " bias", D), "eps": eps}
            yield ReferenceCase(axes={"B": B, "D": D, "eps": str(eps)}, args=args)


def expected(args) -> Expected:
    """In float64, rounded once; float32 code may be some steps off, more where the sum cancels."""
    x, gain, bias = (args[name].astype(np.float64) for name in ("x", "gain", "bias"))
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(x.var(axis=-1, keepdims=True) + args["eps"]) * gain
    values = (scaled + bias).astype(np.float32)
    error = 16 * np.finfo(np.float32).eps * (np.abs(scaled) + np.abs(bias))
    steps = np.ceil(error / np.spacing(np.abs(values))).astype(np.uint32)
    return Expected(values=values, below=steps, above=steps)


def unbiased(x, gain, bias, eps):
    """Make the mistake of ``x.var()`` in PyTorch, which divides by D - 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, ddof=1, keepdims=True) + np.float32(eps)) * gain + bias


def eps_outside(x, gain, bias, eps):
    """Make the mistake of adding eps to the standard deviation instead of the variance."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.std(axis=-1, keepdims=True) + np.float32(eps)) * gain + bias


suite = CaseSuite(
    suite=Suite(
        name="layer_norm",
        function="layer_norm",
        summary="Each row of x minus its mean, divided by the root of its biased variance plus eps, times gain, plus "
        "bias.",
        source="Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450",
        parameters=(
            Parameter(name="x", kind="array", dtype="float32", shape="(B, D)"),
            Parameter(name="gain", kind="array", dtype="float32", shape="(D,)"),
            Parameter(name="bias", kind="array", dtype="float32", shape="(D,)"),
            Parameter(name="eps", kind="float"),
        ),
        output=Output(dtype="float32", rank=2, shape="(B, D)"),
        coercion=False,
        default_match="equivalent",
    ),
    reference=layer_norm,
    cases=cases,
    expected=expected,
    mistakes={"unbiased-variance": unbiased, "eps-outside-the-root": eps_outside},
)
