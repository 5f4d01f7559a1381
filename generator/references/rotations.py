"""Cases, exact values and known mistakes that both layouts of rotary position embedding share.

A layout says which features make pair i of a head: 2i and 2i + 1, or i and i + D / 2. All else is the same: pair i of a
token at position p turns by the angle ``p * base**(-2 * i / D)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.generator.case_suite import Arguments, Expected, ReferenceCase
from posvec.generator.references.angles import Angles, Float64
from posvec.generator.references.inputs import Float32, Int32, bell, ids
from posvec.generator.references.narrow import bfloat16, float16
from posvec.schemas.suite import Output, Parameter

Rotation = Callable[[Float32, Int32, float], Float32]
Pairs = Callable[[int], tuple[NDArray[np.intp], NDArray[np.intp]]]
"""Returns the first and the second feature of each pair of a head's D."""

PARAMETERS = (
    Parameter(name="x", kind="array", dtype="float32", shape="(B, T, H, D)"),
    Parameter(name="positions", kind="array", dtype="int32", shape="(B, T)"),
    Parameter(name="base", kind="float"),
)
OUTPUT = Output(dtype="float32", rank=4, shape="(B, T, H, D)")

ULP = 5
"""ULP of the larger product that sine, cosine, two products and their sum may be off: 4 and 1."""

FARTHEST = 2**17
"""Positions are below it: the longest contexts that models are trained for."""

_SHAPES = (
    # B, T, H, D
    (2, 3, 1, 2),
    (2, 5, 3, 4),
    (3, 4, 2, 6),
    (1, 7, 4, 8),
    (4, 6, 5, 10),
    (2, 9, 3, 16),
    (3, 2, 7, 12),
    (2, 16, 4, 32),
    (3, 12, 5, 64),
    (2, 11, 3, 128),
)
_KINDS = ("from-zero", "offset", "mixed", "left-padded", "far")


def adjacent(D: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the features 0, 2, 4, … and 1, 3, 5, … as the pairs' first and second ones."""
    return np.arange(0, D, 2), np.arange(1, D, 2)


def halves(D: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the lower and the upper half of the features as the pairs' first and second ones."""
    return np.arange(D // 2), np.arange(D // 2, D)


def cases(name: str) -> Iterator[ReferenceCase]:
    """Yield each shape with base 10000 at each kind of positions, then other bases, and no positions at all.

    The base 10000 comes first for each D: code that keeps the angles of its first call for all bases is then code that
    ignores the base.
    """
    for shape in _SHAPES:
        for kind in _KINDS:
            yield _case(name, shape, kind, 10000.0)
    for shape in _SHAPES[1:]:
        yield _case(name, shape, "mixed", 500000.0)
    for shape in _SHAPES[1::3]:
        yield _case(name, shape, "offset", 100.0)
    yield _case(name, (2, 0, 3, 4), "from-zero", 10000.0)


def _case(name: str, shape: tuple[int, int, int, int], kind: str, base: float) -> ReferenceCase:
    B, T, H, D = shape
    salt = f"{name} {shape} {kind} {base} "
    axes: dict[str, int | str] = {"B": B, "T": T, "H": H, "D": D, "positions": kind, "base": int(base)}
    args = {"x": bell(salt + "x", *shape), "positions": _positions(salt + "positions", kind, B, T), "base": base}
    return ReferenceCase(axes=axes, args=args)


def _positions(salt: str, kind: str, B: int, T: int) -> Int32:
    steps = np.broadcast_to(np.arange(T, dtype=np.int32), (B, T))
    if kind == "from-zero":
        return steps.copy()
    if kind == "offset":
        return steps + ids(salt, B, 1, count=2000)
    if kind == "left-padded":
        padding = ids(salt, B, 1, count=max(2, T // 2))
        return np.where(steps > padding, steps - padding, 0).astype(np.int32)
    return ids(salt, B, T, count=FARTHEST if kind == "far" else 4096)


def expecting(pairs: Pairs) -> Callable[[Arguments], Expected]:
    """Return the function that gives the correctly rounded rotation in a layout, and the room around it."""

    def expected(args: Arguments) -> Expected:
        x: Float32 = args["x"]
        first, second = pairs(x.shape[3])
        angles = Angles.of(np.repeat(args["positions"][:, :, None], x.shape[2], axis=2), args["base"], x.shape[3])
        turned = (
            angles.combined(x[..., first], -x[..., second], ulp=ULP),
            angles.combined(x[..., second], x[..., first], ulp=ULP),
        )

        def joined(parts: tuple[NDArray[Any] | None, NDArray[Any] | None]) -> NDArray[Any]:
            whole = np.empty(x.shape, dtype=np.asarray(parts[0]).dtype)
            whole[..., first], whole[..., second] = parts
            return whole

        return Expected(
            values=joined((turned[0].values, turned[1].values)),
            below=joined((turned[0].below, turned[1].below)),
            above=joined((turned[0].above, turned[1].above)),
        )

    return expected


def _frequencies(base: float, D: int) -> Float64:
    frequencies: Float64 = np.power(base, -np.arange(0, D, 2) / D)
    return frequencies


def _turned(
    pairs: Pairs,
    *,
    positions: Callable[[NDArray[Any]], NDArray[Any]] = lambda positions: positions,
    frequencies: Callable[[float, int], NDArray[Any]] = _frequencies,
    rounded: Callable[[Float64], NDArray[Any]] = lambda angle: angle,
    sign: int = 1,
) -> Rotation:
    """Return the rotation in a layout, wrong in one of its parts."""

    def rotation(x: Float32, positions_: NDArray[Any], base: float) -> Float32:
        angle = positions(positions_).astype(np.float64)[:, :, None, None] * frequencies(base, x.shape[3])
        return _applied(x, pairs, *_cosine_and_sine(sign * rounded(angle)))

    return lambda x, positions, base: rotation(x, positions, base)


def _cosine_and_sine(angle: NDArray[Any]) -> tuple[Float32, Float32]:
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def _applied(x: Float32, pairs: Pairs, cosine: Float32, sine: Float32) -> Float32:
    first, second = pairs(x.shape[3])
    result = np.empty_like(x)
    result[..., first] = x[..., first] * cosine - x[..., second] * sine
    result[..., second] = x[..., second] * cosine + x[..., first] * sine
    return result


def _along_the_heads(pairs: Pairs) -> Rotation:
    def rotation(x: Float32, positions: Int32, base: float) -> Float32:
        by_head = positions[:, np.arange(x.shape[2]) % max(1, x.shape[1])] if x.shape[1] else positions
        swapped = _turned(pairs)(np.ascontiguousarray(x.transpose(0, 2, 1, 3)), by_head, base)
        return np.ascontiguousarray(swapped.transpose(0, 2, 1, 3))

    return lambda x, positions, base: rotation(x, positions, base)


def _angles_paired_for(other: Pairs, pairs: Pairs) -> Rotation:
    """Return the rotation in a layout by angles, one for each feature, that are laid out for the other."""

    def rotation(x: Float32, positions: Int32, base: float) -> Float32:
        D = x.shape[3]
        wrong = np.empty(D)
        for features in other(D):
            wrong[features] = _frequencies(base, D)
        angle = positions.astype(np.float64)[:, :, None, None] * wrong
        cosine, sine = _cosine_and_sine(angle)
        first, second = pairs(D)
        result = x * cosine
        result[..., first] -= x[..., second] * sine[..., first]
        result[..., second] += x[..., first] * sine[..., second]
        return result

    return lambda x, positions, base: rotation(x, positions, base)


def _first_turned_in_place(pairs: Pairs) -> Rotation:
    def rotation(x: Float32, positions: Int32, base: float) -> Float32:
        result = _turned(pairs)(x, positions, base)
        cosine, sine = _cosine_and_sine(positions.astype(np.float64)[:, :, None, None] * _frequencies(base, x.shape[3]))
        first, second = pairs(x.shape[3])
        result[..., second] = x[..., second] * cosine + result[..., first] * sine
        return result

    return lambda x, positions, base: rotation(x, positions, base)


def _half_of_the_pairs(pairs: Pairs) -> Rotation:
    def rotation(x: Float32, positions: Int32, base: float) -> Float32:
        result = _turned(pairs)(x, positions, base)
        still = x.shape[3] // 4
        for features in pairs(x.shape[3]):
            result[..., features[still:]] = x[..., features[still:]]
        return result

    return lambda x, positions, base: rotation(x, positions, base)


def _sine_and_cosine_swapped(pairs: Pairs) -> Rotation:
    def rotation(x: Float32, positions: Int32, base: float) -> Float32:
        cosine, sine = _cosine_and_sine(positions.astype(np.float64)[:, :, None, None] * _frequencies(base, x.shape[3]))
        return _applied(x, pairs, sine, cosine)

    return lambda x, positions, base: rotation(x, positions, base)


def _base_ignored(pairs: Pairs) -> Rotation:
    return lambda x, positions, base: _turned(pairs)(x, positions, 10000.0)  # noqa: ARG005 - that is the mistake


def mistakes(pairs: Pairs, other: Pairs) -> Mapping[str, Rotation]:
    """Return the mistakes of a layout, of which the other layout is one."""

    def counted(positions: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(np.arange(positions.shape[1]), positions.shape)

    def of_the_first(positions: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(positions[:1], positions.shape)

    return {
        "other-layout": _turned(other),
        "angles-paired-for-the-other-layout": _angles_paired_for(other, pairs),
        "turned-the-other-way": _turned(pairs, sign=-1),
        "sine-and-cosine-swapped": _sine_and_cosine_swapped(pairs),
        "first-turned-in-place": _first_turned_in_place(pairs),
        "half-of-the-pairs": _half_of_the_pairs(pairs),
        "along-the-heads": _along_the_heads(pairs),
        "positions-from-one": _turned(pairs, positions=lambda positions: positions + 1),
        "positions-counted-from-zero": _turned(pairs, positions=counted),
        "positions-of-the-first-sequence": _turned(pairs, positions=of_the_first),
        "positions-in-bfloat16": _turned(pairs, positions=bfloat16),
        "positions-in-float16": _turned(pairs, positions=float16),
        "angles-in-bfloat16": _turned(pairs, rounded=bfloat16),
        "angles-in-float16": _turned(pairs, rounded=float16),
        "base-ignored": _base_ignored(pairs),
        "exponent-doubled": _turned(pairs, frequencies=lambda base, D: _frequencies(base, D) ** 2),
        "exponent-halved": _turned(pairs, frequencies=lambda base, D: np.sqrt(_frequencies(base, D))),
        "exponent-negated": _turned(pairs, frequencies=lambda base, D: 1 / _frequencies(base, D)),
        "spacing-half-minus-one": _turned(
            pairs, frequencies=lambda base, D: np.power(base, -np.arange(D // 2) / max(1, D // 2 - 1))
        ),
    }
