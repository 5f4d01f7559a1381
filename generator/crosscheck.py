"""Checking what the reference returned against the draws that posvec derives without JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posvec.generator.sweep import Sweep
from posvec.schemas.axes import Axis
from posvec.schemas.build import Stream
from posvec.schemas.errors import ReferenceDisagrees
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.vectors.suites import MAX_T
from posvec.vectors.ulp import Float32, ordered, ulp_distance

_CHUNK_ELEMENTS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """How a build rounds, in terms of the arithmetics of the draw table.

    Attributes:
        elements: Elements looked at.
        unknown: Elements whose value no known arithmetic gives for their draw.
        same_as: Arithmetics that give every one of the values.

    """

    elements: int
    unknown: int
    same_as: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How tables differ from others that should be the same.

    Attributes:
        elements: Elements compared.
        differ: Elements with other bits.
        other_draw: Elements that come from another draw: not the rounding changed, but the integers.
        max_ulp: Largest distance among the others.

    """

    elements: int
    differ: int
    other_draw: int
    max_ulp: int


def chunks(seeds: Axis, d_model: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of positions on the seed axis whose tables together have about a million elements."""
    size = max(1, _CHUNK_ELEMENTS // (MAX_T * d_model))
    for start in range(0, len(seeds), size):
        yield start, min(start + size, len(seeds))


def check_draws(result: Sweep, *, d_models: Axis, stream: Stream, table: DrawTable) -> Rounding:
    """Require every value to come from the draw derived for it, and say how it is rounded.

    Raises:
        ReferenceDisagrees: Some value tells of another draw; the first is named.

    """
    elements = unknown = 0
    same_as = {arithmetic.id for arithmetic in table.arithmetics}
    for d_model in d_models:
        for start, stop in chunks(result.seeds, d_model):
            got = result.read(d_model, start, stop)
            expected = table_draws(result.seeds.slice(start, stop), d_model, stream=stream, rows=MAX_T)
            _require_draws(result, d_model, start, got, expected, table)
            known = np.zeros(got.shape, np.bool_)
            for arithmetic in table.arithmetics:
                equal = got.view(np.uint32) == table.values_at(arithmetic.id, expected).view(np.uint32)
                known |= equal
                if not equal.all():
                    same_as.discard(arithmetic.id)
            elements += got.size
            unknown += int(np.count_nonzero(~known))
    return Rounding(elements=elements, unknown=unknown, same_as=tuple(sorted(same_as)))


def compare(result: Sweep, *, d_models: Axis, read: Callable[[int, int, int], Float32], table: DrawTable) -> Difference:
    """Compare the tables of a sweep with those that ``read(d_model, start, stop)`` returns."""
    elements = differ = other_draw = max_ulp = 0
    for d_model in d_models:
        for start, stop in chunks(result.seeds, d_model):
            got, expected = result.read(d_model, start, stop), read(d_model, start, stop)
            elements += got.size
            which = got.view(np.uint32) != expected.view(np.uint32)
            if not which.any():
                continue
            got, expected = got[which], expected[which]
            # A neighbouring draw is a rounding that left its cell: draws that changed are millions apart.
            same_draw = np.abs(table.decode(got).astype(np.int64) - table.decode(expected)) <= 1
            differ += got.size
            other_draw += int(np.count_nonzero(~same_draw))
            distances = np.abs(ulp_distance(got[same_draw], expected[same_draw]))
            max_ulp = max(max_ulp, int(distances.max(initial=0)))
    return Difference(elements=elements, differ=differ, other_draw=other_draw, max_ulp=max_ulp)


def _require_draws(
    result: Sweep, d_model: int, start: int, values: Float32, expected: NDArray[np.uint32], table: DrawTable
) -> None:
    got = table.decode(values)
    low, high = table.accept(expected)
    order = ordered(values)
    # A rounding that is not known yet may leave its cell by a few ULP; another draw is millions of ULP away.
    wrong = np.argwhere((got != expected) & ((order < low) | (order > high)))
    if not len(wrong):
        return
    row, t, d = (int(i) for i in wrong[0])
    seed = result.seeds.slice(start + row, start + row + 1)[0]
    raise ReferenceDisagrees(
        f"{result.build.label} returned {values[row, t, d]} at seed {seed}, d_model {d_model}, position {t}, "
        f"feature {d}, which comes from draw {int(got[row, t, d])}, but the draw derived for it is "
        f"{int(expected[row, t, d])}; {len(wrong):,} of {values.size:,} elements of these tables disagree and "
        "nothing was written."
    )
