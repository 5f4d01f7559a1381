"""Match levels: what "the same" means, as asked for on the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from posvec.schemas.errors import InvalidArgument

_ULP = re.compile(r"ulp:(\d{1,10})", re.ASCII)
LEVELS = "exact, equivalent or ulp:N"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The level asked for.

    ``exact``: every element is, bit for bit, a value that some recorded arithmetic gives for its draw.
    ``equivalent``: every element lies in its accept interval, and over the run at most
    :func:`cell_allowance` elements lie outside their own cell.
    ``ulp``: every element is within ``ulp`` float32 steps of the expected value.
    """

    kind: Literal["exact", "equivalent", "ulp"]
    ulp: int = 0

    @classmethod
    def parse(cls, text: str) -> Match:
        """Read ``exact``, ``equivalent`` or ``ulp:N``.

        Raises:
            InvalidArgument: It is none of these.

        """
        if text == "exact":
            return cls(kind="exact")
        if text == "equivalent":
            return cls(kind="equivalent")
        match = _ULP.fullmatch(text)
        if match is None:
            raise InvalidArgument("--match", text, f"{LEVELS} (N a whole number of at most 10 digits)")
        return cls(kind="ulp", ulp=int(match[1]))

    def __str__(self) -> str:
        return f"ulp:{self.ulp}" if self.kind == "ulp" else self.kind
