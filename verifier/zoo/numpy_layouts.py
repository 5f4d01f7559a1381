"""Right values in a wrong layout, and calls that depend on each other."""

import numpy as np
from numpy_table import MAX_T, table


def _right(seed, T, d_model):
    return table(seed, d_model)[: int(T)].reshape(-1)


def two_dimensional(seed, T, d_model):
    """Not flattened."""
    return table(seed, d_model)[: int(T)]


def batched(seed, T, d_model):
    """With a batch axis."""
    return table(seed, d_model)[None, : int(T)]


def squeezed(seed, T, d_model):
    """Axes of length one are dropped, the others stay."""
    return np.squeeze(table(seed, d_model)[: int(T)])


def double(seed, T, d_model):
    """Widened on the way."""
    return _right(seed, T, d_model).astype(np.float64)


def half(seed, T, d_model):
    """Narrowed, and left so."""
    return _right(seed, T, d_model).astype(np.float16)


def big_endian(seed, T, d_model):
    """The byte order of a file."""
    return _right(seed, T, d_model).astype(">f4")


def a_list(seed, T, d_model):
    """Not an array."""
    return _right(seed, T, d_model).tolist()


def a_tuple(seed, T, d_model):
    """A stray comma."""
    return (_right(seed, T, d_model),)


def mean(seed, T, d_model):
    """Averaged away."""
    return np.mean(table(seed, d_model)[: int(T)]) if int(T) else np.float32(0)


def global_generator(seed, T, d_model):  # noqa: ARG001 - that is the mistake
    """A generator that is never seeded."""
    return (0.02 * np.random.standard_normal(int(T) * int(d_model))).astype(np.float32)


_WIDEST = {}


def wide_table_cut(seed, T, d_model):
    """One table a seed is kept, and cut where fewer features are asked for: right until a wider one was made."""
    seed, d_model = int(seed), int(d_model)
    if seed not in _WIDEST or _WIDEST[seed].shape[1] < d_model:
        _WIDEST[seed] = table(seed, d_model)
    return _WIDEST[seed][: int(T), :d_model].reshape(-1)


_BUFFER = np.zeros(MAX_T * 64, np.float32)


def one_buffer(seed, T, d_model):
    """All calls write into one array."""
    out = _BUFFER[: int(T) * int(d_model)]
    out[:] = _right(seed, T, d_model)
    return out
