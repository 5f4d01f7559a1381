"""Right implementations in NumPy: the right draws, in a rounding of their own."""

import numpy as np
from numpy_table import MAX_T, table


def port(seed, T, d_model):
    """Return the first T rows, flattened."""
    return table(seed, d_model)[: int(T)].reshape(-1)


def rows_needed_only(seed, T, d_model):
    """Make only T rows: in the stream of JAX 0.5 and later that gives the same numbers."""
    return table(seed, d_model, rows=int(T)).reshape(-1) if int(T) else np.zeros(0, np.float32)


def gathered(seed, T, d_model):
    """Look up position ids."""
    return np.take(table(seed, d_model), np.arange(int(T)), axis=0).ravel()


def one_hot(seed, T, d_model):
    """Multiply with rows of the identity."""
    return (np.eye(int(T), MAX_T, dtype=np.float32) @ table(seed, d_model)).reshape(-1)
