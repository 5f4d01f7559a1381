"""The arrays of one case of a run, cut to a table: what a person looks at. They are never part of the JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """A two-dimensional part of an array.

    Attributes:
        values: Shape ``(rows, columns)``, float32 or int32.
        rows, columns: What the two axes are, e.g. ``position t`` and ``feature d``.
        first_row, first_column: Where in the whole array the part begins.
        whole: Rows and columns that there are in all.

    """

    values: NDArray[Any]
    rows: str
    columns: str
    first_row: int = 0
    first_column: int = 0
    whole: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CaseTable:
    """What came in one case and what was due.

    Attributes:
        case: Its id.
        outcome: Its outcome.
        why: Why this case is shown: one clause.
        where: The part of an array of more than two axes, e.g. ``b = 0, h = 1``; else empty.
        came: What came if it is not what an array of the right layout would be; else empty.
        got: What came.
        expected: What was due; None where the reader must not see it.
        distance: int64, got less expected in float32 steps (in ones for integers), where both have the same shape.
        wrong: bool, which elements fail the level asked for, where both have the same shape.

    """

    case: str
    outcome: str
    why: str
    where: str
    came: str
    got: Grid
    expected: Grid | None
    distance: NDArray[Any] | None = None
    wrong: NDArray[Any] | None = None
