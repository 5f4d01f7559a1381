"""Right implementations with Flax, each in another way."""

import functools

import jax
import jax.numpy as jnp
from flax import linen as nn

INIT = nn.initializers.normal(stddev=0.02)


class SetupStyle(nn.Module):
    """Declares the table in setup, under another name."""

    d_model: int

    def setup(self):
        """Declare the table."""
        self.table = self.param("weight", INIT, (32, self.d_model))

    def __call__(self, T):
        """Return T rows."""
        return self.table[:T]


class Compact(nn.Module):
    """Declares the table where it is used."""

    d_model: int
    rows: int = 32
    how: str = "slice"

    @nn.compact
    def __call__(self, T):
        """Return T rows."""
        table = self.param("pos_embed", INIT, (self.rows, self.d_model))
        if self.how == "gather":
            return jnp.take(table, jnp.arange(T), axis=0)
        if self.how == "one-hot":
            return jax.nn.one_hot(jnp.arange(T), self.rows) @ table
        if self.how == "dynamic":
            return jax.lax.dynamic_slice(table, (0, 0), (T, self.d_model))
        return table[:T]


def _run(module, key, T):
    variables = module.init(key, T)
    return module.apply(variables, T).reshape(-1)


def setup_style(seed, T, d_model):
    """Declared in setup."""
    return _run(SetupStyle(int(d_model)), jax.random.PRNGKey(int(seed)), int(T))


def typed_key(seed, T, d_model):
    """A key of the new kind, in a dict of keys."""
    return _run(Compact(int(d_model)), {"params": jax.random.key(int(seed))}, int(T))


def gathered(seed, T, d_model):
    """Looked up by position ids."""
    return _run(Compact(int(d_model), how="gather"), jax.random.PRNGKey(int(seed)), int(T))


def one_hot(seed, T, d_model):
    """Multiplied with one-hot rows."""
    return _run(Compact(int(d_model), how="one-hot"), jax.random.PRNGKey(int(seed)), int(T))


def dynamic_slice(seed, T, d_model):
    """Sliced by lax."""
    return _run(Compact(int(d_model), how="dynamic"), jax.random.PRNGKey(int(seed)), int(T))


def embed_module(seed, T, d_model):
    """An nn.Embed at the top level."""
    module = nn.Embed(32, int(d_model), embedding_init=INIT)
    return _run(module, jax.random.PRNGKey(int(seed)), jnp.arange(int(T)))


def rows_needed_only(seed, T, d_model):
    """A table of T rows: in the stream of JAX 0.5 and later that is the same."""
    return _run(Compact(int(d_model), rows=int(T)), jax.random.PRNGKey(int(seed)), int(T))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _compiled(seed, T, d_model):
    return _run(Compact(d_model), jax.random.PRNGKey(seed), T)


def jitted(seed, T, d_model):
    """One compiled program."""
    return _compiled(int(seed), int(T), int(d_model))
