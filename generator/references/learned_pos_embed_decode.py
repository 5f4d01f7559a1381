"""The rows of a learned position table at one step of cached decoding.

A decoder that keeps keys and values of earlier tokens is given only the T new tokens of a step, whose positions begin
at an offset: the number of tokens before them. Flax's language model example does so with ``lax.dynamic_slice`` and
a running index in its cache (``AddPositionEmbs``, https://github.com/google/flax/blob/main/examples/lm1b/models.py).

What happens past the end of the table is posvec's own contract: the call must raise. A slice in Python would stop at
the end, ``lax.dynamic_slice`` moves its start back until the slice fits
(https://docs.jax.dev/en/latest/_autosummary/jax.lax.dynamic_slice.html), and a gather in JAX clamps or fills with NaN;
each hands rows of other positions to the model, and nothing is heard of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from posvec.generator.case_suite import Arguments, CaseSuite, Expected, ReferenceCase
from posvec.generator.references.inputs import Float32, bell
from posvec.schemas.suite import Output, Parameter, Suite

_STEPS: Mapping[tuple[int, int], tuple[tuple[int, int], ...]] = {
    # (max_T, D): (offset, T), most of them steps of one token
    (8, 4): ((0, 1), (0, 5), (0, 8), (1, 1), (3, 2), (4, 1), (5, 3), (7, 1), (2, 0), (8, 0)),
    (17, 3): ((0, 4), (1, 16), (2, 1), (5, 6), (9, 1), (13, 4), (16, 1), (6, 3)),
    (32, 6): ((0, 32), (4, 1), (7, 9), (15, 2), (16, 16), (30, 1), (31, 1), (10, 5)),
    (50, 5): ((0, 1), (3, 7), (12, 1), (24, 2), (25, 25), (40, 3), (49, 1), (11, 0)),
    (128, 8): ((0, 3), (17, 1), (31, 11), (63, 2), (64, 64), (100, 5), (127, 1), (90, 38)),
}
_PAST_THE_END: Mapping[tuple[int, int], tuple[tuple[int, int, int, int], ...]] = {
    # (max_T, D): (offset, T), then the neighbour's
    (8, 4): ((8, 1, 7, 1), (5, 4, 5, 3), (0, 9, 0, 8)),
    (17, 3): ((14, 4, 13, 4), (16, 2, 16, 1)),
    (50, 5): ((50, 1, 49, 1), (26, 25, 25, 25)),
    (128, 8): ((127, 3, 127, 1), (91, 38, 90, 38)),
}


def learned_pos_embed_decode(table: Float32 | jax.Array, offset: int, T: int) -> jax.Array:
    """Return the rows of positions ``offset`` to ``offset + T - 1``.

    Args:
        table: One row for each position, float32 of shape (max_T, D).
        offset: Position of the first row, at least 0.
        T: Rows to return, at least 0.

    Returns:
        float32 array of shape (T, D).

    Raises:
        ValueError: A position lies past the end of the table.

    """
    if not 0 <= offset <= offset + T <= len(table):
        raise ValueError(f"positions {offset} to {offset + T - 1} must lie within 0 to {len(table) - 1}")
    return jax.lax.dynamic_slice_in_dim(jnp.asarray(table), offset, T)


def cases() -> Iterator[ReferenceCase]:
    """Yield steps within each table, then steps that leave it by as little as one row."""
    for shape, steps in _STEPS.items():
        for offset, T in steps:
            yield _case(shape, offset, T)
    for shape, ends in _PAST_THE_END.items():
        for offset, T, *neighbour in ends:
            yield _case(shape, offset, T, neighbour=_axes(shape, *neighbour))


def _axes(shape: tuple[int, int], offset: int, T: int) -> dict[str, int | str]:
    return {"max_T": shape[0], "D": shape[1], "offset": offset, "T": T}


def _case(
    shape: tuple[int, int], offset: int, T: int, *, neighbour: Mapping[str, int | str] | None = None
) -> ReferenceCase:
    table = bell(f"learned_pos_embed_decode {shape}", *shape, scale=0.02)
    return ReferenceCase(
        axes=_axes(shape, offset, T),
        args={"table": table, "offset": offset, "T": T},
        must_raise=neighbour is not None,
        neighbour=neighbour,
    )


def expected(args: Arguments) -> Expected:
    """Return what the reference returns: rows, copied."""
    return Expected(values=np.asarray(learned_pos_embed_decode(args["table"], args["offset"], args["T"])))


def _slice_stops_at_the_end(table: Float32, offset: int, T: int) -> Float32:
    return table[offset : offset + T]


def _start_moved_back(table: Float32, offset: int, T: int) -> Float32:
    start = max(0, min(offset, len(table) - T))
    return table[start : start + T]


def _clamped_rows(table: Float32, offset: int, T: int) -> Float32:
    return table[np.minimum(offset + np.arange(T), len(table) - 1)]


def _wrapped_rows(table: Float32, offset: int, T: int) -> Float32:
    return table[(offset + np.arange(T)) % len(table)]


def _zeros_past_the_end(table: Float32, offset: int, T: int) -> Float32:
    result = np.zeros((T, table.shape[1]), dtype=table.dtype)
    rows = table[offset : offset + T]
    result[: len(rows)] = rows
    return result


def _nan_past_the_end(table: Float32, offset: int, T: int) -> Float32:
    rows = _zeros_past_the_end(table, offset, T)
    rows[max(0, len(table) - offset) :] = np.nan
    return rows


def _offset_ignored(table: Float32, offset: int, T: int) -> Float32:  # noqa: ARG001 - that is the mistake
    return table[np.arange(T)]


def _offset_doubled(table: Float32, offset: int, T: int) -> Float32:
    return table[2 * offset + np.arange(T)]


def _offset_one_late(table: Float32, offset: int, T: int) -> Float32:
    return table[offset + 1 + np.arange(T)]


def _offset_one_early(table: Float32, offset: int, T: int) -> Float32:
    return table[max(offset - 1, 0) + np.arange(T)]


def _offset_two(table: Float32, offset: int, T: int) -> Float32:
    return table[offset + 2 + np.arange(T)]


def _length_taken_for_the_end(table: Float32, offset: int, T: int) -> Float32:
    return table[offset:T]


def _first_row_everywhere(table: Float32, offset: int, T: int) -> Float32:
    return table[offset + np.zeros(T, dtype=np.intp)]


SUITE = CaseSuite(
    suite=Suite(
        name="learned_pos_embed_decode",
        function="learned_pos_embed_decode",
        summary="The rows of a learned position table at a step of cached decoding: table[offset : offset + T]. T may "
        "be 0. posvec's own contract: offset + T > max_T must raise, whatever the exception.",
        source="Flax, examples/lm1b/models.py, AddPositionEmbs, "
        "https://github.com/google/flax/blob/main/examples/lm1b/models.py",
        parameters=(
            Parameter(name="table", kind="array", dtype="float32", shape="(max_T, D)"),
            Parameter(name="offset", kind="int", minimum=0, maximum=2**20),
            Parameter(name="T", kind="int", minimum=0, maximum=2**20),
        ),
        output=Output(dtype="float32", rank=2, shape="(T, D)"),
        coercion=False,
    ),
    reference=learned_pos_embed_decode,
    cases=cases,
    expected=expected,
    mistakes={
        "slice-stops-at-the-end": _slice_stops_at_the_end,
        "start-moved-back": _start_moved_back,
        "clamped-past-the-end": _clamped_rows,
        "wrapped-past-the-end": _wrapped_rows,
        "zeros-past-the-end": _zeros_past_the_end,
        "nan-past-the-end": _nan_past_the_end,
        "offset-ignored": _offset_ignored,
        "offset-doubled": _offset_doubled,
        "offset-one-late": _offset_one_late,
        "offset-one-early": _offset_one_early,
        "offset-two": _offset_two,
        "length-taken-for-the-end": _length_taken_for_the_end,
        "first-row-everywhere": _first_row_everywhere,
    },
)
