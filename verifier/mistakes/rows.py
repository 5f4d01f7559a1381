"""Mistakes in what is returned of the table: which rows, how the table is stored, in which order it is flattened."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posvec.vectors.suites import MAX_T
from posvec.verifier.mistakes.numbers import Index
from posvec.verifier.mistakes.parts import Flatten, Mistake, Rows, Table

_SLICE = "return pos_embed[:T].reshape(-1)"


def _span(start: int, stop: int, limit: int = MAX_T) -> Index:
    """Return rows ``start..stop`` as a slice gives them: none beyond the table."""
    return np.arange(max(0, start), max(0, min(stop, limit)), dtype=np.intp)


def _clamped(rows: Index) -> Index:
    return np.clip(rows, 0, MAX_T - 1)


def _rolled(T: int, by: int) -> Index:
    return np.roll(np.arange(T), by)


def _padded(T: int) -> Index:
    rows = np.arange(MAX_T)
    rows[T:] = -1
    return rows


def _offset(by: int, name: str) -> tuple[Rows, ...]:
    """Return the ways to start ``by`` rows later: a larger table, a slice that ends early, ids that are clamped."""
    return (
        Rows(phrase=f"{name} of a table of {MAX_T + by} rows", of=lambda T: np.arange(T) + by, table_rows=MAX_T + by),
        Rows(phrase=f"{name}, as far as the table has them", of=lambda T: _span(by, T + by)),
        Rows(phrase=f"{name}, the last row in place of rows that it lacks", of=lambda T: _clamped(np.arange(T) + by)),
    )


def _rows(phrase: str, of: Callable[[int], Index]) -> Rows:
    return Rows(phrase=phrase, of=of)


def _c_order(rows: Index, columns: Index, _T: int, d_model: int, _rows: int) -> Index:
    return rows * d_model + columns


DEFAULT_TABLE = Table(phrase="", size=lambda _T, d_model, rows: rows * d_model, flat=_c_order)
DEFAULT_ROWS = Rows(phrase="", of=lambda T: np.arange(T))
DEFAULT_FLATTEN = Flatten(phrase="", of=lambda block: block.reshape(-1))

MISTAKES = (
    Mistake(
        id="rows-from-one",
        title="Positions are counted from one",
        why="Position 0 is row 0; rows 1 to T were returned. An offset of padding_idx + 1, with padding_idx 0, is "
        "the same.",
        fix="Begin with row 0.",
        code=_SLICE,
        example="return pos_embed[1 : T + 1].reshape(-1)",
        reference="https://github.com/huggingface/transformers/issues/5285",
        variants=_offset(1, "rows 1 to T"),
    ),
    Mistake(
        id="rows-from-two",
        title="Positions are shifted by two",
        why="The tables of BART, OPT and RoBERTa begin with two rows for padding, so position p is row p + 2 there; "
        "not here.",
        fix="Use position p for row p.",
        code=_SLICE,
        example="return pos_embed[jnp.arange(T) + 2].reshape(-1)",
        reference="https://github.com/huggingface/transformers/issues/20761",
        variants=_offset(2, "rows 2 to T + 1"),
    ),
    Mistake(
        id="last-rows",
        title="The last T rows are returned in place of the first",
        why="The slice counts from the end of the table.",
        fix="Slice from the start.",
        code=_SLICE,
        example="return pos_embed[-T:].reshape(-1)",
        reference="https://numpy.org/doc/stable/user/basics.indexing.html",
        variants=(
            _rows("the last T rows", lambda T: np.arange(MAX_T - T, MAX_T)),
            _rows("the last T rows (all of them for T = 0)", lambda T: np.arange(MAX_T)[-T:]),
        ),
    ),
    Mistake(
        id="one-row-less",
        title="The last position is left out",
        why="T - 1 rows came for T positions; a range or a slice ends one too early.",
        fix="Slice up to T.",
        code=_SLICE,
        example="return pos_embed[: T - 1].reshape(-1)",
        reference="https://numpy.org/doc/stable/user/basics.indexing.html",
        variants=(
            _rows("T - 1 rows", lambda T: np.arange(MAX_T)[: T - 1] if T else np.arange(0)),
            _rows("T - 1 rows (all but one for T = 0)", lambda T: np.arange(MAX_T)[: T - 1]),
            _rows("rows 1 to T - 1", lambda T: np.arange(MAX_T)[1:T]),
        ),
    ),
    Mistake(
        id="one-row-more",
        title="One position too many is returned",
        why="T + 1 rows came for T positions; a range or a slice ends one too late, or a class token has a row.",
        fix="Slice up to T.",
        code=_SLICE,
        example="return pos_embed[: T + 1].reshape(-1)",
        reference="https://numpy.org/doc/stable/user/basics.indexing.html",
        variants=(
            _rows("T + 1 rows, as far as the table has them", lambda T: _span(0, T + 1)),
            Rows(phrase="T + 1 rows of a table of 33", of=lambda T: np.arange(T + 1), table_rows=MAX_T + 1),
        ),
    ),
    Mistake(
        id="all-rows",
        title="All 32 rows are returned, whatever T is",
        why="The table was not sliced.",
        fix="Return its first T rows.",
        code=_SLICE,
        example="return pos_embed.reshape(-1)",
        reference="https://numpy.org/doc/stable/user/basics.indexing.html",
        variants=(_rows("all 32 rows", lambda _: np.arange(MAX_T)),),
    ),
    Mistake(
        id="padded-with-zeros",
        title="Zeros follow the first T rows, up to 32 rows",
        why="The result was padded to the table's 32 rows.",
        fix="Return T rows.",
        code=_SLICE,
        example="return jnp.where(jnp.arange(32)[:, None] < T, pos_embed, 0).reshape(-1)",
        reference="https://numpy.org/doc/stable/reference/generated/numpy.pad.html",
        variants=(_rows("zeros up to 32 rows", _padded),),
    ),
    Mistake(
        id="row-for-slice",
        title="One row is returned in place of the rows before it",
        why="`table[T]` is row T; `table[:T]` are rows 0 to T - 1.",
        fix="Slice.",
        code=_SLICE,
        example="return pos_embed[T].reshape(-1)",
        reference="https://numpy.org/doc/stable/user/basics.indexing.html",
        variants=(
            _rows("row T alone", lambda T: _clamped(np.array([T]))),
            _rows("row T - 1 alone", lambda T: np.array([T - 1]) % MAX_T),
            _rows("row 0 alone", lambda _: np.array([0])),
        ),
    ),
    Mistake(
        id="first-row-repeated",
        title="Every position has the vector of position 0",
        why="The table is indexed with the batch in place of the sequence, as by `pe[:x.shape[0]]` on batch-first "
        "input, so row 0 is broadcast over all positions.",
        fix="Index with the sequence length.",
        code="x = x + pe[: x.shape[1]]",
        example="x = x + pe[: x.shape[0]]  # x: (1, T, d_model)",
        reference="https://github.com/AkiRusProd/numpy-transformer/issues/1",
        variants=(
            _rows("row 0 for each position", lambda T: np.zeros(T, np.intp)),
            _rows("row T - 1 for each position", lambda T: np.full(T, max(0, T - 1))),
        ),
    ),
    Mistake(
        id="reversed-rows",
        title="The rows come in reverse",
        why="Position 0 is the first row.",
        fix="Do not reverse the table or the positions.",
        code=_SLICE,
        example="return pos_embed[:T][::-1].reshape(-1)",
        reference="https://numpy.org/doc/stable/user/basics.indexing.html",
        variants=(
            _rows("rows T - 1 to 0", lambda T: np.arange(T)[::-1]),
            _rows("rows 31 to 32 - T, the table reversed", lambda T: np.arange(MAX_T)[::-1][:T]),
        ),
    ),
    Mistake(
        id="rotated-rows",
        title="The rows are rotated by one",
        why="Position ids such as 1, 2, 3, 0 put the first row last, or the last one first.",
        fix="Use position ids 0 to T - 1 in order.",
        code="positions = jnp.arange(T)",
        example="positions = jnp.roll(jnp.arange(T), -1)",
        reference="https://numpy.org/doc/stable/reference/generated/numpy.roll.html",
        variants=(
            _rows("rows 1 to T - 1, then 0", lambda T: _rolled(T, -1)),
            _rows("row T - 1, then 0 to T - 2", lambda T: _rolled(T, 1)),
            _rows("rows 31, then 0 to T - 2", lambda T: (np.arange(T) - 1) % MAX_T),
            _rows("rows 1 to T, row 0 after row 31", lambda T: (np.arange(T) + 1) % MAX_T),
        ),
    ),
    Mistake(
        id="transposed-table",
        title="The table is drawn as (d_model, 32) and transposed",
        why="The same numbers are drawn, but number i belongs to feature i // 32 of position i % 32.",
        fix="Initialise the table with shape (32, d_model).",
        code="self.param('pos_embed', init, (32, d_model))",
        example="table = self.param('pos_embed', init, (d_model, 32)).T",
        reference="https://numpy.org/doc/stable/reference/generated/numpy.transpose.html",
        variants=(
            Table(
                phrase="a table initialised as (d_model, 32), transposed",
                size=lambda _T, d_model, rows: rows * d_model,
                flat=lambda rows, columns, _T, _d, table_rows: columns * table_rows + rows,
            ),
        ),
    ),
    Mistake(
        id="only-T-rows",
        title="Only T rows are initialised",
        why="In the stream of JAX before 0.5 a number depends on the size of the whole array, so a table of T rows "
        "holds others than the first T rows of a table of 32.",
        fix="Initialise all 32 rows and return the first T.",
        code="self.param('pos_embed', init, (32, d_model))[:T]",
        example="self.param('pos_embed', init, (T, d_model))",
        reference="https://github.com/jax-ml/jax/issues/13346",
        variants=(
            Table(
                phrase="a table of only T rows",
                size=lambda T, d_model, _rows: T * d_model,
                flat=_c_order,
            ),
            Table(
                phrase="a table initialised as (d_model, T), transposed",
                size=lambda T, d_model, _rows: T * d_model,
                flat=lambda rows, columns, T, _d, _rows: columns * T + rows,
            ),
        ),
        streams=("original",),  # in the other stream it is right
    ),
    Mistake(
        id="feature-major",
        title="The rows are flattened feature by feature",
        why="Feature d of position t belongs at index t * d_model + d; a transpose, or Fortran order, puts it at d * "
        "T + t.",
        fix="Flatten row by row.",
        code=_SLICE,
        example="return pos_embed[:T].T.reshape(-1)",
        reference="https://numpy.org/doc/stable/reference/generated/numpy.ravel.html",
        variants=(Flatten(phrase="its rows flattened feature by feature", of=lambda block: block.T.reshape(-1)),),
    ),
    Mistake(
        id="reshape-for-transpose",
        title="The rows are reshaped where they should be transposed",
        why="`reshape(d_model, T)` does not exchange the axes; undone by a transpose, it mixes positions and features.",
        fix="Leave both out.",
        code=_SLICE,
        example="return pos_embed[:T].reshape(d_model, T).T.reshape(-1)",
        reference="https://numpy.org/doc/stable/user/absolute_beginners.html#transposing-and-reshaping-a-matrix",
        variants=(
            Flatten(
                phrase="its rows reshaped to (d_model, T) and transposed",
                of=lambda block: block.reshape(block.shape[::-1]).T.reshape(-1),
            ),
        ),
    ),
)
