"""What makes a float32 tell its draw: checked over all 2**23 draws whenever the table is made.

1. Each arithmetic is strictly increasing in the draw.
2. Take, for each draw, the interval from the lowest to the highest value that any arithmetic or the correct
   rounding gives: these 2**23 intervals are disjoint, in the order of the draws.

So the number line can be cut in the gaps, and each recorded value lies in the piece of its own draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.errors import PosvecError
from posvec.vectors.ulp import Int32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proof:
    """The intervals, and how far apart they are.

    Attributes:
        low: lowest value of each draw, ordered int32.
        high: highest value of each draw, ordered int32.
        gaps: ``low[k + 1] - high[k]`` in ULP, int64, shape ``(2**23 - 1,)``.

    """

    low: Int32
    high: Int32
    gaps: NDArray[np.int64]

    @property
    def smallest_gap(self) -> int:
        """The smallest distance in ULP between neighbours' intervals; 1 would still be disjoint."""
        return int(self.gaps.min())


class TheoremBrokenError(PosvecError, ArithmeticError):
    """A recording for which a float32 would no longer tell its draw.

    Attributes:
        statement: what does not hold.
        draws: the draws k for which it fails against k + 1.

    """

    def __init__(self, statement: str, draws: NDArray[np.intp]) -> None:
        super().__init__(statement, draws)
        self.statement = statement
        self.draws = draws

    def __str__(self) -> str:
        shown = ", ".join(str(draw) for draw in self.draws[:10])
        more = f" and {len(self.draws) - 10:,} more" if len(self.draws) > 10 else ""
        return f"{self.statement} at draw {shown}{more}; the draw table was not written"


def prove(arithmetics: Mapping[str, Int32], rounded: Int32) -> Proof:
    """Check both statements.

    Args:
        arithmetics: by id, the ordered value of every draw.
        rounded: the ordered correctly rounded value of every draw.

    Raises:
        TheoremBrokenError: one does not hold; it names the draws.

    """
    named = {**arithmetics, "the correctly rounded value": rounded}
    for name, order in named.items():
        falls = np.flatnonzero(order[1:] <= order[:-1])
        if len(falls):
            raise TheoremBrokenError(f"{name} is not strictly increasing", falls)
    low, high = rounded.copy(), rounded.copy()
    for order in named.values():
        np.minimum(low, order, out=low)
        np.maximum(high, order, out=high)
    gaps = low[1:].astype(np.int64) - high[:-1]
    overlaps = np.flatnonzero(gaps < 1)
    if len(overlaps):
        culprits = [
            name
            for name, order in named.items()
            if np.any(order[overlaps] == high[overlaps]) or np.any(order[overlaps + 1] == low[overlaps + 1])
        ]
        raise TheoremBrokenError(f"the intervals of neighbours touch ({', '.join(culprits)})", overlaps)
    return Proof(low=low, high=high, gaps=gaps)
