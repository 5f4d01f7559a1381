"""Mistakes that people make with JAX alone."""

import functools

import jax
import jax.numpy as jnp


def _rows(table, T):
    return table[: int(T)].reshape(-1)


def unfolded(seed, T, d_model):
    """The key of the seed as it is."""
    return _rows(0.02 * jax.random.normal(jax.random.PRNGKey(int(seed)), (32, int(d_model))), T)


def equinox_style(seed, T, d_model):
    """As an eqx.nn.Embedding is initialised: unfolded, and standard normal."""
    return _rows(jax.random.normal(jax.random.PRNGKey(int(seed)), (32, int(d_model))), T)


def split_first(seed, T, d_model):
    """The first of two keys."""
    key, _ = jax.random.split(jax.random.PRNGKey(int(seed)))
    return _rows(0.02 * jax.random.normal(key, (32, int(d_model))), T)


def split_second(seed, T, d_model):
    """The second of two keys, as Haiku takes it."""
    _, key = jax.random.split(jax.random.PRNGKey(int(seed)))
    return _rows(0.02 * jax.random.normal(key, (32, int(d_model))), T)


def box_muller(seed, T, d_model):
    """Normal numbers from pairs of uniforms."""
    key = jax.random.fold_in(jax.random.PRNGKey(int(seed)), 0xBF8B4530)
    u1, u2 = jax.random.uniform(key, (2, 32, int(d_model)))
    return _rows(0.02 * jnp.sqrt(-2 * jnp.log(1 - u1)) * jnp.cos(2 * jnp.pi * u2), T)


def double(seed, T, d_model):
    """With x64 on."""
    with jax.enable_x64():
        key = jax.random.fold_in(jax.random.PRNGKey(int(seed)), 0xBF8B4530)
        return _rows(0.02 * jax.random.normal(key, (32, int(d_model))), T)


def other_prng(seed, T, d_model):
    """Another implementation of keys, which cannot be recomputed."""
    return _rows(0.02 * jax.random.normal(jax.random.key(int(seed), impl="rbg"), (32, int(d_model))), T)


_SEED = 0


@functools.partial(jax.jit, static_argnums=(0, 1))
def _compiled(T, d_model):
    key = jax.random.fold_in(jax.random.PRNGKey(_SEED), 0xBF8B4530)
    return _rows(0.02 * jax.random.normal(key, (32, d_model)), T)


def stale_global(seed, T, d_model):
    """A global that was built into the compiled program when it was first called for this shape."""
    global _SEED
    _SEED = int(seed)
    return _compiled(int(T), int(d_model))
