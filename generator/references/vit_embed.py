"""A class token joined before patch features, plus a learned position row for each: the input of ViT.

Dosovitskiy et al., An Image is Worth 16x16 Words (2021), equation 1, https://arxiv.org/abs/2010.11929: the class token
comes first and has a position of its own, row 0, so that N patches need N + 1 rows. Official code, in Flax:
https://github.com/google-research/vision_transformer/blob/main/vit_jax/models_vit.py.

Patches come flattened, in the order of the caller's grid: this function does not know its height and width. Each
element is one float32 addition, so all correct code returns the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from posvec.generator.case_suite import Arguments, CaseSuite, Expected, ReferenceCase
from posvec.generator.references.inputs import Float32, bell, dyadic
from posvec.generator.references.narrow import bfloat16
from posvec.schemas.suite import Output, Parameter, Suite

_SHAPES = (
    # B, N, D; grids of 2 x 3, 3 x 4, 3 x 5, 2 x 2, 2 x 5, 3 x 3, 1 x 7, 4 x 5, 1 x 1, 1 x 2, 4 x 4, 6 x 8, 7 x 9 and
    # 14 x 16
    (2, 6, 4),
    (3, 12, 5),
    (4, 15, 6),
    (5, 4, 3),
    (4, 10, 9),
    (2, 9, 8),
    (6, 7, 4),
    (3, 20, 7),
    (4, 1, 5),
    (1, 2, 6),
    (2, 16, 10),
    (3, 48, 12),
    (2, 63, 1),
    (2, 224, 16),
)


@jax.jit
def vit_embed(patches: Float32 | jax.Array, cls: Float32 | jax.Array, pos: Float32 | jax.Array) -> jax.Array:
    """Return the class token and the patches with the row of its position added to each.

    Compiled, because each new shape would else compile each operation by itself.

    Args:
        patches: Features, float32 of shape (B, N, D).
        cls: The class token, float32 of shape (D,), the same for every image.
        pos: Position rows, float32 of shape (N + 1, D); row 0 is the class token's.

    Returns:
        float32 array of shape (B, N + 1, D).

    """
    patches, cls = jnp.asarray(patches), jnp.asarray(cls)
    first = jnp.broadcast_to(cls, (patches.shape[0], 1, patches.shape[2]))
    return jnp.concatenate([first, patches], axis=1) + jnp.asarray(pos)[None, :, :]


def cases() -> Iterator[ReferenceCase]:
    """Yield each shape with exact sums, with rounded ones and with small position rows, as trained."""
    for B, N, D in _SHAPES:
        for values in ("dyadic", "full", "small-positions"):
            salt = f"vit_embed {B} {N} {D} {values} "
            if values == "dyadic":
                arrays = [dyadic(salt + "patches", B, N, D), dyadic(salt + "cls", D), dyadic(salt + "pos", N + 1, D)]
            else:
                scale = 0.02 if values == "small-positions" else 1.0
                arrays = [bell(salt + "patches", B, N, D), bell(salt + "cls", D)]
                arrays.append(bell(salt + "pos", N + 1, D, scale=scale))
            yield ReferenceCase(
                axes={"B": B, "N": N, "D": D, "values": values},
                args=dict(zip(("patches", "cls", "pos"), arrays, strict=True)),
            )


def expected(args: Arguments) -> Expected:
    """Return what the reference returns: one rounded addition an element."""
    return Expected(values=np.asarray(vit_embed(args["patches"], args["cls"], args["pos"])))


def _joined(patches: Float32, cls: Float32) -> Float32:
    """Return the class token before the patches, float32 of shape (B, N + 1, D)."""
    return np.concatenate([np.broadcast_to(cls, (len(patches), 1, len(cls))), patches], axis=1)


def _with_rows(rows: Callable[[Float32], Float32]) -> Callable[[Float32, Float32, Float32], Float32]:
    """Return the function that adds these rows instead of ``pos``."""
    return lambda patches, cls, pos: _joined(patches, cls) + rows(pos)


def _class_without_position(patches: Float32, cls: Float32, pos: Float32) -> Float32:
    return _joined(patches + pos[1:], cls)


def _class_joined_after_positions(patches: Float32, cls: Float32, pos: Float32) -> Float32:
    return _joined(patches + pos[:-1], cls)


def _class_last(patches: Float32, cls: Float32, pos: Float32) -> Float32:
    return np.concatenate([patches, np.broadcast_to(cls, (len(patches), 1, len(cls)))], axis=1) + pos


def _class_forgotten(patches: Float32, cls: Float32, pos: Float32) -> Float32:  # noqa: ARG001
    return patches + pos[1:]


def _class_zero(patches: Float32, cls: Float32, pos: Float32) -> Float32:
    return _joined(patches, np.zeros_like(cls)) + pos


def _class_of_the_first_image_only(patches: Float32, cls: Float32, pos: Float32) -> Float32:
    rows = _joined(patches, cls)
    rows[1:, 0] = 0
    return rows + pos


def _scaled_by_sqrt_d(patches: Float32, cls: Float32, pos: Float32) -> Float32:
    return _joined(patches, cls) * np.float32(math.sqrt(len(cls))) + pos


def _along_the_batch(patches: Float32, cls: Float32, pos: Float32) -> Float32:
    return _joined(patches, cls) + pos[: len(patches)][:, None, :]


def _bfloat16_sum(patches: Float32, cls: Float32, pos: Float32) -> Float32:
    return bfloat16(bfloat16(_joined(patches, cls)) + bfloat16(pos))


def _grid_transposed(pos: Float32) -> Float32:
    """Return the rows as if patches were counted down columns, of the grid of N patches that is nearest to a square."""
    N = len(pos) - 1
    height = max(side for side in range(1, math.isqrt(N) + 1) if N % side == 0)
    order = np.arange(N).reshape(N // height, height).T.reshape(-1)
    return np.concatenate([pos[:1], pos[1:][order]])


SUITE = CaseSuite(
    suite=Suite(
        name="vit_embed",
        function="vit_embed",
        summary="The input of ViT: the class token joined before the N patches of each image, plus pos, whose row 0 is "
        "the class token's; one float32 addition an element. Patches come flattened, N >= 1.",
        source="Dosovitskiy et al. 2021, equation 1, https://arxiv.org/abs/2010.11929",
        parameters=(
            Parameter(name="patches", kind="array", dtype="float32", shape="(B, N, D)"),
            Parameter(name="cls", kind="array", dtype="float32", shape="(D,)"),
            Parameter(name="pos", kind="array", dtype="float32", shape="(N + 1, D)"),
        ),
        output=Output(dtype="float32", rank=3, shape="(B, N + 1, D)"),
        coercion=False,
    ),
    reference=vit_embed,
    cases=cases,
    expected=expected,
    mistakes={
        "class-without-position": _class_without_position,
        "class-joined-after-positions": _class_joined_after_positions,
        "class-last": _class_last,
        "class-forgotten": _class_forgotten,
        "class-zero": _class_zero,
        "class-of-the-first-image-only": _class_of_the_first_image_only,
        "position-forgotten": lambda patches, cls, pos: _joined(patches, cls),  # noqa: ARG005
        "added-twice": lambda patches, cls, pos: _joined(patches, cls) + pos + pos,
        "scaled-by-sqrt-d": _scaled_by_sqrt_d,
        "along-the-batch": _along_the_batch,
        "rows-rotated": _with_rows(lambda pos: np.roll(pos, -1, axis=0)),
        "rows-reversed": _with_rows(lambda pos: pos[::-1]),
        "first-row-everywhere": _with_rows(lambda pos: pos[:1]),
        "grid-transposed": _with_rows(_grid_transposed),
        "bfloat16-sum": _bfloat16_sum,
    },
)
