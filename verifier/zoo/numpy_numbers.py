"""Wrong seeds, generators and distributions in NumPy, as people write them."""

import functools

import numpy as np
from numpy_table import MAX_T, erf_inv, flax_key, fold_in, normal, prng_key, random_bits, table

SIGMA = np.float32(0.02)


def _rows(numbers, T, d_model):
    return numbers.reshape(MAX_T, int(d_model))[: int(T)].reshape(-1)


def unfolded(seed, T, d_model):
    """Flax's key folding is forgotten."""
    return _rows(normal(prng_key(seed), MAX_T * int(d_model)) * SIGMA, T, d_model)


def unfolded_two_dimensions(seed, T, d_model):
    """Neither folded nor flattened."""
    numbers = normal(prng_key(seed), MAX_T * int(d_model)) * SIGMA
    return numbers.reshape(MAX_T, int(d_model))[: int(T)]


def keras_key(seed, T, d_model):
    """The seed in the first word of the key."""
    key = np.array([int(seed) & 0xFFFFFFFF, 0], np.uint32)
    return _rows(normal(key, MAX_T * int(d_model)) * SIGMA, T, d_model)


def both_words(seed, T, d_model):
    """All 64 bits of the seed in the key."""
    key = np.array([int(seed) >> 32 & 0xFFFFFFFF, int(seed) & 0xFFFFFFFF], np.uint32)
    return _rows(normal(flax_key(key), MAX_T * int(d_model)) * SIGMA, T, d_model)


def second_parameter(seed, T, d_model):
    """The key of a module's second parameter: sha1 of the byte 2."""
    return _rows(normal(fold_in(prng_key(seed), 0xC4EA21BB), MAX_T * int(d_model)) * SIGMA, T, d_model)


def unsigned(seed, T, d_model):
    """Seeds are made positive."""
    return table(abs(int(seed)), d_model)[: int(T)].reshape(-1)


def next_seed(seed, T, d_model):
    """One is added to the seed."""
    return table(int(seed) + 1, d_model)[: int(T)].reshape(-1)


def fixed_seed(seed, T, d_model):  # noqa: ARG001 - that is the mistake
    """The seed is written into the program."""
    return table(42, d_model)[: int(T)].reshape(-1)


_BY_LENGTH = {}


def cached_by_length(seed, T, d_model):
    """A cache that forgets what else its results depend on."""
    if int(T) not in _BY_LENGTH:
        _BY_LENGTH[int(T)] = table(seed, d_model)[: int(T)].reshape(-1)
    return _BY_LENGTH[int(T)]


class _Model:
    def __init__(self, seed, d_model):
        self.seed, self.weight = seed, table(seed, d_model)


_MODELS = {}


def cached_by_width(seed, T, d_model):
    """One model for each width, made with the first seed."""
    model = _MODELS.setdefault(int(d_model), None) or _Model(seed, d_model)
    _MODELS[int(d_model)] = model
    return model.weight[: int(T)].reshape(-1)


@functools.cache
def _numpy_table(seed, d_model):
    np.random.seed(seed)
    return (0.02 * np.random.randn(MAX_T, d_model)).astype(np.float32)


def numpy_seed(seed, T, d_model):
    """NumPy's global generator; it refuses negative and long seeds."""
    return _numpy_table(int(seed) % 2**32, int(d_model))[: int(T)].reshape(-1)


def default_rng(seed, T, d_model):
    """NumPy's new generator, in float64; it refuses negative seeds."""
    return np.random.default_rng(int(seed)).normal(0, 0.02, (int(T), int(d_model))).reshape(-1)


def ten_times(seed, T, d_model):
    """A digit slipped."""
    return _rows(normal(flax_key(prng_key(seed)), MAX_T * int(d_model)) * np.float32(0.2), T, d_model)


def unscaled(seed, T, d_model):
    """Standard normal numbers."""
    return _rows(normal(flax_key(prng_key(seed)), MAX_T * int(d_model)), T, d_model)


def variance(seed, T, d_model):
    """0.02 is taken for the variance."""
    return _rows(normal(flax_key(prng_key(seed)), MAX_T * int(d_model)) * np.sqrt(np.float32(0.02)), T, d_model)


def scaled_by_width(seed, T, d_model):
    """The factor of token embeddings."""
    return _rows(table(seed, d_model) * np.sqrt(np.float32(d_model)), T, d_model)


def uniform(seed, T, d_model):
    """Uniform numbers with the limits that should be standard deviations."""
    fraction = (random_bits(flax_key(prng_key(seed)), MAX_T * int(d_model)) >> np.uint32(9)) * np.float32(2**-23)
    return _rows((fraction * SIGMA * 2 - SIGMA).astype(np.float32), T, d_model)


def all_32_bits(seed, T, d_model):
    """A uniform of all bits of a word."""
    words = random_bits(flax_key(prng_key(seed)), MAX_T * int(d_model))
    u = words.astype(np.float64) / 2**32 * 2 - (1 - 2.0**-24)
    return _rows((erf_inv(u.astype(np.float32)) * np.float32(2**0.5) * SIGMA).astype(np.float32), T, d_model)


def half_precision(seed, T, d_model):
    """Kept in float16 on the way."""
    return table(seed, d_model)[: int(T)].astype(np.float16).astype(np.float32).reshape(-1)


def printed_short(seed, T, d_model):
    """Printed with `%f` on the way, and read back."""
    return np.array([f"{value:f}" for value in table(seed, d_model)[: int(T)].reshape(-1)], dtype=np.float32)


def input_added(seed, T, d_model):
    """The dummy input is still in it."""
    x = np.ones((int(T), int(d_model)), np.float32)
    return (x + table(seed, d_model)[: int(T)]).reshape(-1)


def zeros(seed, T, d_model):  # noqa: ARG001 - that is the mistake
    """Never initialised."""
    return np.zeros(int(T) * int(d_model), np.float32)


def sinusoidal(seed, T, d_model):  # noqa: ARG001 - that is the mistake
    """The other kind of position encoding."""
    T, d_model = int(T), int(d_model)
    position, feature = np.arange(T)[:, None], np.arange(d_model)[None, :]
    angle = position / np.power(10000.0, 2 * (feature // 2) / d_model)
    return np.where(feature % 2 == 0, np.sin(angle), np.cos(angle)).astype(np.float32).reshape(-1)


def own_generator(seed, T, d_model):
    """A generator that nobody knows, of the right distribution."""
    state = np.random.RandomState([int(seed) & 0xFFFFFFFF, 12345])
    return (0.02 * state.standard_normal((MAX_T, int(d_model)))).astype(np.float32)[: int(T)].reshape(-1)


def wrong_for_one_length(seed, T, d_model):
    """Wrong in one place only, and in a way of its own."""
    rows = table(seed, d_model)[: int(T)].reshape(-1)
    return rows * np.float32(1.5) if int(T) == 7 else rows


def not_a_number(seed, T, d_model):
    """Divides by zero."""
    with np.errstate(all="ignore"):
        return table(seed, d_model)[: int(T)].reshape(-1) * np.float32(0) / np.float32(0)
