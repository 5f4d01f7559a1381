"""Wrong rows and orders of a right table, as people write them."""

import numpy as np
from numpy_table import MAX_T, table


def counts_from_one(seed, T, d_model):
    """Positions 1 to T."""
    T = int(T)
    positions = np.arange(1, T + 1)
    return table(seed, d_model, rows=MAX_T + 1)[positions].reshape(-1)


def from_one_to_the_end(seed, T, d_model):
    """A slice that begins with 1 and ends with the table."""
    return table(seed, d_model)[1 : int(T) + 1].reshape(-1)


def offset_for_padding(seed, T, d_model):
    """Two rows are kept for padding, as in BART."""
    offset = 2
    weight = table(seed, d_model, rows=MAX_T + offset)
    return weight[np.arange(int(T)) + offset].reshape(-1)


def last_rows(seed, T, d_model):
    """A slice from the end."""
    return table(seed, d_model)[MAX_T - int(T) :].reshape(-1)


def minus_T(seed, T, d_model):  # noqa: N802 - T is the argument's name
    """A slice from the end, which is all for T = 0."""
    return table(seed, d_model)[-int(T) :].reshape(-1)


def one_less(seed, T, d_model):
    """A loop that ends one too early."""
    rows = table(seed, d_model)
    kept = [rows[t] for t in range(int(T) - 1)]
    return np.concatenate(kept) if kept else np.zeros(0, np.float32)


def one_more(seed, T, d_model):
    """A slice that ends one too late."""
    return table(seed, d_model)[: int(T) + 1].reshape(-1)


def all_rows(seed, T, d_model):  # noqa: ARG001 - that is the mistake
    """The slice is forgotten."""
    return table(seed, d_model).reshape(-1)


def padded(seed, T, d_model):
    """A fixed length with zeros behind."""
    out = np.zeros((MAX_T, int(d_model)), np.float32)
    out[: int(T)] = table(seed, d_model)[: int(T)]
    return out.reshape(-1)


def index_for_slice(seed, T, d_model):
    """A colon is missing."""
    return table(seed, d_model)[min(int(T), MAX_T - 1)]


def batch_for_sequence(seed, T, d_model):
    """The table is sliced by the batch of batch-first input."""
    x = np.zeros((1, int(T), int(d_model)), np.float32)
    return (x + table(seed, d_model)[: x.shape[0]]).reshape(-1)


def backwards(seed, T, d_model):
    """Positions in reverse."""
    return table(seed, d_model)[: int(T)][::-1].reshape(-1)


def rotated(seed, T, d_model):
    """Position ids 1, 2, …, 0."""
    ids = np.roll(np.arange(int(T)), -1)
    return table(seed, d_model)[ids].reshape(-1)


def fortran_order(seed, T, d_model):
    """Column by column."""
    return np.ravel(table(seed, d_model)[: int(T)], order="F")


def features_first(seed, T, d_model):
    """Transposed, and left so."""
    return table(seed, d_model)[: int(T)].T


def reshaped(seed, T, d_model):
    """A reshape where a transpose was meant, then transposed back."""
    rows = table(seed, d_model)[: int(T)]
    return rows.reshape(int(d_model), int(T)).T.reshape(-1)


def table_transposed(seed, T, d_model):
    """The table has features first, as a matrix of a linear layer."""
    d_model = int(d_model)
    weight = table(seed, d_model).reshape(d_model, MAX_T)
    return weight.T[: int(T)].reshape(-1)


def swapped(seed, T, d_model):
    """The table has T columns and d_model of its rows are returned."""
    T, d_model = int(T), int(d_model)
    return table(seed, T)[:d_model].reshape(-1) if T else np.zeros(0, np.float32)
