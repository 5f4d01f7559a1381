"""A suite whose golden file is a list of cases: inputs that may be arrays, and what must come of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.suite import Suite

Arguments = Mapping[str, Any]
"""Arguments by name, in the order of the signature: Python integers and floats, float32 and int32 arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceCase:
    """One input of a suite.

    Attributes:
        axes: What tells it from the others, e.g. ``{"B": 2, "T": 5}``: its id is made of these, in this order.
        args: The arguments.
        must_raise: Whether the function must raise on it.
        neighbour: With ``must_raise``: the axes of a case nearby on which it must not.

    """

    axes: Mapping[str, int | str]
    args: Arguments
    must_raise: bool = False
    neighbour: Mapping[str, int | str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must come of one case, and how far from it other code may be.

    Attributes:
        values: The expected array: of the suite's output dtype, any shape.
        below, above: Unsigned integers of that shape: ``equivalent`` allows so many float32 steps towards negative
            and positive infinity. None: none.

    """

    values: NDArray[Any]
    below: NDArray[np.uint32] | None = None
    above: NDArray[np.uint32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSuite:
    """A suite, its reference and its cases.

    Attributes:
        suite: The function under test and its contract.
        reference: The function itself, as JAX or Flax code.
        cases: Returns the cases, the same ones every time.
        expected: Returns what must come of the arguments of a case that must not raise. For a suite whose reference
            gives the same bytes everywhere, these, as without it; else values computed more exactly, which the
            reference is then checked against.
        mistakes: Known wrong implementations by their id, in NumPy: the cases must tell each from the right one.

    """

    suite: Suite
    reference: Callable[..., Any]
    cases: Callable[[], Iterable[ReferenceCase]]
    expected: Callable[[Arguments], Expected] | None = None
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
