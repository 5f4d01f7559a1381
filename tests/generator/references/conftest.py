"""Judging a function by a suite's cases as its default level does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from posvec.generator.case_suite import CaseSuite, Expected, ReferenceCase
from posvec.vectors.ulp import ulp_distance


def suite_of(name: str) -> CaseSuite:
    suite: CaseSuite = import_module(f"posvec.generator.references.{name}").SUITE
    return suite


@cache
def golden(name: str) -> tuple[tuple[ReferenceCase, Expected | None], ...]:
    """The cases of a suite with what must come of each; None where it must raise."""
    suite = suite_of(name)
    return tuple((case, None if case.must_raise else suite.expected(case.args)) for case in suite.cases())


def accepts(expected: Expected, got: Any, level: str) -> bool:
    got = np.asarray(got)
    if got.shape != expected.values.shape or got.dtype != expected.values.dtype:
        return False
    if level == "exact" or got.dtype.kind != "f":
        return got.tobytes() == expected.values.tobytes()
    steps = ulp_distance(got, expected.values)
    if level.startswith("ulp:"):
        return bool((np.abs(steps) <= int(level[4:])).all())
    below = np.zeros(steps.shape, np.int64) if expected.below is None else expected.below.astype(np.int64)
    above = np.zeros(steps.shape, np.int64) if expected.above is None else expected.above.astype(np.int64)
    return bool(((steps >= -below) & (steps <= above)).all())


def copied(case: ReferenceCase) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.args.items()}


def refusals(name: str, function: Callable[..., Any], level: str | None = None) -> Iterator[ReferenceCase]:
    """The cases of a suite that refuse a function, at its default level unless another is given."""
    suite = suite_of(name)
    for case, expected in golden(name):
        try:
            got = function(**copied(case))
        except Exception:
            if expected is not None:
                yield case
        else:
            if expected is None or not accepts(expected, got, level or suite.suite.default_match):
                yield case
