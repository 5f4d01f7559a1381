"""Token features plus the first rows of a learned position table.

Gehring et al., Convolutional Sequence to Sequence Learning (2017), section 3.1, https://arxiv.org/abs/1705.03122, added
trained rows of absolute positions to the features of the tokens; BERT, GPT-2 and ViT followed. Here as one line of
JAX: every sequence of a batch gets the same rows.

Each element of the result is one float32 addition, which IEEE 754 rounds in one way only, so all correct code returns
the same bytes. More rows than the table has cannot be asked for: a slice that stops at the table's end has another
length than the sequence, and the addition raises. (A table of a single row would broadcast instead, and is not used.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posvec.generator.case_suite import Arguments, CaseSuite, Expected, ReferenceCase
from posvec.generator.references.inputs import Float32, bell, dyadic
from posvec.generator.references.narrow import bfloat16
from posvec.schemas.suite import Output, Parameter, Suite

_SHAPES = (
    # B, T, max_T, D
    (2, 3, 8, 4),
    (3, 5, 5, 4),
    (4, 7, 16, 6),
    (2, 1, 6, 5),
    (5, 2, 9, 3),
    (3, 0, 8, 4),
    (1, 6, 10, 4),
    (7, 4, 12, 1),
    (3, 16, 32, 8),
    (2, 31, 32, 12),
    (4, 32, 32, 7),
    (5, 13, 40, 10),
    (3, 9, 64, 16),
    (2, 20, 128, 24),
)
_TOO_LONG = ((2, 6, 5, 4), (3, 11, 8, 6))
_VALUES: Mapping[str, Callable[..., Float32]] = {"dyadic": dyadic, "full": bell}


@jax.jit
def learned_pos_embed_add(x: Float32 | jax.Array, table: Float32 | jax.Array) -> jax.Array:
    """Return token features with the row of its position added to each.

    Compiled, because each new shape would else compile each operation by itself.

    Args:
        x: Features, float32 of shape (B, T, D).
        table: One row for each position, float32 of shape (max_T, D), 2 <= max_T.

    Returns:
        float32 array of shape (B, T, D): ``x[b, t, d] + table[t, d]``.

    Raises:
        TypeError: T > max_T, from the addition of incompatible shapes.

    """
    x, table = jnp.asarray(x), jnp.asarray(table)
    return x + table[: x.shape[1]][None, :, :]


def cases() -> Iterator[ReferenceCase]:
    """Yield each shape with exact sums, with rounded ones and with unlike magnitudes, then sequences too long."""
    for shape in _SHAPES:
        for values in ("dyadic", "full", "small-table"):
            yield _case(shape, values)
    for B, T, max_T, D in _TOO_LONG:
        yield _case((B, max_T, max_T, D), "full")
        neighbour: dict[str, int | str] = {"B": B, "T": max_T, "max_T": max_T, "D": D, "values": "full"}
        yield _case((B, T, max_T, D), "full", neighbour=neighbour)


def _case(
    shape: tuple[int, int, int, int], values: str, *, neighbour: Mapping[str, int | str] | None = None
) -> ReferenceCase:
    B, T, max_T, D = shape
    axes: dict[str, int | str] = {"B": B, "T": T, "max_T": max_T, "D": D, "values": values}
    salt = f"learned_pos_embed_add {shape} {values}"
    make = _VALUES.get(values, bell)
    # Trained tables are small beside the features, so that the sum drops bits of theirs.
    scaled = {"scale": 0.02} if values == "small-table" else {}
    args = {"x": make(salt + " x", B, T, D), "table": make(salt + " table", max_T, D, **scaled)}
    return ReferenceCase(axes=axes, args=args, must_raise=neighbour is not None, neighbour=neighbour)


def expected(args: Arguments) -> Expected:
    """Return what the reference returns: one rounded addition an element."""
    return Expected(values=np.asarray(learned_pos_embed_add(args["x"], args["table"])))


def _rows(index: Callable[[int], Any]) -> Callable[[Float32, Float32], Float32]:
    """Return the sum with other rows: those that ``table[index(T)]`` selects."""
    return lambda x, table: x + table[index(x.shape[1])]


def _position_forgotten(x: Float32, table: Float32) -> Float32:  # noqa: ARG001 - that is the mistake
    return x.copy()


def _features_forgotten(x: Float32, table: Float32) -> Float32:
    return np.broadcast_to(table[: x.shape[1]], x.shape).copy()


def _added_twice(x: Float32, table: Float32) -> Float32:
    rows = table[: x.shape[1]]
    return x + rows + rows


def _scaled_by_sqrt_d(x: Float32, table: Float32) -> Float32:
    return x * np.float32(math.sqrt(x.shape[2])) + table[: x.shape[1]]


def _table_divided_by_sqrt_d(x: Float32, table: Float32) -> Float32:
    return x + table[: x.shape[1]] * np.float32(table.shape[1] ** -0.5)


def _along_the_batch(x: Float32, table: Float32) -> Float32:
    return x + table[: x.shape[0]][:, None, :]


def _first_sequence_only(x: Float32, table: Float32) -> Float32:
    result = x.copy()
    result[0] += table[: x.shape[1]]
    return result


def _bfloat16_sum(x: Float32, table: Float32) -> Float32:
    return bfloat16(bfloat16(x) + bfloat16(table[: x.shape[1]]))


def _clamped_past_the_end(x: Float32, table: Float32) -> Float32:
    return x + table[np.minimum(np.arange(x.shape[1]), len(table) - 1)]


def _wrapped_past_the_end(x: Float32, table: Float32) -> Float32:
    return x + table[np.arange(x.shape[1]) % len(table)]


SUITE = CaseSuite(
    suite=Suite(
        name="learned_pos_embed_add",
        function="learned_pos_embed_add",
        summary="Token features plus the first T rows of a learned position table, the same rows for every sequence of "
        "the batch: result[b, t, d] = x[b, t, d] + table[t, d], one float32 addition each. T may be 0; T > max_T must "
        "raise.",
        source="Gehring et al. 2017, section 3.1, https://arxiv.org/abs/1705.03122",
        parameters=(
            Parameter(name="x", kind="array", dtype="float32", shape="(B, T, D)"),
            Parameter(name="table", kind="array", dtype="float32", shape="(max_T, D)"),
        ),
        output=Output(dtype="float32", rank=3, shape="(B, T, D)"),
        coercion=False,
    ),
    reference=learned_pos_embed_add,
    cases=cases,
    expected=expected,
    mistakes={
        "position-forgotten": _position_forgotten,
        "features-forgotten": _features_forgotten,
        "added-twice": _added_twice,
        "scaled-by-sqrt-d": _scaled_by_sqrt_d,
        "table-divided-by-sqrt-d": _table_divided_by_sqrt_d,
        "along-the-batch": _along_the_batch,
        "first-sequence-only": _first_sequence_only,
        "row-t-only": _rows(lambda T: slice(T, T + 1)),
        "first-row-everywhere": _rows(lambda T: np.zeros(T, dtype=np.intp)),
        "positions-from-one": _rows(lambda T: slice(1, T + 1)),
        "offset-two": _rows(lambda T: slice(2, T + 2)),
        "last-rows": _rows(lambda T: slice(-T, None) if T else slice(0)),
        "reversed-rows": _rows(lambda T: np.arange(T)[::-1]),
        "clamped-past-the-end": _clamped_past_the_end,
        "wrapped-past-the-end": _wrapped_past_the_end,
        "bfloat16-sum": _bfloat16_sum,
    },
)
