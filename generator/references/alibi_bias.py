"""Attention with linear biases: for each head, a slope times the distance from query to key.

Press, Smith and Lewis, Train Short, Test Long (ALiBi, 2022), section 3, https://arxiv.org/abs/2108.12409. The slopes of
n heads, n a power of two, are the powers ``2**(-8 * h / n)`` for h = 1 to n. For other n the paper's code takes the
slopes of the next smaller power of two, p, and then every other slope of 2p, from the first, until there are n
(``get_slopes``, https://github.com/ofirpress/attention_with_linear_biases).

The paper adds the bias to scores whose future is masked; its rows end at the diagonal, where the bias is 0. Here the
same line goes on beyond it and no mask is included, so that every element is defined:
``bias[h, q, k] = slope[h] * (k - q)``.

Slopes are rounded to float32 first and the product is one float32 multiplication, so the bytes are the same in all
code that does that. Up to p = 8 all slopes are powers of two, and nothing rounds at all. Beyond, code that raises a
float32 base to powers (Hugging Face's BLOOM does) carries the base's own rounding, half a step, into the h-th power as
h / 2 steps, and repeated multiplication adds as many: level ``equivalent`` allows h + 2 steps there. Measured up to 128
heads: 11 steps by powers, 5 by repeated multiplication, 1 for a float64 product rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from posvec.generator.case_suite import Arguments, CaseSuite, Expected, ReferenceCase
from posvec.generator.references.inputs import Float32
from posvec.schemas.suite import Output, Parameter, Suite

_HEADS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 20, 32)
_LENGTHS = (1, 2, 5, 10)
_LONG = ((8, 0), (12, 0), (8, 33), (12, 70), (3, 129), (16, 50))


def exponents(n_heads: int) -> list[tuple[int, int]]:
    """Return, for each head, h and the power of two n in its slope ``2**(-8 * h / n)``."""
    whole = 1 << (n_heads.bit_length() - 1)
    between = [(h, 2 * whole) for h in range(1, 2 * whole + 1, 2)]
    return [(h, whole) for h in range(1, whole + 1)] + between[: n_heads - whole]


def slopes(n_heads: int) -> list[float]:
    """Return the slope of each head, as float64 whose float32 is the correctly rounded one."""
    return [2.0 ** (-8 * h / n) for h, n in exponents(n_heads)]


def alibi_bias(n_heads: int, T: int) -> jax.Array:
    """Return the bias of each head for queries and keys at positions 0 to T - 1.

    Args:
        n_heads: Attention heads, at least 1; a power of two or not.
        T: Positions, at least 0.

    Returns:
        float32 array of shape (n_heads, T, T): ``slope[h] * (k - q)`` for query q and key k.

    """
    positions = jnp.arange(T)
    distance = (positions[None, :] - positions[:, None]).astype(jnp.float32)
    return jnp.asarray(slopes(n_heads), dtype=jnp.float32)[:, None, None] * distance


def cases() -> Iterator[ReferenceCase]:
    """Yield few positions for each number of heads, and many for some."""
    for n_heads, T in (*((n_heads, T) for n_heads in _HEADS for T in _LENGTHS), *_LONG):
        yield ReferenceCase(axes={"n_heads": n_heads, "T": T}, args={"n_heads": n_heads, "T": T})


def expected(args: Arguments) -> Expected:
    """Return what the reference returns, and room where slopes are powers of a base that is no power of two."""
    values = np.asarray(alibi_bias(args["n_heads"], args["T"]))
    steps = [h + 2 if n > 8 else 0 for h, n in exponents(args["n_heads"])]
    room = np.where(values != 0, np.array(steps, dtype=np.uint32)[:, None, None], np.uint32(0))
    return Expected(values=values, below=room, above=room)


def _distance(T: int) -> Float32:
    """Return k - q, float32 of shape (T, T)."""
    return np.arange(T, dtype=np.float32)[None, :] - np.arange(T, dtype=np.float32)[:, None]


def _times(
    distance: Callable[[int], Float32] = _distance, slope: Callable[[int], list[float]] = slopes
) -> Callable[[int, int], Float32]:
    """Return the bias with other distances or slopes."""
    return lambda n_heads, T: np.array(slope(n_heads), dtype=np.float32)[:, None, None] * distance(T)


def _of_the_next_power(n_heads: int) -> list[float]:
    return slopes(1 << (n_heads - 1).bit_length())[:n_heads]


def _unstrided(n_heads: int) -> list[float]:
    whole = 1 << (n_heads.bit_length() - 1)
    return slopes(whole) + slopes(2 * whole)[: n_heads - whole]


SUITE = CaseSuite(
    suite=Suite(
        name="alibi_bias",
        function="alibi_bias",
        summary="ALiBi before the causal mask: bias[h, q, k] = slope[h] * (k - q) for positions 0 to T - 1, also "
        "where k > q. Slopes as in the paper and, for head counts that are no power of two, its code; rounded to "
        "float32, then one float32 multiplication. T may be 0.",
        source="Press et al. 2022, section 3, https://arxiv.org/abs/2108.12409",
        parameters=(
            Parameter(name="n_heads", kind="int", minimum=1, maximum=1024),
            Parameter(name="T", kind="int", minimum=0, maximum=2**14),
        ),
        output=Output(dtype="float32", rank=3, shape="(n_heads, T, T)"),
        coercion=False,
    ),
    reference=alibi_bias,
    cases=cases,
    expected=expected,
    mistakes={
        "sign-flipped": _times(distance=lambda T: -_distance(T)),
        "symmetric": _times(distance=lambda T: -np.abs(_distance(T))),
        "future-zero": _times(distance=lambda T: np.minimum(_distance(T), np.float32(0))),
        "keys-only": _times(distance=lambda T: np.broadcast_to(np.arange(T, dtype=np.float32), (T, T))),
        "last-query-for-all": _times(distance=lambda T: np.broadcast_to(_distance(T)[-1:], (T, T))),
        "distance-one-more": _times(distance=lambda T: _distance(T) - np.float32(1)),
        "ignores-the-head": _times(slope=lambda n_heads: slopes(n_heads)[:1] * n_heads),
        "slopes-reversed": _times(slope=lambda n_heads: slopes(n_heads)[::-1]),
        "slopes-from-one": _times(slope=lambda n_heads: [1.0, *slopes(n_heads)[:-1]]),
        "slopes-sorted": _times(slope=lambda n_heads: sorted(slopes(n_heads), reverse=True)),
        "one-formula-for-every-count": _times(slope=lambda n: [2.0 ** (-8 * head / n) for head in range(1, n + 1)]),
        "first-of-the-next-power": _times(slope=_of_the_next_power),
        "extra-slopes-in-a-row": _times(slope=_unstrided),
        "slopes-to-minus-four": _times(slope=lambda n_heads: [math.sqrt(slope) for slope in slopes(n_heads)]),
    },
)
