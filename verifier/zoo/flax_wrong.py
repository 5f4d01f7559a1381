"""Mistakes that people make with Flax Linen."""

import math

import flax
import jax
import jax.numpy as jnp
from flax import linen as nn

INIT = nn.initializers.normal(stddev=0.02)


class LearnedPos(nn.Module):
    """The table; ``init`` and ``dtype`` are what most functions here change."""

    d_model: int
    init_with: nn.initializers.Initializer = INIT
    dtype: jnp.dtype = jnp.float32

    @nn.compact
    def __call__(self, T):
        """Return T rows."""
        return self.param("pos_embed", self.init_with, (32, self.d_model), self.dtype)[:T]


def _run(module, T, key):
    variables = module.init(key, T)
    return module.apply(variables, T).reshape(-1)


def _of_seed(module, seed, T):
    return _run(module, int(T), jax.random.PRNGKey(int(seed)))


class WithScale(nn.Module):
    """Another parameter first."""

    d_model: int

    @nn.compact
    def __call__(self, T):
        """Return T rows, scaled."""
        self.param("scale", nn.initializers.normal(), (self.d_model,))
        return self.param("pos_embed", INIT, (32, self.d_model))[:T]


def second_parameter(seed, T, d_model):
    """A parameter is drawn before the table."""
    return _of_seed(WithScale(int(d_model)), seed, T)


class Model(nn.Module):
    """A model around the table."""

    d_model: int
    name_given: str | None = None
    remat: bool = False

    @nn.compact
    def __call__(self, T):
        """Return what the inner module returns."""
        inner = nn.remat(LearnedPos, static_argnums=(1,)) if self.remat else LearnedPos
        return inner(self.d_model, name=self.name_given)(T)


def nested(seed, T, d_model):
    """Inside a model, under an automatic name."""
    return _of_seed(Model(int(d_model)), seed, T)


def nested_named(seed, T, d_model):
    """Inside a model, under a name of its own."""
    return _of_seed(Model(int(d_model), name_given="pos_embed"), seed, T)


class Encoder(nn.Module):
    """A part of a model."""

    d_model: int

    @nn.compact
    def __call__(self, T):
        """Return what the inner module returns."""
        return LearnedPos(self.d_model)(T)


class Transformer(nn.Module):
    """A model of parts."""

    d_model: int

    @nn.compact
    def __call__(self, T):
        """Return what the inner module returns."""
        return Encoder(self.d_model)(T)


def nested_deeper(seed, T, d_model):
    """Two modules around it."""
    return _of_seed(Transformer(int(d_model)), seed, T)


def under_remat(seed, T, d_model):
    """Checkpointed."""
    return _of_seed(Model(int(d_model), remat=True), seed, T)


class Table(nn.Module):
    """The whole table, without an argument."""

    d_model: int

    @nn.compact
    def __call__(self):
        """Return all rows."""
        return self.param("pos_embed", INIT, (32, self.d_model))


def under_nn_jit(seed, T, d_model):
    """The module itself is compiled."""
    variables = nn.jit(Table)(int(d_model)).init(jax.random.PRNGKey(int(seed)))
    return variables["params"]["pos_embed"][: int(T)].reshape(-1)


def split_before_init(seed, T, d_model):
    """A key for initialising, split off as one does for dropout."""
    _, init_key = jax.random.split(jax.random.PRNGKey(int(seed)))
    return _run(LearnedPos(int(d_model)), int(T), init_key)


def separator(seed, T, d_model):
    """An option of Flax is on."""
    flax.config.update("flax_fix_rng_separator", True)
    return _of_seed(LearnedPos(int(d_model)), seed, T)


def before_jax_05(seed, T, d_model):
    """The random stream of older JAX."""
    with jax.threefry_partitionable(False):
        return _of_seed(LearnedPos(int(d_model)), seed, T)


def default_stddev(seed, T, d_model):
    """The initializer without an argument."""
    return _of_seed(LearnedPos(int(d_model), nn.initializers.normal()), seed, T)


def embed_default(seed, T, d_model):
    """nn.Embed without an initializer."""
    module, ids = nn.Embed(32, int(d_model)), jnp.arange(int(T))
    return module.apply(module.init(jax.random.PRNGKey(int(seed)), ids), ids).reshape(-1)


def truncated(seed, T, d_model):
    """As in BERT's own code."""
    return _of_seed(LearnedPos(int(d_model), nn.initializers.truncated_normal(0.02)), seed, T)


def xavier_normal(seed, T, d_model):
    """The initializer of linear layers."""
    return _of_seed(LearnedPos(int(d_model), nn.initializers.xavier_normal()), seed, T)


def xavier_uniform(seed, T, d_model):
    """The initializer of linear layers, uniform."""
    return _of_seed(LearnedPos(int(d_model), nn.initializers.xavier_uniform()), seed, T)


def uniform(seed, T, d_model):
    """The wrong function of the same module."""
    return _of_seed(LearnedPos(int(d_model), nn.initializers.uniform(0.02)), seed, T)


def ones(seed, T, d_model):
    """A placeholder that stayed."""
    return _of_seed(LearnedPos(int(d_model), nn.initializers.ones), seed, T)


def brain_parameter(seed, T, d_model):
    """A bfloat16 parameter, widened at the end."""
    return _of_seed(LearnedPos(int(d_model), dtype=jnp.bfloat16), seed, T).astype(jnp.float32)


def brain_result(seed, T, d_model):
    """A bfloat16 parameter, as it is."""
    return _of_seed(LearnedPos(int(d_model), dtype=jnp.bfloat16), seed, T)


def half_parameter(seed, T, d_model):
    """A float16 parameter."""
    return _of_seed(LearnedPos(int(d_model), dtype=jnp.float16), seed, T)


def brain_cast(seed, T, d_model):
    """A float32 table, cast on the way out and back."""
    return _of_seed(LearnedPos(int(d_model)), seed, T).astype(jnp.bfloat16).astype(jnp.float32)


class Transposed(nn.Module):
    """Features first, as a kernel."""

    d_model: int

    @nn.compact
    def __call__(self, T):
        """Return T rows."""
        return self.param("pos_embed", INIT, (self.d_model, 32)).T[:T]


def transposed_table(seed, T, d_model):
    """The table was declared the other way round."""
    return _of_seed(Transposed(int(d_model)), seed, T)


def scaled(seed, T, d_model):
    """Scaled as token embeddings are, in a nested module: two mistakes."""
    return _of_seed(Model(int(d_model)), seed, T) * jnp.float32(math.sqrt(int(d_model)))


class Short(nn.Module):
    """A table of just as many rows as are asked for."""

    d_model: int

    @nn.compact
    def __call__(self, T):
        """Return all rows."""
        return self.param("pos_embed", INIT, (T, self.d_model))


def short_table_before_jax_05(seed, T, d_model):
    """Only T rows are made, where a number depends on how many are."""
    with jax.threefry_partitionable(False):
        return _of_seed(Short(int(d_model)), seed, T)


def split_before_jax_05(seed, T, d_model):
    """A split key, which older JAX made in another way."""
    with jax.threefry_partitionable(False):
        key, _ = jax.random.split(jax.random.PRNGKey(int(seed)))
        return _run(LearnedPos(int(d_model)), int(T), key)
