"""Decodes wrong values by their cells: which draw is behind a float32, and what that says about the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import Stream
from posvec.schemas.case import Case
from posvec.schemas.errors import VectorsError
from posvec.vectors.derive import table_bits
from posvec.vectors.draws import DrawTable
from posvec.vectors.known import Known
from posvec.vectors.ulp import Float32, ordered
from posvec.verifier.levels import TOO_FEW_FOR_CELLS, cell_allowance, differences, outside
from posvec.verifier.text import percent

_SAMPLE = 20_000
_FEWEST = 24
_MANY = 1000
_LARGEST_ERROR = 16  # ULP: an erf_inv that is farther off is not what is wrong
_GENUINE = 0.6
"""Share of values that must be known values of the draws they decode to, to be called draws of something else. Spans
cover a third of all floats at most; of SciPy's values, the farthest of the honest ports measured, 70 % lie in them."""
_MISPLACED = 0.9
"""Share of the wrong draws that must stand elsewhere in the same table, to be called misplaced."""

Pair = tuple[Case, Float32, Known]


def explain_element(values: Float32, known: Known, index: int) -> str:
    """Say in one clause what draw is behind ``values[index]`` and how that compares with the right one."""
    got, draw = values[index : index + 1], int(known.draw[index])
    if np.isnan(got[0]):
        return "NaN came"
    if np.isinf(got[0]):
        return "an infinity came"
    table = draw_table()
    if table is None:
        return ""
    if got[0] == 0:
        return f"a zero came, which no draw gives; draw {draw:,} was due"
    decoded = int(table.decode(got)[0])
    if decoded < 0:
        return f"no draw gives a value of this size; draw {draw:,} was due"
    off = _beyond_span(table, got, known.draw[index : index + 1])
    if decoded == draw:
        if off == 0:
            return f"draw {draw:,}, as expected: the value lies between those that recorded builds give"
        return f"draw {draw:,}, as expected: your rounding is {off} ULP beyond every known value"
    if abs(decoded - draw) == 1:
        blame = f"your erf_inv is {off} ULP off here" if off <= _LARGEST_ERROR else f"{off} ULP from the right one"
        return f"draw {decoded:,} instead of {draw:,}: neighbours, {blame}"
    if _beyond_span(table, got, np.array([decoded])):
        return f"no recorded build gives this value to any draw (the nearest is {decoded:,}); draw {draw:,} was due"
    return f"draw {decoded:,} instead of {draw:,}"


def explain_run(pairs: Sequence[Pair], *, stream: Stream) -> list[str]:
    """Say what the failing arrays of a run have in common, as far as their draws tell."""
    table = draw_table()
    if table is None:
        return []
    sample = _sample(pairs, stream)
    if sample is None:
        return []
    values, draws, words = sample.values, sample.draws, sample.words
    if not np.isfinite(values).all():
        return []
    if np.all(values == values[0]):
        return [f"Every element of the failing cases is {float(values[0])!r}."] if values.size > 1 else []
    decoded = table.decode(values).astype(np.int64)
    away = decoded - draws
    if np.abs(away).max() <= 1:
        bits = _finer_uniform(table, values, draws, words)
        if bits is None:
            share = percent(int(np.count_nonzero(away)), away.size)
            neighbours = f"The draws are the right ones, or in {share} their neighbours"
            return [f"{neighbours}: erf_inv or the uniform is a little off."] if away.any() else []
        where = "each value lies between its draw and the next one, just where the further bits of its word put it"
        return [f"The uniform has {bits} bits instead of 23: {where}."]
    if sample.accepted:
        return []  # honest values, a little beyond their cells
    if np.array_equal(np.sort(decoded), np.sort(draws)):
        return ["The draws are the right ones in another order."]
    wrong = away != 0
    known = (decoded >= 0) & (_beyond_spans(table, values, np.maximum(decoded, 0)) == 0)
    if np.count_nonzero(wrong) >= _FEWEST and np.mean(known[wrong]) >= _GENUINE:
        share = percent(int(np.count_nonzero(wrong)), wrong.size)
        what = "The draws are" if wrong.all() else f"In the failing cases, {share} of the draws are"
        if np.mean(sample.in_table(decoded)[wrong]) >= _MISPLACED:
            return [f"{what} of the right table, but in the wrong place: rows, or the order of elements, differ."]
        why = "each value is a right one for another draw, so the key or the counters differ, not scale or erf_inv"
        return [f"{what} those of another random stream: {why}."]
    ratio = values.astype(np.float64) / table.correctly_rounded_at(draws)
    if values.size >= 4 and np.ptp(ratio) <= 1e-5 * abs(ratio[0]):
        return [f"Every element of the failing cases is the right draw times {ratio.mean():.6g}: the scale differs."]
    if wrong.all():
        multiple = "no constant multiple of the right ones"
        return [f"Few of the values are ones that jax.random.normal gives to any draw, and they are {multiple}."]
    return []


def finer_uniform_bits(pairs: Sequence[Pair], *, stream: Stream) -> tuple[int, int, int] | None:
    """Return how many bits the uniform has, how many values lie within a draw of their own, and how many there are.

    None if the uniform is the right one, or if more values lie beyond than may lie outside their cells.
    """
    table = draw_table()
    sample = None if table is None else _sample(pairs, stream)
    if table is None or sample is None or not np.isfinite(sample.values).all():
        return None
    beyond = np.abs(table.decode(sample.values).astype(np.int64) - sample.draws) > 1
    if np.count_nonzero(beyond) > cell_allowance(beyond.size):
        return None
    bits = _finer_uniform(table, sample.values, sample.draws, sample.words)
    if bits is None:
        return None
    values = np.concatenate([values for _, values, _ in pairs])
    draws = np.concatenate([known.draw.astype(np.int64) for _, _, known in pairs])
    beyond = np.abs(table.decode(values).astype(np.int64) - draws) > 1
    if not np.isfinite(values).all() or np.count_nonzero(beyond) > cell_allowance(beyond.size):
        return None
    return bits, int(np.count_nonzero(~beyond)), values.size


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """Elements of failing arrays, the longest array of each table: what came, what was due, and from which words.

    ``accepted``: whether all lie in their accept intervals. ``tables``: for each array its length and all draws of
    the table that it is from.
    """

    values: Float32
    draws: NDArray[np.int64]
    words: NDArray[np.uint32]
    accepted: bool
    tables: Sequence[tuple[int, NDArray[np.uint32]]]

    def in_table(self, decoded: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of these draws stand anywhere in the table of their array."""
        parts, start = [], 0
        for length, table in self.tables:
            parts.append(np.isin(decoded[start : start + length], table))
            start += length
        return np.concatenate(parts)


def _sample(pairs: Sequence[Pair], stream: Stream) -> _Sample | None:
    largest: dict[tuple[int, int], Pair] = {}
    for pair in pairs:
        case, values, _ = pair
        key = (case.args["seed"], case.args["d_model"])
        if values.size and (key not in largest or values.size > largest[key][1].size):
            largest[key] = pair
    chosen, tables, size = [], [], 0
    for (seed, d_model), pair in largest.items():
        if size < _SAMPLE:
            chosen.append(pair)
            tables.append(table_bits([seed], d_model, stream=stream).reshape(-1))
            size += pair[1].size
    if not chosen:
        return None
    return _Sample(
        values=np.concatenate([values for _, values, _ in chosen]),
        draws=np.concatenate([known.draw.astype(np.int64) for _, _, known in chosen]),
        words=np.concatenate([table[: pair[1].size] for table, pair in zip(tables, chosen, strict=True)]),
        accepted=not any(
            outside(differences(values, known), known.accept_below, known.accept_above).any()
            for _, values, known in chosen
        ),
        tables=[(pair[1].size, table >> np.uint32(9)) for table, pair in zip(tables, chosen, strict=True)],
    )


def _finer_uniform(table: DrawTable, values: Float32, draws: NDArray[Any], words: NDArray[Any]) -> int | None:
    """Return the bits of the uniform if they are more than 23: where values lie between draws tells."""
    if values.size < TOO_FEW_FOR_CELLS:
        return None
    truth = table.correctly_rounded()
    low, high = truth[np.maximum(draws - 1, 0)].astype(np.float64), truth[draws].astype(np.float64)
    above = truth[np.minimum(draws + 1, len(truth) - 1)].astype(np.float64)
    value = values.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        position = np.where(value >= high, (value - high) / (above - high), (value - high) / (high - low))
    inner = (draws > 0) & (draws < len(truth) - 1)
    fractions = {
        23: np.zeros(len(words)),
        24: (words >> 8 & 1) / 2,
        32: (words & 0x1FF) / 512,
    }
    # Where in its step a port puts a draw is its own affair, so a constant offset does not count.
    # The mean, since half of the 24-bit values are 23-bit ones too; capped, since a few are far off near zero.
    error = {bits: _spread((position - fraction)[inner]) for bits, fraction in fractions.items()}
    best = min(error, key=lambda bits: error[bits])
    # A uniform that is rounded to float32 before erf_inv loses some of its further bits: 0.4 to 0.5 of the error then,
    # which a few values could show by chance.
    if best == 23 or error[best] > (0.25 if values.size < _MANY else 0.6) * error[23]:
        return None
    return best


def _spread(offsets: NDArray[Any]) -> float:
    return float(np.minimum(np.abs(offsets - np.median(offsets)), 1).mean())


def _beyond_span(table: DrawTable, got: Float32, draw: NDArray[Any]) -> int:
    return int(_beyond_spans(table, got, draw)[0])


def _beyond_spans(table: DrawTable, values: Float32, draws: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many ULP each value lies outside the span of the known values of its draw."""
    # Not span(), which is that of all draws: 40 ms.
    low, high = (bound.astype(np.int64) for bound in table.accept(draws))
    position = ordered(values).astype(np.int64)
    beyond: NDArray[np.int64] = np.maximum(np.maximum(low - position, position - high) + table.slack_ulp, 0)
    return beyond


@cache
def draw_table() -> DrawTable | None:
    """Return the draw table; a report can do without the explanations that need it."""
    try:
        return DrawTable.load()
    except VectorsError:
        return None
