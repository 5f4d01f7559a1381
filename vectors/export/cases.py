"""What is exported of a case: its arguments, what must come of it, and, if asked for, what else is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.case import Case
from posvec.schemas.manifest import LICENSE
from posvec.schemas.suite import DTYPES
from posvec.vectors.case_golden import CaseGolden
from posvec.vectors.golden import Golden

FORMAT = "posvec-export"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedCase:
    """One case.

    Attributes:
        id: Its id.
        args: The arguments by name: Python integers and floats, float32 and int32 arrays.
        expected: What must come of it, float32 or int32, in the shape in which the function returns it; None if it
            must raise.
        also: What else was asked for, by name: ``accept_below``, ``accept_above``, ``draw``; uint32 of that shape.
        row: Elements of a row, where the array is shown line by line.

    """

    id: str
    args: Mapping[str, Any]
    expected: NDArray[Any] | None
    also: Mapping[str, NDArray[np.uint32]] = field(default_factory=dict)
    row: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The cases to export and the golden file that they are of.

    Attributes:
        golden: The open file.
        cases: Some of its cases, in order.
        intervals: Whether the accept intervals come too.
        draws: Whether the draws come too; only where there are any.

    """

    golden: Golden | CaseGolden
    cases: Sequence[Case]
    intervals: bool = False
    draws: bool = False

    def header(self) -> dict[str, Any]:
        """Return what an export says about itself, as JSON values."""
        suite = self.golden.suite
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "name": self.golden.name,
            "function": f"{suite.function}({', '.join(parameter.name for parameter in suite.parameters)})",
            "summary": suite.summary,
            "returns": f"{suite.output.dtype} {suite.output.shape}",
            "license": LICENSE,
            "content_sha256": self.golden.manifest.content_sha256,
        }

    def __iter__(self) -> Iterator[ExportedCase]:
        dtypes = {p.name: DTYPES[p.dtype] for p in self.golden.suite.parameters if p.kind == "array"}
        for case in self.cases:
            args = {
                name: np.ascontiguousarray(value, dtypes[name]).reshape(np.shape(value)) if name in dtypes else value
                for name, value in case.args.items()
            }
            yield self._known(case, args)

    def _known(self, case: Case, args: dict[str, Any]) -> ExportedCase:
        if case.must_raise:
            return ExportedCase(id=case.id, args=args, expected=None)
        known = self.golden.known(case)
        also: dict[str, NDArray[np.uint32]] = {}
        if self.intervals:
            also |= {
                "accept_below": known.accept_below.astype("<u4").reshape(known.shape),
                "accept_above": known.accept_above.astype("<u4").reshape(known.shape),
            }
        if self.draws and known.draw.size == known.expected.size:
            also["draw"] = known.draw.astype("<u4").reshape(known.shape)
        dtype = DTYPES[self.golden.suite.output.dtype]
        expected = np.ascontiguousarray(known.expected, dtype).reshape(known.shape)
        return ExportedCase(id=case.id, args=args, expected=expected, also=also, row=max(1, known.features))
