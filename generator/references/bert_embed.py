"""Token, position and segment rows, added: the input of BERT before its layer normalisation.

Devlin et al., BERT (2018), section 3 and figure 2, https://arxiv.org/abs/1810.04805; in its code
``embedding_postprocessor`` (https://github.com/google-research/bert/blob/master/modeling.py), which then normalises
each row and drops some: neither is part of this function.

A float32 sum of three depends on the order of its two additions, and real code uses different ones (the paper's code
adds word and segment first; so does Hugging Face's, other ports add word and position first). Two kinds of values:

- ``dyadic``: fractions k/256. Every order is exact, so all correct code returns the same bytes.
- ``full``: all 24 bits of a float32, as trained weights have them. A word's entries lie within 2**-5 to 2**-4 in
  magnitude, those of positions and segments below 2**-7, so that no sum cancels. Expected is the exact sum, rounded
  once; ``below`` and ``above`` reach as far as the three orders do. The default is ``ulp:2``: an intermediate sum lies
  at most one binade above the result, so its rounding costs at most one ULP of the result, and the two final roundings
  half a ULP each. Measured over all elements of these cases: at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from posvec.generator.case_suite import Arguments, CaseSuite, Expected, ReferenceCase
from posvec.generator.references.inputs import Float32, Int32, dyadic, ids, words
from posvec.generator.references.narrow import bfloat16
from posvec.schemas.suite import Output, Parameter, Suite
from posvec.vectors.ulp import ulp_distance

_SHAPES = (
    # B, L, V, max_len, types, D
    (2, 5, 11, 8, 2, 4),
    (3, 7, 20, 7, 2, 5),
    (4, 3, 10, 16, 3, 6),
    (2, 12, 30, 12, 2, 3),
    (5, 2, 13, 9, 4, 7),
    (6, 1, 17, 8, 2, 4),
    (3, 0, 12, 6, 2, 4),
    (1, 9, 40, 20, 2, 8),
    (7, 4, 9, 10, 2, 1),
    (2, 20, 100, 128, 2, 16),
    (3, 31, 64, 32, 3, 10),
    (4, 32, 50, 32, 2, 9),
    (2, 16, 25, 64, 5, 24),
)
_TOO_LONG = ((2, 9, 11, 8, 2, 4), (3, 8, 20, 7, 2, 5), (4, 33, 50, 32, 2, 9))


@jax.jit
def bert_embed(
    word_embeddings: Float32 | jax.Array,
    position_embeddings: Float32 | jax.Array,
    token_type_embeddings: Float32 | jax.Array,
    input_ids: Int32 | jax.Array,
    token_type_ids: Int32 | jax.Array,
) -> jax.Array:
    """Return, for each token, the sum of its word, its position and its segment rows.

    Compiled, because each new shape would else compile each operation by itself.

    Args:
        word_embeddings: float32 of shape (V, D).
        position_embeddings: float32 of shape (max_len, D).
        token_type_embeddings: float32 of shape (types, D).
        input_ids: int32 of shape (B, L), each within 0 to V - 1.
        token_type_ids: Segment of each token, int32 of shape (B, L), each within 0 to types - 1.

    Returns:
        float32 array of shape (B, L, D).

    Raises:
        ValueError: L > max_len.

    """
    length = input_ids.shape[1]
    if length > len(position_embeddings):
        raise ValueError(f"L must be at most {len(position_embeddings)}, got {length}")
    words_and_types = jnp.asarray(word_embeddings)[input_ids] + jnp.asarray(token_type_embeddings)[token_type_ids]
    return words_and_types + jnp.asarray(position_embeddings)[:length]


def cases() -> Iterator[ReferenceCase]:
    """Yield each shape with both kinds of values and of segments, then sequences too long."""
    for shape in _SHAPES:
        for values in ("dyadic", "full"):
            for segments in ("blocks", "mixed") if shape[1] > 1 else ("mixed",):
                yield _case(shape, values, segments)
    for B, L, V, max_len, types, D in _TOO_LONG:
        longest = (B, max_len, V, max_len, types, D)
        if longest not in _SHAPES:
            yield _case(longest, "dyadic", "mixed")
        neighbour = _axes(longest, "dyadic", "mixed")
        yield _case((B, L, V, max_len, types, D), "dyadic", "mixed", neighbour=neighbour)


def _axes(shape: tuple[int, ...], values: str, segments: str) -> dict[str, int | str]:
    names = ("B", "L", "V", "max_len", "types", "D", "values", "segments")
    return dict(zip(names, (*shape, values, segments), strict=True))


def _case(
    shape: tuple[int, int, int, int, int, int],
    values: str,
    segments: str,
    *,
    neighbour: Mapping[str, int | str] | None = None,
) -> ReferenceCase:
    B, L, V, max_len, types, D = shape
    salt = f"bert_embed {shape} {values} {segments} "
    exact = values == "dyadic"
    args = {
        "word_embeddings": dyadic(salt + "word", V, D) if exact else _large(salt + "word", V, D),
        "position_embeddings": dyadic(salt + "pos", max_len, D) if exact else _small(salt + "pos", max_len, D),
        "token_type_embeddings": dyadic(salt + "type", types, D) if exact else _small(salt + "type", types, D),
        "input_ids": ids(salt + "ids", B, L, count=V),
        "token_type_ids": _segments(salt + "segments", B, L, types, blocks=segments == "blocks"),
    }
    axes = _axes(shape, values, segments)
    return ReferenceCase(axes=axes, args=args, must_raise=neighbour is not None, neighbour=neighbour)


def _large(salt: str, *shape: int) -> Float32:
    """Return values of either sign, uniform within 2**-5 to 2**-4 in magnitude."""
    drawn = words(salt, *shape)
    magnitude = (2**23 + (drawn >> np.uint32(9)).astype(np.float64)) * 2.0**-28
    return np.where(drawn & 1, magnitude, -magnitude).astype(np.float32)


def _small(salt: str, *shape: int) -> Float32:
    """Return values of either sign, odd multiples of 2**-31 below 2**-7 in magnitude."""
    drawn = words(salt, *shape)
    magnitude = ((drawn >> np.uint32(8)) | np.uint32(1)).astype(np.float64) * 2.0**-31
    return np.where(drawn & 1, magnitude, -magnitude).astype(np.float32)


def _segments(salt: str, B: int, L: int, types: int, *, blocks: bool) -> Int32:
    """Return a segment for each token: at random, or growing from 0 along each sequence, as in a pair."""
    if not blocks:
        return ids(salt, B, L, count=types)
    bounds = 1 + np.sort(ids(salt, B, types - 1, count=L - 1), axis=1)
    segments: Int32 = (np.arange(L)[None, :, None] >= bounds[:, None, :]).sum(axis=2).astype(np.int32)
    return segments


def expected(args: Arguments) -> Expected:
    """Return the exact sums, rounded once, and how far the three orders of adding in float32 lie from them."""
    words, types, positions = _rows(**args)
    # All three are multiples of 2**-31 below 8, so float64 adds them exactly.
    values = (words.astype(np.float64) + types + positions).astype(np.float32)
    orders = ((words + types) + positions, (words + positions) + types, words + (types + positions))
    steps = np.stack([ulp_distance(order, values) for order in orders])
    below, above = np.maximum(-steps, 0).max(axis=0), np.maximum(steps, 0).max(axis=0)
    return Expected(values=values, below=below.astype(np.uint32), above=above.astype(np.uint32))


def _rows(
    word_embeddings: Float32,
    position_embeddings: Float32,
    token_type_embeddings: Float32,
    input_ids: Int32,
    token_type_ids: Int32,
) -> tuple[Float32, Float32, Float32]:
    """Return the word, segment and position rows of each token, each float32 of shape (B, L, D)."""
    rows = position_embeddings[np.arange(input_ids.shape[1])]
    words, types = word_embeddings[input_ids], token_type_embeddings[token_type_ids]
    return words, types, np.broadcast_to(rows, words.shape)


def _added(rows: Callable[[Float32, Float32, Float32], Float32]) -> Callable[..., Float32]:
    """Return the function that combines word, segment and position rows so."""

    def mistake(
        word_embeddings: Float32,
        position_embeddings: Float32,
        token_type_embeddings: Float32,
        input_ids: Int32,
        token_type_ids: Int32,
    ) -> Float32:
        return rows(*_rows(word_embeddings, position_embeddings, token_type_embeddings, input_ids, token_type_ids))

    return mistake


def _looked_up(
    *,
    positions: Callable[[Float32, Int32], Float32] = lambda table, input_ids: table[np.arange(input_ids.shape[1])],
    segments: Callable[[Float32, Int32], Float32] = lambda table, token_type_ids: table[token_type_ids],
) -> Callable[..., Float32]:
    """Return the function that takes other rows from the position or the segment table."""

    def mistake(
        word_embeddings: Float32,
        position_embeddings: Float32,
        token_type_embeddings: Float32,
        input_ids: Int32,
        token_type_ids: Int32,
    ) -> Float32:
        words_and_types = word_embeddings[input_ids] + segments(token_type_embeddings, token_type_ids)
        return words_and_types + positions(position_embeddings, input_ids)

    return mistake


def _segment_and_position_swapped(
    word_embeddings: Float32,
    position_embeddings: Float32,
    token_type_embeddings: Float32,
    input_ids: Int32,
    token_type_ids: Int32,
) -> Float32:
    types = token_type_embeddings[np.arange(input_ids.shape[1]) % len(token_type_embeddings)]
    return word_embeddings[input_ids] + types + position_embeddings[token_type_ids]


def _normalised(words: Float32, types: Float32, positions: Float32) -> Float32:
    rows = words + types + positions
    centred = rows - rows.mean(axis=2, keepdims=True)
    normal: Float32 = centred / np.sqrt(centred.var(axis=2, keepdims=True) + np.float32(1e-12))
    return normal


SUITE = CaseSuite(
    suite=Suite(
        name="bert_embed",
        function="bert_embed",
        summary="The input of BERT before layer normalisation and dropout: word_embeddings[input_ids[b, l]] + "
        "position_embeddings[l] + token_type_embeddings[token_type_ids[b, l]], added in any order. L may be 0; "
        "L > max_len must raise.",
        source="Devlin et al. 2018, section 3, https://arxiv.org/abs/1810.04805",
        parameters=(
            Parameter(name="word_embeddings", kind="array", dtype="float32", shape="(V, D)"),
            Parameter(name="position_embeddings", kind="array", dtype="float32", shape="(max_len, D)"),
            Parameter(name="token_type_embeddings", kind="array", dtype="float32", shape="(types, D)"),
            Parameter(name="input_ids", kind="array", dtype="int32", shape="(B, L)"),
            Parameter(name="token_type_ids", kind="array", dtype="int32", shape="(B, L)"),
        ),
        output=Output(dtype="float32", rank=3, shape="(B, L, D)"),
        coercion=False,
        default_match="ulp:2",
    ),
    reference=bert_embed,
    cases=cases,
    expected=expected,
    mistakes={
        "word-forgotten": _added(lambda words, types, positions: types + positions),  # noqa: ARG005
        "segment-forgotten": _added(lambda words, types, positions: words + positions),  # noqa: ARG005
        "position-forgotten": _added(lambda words, types, positions: words + types),  # noqa: ARG005
        "position-added-twice": _added(lambda words, types, positions: words + types + positions + positions),
        "segment-added-twice": _added(lambda words, types, positions: words + types + types + positions),
        "scaled-by-sqrt-d": _added(
            lambda words, types, positions: words * np.float32(math.sqrt(words.shape[2])) + types + positions
        ),
        "layer-normalised": _added(_normalised),
        "bfloat16-sum": _added(lambda words, types, positions: bfloat16(bfloat16(words + types) + bfloat16(positions))),
        "segment-always-zero": _looked_up(segments=lambda table, ids: table[np.zeros_like(ids)]),
        "segments-from-one": _looked_up(segments=lambda table, ids: table[np.minimum(ids + 1, len(table) - 1)]),
        "segments-reversed": _looked_up(segments=lambda table, ids: table[len(table) - 1 - ids]),
        "segment-and-position-swapped": _segment_and_position_swapped,
        "positions-from-one": _looked_up(positions=lambda table, ids: table[1 : 1 + ids.shape[1]]),
        "offset-two": _looked_up(positions=lambda table, ids: table[2 : 2 + ids.shape[1]]),
        "along-the-batch": _looked_up(positions=lambda table, ids: table[: ids.shape[0]][:, None, :]),
        "left-padded": _looked_up(positions=lambda table, ids: table[len(table) - ids.shape[1] :]),
        "clamped-past-the-end": _looked_up(
            positions=lambda table, ids: table[np.minimum(np.arange(ids.shape[1]), len(table) - 1)]
        ),
    },
)
