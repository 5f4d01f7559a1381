"""Whether the cases of a suite can tell right from wrong: what a golden file is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from posvec.generator.case_suite import CaseSuite, Expected
from posvec.schemas.errors import InvalidArgument
from posvec.vectors.ulp import ulp_distance
from posvec.vectors.write_cases import CaseValues

_FEWEST_TO_JUDGE = 2
_SMALLEST_NORMAL = np.finfo(np.float32).tiny


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The listed mistakes by how many cases refuse each; those that none refuses are not told apart."""

    refused: Mapping[str, int]

    @property
    def not_told_apart(self) -> list[str]:
        """The mistakes that pass every case."""
        return [mistake for mistake, cases in self.refused.items() if not cases]


def told_apart(suite: CaseSuite, values: Sequence[CaseValues]) -> Finding:
    """Check that the cases of a suite are worth anything, and return which listed mistakes they refuse.

    Raises:
        InvalidArgument: The sweep cannot tell mistakes apart in general: one length of an array's dimension is the
            same in all cases, or always 1, or two dimensions are always equal; an array is constant; a value is
            subnormal, or not finite.

    """
    _check_arrays(values)
    _check_dimensions(suite, values)
    refused = {
        mistake: sum(not _passes(function, value, suite.suite.default_match) for value in values)
        for mistake, function in suite.mistakes.items()
    }
    return Finding(refused=refused)


def holds(returned: Any, expected: Expected, level: str) -> bool:
    """Whether an array is the expected one at a match level: dtype and shape first, then every element."""
    due = expected.values
    if not isinstance(returned, np.ndarray) or returned.dtype != due.dtype or returned.shape != due.shape:
        return False
    if due.dtype.kind == "i":
        return bool(np.array_equal(returned, due))
    if not np.isfinite(returned).all():
        return False
    step = ulp_distance(returned, due)
    if level == "exact":
        return not step.any()
    if level == "equivalent":
        below = 0 if expected.below is None else expected.below.astype(np.int64)
        above = 0 if expected.above is None else expected.above.astype(np.int64)
        return bool(np.all((step >= -below) & (step <= above)))
    return bool(np.abs(step).max(initial=0) <= int(level.removeprefix("ulp:")))


def _passes(function: Any, value: CaseValues, level: str) -> bool:
    args = {name: arg.copy() if isinstance(arg, np.ndarray) else arg for name, arg in value.case.args.items()}
    try:
        with np.errstate(all="ignore"):
            returned = function(**args)
    except Exception:  # whatever a wrong implementation raises
        return value.expected is None
    if value.expected is None:
        return False
    return holds(returned, Expected(values=value.expected, below=value.below, above=value.above), level)


def _check_arrays(values: Sequence[CaseValues]) -> None:
    for value in values:
        for name, array in value.case.args.items():
            if not isinstance(array, np.ndarray):
                continue
            where = f"{value.case.id}, {name}"
            if array.size > 1 and np.all(array == array.flat[0]):
                raise InvalidArgument("cases", where, "arrays that are not constant")
            if array.dtype.kind != "f":
                continue
            if not np.isfinite(array).all() or np.any((array != 0) & (np.abs(array) < _SMALLEST_NORMAL)):
                raise InvalidArgument("cases", where, "arrays of finite values, none of them subnormal")


def _check_dimensions(suite: CaseSuite, values: Sequence[CaseValues]) -> None:
    """Check the lengths that the letters of the arguments' shapes stand for, over all cases."""
    lengths: dict[str, list[int]] = {}
    for value in values:
        for letter, length in _lengths(suite, value).items():
            lengths.setdefault(letter, []).append(length)
    if len(values) < _FEWEST_TO_JUDGE:
        return
    for letter, found in lengths.items():
        if len(set(found)) == 1:
            raise InvalidArgument("cases", f"{letter} = {found[0]} in all", f"a sweep with several lengths {letter}")
    for one, other in combinations(lengths, 2):
        if lengths[one] == lengths[other]:
            raise InvalidArgument("cases", f"{one} = {other} in all", f"a sweep in which {one} and {other} differ")


def _lengths(suite: CaseSuite, value: CaseValues) -> dict[str, int]:
    """Return what each letter stands for in one case; one letter has one length."""
    found: dict[str, int] = {}
    for parameter in suite.suite.parameters:
        if parameter.kind != "array":
            continue
        letters = [letter.strip() for letter in parameter.shape.strip("()").split(",") if letter.strip()]
        shape = np.shape(value.case.args[parameter.name])
        if len(letters) != len(shape):
            raise InvalidArgument(
                "cases", f"{parameter.name} {shape} in {value.case.id}", f"of shape {parameter.shape}"
            )
        for letter, length in zip(letters, shape, strict=True):
            if letter.isidentifier() and found.setdefault(letter, length) != length:
                got = f"{letter} = {found[letter]} and {length} in {value.case.id}"
                raise InvalidArgument("cases", got, f"of one length {letter} each")
    return found
