"""A case: one input of a suite, under an id that never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Coercion = Literal["str", "float", "numpy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One input and its name. It holds no expected value: that stays in the golden file until answers are in.

    Attributes:
        id: ``learned_pos_embed/seed=0/d_model=4/T=3``; with ``/as=str`` and so on where arguments are coerced.
        args: The arguments by name, in the order of the function's signature: Python integers, floats and arrays.
        axes: What tells the case from the others where that is not the arguments.
        must_raise: Whether the function must raise.
        neighbour: With ``must_raise``: the id of a case nearby, in which it must not.
        coercion: How the arguments are passed instead of as plain ints: ``"3"``, ``3.0`` or NumPy scalars
            (``np.int32`` where ``numpy_int32``, else ``np.int64``).
        numpy_int32: Only for ``coercion == "numpy"``: which of the two NumPy integer types is passed.

    """

    id: str
    args: Mapping[str, Any]
    axes: Mapping[str, Any] = field(default_factory=dict)
    must_raise: bool = False
    neighbour: str | None = None
    coercion: Coercion | None = None
    numpy_int32: bool = False

    @property
    def coordinates(self) -> Mapping[str, Any]:
        """What tells the case from the others: its place in the sweep."""
        return self.axes or self.args

    @property
    def base_id(self) -> str:
        """The id of the case with these arguments as plain integers."""
        return self.id.partition("/as=")[0]
