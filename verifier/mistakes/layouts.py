"""Mistakes in the layout: right values, returned as something else than a flat float32 array."""

from __future__ import annotations

from collections.abc import Callable

from posvec.verifier.mistakes.parts import Args, Container, Dtype, Mistake, Shape

_FLAT = "return pos_embed[:T].reshape(-1)"
_FLOAT32 = "return np.asarray(result, np.float32)"
_SHAPES = "https://numpy.org/doc/stable/reference/generated/numpy.reshape.html"
_TYPES = "https://docs.jax.dev/en/latest/type_promotion.html"


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _two_dimensional(shape: tuple[int, ...], args: Args) -> bool:
    return len(shape) == 2 and shape[1] == args.d_model


def _batched(shape: tuple[int, ...], args: Args) -> bool:
    return len(shape) == 3 and shape[0] == 1 and shape[2] == args.d_model


def _features_first(shape: tuple[int, ...], args: Args) -> bool:
    return len(shape) == 2 and shape[0] == args.d_model


def _squeezed(shape: tuple[int, ...], args: Args) -> bool:
    return shape == tuple(length for length in (args.T, args.d_model) if length != 1)


def _row_or_column(position: int) -> Callable[[tuple[int, ...], Args], bool]:
    return lambda shape, _: len(shape) == 2 and shape[position] == 1


MISTAKES = (
    Mistake(
        id="not-flattened",
        title="The result is not flattened",
        why="The contract is a one-dimensional array of T * d_model elements.",
        fix="Flatten it row by row.",
        code=_FLAT,
        example="return pos_embed[:T]",
        reference=_SHAPES,
        variants=(
            Shape(phrase="shape (T, d_model)", fits=_two_dimensional),
            Shape(phrase="shape (1, T, d_model)", fits=_batched),
            Shape(phrase="shape (d_model, T)", fits=_features_first),
            Shape(phrase="shape (T * d_model, 1)", fits=_row_or_column(1)),
            Shape(phrase="shape (1, T * d_model)", fits=_row_or_column(0)),
            Shape(phrase="shape (T, d_model) without its axes of length 1", fits=_squeezed),
        ),
    ),
    Mistake(
        id="scalar",
        title="A single number is returned",
        why="A 0-dimensional array came; something sums, averages or indexes the whole table away.",
        fix="Return the T * d_model values.",
        code=_FLAT,
        example="return pos_embed[:T].mean()",
        reference=_SHAPES,
        variants=(Shape(phrase="a 0-dimensional array", fits=lambda shape, _: shape == ()),),
    ),
    Mistake(
        id="float64",
        title="The result is float64",
        why="NumPy computes in float64 unless it is told otherwise; the contract is float32.",
        fix="Compute in float32 and return float32.",
        code=_FLOAT32,
        example="return np.array(result.tolist())",
        reference="https://numpy.org/doc/stable/reference/arrays.promotion.html",
        variants=(Dtype(phrase="dtype float64", dtype="<f8"),),
    ),
    Mistake(
        id="float16",
        title="The result is float16",
        why="The contract is float32, and float16 has not the bits for these values.",
        fix="Compute in float32 and return float32.",
        code=_FLOAT32,
        example="return result.astype(np.float16)",
        reference=_TYPES,
        variants=(Dtype(phrase="dtype float16", dtype="<f2"),),
    ),
    Mistake(
        id="bfloat16",
        title="The result is bfloat16",
        why="The contract is float32, and bfloat16 has not the bits for these values.",
        fix="Compute in float32 and return float32.",
        code=_FLOAT32,
        example="return result.astype(jnp.bfloat16)",
        reference=_TYPES,
        variants=(Dtype(phrase="dtype bfloat16", dtype="bfloat16"),),
    ),
    Mistake(
        id="big-endian",
        title="The result is big-endian float32",
        why="The contract is float32 in the machine's own byte order, which is little-endian.",
        fix="Return native float32.",
        code="return result.astype(np.float32)",
        example="return np.frombuffer(data, '>f4')",
        reference="https://numpy.org/doc/stable/user/byteswapping.html",
        variants=(Dtype(phrase="dtype big-endian float32", dtype=">f4"),),
    ),
    Mistake(
        id="list",
        title="A list is returned in place of an array",
        why="The contract is a one-dimensional float32 array; a Python float has no dtype of 32 bits.",
        fix="Return an array of NumPy, JAX or Torch.",
        code=_FLOAT32,
        example="return result.tolist()",
        reference="https://numpy.org/doc/stable/reference/generated/numpy.ndarray.tolist.html",
        variants=(Container(phrase="a list", type_name="list"),),
    ),
    Mistake(
        id="tuple",
        title="A tuple is returned in place of an array",
        why="The contract is one array; `return table, shape`, or a stray comma, makes a tuple.",
        fix="Return the array alone.",
        code=_FLAT,
        example="return pos_embed[:T].reshape(-1),",
        reference="https://docs.python.org/3/tutorial/datastructures.html#tuples-and-sequences",
        variants=(Container(phrase="a tuple", type_name="tuple"),),
    ),
)
