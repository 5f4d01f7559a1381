"""Cases, exact values and known mistakes that both layouts of the fixed sinusoidal encoding share.

Columns 2i and 2i + 1 of the interleaved layout are sine and cosine of the same angle; the other layout has the same
columns in another order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.generator.case_suite import Arguments, Expected, ReferenceCase
from posvec.generator.references.angles import Angles, Float64
from posvec.generator.references.inputs import Float32
from posvec.generator.references.narrow import bfloat16, float16
from posvec.schemas.suite import Output, Parameter

Encoding = Callable[[int, int, float], Float32]
Layout = Callable[[NDArray[np.intp]], NDArray[np.intp]]
"""Puts the columns of the interleaved layout, by their numbers, into the order of a suite."""

PARAMETERS = (
    Parameter(name="T", kind="int", minimum=0, maximum=2**20),
    Parameter(name="d_model", kind="int", minimum=1, maximum=2**16),
    Parameter(name="base", kind="float"),
)
OUTPUT = Output(dtype="float32", rank=2, shape="(T, d_model)")

ULP = 4
"""ULP that sine and cosine may be off."""

_SMALL = tuple((T, d_model, 10000.0) for d_model in (1, 2, 3, 4, 6, 7, 8, 16) for T in (0, 1, 2, 5, 10))
_OTHER_BASES = tuple(
    (T, d_model, base) for base in (10000.0, 100.0, 500000.0) for T, d_model in ((3, 4), (9, 6), (20, 5), (33, 10))
)
_LONG = (
    (32, 12, 10000.0),
    (33, 24, 10000.0),
    (50, 64, 10000.0),
    (100, 9, 10000.0),
    (128, 96, 10000.0),
    (300, 7, 10000.0),
    (512, 48, 10000.0),
    (1000, 6, 10000.0),
    (2048, 8, 10000.0),
    (4096, 4, 10000.0),
    (10000, 2, 10000.0),
    (2500, 6, 500000.0),
)


def cases() -> Iterator[ReferenceCase]:
    """Yield small shapes, other bases, and many positions.

    The base 10000 comes first for each d_model: code that keeps the frequencies of its first call for all bases is then
    code that ignores the base.
    """
    for T, d_model, base in (*_SMALL, *_OTHER_BASES, *_LONG):
        axes = {"T": T, "d_model": d_model, "base": int(base)}
        yield ReferenceCase(axes=axes, args={"T": T, "d_model": d_model, "base": base})


def expecting(layout: Layout) -> Callable[[Arguments], Expected]:
    """Return the function that gives the correctly rounded encoding of a layout, and the room around it."""

    def expected(args: Arguments) -> Expected:
        d_model = args["d_model"]
        angles = Angles.of(np.arange(args["T"]), args["base"], d_model)
        sines, cosines = angles.combined(0.0, 1.0, ulp=ULP), angles.combined(1.0, 0.0, ulp=ULP)
        order = layout(np.arange(d_model))

        def joined(sine: NDArray[Any] | None, cosine: NDArray[Any] | None) -> NDArray[Any]:
            pairs = np.stack([np.asarray(sine), np.asarray(cosine)], axis=2)
            return pairs.reshape(len(pairs), 2 * pairs.shape[1])[:, order]

        return Expected(
            values=joined(sines.values, cosines.values),
            below=joined(sines.below, cosines.below),
            above=joined(sines.above, cosines.above),
        )

    return expected


def _pairs(d_model: int) -> Float64:
    """Return 2i for each column of the interleaved layout: float64 of shape (d_model,)."""
    return (np.arange(d_model) // 2 * 2).astype(np.float64)


def _angles(
    *,
    positions: Callable[[int], NDArray[Any]] = np.arange,
    exponent: Callable[[int], NDArray[Any]] = lambda d_model: _pairs(d_model) / d_model,
    base: Callable[[float], float] = lambda base: base,
    rounded: Callable[[Float64], NDArray[Any]] = lambda angle: angle,
) -> Callable[[int, int, float], NDArray[Any]]:
    """Return a function that gives the angle of each position and column, wrong in one of its parts."""
    return lambda T, d_model, given: rounded(
        positions(T).astype(np.float64)[:, None] * np.power(base(given), -exponent(d_model))
    )


def _encoded(
    angle: Callable[[int, int, float], NDArray[Any]],
    even: Callable[[Float64], Float64] = np.sin,
    odd: Callable[[Float64], Float64] = np.cos,
) -> Encoding:
    """Return the interleaved encoding of these angles."""

    def encoding(T: int, d_model: int, base: float) -> Float32:
        angles = angle(T, d_model, base)
        first = np.arange(d_model) % 2 == 0
        return np.where(first, even(angles), odd(angles)).astype(np.float32)

    return encoding


def _floor_divided(d_model: int) -> Float64:
    """Return exponents whose factor ``-log(10000) // d_model`` is floored: -1 for every d_model above 9."""
    return -_pairs(d_model) * (-math.log(10000.0) // d_model) / math.log(10000.0)


def _narrow(rounded: Callable[[NDArray[Any]], Float32]) -> Callable[[Float64], NDArray[Any]]:
    return lambda angle: rounded(angle).astype(np.float64)


def _odd_column_zero(T: int, d_model: int, base: float) -> Float32:
    result = _encoded(_angles())(T, d_model, base)
    if d_model % 2:
        result[:, -1] = 0
    return result


_RIGHT = _encoded(_angles())

_INTERLEAVED: Mapping[str, Encoding] = {
    "sine-and-cosine-swapped": _encoded(_angles(), even=np.cos, odd=np.sin),
    "sines-only": _encoded(_angles(), odd=np.sin),
    "exponent-not-paired": _encoded(_angles(exponent=lambda d_model: np.arange(d_model) / d_model)),
    "exponent-doubled": _encoded(_angles(exponent=lambda d_model: 2 * _pairs(d_model) / d_model)),
    "exponent-halved": _encoded(_angles(exponent=lambda d_model: _pairs(d_model) / 2 / d_model)),
    "exponent-negated": _encoded(_angles(exponent=lambda d_model: -_pairs(d_model) / d_model)),
    "exponent-floor-divided": _encoded(_angles(exponent=_floor_divided)),
    "spacing-half-minus-one": _encoded(
        _angles(exponent=lambda d_model: _pairs(d_model) / 2 / max(1, (d_model + 1) // 2 - 1))
    ),
    "base-1000": _encoded(_angles(base=lambda _: 1000.0)),
    "base-100000": _encoded(_angles(base=lambda _: 100000.0)),
    "base-ignored": _encoded(_angles(base=lambda _: 10000.0)),
    "positions-from-one": _encoded(_angles(positions=lambda T: np.arange(1, T + 1))),
    "positions-reversed": _encoded(_angles(positions=lambda T: np.arange(T)[::-1])),
    "positions-in-bfloat16": _encoded(_angles(positions=lambda T: bfloat16(np.arange(T)))),
    "angles-in-bfloat16": _encoded(_angles(rounded=_narrow(bfloat16))),
    "angles-in-float16": _encoded(_angles(rounded=_narrow(float16))),
    "values-in-bfloat16": lambda T, d_model, base: bfloat16(_RIGHT(T, d_model, base)),
    "values-in-float16": lambda T, d_model, base: float16(_RIGHT(T, d_model, base)),
    "odd-column-zero": _odd_column_zero,
    "odd-width-rounded-up": _encoded(_angles(exponent=lambda d_model: _pairs(d_model) / (d_model + d_model % 2))),
}


def mistakes(layout: Layout, other: tuple[str, Layout]) -> Mapping[str, Encoding]:
    """Return the mistakes of a layout: those of the interleaved one in its order, and another layout by its id."""

    def ordered(encoding: Encoding, columns: Layout) -> Encoding:
        return lambda T, d_model, base: encoding(T, d_model, base)[:, columns(np.arange(d_model))]

    name, other_layout = other
    return {
        name: ordered(_RIGHT, other_layout),
        **{mistake: ordered(encoding, layout) for mistake, encoding in _INTERLEAVED.items()},
        "odd-column-dropped": lambda T, d_model, base: ordered(_RIGHT, layout)(T, d_model, base)[
            :, : d_model - d_model % 2
        ],
        "transposed": lambda T, d_model, base: ordered(_RIGHT, layout)(T, d_model, base).T.copy(),
    }


def interleaved(columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the columns as they are, sines and cosines in turn."""
    return columns


def halves(columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the even columns, all sines, and then the odd ones, all cosines."""
    return np.concatenate([columns[0::2], columns[1::2]])
