"""Every stage between a seed and one element of the table, to put beside a debugger."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posvec.schemas.build import Stream
from posvec.vectors.derive import fold_word, param_key, seed_key, table_bits, uniform
from posvec.vectors.draws import DrawTable
from posvec.vectors.threefry import encrypt

STDDEV = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage: its name, its value as text, and how it comes from the stages before."""

    name: str
    value: str
    how: str


def explain(
    *,
    seed: int,
    d_model: int,
    position: int,
    feature: int,
    stream: Stream,
    rows: int,
    table: DrawTable,
    arithmetic: str,
) -> list[Stage]:
    """Return the stages of the element at ``position``, ``feature`` of the table of ``seed``, in order.

    Integers are hexadecimal words, floats C99 hexadecimal. ``erf_inv`` and the product are correctly rounded float32
    values: builds differ from them in the last bits, and only the final value is recorded.
    """
    index, size = position * d_model + feature, rows * d_model
    key = seed_key([seed])
    word = fold_word()
    folded = param_key(key)
    if stream == "partitionable":
        counters, used = (0, index), "x0 ^ x1"
        counted = f"(0, flat index {position} * {d_model} + {feature})"
    else:
        half = (size + 1) // 2
        first = index % half
        second = first + half if first + half < size else 0
        counters, used = (first, second), "x0" if index < half else "x1"
        counted = f"block {first} holds words {first} and {first + half} of {size}"
    words = encrypt(folded, *counters)[0]
    bits = int(table_bits([seed], d_model, stream=stream, rows=rows).reshape(-1)[index])
    draw = bits >> 9
    u = uniform(np.array([draw], np.uint32))[0]
    inverse = _erf_inv(float(u))
    at = np.array([draw])
    value, true_value = table.values_at(arithmetic, at)[0], table.correctly_rounded_at(at)[0]
    return [
        Stage(name="seed", value=str(seed), how=f"low 32 bits: {seed & 0xFFFFFFFF}"),
        Stage(name="key", value=_words(key[0]), how="(0, low 32 bits of the seed)"),
        Stage(name="SHA-1 word", value=f"0x{word:08x}", how="first 4 bytes, big endian, of sha1(b'\\x01')"),
        Stage(name="folded key", value=_words(folded[0]), how="threefry2x32(key, (0, SHA-1 word))"),
        Stage(name="counter", value=f"{counters[0]} {counters[1]}", how=counted),
        Stage(name="threefry words", value=_words(words), how="x0, x1 = threefry2x32(folded key, counter)"),
        Stage(name="bits", value=f"0x{bits:08x}", how=used),
        Stage(name="draw", value=str(draw), how="bits >> 9, 23 bits"),
        Stage(name="uniform", value=float(u).hex(), how="draw * 2**-22 - (1 - 2**-24), exact in float32"),
        Stage(name="erf_inv", value=float(np.float32(inverse)).hex(), how="inverse of erf, correctly rounded"),
        Stage(
            name="product",
            value=float(np.float32(inverse * math.sqrt(2))).hex(),
            how="erf_inv * sqrt(2), correctly rounded: the standard normal",
        ),
        Stage(name="true value", value=float(true_value).hex(), how=f"product * {STDDEV}, correctly rounded"),
        Stage(name="value", value=float(value).hex(), how=f"as {arithmetic} rounds"),
        Stage(name="", value=repr(float(value)), how=f"0x{int(value.view(np.uint32)):08x}"),
    ]


def _words(words: np.ndarray[tuple[int, ...], np.dtype[np.uint32]]) -> str:
    return " ".join(f"0x{int(word):08x}" for word in words)


def _erf_inv(u: float) -> float:
    """Return the inverse of erf in float64 by Newton's method; accurate to some 1e-15 relative."""
    if u == 0:
        return 0.0
    tail = 1.0 - abs(u)  # exact: u is a float32
    x = math.sqrt(-math.log(tail)) if tail < 0.5 else abs(u)
    for _ in range(60):
        residual = tail - math.erfc(x) if tail < 0.5 else math.erf(x) - abs(u)
        step = residual / (2.0 / math.sqrt(math.pi) * math.exp(-x * x))
        x -= step
        if abs(step) <= 1e-16 * x:
            break
    return math.copysign(x, u)
