"""Rows of a token table plus rows of a learned position table: the input of GPT-2.

Radford et al., Language Models are Unsupervised Multitask Learners (2019); in its code ``wte`` gathered by the tokens
plus ``wpe`` gathered by the positions (https://github.com/openai/gpt-2/blob/master/src/model.py). Here with two Flax
``nn.Embed`` modules that hold the given tables, in evaluation mode: without dropout.

Each element is one float32 addition of two stored values, so all correct code returns the same bytes. Positions start
at 0 in every sequence, whatever its tokens are. A sequence longer than the position table must raise; a token id
outside its table is not part of the contract.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from posvec.generator.case_suite import Arguments, CaseSuite, Expected, ReferenceCase
from posvec.generator.references.inputs import Float32, Int32, bell, dyadic, ids
from posvec.generator.references.narrow import bfloat16
from posvec.schemas.suite import Output, Parameter, Suite

_SHAPES = (
    # B, L, V, max_len, D
    (2, 5, 11, 8, 4),
    (3, 7, 20, 7, 5),
    (4, 3, 10, 16, 6),
    (2, 12, 30, 12, 3),
    (5, 2, 13, 9, 7),
    (6, 1, 17, 8, 4),
    (3, 0, 12, 6, 4),
    (1, 9, 40, 20, 8),
    (7, 4, 9, 10, 1),
    (2, 20, 100, 128, 16),
    (3, 31, 64, 32, 10),
    (4, 32, 50, 32, 9),
    (2, 16, 25, 64, 24),
    (5, 11, 70, 40, 12),
)
_TOO_LONG = ((2, 9, 11, 8, 4), (3, 7, 20, 6, 5), (4, 33, 50, 32, 9))


@jax.jit
def token_pos_embed(
    tok_weight: Float32 | jax.Array, pos_weight: Float32 | jax.Array, token_ids: Int32 | jax.Array
) -> jax.Array:
    """Return, for each token, its row of the token table plus the row of its position.

    Compiled, because each new shape would else compile each operation by itself.

    Args:
        tok_weight: Token table, float32 of shape (V, D).
        pos_weight: Position table, float32 of shape (max_len, D).
        token_ids: int32 of shape (B, L), each within 0 to V - 1.

    Returns:
        float32 array of shape (B, L, D): ``tok_weight[token_ids[b, l], d] + pos_weight[l, d]``.

    Raises:
        ValueError: L > max_len.

    """
    length = token_ids.shape[1]
    if length > len(pos_weight):
        raise ValueError(f"L must be at most {len(pos_weight)}, the rows of pos_weight, got {length}")
    return _embed(tok_weight, token_ids) + _embed(pos_weight, jnp.arange(length))[None, :, :]


def _embed(weight: Float32 | jax.Array, indices: Int32 | jax.Array) -> jax.Array:
    table = nn.Embed(num_embeddings=weight.shape[0], features=weight.shape[1])
    rows: jax.Array = table.apply({"params": {"embedding": jnp.asarray(weight)}}, jnp.asarray(indices))  # type: ignore[assignment]
    return rows


def cases() -> Iterator[ReferenceCase]:
    """Yield each shape with exact sums and with rounded ones, then sequences too long by one and by one neighbour."""
    for shape in _SHAPES:
        for values in ("dyadic", "full", "small-positions"):
            yield _case(shape, values)
    for B, L, V, max_len, D in _TOO_LONG:
        longest = (B, max_len, V, max_len, D)
        if longest not in _SHAPES:
            yield _case(longest, "full")
        yield _case((B, L, V, max_len, D), "full", neighbour=_axes(longest, "full"))


def _axes(shape: tuple[int, int, int, int, int], values: str) -> dict[str, int | str]:
    return dict(zip(("B", "L", "V", "max_len", "D", "values"), (*shape, values), strict=True))


def _case(
    shape: tuple[int, int, int, int, int], values: str, *, neighbour: Mapping[str, int | str] | None = None
) -> ReferenceCase:
    B, L, V, max_len, D = shape
    salt = f"token_pos_embed {shape} {values} "
    if values == "dyadic":
        weights = {"tok_weight": dyadic(salt + "tok", V, D), "pos_weight": dyadic(salt + "pos", max_len, D)}
    else:
        scale = 0.02 if values == "small-positions" else 1.0
        weights = {"tok_weight": bell(salt + "tok", V, D), "pos_weight": bell(salt + "pos", max_len, D, scale=scale)}
    return ReferenceCase(
        axes=_axes(shape, values),
        args={**weights, "token_ids": ids(salt + "ids", B, L, count=V)},
        must_raise=neighbour is not None,
        neighbour=neighbour,
    )


def expected(args: Arguments) -> Expected:
    """Return what the reference returns: one rounded addition an element."""
    return Expected(values=np.asarray(token_pos_embed(args["tok_weight"], args["pos_weight"], args["token_ids"])))


def _position_forgotten(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:  # noqa: ARG001
    return tok_weight[token_ids]


def _token_forgotten(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:  # noqa: ARG001
    return np.broadcast_to(pos_weight[: token_ids.shape[1]], (*token_ids.shape, pos_weight.shape[1])).copy()


def _added_twice(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    rows = pos_weight[: token_ids.shape[1]]
    return tok_weight[token_ids] + rows + rows


def _scaled_by_sqrt_d(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    root = np.float32(math.sqrt(tok_weight.shape[1]))
    return tok_weight[token_ids] * root + pos_weight[: token_ids.shape[1]]


def _along_the_batch(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    return tok_weight[token_ids] + pos_weight[: token_ids.shape[0]][:, None, :]


def _position_of_the_token_id(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    return tok_weight[token_ids] + pos_weight[np.minimum(token_ids, len(pos_weight) - 1)]


def _offset_two(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    return tok_weight[token_ids] + pos_weight[2 : 2 + token_ids.shape[1]]


def _positions_from_one(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    return tok_weight[token_ids] + pos_weight[1 : 1 + token_ids.shape[1]]


def _positions_of_padded_tokens(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    """Count only tokens that are not padding, as RoBERTa does, with 0 for the padding id."""
    positions = np.cumsum(token_ids != 0, axis=1, dtype=np.int32) - 1
    return tok_weight[token_ids] + pos_weight[np.maximum(positions, 0)]


def _left_padded(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    length = token_ids.shape[1]
    return tok_weight[token_ids] + pos_weight[len(pos_weight) - length :]


def _reversed_positions(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    return tok_weight[token_ids] + pos_weight[: token_ids.shape[1]][::-1]


def _clamped_past_the_end(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    return tok_weight[token_ids] + pos_weight[np.minimum(np.arange(token_ids.shape[1]), len(pos_weight) - 1)]


def _wrapped_past_the_end(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    return tok_weight[token_ids] + pos_weight[np.arange(token_ids.shape[1]) % len(pos_weight)]


def _nan_past_the_end(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    result = _clamped_past_the_end(tok_weight, pos_weight, token_ids)
    result[:, len(pos_weight) :] = np.nan
    return result


def _bfloat16_sum(tok_weight: Float32, pos_weight: Float32, token_ids: Int32) -> Float32:
    return bfloat16(bfloat16(tok_weight)[token_ids] + bfloat16(pos_weight)[: token_ids.shape[1]])


SUITE = CaseSuite(
    suite=Suite(
        name="token_pos_embed",
        function="token_pos_embed",
        summary="The input of GPT-2, without dropout: result[b, l] = tok_weight[token_ids[b, l]] + pos_weight[l], one "
        "float32 addition an element. L may be 0; L > max_len must raise.",
        source="Radford et al. 2019, src/model.py, https://github.com/openai/gpt-2/blob/master/src/model.py",
        parameters=(
            Parameter(name="tok_weight", kind="array", dtype="float32", shape="(V, D)"),
            Parameter(name="pos_weight", kind="array", dtype="float32", shape="(max_len, D)"),
            Parameter(name="token_ids", kind="array", dtype="int32", shape="(B, L)"),
        ),
        output=Output(dtype="float32", rank=3, shape="(B, L, D)"),
        coercion=False,
    ),
    reference=token_pos_embed,
    cases=cases,
    expected=expected,
    mistakes={
        "position-forgotten": _position_forgotten,
        "token-forgotten": _token_forgotten,
        "added-twice": _added_twice,
        "scaled-by-sqrt-d": _scaled_by_sqrt_d,
        "along-the-batch": _along_the_batch,
        "position-of-the-token-id": _position_of_the_token_id,
        "offset-two": _offset_two,
        "positions-from-one": _positions_from_one,
        "positions-of-padded-tokens": _positions_of_padded_tokens,
        "left-padded": _left_padded,
        "reversed-positions": _reversed_positions,
        "clamped-past-the-end": _clamped_past_the_end,
        "wrapped-past-the-end": _wrapped_past_the_end,
        "nan-past-the-end": _nan_past_the_end,
        "bfloat16-sum": _bfloat16_sum,
    },
)
