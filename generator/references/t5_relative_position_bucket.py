"""T5's buckets for relative positions: exact for near ones, logarithmic for far ones.

Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer (2020), section 2.1,
https://arxiv.org/abs/1910.10683; its code is ``_relative_position_bucket`` of Mesh TensorFlow
(https://github.com/tensorflow/mesh/blob/master/mesh_tensorflow/transformer/transformer_layers.py).

A relative position is that of the key (memory) less that of the query. With n buckets for a direction and
``exact = n // 2``, distances 0 to ``exact - 1`` have a bucket each. A greater distance d has bucket
``exact + floor(log(d / exact) / log(max_distance / exact) * (n - exact))``, or ``n - 1`` if that is less. Bidirectional
attention gives each direction half of the buckets, keys after the query the upper half; else keys after the query share
bucket 0 with the query itself.

The results are integers, so all correct code returns the same ones: the exact floor. Float32 code could miss it only
where the logarithm's value is almost an integer. Over all distances up to three times ``max_distance``, in 15 settings,
JAX (eager and compiled), NumPy and PyTorch in float32, and NumPy in float64, agree with the exact floor everywhere,
also at distances 16, 32 and 64 of the paper's own setting, where the value is an integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from posvec.generator.case_suite import Arguments, CaseSuite, Expected, ReferenceCase
from posvec.generator.references.inputs import Int32, ids
from posvec.schemas.suite import Output, Parameter, Suite

_SETTINGS = (
    # bidirectional, num_buckets, max_distance; the first two are T5's encoder and decoder
    (1, 32, 128),
    (0, 32, 128),
    (1, 16, 64),
    (0, 16, 100),
    (1, 8, 20),
    (0, 8, 128),
    (1, 20, 100),
    (0, 13, 50),
)
_WINDOWS = ((3, 5, 0), (7, 4, 0), (1, 12, 11), (24, 37, 0), (5, 90, 60))
"""Queries, keys, and the position of the first query, where the first key is at 0."""


def t5_relative_position_bucket(
    relative_position: Int32 | jax.Array, bidirectional: int, num_buckets: int, max_distance: int
) -> jax.Array:
    """Return the bucket of each relative position.

    Args:
        relative_position: Key position less query position, int32 of shape (Q, K).
        bidirectional: 1 if keys after the query have buckets of their own, else 0.
        num_buckets: Buckets in all, at least 4.
        max_distance: The distance from which on all share the last bucket, above that of the last exact one.

    Returns:
        int32 array of shape (Q, K), each within 0 to num_buckets - 1.

    """
    relative = jnp.asarray(relative_position)
    buckets = num_buckets // 2 if bidirectional else num_buckets
    first = jnp.where(relative > 0, buckets, 0) if bidirectional else 0
    distance = jnp.abs(relative) if bidirectional else jnp.maximum(-relative, 0)
    exact = buckets // 2
    # As if at least ``exact``: the logarithm of 0 has no integer, and what is nearer is not used.
    ratio = jnp.maximum(distance, exact).astype(jnp.float32) / exact
    steps = (jnp.log(ratio) / math.log(max_distance / exact) * (buckets - exact)).astype(jnp.int32)
    far = jnp.minimum(exact + steps, buckets - 1)
    return (first + jnp.where(distance < exact, distance, far)).astype(jnp.int32)


def cases() -> Iterator[ReferenceCase]:
    """Yield, for each setting, windows of queries and keys, positions spread over the distances, and far ones."""
    for setting in _SETTINGS:
        for Q, K, start in _WINDOWS:
            relative = np.arange(K)[None, :] - (start + np.arange(Q))[:, None]
            yield _case(setting, f"from-{start}", relative)
        for positions, shape, reach in (("spread", (6, 20), 2 * setting[2]), ("far", (3, 7), 2**20)):
            drawn = ids(f"t5_relative_position_bucket {setting} {positions}", *shape, count=2 * reach + 1)
            yield _case(setting, positions, drawn.astype(np.int64) - reach)


def _case(setting: tuple[int, int, int], positions: str, relative: np.ndarray) -> ReferenceCase:
    arguments = dict(zip(("bidirectional", "num_buckets", "max_distance"), setting, strict=True))
    Q, K = relative.shape
    return ReferenceCase(
        axes={**arguments, "Q": Q, "K": K, "positions": positions},
        args={"relative_position": relative.astype(np.int32), **arguments},
    )


def expected(args: Arguments) -> Expected:
    """Return what the reference returns."""
    return Expected(values=np.asarray(t5_relative_position_bucket(**args)))


def _halved(relative: Int32, bidirectional: int, buckets: int) -> tuple[Int32, Int32, int]:
    """Return the distance, the first bucket of each position's direction, and the buckets of a direction."""
    if not bidirectional:
        return np.maximum(-relative, 0), np.zeros_like(relative), buckets
    return np.abs(relative), np.where(relative > 0, buckets // 2, 0).astype(np.int32), buckets // 2


def _truncated(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int32)


def _near_and_far(
    distance: Int32, buckets: int, max_distance: int, to_integer: Callable[[np.ndarray], np.ndarray] = _truncated
) -> Int32:
    """Return the bucket of each distance among those of its direction, int32 of the shape of ``distance``."""
    exact = buckets // 2
    ratio = np.maximum(distance, exact) / exact
    steps = to_integer(np.log(ratio) / math.log(max_distance / exact) * (buckets - exact))
    return np.where(distance < exact, distance, np.minimum(exact + steps, buckets - 1)).astype(np.int32)


def _right(relative_position: Int32, bidirectional: int, num_buckets: int, max_distance: int) -> Int32:
    distance, first, buckets = _halved(relative_position, bidirectional, num_buckets)
    return first + _near_and_far(distance, buckets, max_distance)


def _rounded_by(to_integer: Callable[[np.ndarray], np.ndarray]) -> Callable[[Int32, int, int, int], Int32]:
    def mistake(relative_position: Int32, bidirectional: int, num_buckets: int, max_distance: int) -> Int32:
        distance, first, buckets = _halved(relative_position, bidirectional, num_buckets)
        return first + _near_and_far(distance, buckets, max_distance, to_integer)

    return mistake


def _future_half_swapped(relative_position: Int32, bidirectional: int, num_buckets: int, max_distance: int) -> Int32:
    distance, first, buckets = _halved(relative_position, bidirectional, num_buckets)
    swapped = buckets * (relative_position < 0).astype(np.int32) if bidirectional else first
    return swapped + _near_and_far(distance, buckets, max_distance)


def _buckets_not_halved(relative_position: Int32, bidirectional: int, num_buckets: int, max_distance: int) -> Int32:
    distance, first, _ = _halved(relative_position, bidirectional, num_buckets)
    return first + _near_and_far(distance, num_buckets, max_distance)


def _future_not_shared(relative_position: Int32, bidirectional: int, num_buckets: int, max_distance: int) -> Int32:
    _, first, buckets = _halved(relative_position, bidirectional, num_buckets)
    return first + _near_and_far(np.abs(relative_position), buckets, max_distance)


def _linear(relative_position: Int32, bidirectional: int, num_buckets: int, max_distance: int) -> Int32:  # noqa: ARG001
    distance, first, buckets = _halved(relative_position, bidirectional, num_buckets)
    return first + np.minimum(distance, np.int32(buckets - 1))


def _last_bucket_open(relative_position: Int32, bidirectional: int, num_buckets: int, max_distance: int) -> Int32:
    distance, first, buckets = _halved(relative_position, bidirectional, num_buckets)
    exact = buckets // 2
    steps = np.log(np.maximum(distance, exact) / exact) / math.log(max_distance / exact) * (buckets - exact)
    return first + np.where(distance < exact, distance, exact + steps.astype(np.int32)).astype(np.int32)


def _logarithm_unscaled(relative_position: Int32, bidirectional: int, num_buckets: int, max_distance: int) -> Int32:
    distance, first, buckets = _halved(relative_position, bidirectional, num_buckets)
    exact = buckets // 2
    steps = np.log(np.maximum(distance, exact)) / math.log(max_distance) * (buckets - exact)
    far = np.minimum(exact + steps.astype(np.int32), buckets - 1)
    return first + np.where(distance < exact, distance, far).astype(np.int32)


SUITE = CaseSuite(
    suite=Suite(
        name="t5_relative_position_bucket",
        function="t5_relative_position_bucket",
        summary="T5's bucket of each relative position (key less query): half of a direction's buckets exact, the "
        "others logarithmic up to max_distance, by the exact floor; int32. bidirectional is 1 (keys after the query "
        "have the upper half) or 0 (they share bucket 0).",
        source="Raffel et al. 2020, section 2.1, https://arxiv.org/abs/1910.10683",
        parameters=(
            Parameter(name="relative_position", kind="array", dtype="int32", shape="(Q, K)"),
            Parameter(name="bidirectional", kind="int", minimum=0, maximum=1),
            Parameter(name="num_buckets", kind="int", minimum=4, maximum=2**16),
            Parameter(name="max_distance", kind="int", minimum=2, maximum=2**20),
        ),
        output=Output(dtype="int32", rank=2, shape="(Q, K)"),
        coercion=False,
    ),
    reference=t5_relative_position_bucket,
    cases=cases,
    expected=expected,
    mistakes={
        "sign-flipped": lambda relative_position, bidirectional, num_buckets, max_distance: _right(
            -relative_position, bidirectional, num_buckets, max_distance
        ),
        "never-bidirectional": lambda relative_position, bidirectional, num_buckets, max_distance: _right(  # noqa: ARG005
            relative_position, 0, num_buckets, max_distance
        ),
        "always-bidirectional": lambda relative_position, bidirectional, num_buckets, max_distance: _right(  # noqa: ARG005
            relative_position, 1, num_buckets, max_distance
        ),
        "max-distance-ignored": lambda relative_position, bidirectional, num_buckets, max_distance: _right(  # noqa: ARG005
            relative_position, bidirectional, num_buckets, 128
        ),
        "num-buckets-ignored": lambda relative_position, bidirectional, num_buckets, max_distance: _right(  # noqa: ARG005
            relative_position, bidirectional, 32, max_distance
        ),
        "future-half-swapped": _future_half_swapped,
        "future-not-shared": _future_not_shared,
        "buckets-not-halved": _buckets_not_halved,
        "linear": _linear,
        "last-bucket-open": _last_bucket_open,
        "logarithm-unscaled": _logarithm_unscaled,
        "rounded-to-nearest": _rounded_by(np.rint),
        "rounded-up": _rounded_by(np.ceil),
    },
)
