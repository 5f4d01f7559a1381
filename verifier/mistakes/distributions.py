"""Distributions: what a table is whose draws are right and whose values are another function of them.

``jax.random.normal`` makes ``sqrt(2) * erf_inv(u)`` of a uniform u in (-1, 1), and the initializer multiplies it with
the standard deviation. Bounds follow from the draw table, which knows 0.02 times that number in every arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posvec.vectors.ulp import Float32
from posvec.verifier.mistakes.normal import quantile
from posvec.verifier.mistakes.numbers import Bounds, Float64, Index, Numbers, around, scaled
from posvec.verifier.mistakes.parts import Values

STDDEV = 0.02
TRUNCATED = math.erf(math.sqrt(2))  # jax.random.truncated_normal draws its uniform between -this and this
CORRECTION = 0.87962566103423978  # the standard deviation of a normal cut at -2 and 2 (jax._src.nn.initializers)

_ERF_INV = 4e-6  # XLA's erf_inv is up to 59 float32 steps from the truth

Factor = Callable[[Index], Any]


def normal(factor: Factor) -> Callable[[Numbers, Index], Bounds | None]:
    """Return bounds of a normal distribution whose standard deviation ``factor`` tells from d_model."""

    def of(numbers: Numbers, d_model: Index) -> Bounds | None:
        if numbers.fixed is not None:
            return None
        sigma = factor(d_model)
        if numbers.normals is not None:
            return around(numbers.normals * sigma, numbers.error * sigma)
        return scaled(numbers.accepted, sigma / STDDEV)

    return of


def right(numbers: Numbers, d_model: Index) -> Bounds | None:
    """Return the bounds of the reference's own distribution; numbers of no distribution are what they are."""
    if numbers.fixed is not None:
        return around(numbers.fixed, numbers.error)
    if numbers.words is not None:
        return numbers.accepted
    return normal(lambda _: STDDEV)(numbers, d_model)


def exactly_right(numbers: Numbers, _: Index) -> Iterator[Float32]:
    """Yield what each recorded arithmetic gives for draws; what NumPy gives for its own numbers."""
    if numbers.fixed is not None:
        yield numbers.fixed.astype(np.float32)
    elif numbers.words is not None:
        yield from _arithmetics(numbers)
    elif numbers.normals is not None:
        yield (numbers.normals * STDDEV).astype(np.float32)
        yield numbers.normals.astype(np.float32) * np.float32(STDDEV)


def _arithmetics(numbers: Numbers) -> Iterator[Float32]:
    table = numbers.table
    for arithmetic in sorted(table.arithmetics, key=lambda arithmetic: arithmetic.id != table.canonical):
        yield table.values_at(arithmetic.id, numbers.draws)


def uniform(scale: Factor, *, symmetric: bool) -> Callable[[Numbers, Index], Bounds | None]:
    """Return bounds of uniform numbers from 0, or from minus the limit, to a limit that follows from d_model."""

    def of(numbers: Numbers, d_model: Index) -> Bounds | None:
        if numbers.words is None:
            return None
        fraction = numbers.draws * 2.0**-23
        limit = scale(d_model)
        return around((2 * fraction - 1) * limit, limit * 2e-7) if symmetric else around(fraction * limit, 0.0)

    return of


def truncated(factor: Factor) -> Callable[[Numbers, Index], Bounds | None]:
    """Return bounds of a normal distribution cut at two standard deviations: its uniform is narrower."""

    def of(numbers: Numbers, d_model: Index) -> Bounds | None:
        if numbers.words is None:
            return None
        u = (2.0 * numbers.draws * 2.0**-23 - 1) * TRUNCATED
        draws = (u + 1 - 2.0**-24) * 2.0**22
        # the uniform is rounded to float32: up to half a draw
        low, high = numbers.between(draws - 0.5).low, numbers.between(draws + 0.5).high
        return scaled(Bounds(low, high), factor(d_model) / STDDEV)

    return of


def to_bfloat16(values: Any) -> Float32:
    """Return float32 values rounded to bfloat16, to nearest, ties to even."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def to_float16(values: Any) -> Float32:
    """Return float32 values rounded to float16, to nearest, ties to even."""
    return np.asarray(values, np.float32).astype(np.float16).astype(np.float32)


Rounding = Callable[[Any], Float32]


def _low_precision(
    rounded: Rounding, used: int, drop: int, *, jitted: bool, error: float
) -> Callable[[Numbers], Float64 | None]:
    """Return the values of a parameter of 16 bits: few random bits, every step rounded (``jax._src.random``).

    Args:
        rounded: rounds float32 to the type.
        used: mask of the bits of a word that are used.
        drop: how many of them are dropped from below, so that a mantissa is left.
        jitted: whether the two factors are multiplied first, as XLA does.
        error: relative error of erf_inv, which decides where it lies next to the middle between two numbers.

    """

    def of(numbers: Numbers) -> Float64 | None:
        if numbers.words is None or numbers.stream != "partitionable":
            return None  # in the original stream a word makes several such numbers
        steps = (used >> drop) + 1
        uniforms = (numbers.words & np.uint32(used)) >> np.uint32(drop)
        low = {128: -0.99609375, 1024: -0.99951171875}[steps]
        span = rounded(np.float32(1 - low)).astype(np.float64)
        u = np.maximum(low, rounded((rounded(uniforms / steps * span) + low).astype(np.float32)))
        true = quantile(u.astype(np.float64)) / math.sqrt(2) * (1 + error)
        inverse = rounded(true.astype(np.float32)).astype(np.float64)
        root, sigma = (float(rounded(np.float32(factor))) for factor in (math.sqrt(2), STDDEV))
        if jitted:
            return rounded((inverse * float(rounded(np.float32(root * sigma)))).astype(np.float32)).astype(np.float64)
        product = rounded((inverse * root).astype(np.float32)).astype(np.float64)
        return rounded((product * sigma).astype(np.float32)).astype(np.float64)

    return of


def low_precision_parameter(rounded: Rounding, used: int, drop: int, phrase: str) -> Values:
    """Return the distribution of a parameter of 16 bits, eager or compiled: see :func:`_low_precision`."""
    ways = [
        _low_precision(rounded, used, drop, jitted=jitted, error=error)
        for jitted in (False, True)
        for error in (0.0, _ERF_INV, -_ERF_INV)
    ]

    def exact(numbers: Numbers, _: Index) -> Iterator[Float32]:
        for way in ways:
            values = way(numbers)
            if values is not None:
                yield values.astype(np.float32)

    def of(numbers: Numbers, d_model: Index) -> Bounds | None:
        given = list(exact(numbers, d_model))
        return Bounds(np.min(given, axis=0), np.max(given, axis=0)) if given else None

    return Values(phrase=phrase, of=of, exact=exact, bits=4, used=used)


def rounded_values(rounded: Rounding, phrase: str) -> Values:
    """Return the right distribution with its values rounded to a type of 16 bits."""

    def of(numbers: Numbers, d_model: Index) -> Bounds | None:
        bounds = right(numbers, d_model)
        return None if bounds is None or numbers.fixed is not None else Bounds(*map(rounded, bounds))

    def exact(numbers: Numbers, d_model: Index) -> Iterator[Float32]:
        for values in exactly_right(numbers, d_model):
            yield rounded(values)

    return Values(phrase=phrase, of=of, exact=exact, bits=8)


def plus_one(numbers: Numbers, d_model: Index) -> Bounds | None:
    """Return bounds of the right values plus one, in float32."""
    bounds = None if numbers.fixed is not None else right(numbers, d_model)
    return None if bounds is None else Bounds(*(np.float32(1) + bound for bound in bounds))


def plus_one_exactly(numbers: Numbers, d_model: Index) -> Iterator[Float32]:
    """Yield the right values of each arithmetic plus one."""
    for values in exactly_right(numbers, d_model):
        yield np.float32(1) + values


def with_sigma(text: str, value: float) -> Values:
    """Return a normal distribution of a constant standard deviation; ``text`` says it."""
    return Values(phrase=f"standard deviation {text}", of=normal(lambda _: value))


def rows_and(numerator: float) -> Factor:
    """Return ``sqrt(numerator / (32 + d_model))``: the scale of Glorot and Bengio (2010) for such a table."""
    return lambda d_model: np.sqrt(numerator / (32 + d_model))


def by_width(power: float, factor: float = 1.0) -> Factor:
    """Return ``factor * d_model**power``."""
    return lambda d_model: factor * d_model.astype(np.float64) ** power


DEFAULT = Values(phrase="", of=right, exact=exactly_right)
