"""Making the golden file of a suite of cases: run the reference, hold it against what is expected, write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from posvec.generator.case_suite import CaseSuite, Expected, ReferenceCase
from posvec.generator.environment import prepare
from posvec.generator.lint import Finding, holds, told_apart
from posvec.generator.scratch import output_error, remove_leftovers, writing
from posvec.schemas.case import Case
from posvec.schemas.case_manifest import CaseManifest
from posvec.schemas.errors import InvalidArgument, ReferenceDisagrees, VectorsError, first_line
from posvec.schemas.suite import DTYPES
from posvec.vectors.case_golden import CaseGolden, open_golden
from posvec.vectors.diff_cases import diff_cases
from posvec.vectors.files import file_name
from posvec.vectors.write_cases import CaseValues, write_cases


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """What was written, and which mistakes the cases cannot tell from the right function."""

    path: Path
    manifest: CaseManifest
    finding: Finding


def generate_cases(
    suite: CaseSuite, *, folder: Path, command: str, force: bool = False, any_device: bool = False
) -> CaseOutcome:
    """Write the golden file of ``suite`` into ``folder``.

    Args:
        suite: The suite with its reference and cases.
        folder: Where to; made if missing.
        command: The command that makes the file, in normal form.
        force: Replace a file that is damaged or holds something else.
        any_device: Accept a default device that is not a CPU.

    Raises:
        EnvironmentRefused: JAX is missing or set up so that values would silently differ.
        InvalidArgument: The cases cannot tell right from wrong; see :mod:`posvec.generator.lint`.
        ReferenceDisagrees: The reference gives something else than is expected.
        VectorsError: A file stands there that is damaged or of another suite, and ``force`` is off.
        OutputError: The file could not be written; what was there is untouched.

    """
    prepare(stream="partitionable", any_device=any_device)
    values = case_values(suite)
    finding = told_apart(suite, values)
    path = folder / file_name(suite.suite.name, "partitionable")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_error(folder, error) from error
    with writing(folder):
        remove_leftovers(folder, path)
        if path.exists() and not force:
            _check_replaceable(path, suite)
        manifest = write_cases(path, suite=suite.suite, cases=values, command=command)
    return CaseOutcome(path=path, manifest=manifest, finding=finding)


def check_cases(golden: CaseGolden, suite: CaseSuite, *, any_device: bool = False) -> list[str]:
    """Run the reference again and return the ids of the cases of which ``golden`` holds something else.

    Raises:
        EnvironmentRefused: JAX is missing or set up so that values would silently differ.
        ReferenceDisagrees: The reference gives something else than is expected.

    """
    prepare(stream="partitionable", any_device=any_device)
    with TemporaryDirectory(prefix="posvec-check-") as folder:
        path = Path(folder, file_name(suite.suite.name, "partitionable"))
        write_cases(path, suite=suite.suite, cases=case_values(suite), command=golden.manifest.command)
        found = diff_cases(golden, CaseGolden.open(path))
    return sorted({*found.changed, *found.intervals, *found.only_first, *found.only_second})


def case_values(suite: CaseSuite) -> list[CaseValues]:
    """Return every case with what must come of it, the reference held against that.

    Raises:
        ReferenceDisagrees: It gives something else.

    """
    values = [_values(suite, case) for case in suite.cases()]
    ids = {value.case.id for value in values}
    if len(ids) != len(values) or not values:
        raise ReferenceDisagrees(f"The cases of {suite.suite.name} must be at least one and have distinct axes.")
    return values


def _values(suite: CaseSuite, case: ReferenceCase) -> CaseValues:
    name = case_id(suite, case.axes)
    names = [parameter.name for parameter in suite.suite.parameters]
    if list(case.args) != names:
        raise ReferenceDisagrees(f"{name} has the arguments {', '.join(case.args)}, and must have {', '.join(names)}.")
    given = Case(
        id=name,
        args=case.args,
        axes={axis: str(value) for axis, value in case.axes.items()},
        must_raise=case.must_raise,
        neighbour=None if case.neighbour is None else case_id(suite, case.neighbour),
    )
    try:
        returned = np.asarray(suite.reference(**_copies(case.args)))
    except Exception as error:
        if case.must_raise:
            return CaseValues(case=given, expected=None)
        said = f"The reference raised {type(error).__name__} in {name}: {first_line(error)}."
        raise ReferenceDisagrees(said) from error
    if case.must_raise:
        raise ReferenceDisagrees(f"The reference returned shape {returned.shape} in {name}, where it must raise.")
    expected = Expected(values=returned) if suite.expected is None else suite.expected(case.args)
    _hold(suite, name, returned, expected)
    return CaseValues(
        case=given,
        expected=expected.values,
        below=_bound(expected.below, expected.values.shape),
        above=_bound(expected.above, expected.values.shape),
    )


def case_id(suite: CaseSuite, axes: Mapping[str, int | str]) -> str:
    """Return the id of the case with these axes."""
    return "/".join([suite.suite.name, *(f"{axis}={value}" for axis, value in axes.items())])


def _copies(args: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in args.items()}


def _bound(bound: Any, shape: tuple[int, ...]) -> Any:
    return np.zeros(shape, np.uint32) if bound is None else np.asarray(bound, np.uint32)


def _hold(suite: CaseSuite, name: str, returned: Any, expected: Expected) -> None:
    """Hold what the reference returned against what is expected, at the suite's own level."""
    due = np.dtype(DTYPES[suite.suite.output.dtype])
    if expected.values.dtype != due or expected.values.ndim != suite.suite.output.rank:
        raise ReferenceDisagrees(
            f"{name} expects {expected.values.dtype} of rank {expected.values.ndim}, and the suite promises {due} of "
            f"rank {suite.suite.output.rank}."
        )
    if not np.isfinite(expected.values).all():
        raise ReferenceDisagrees(f"{name} expects a value that is not finite.")
    if not holds(returned, expected, suite.suite.default_match):
        raise ReferenceDisagrees(
            f"The reference returned in {name} what is not {suite.suite.default_match} to the expected values "
            f"({returned.dtype} of shape {returned.shape})."
        )


def _check_replaceable(path: Path, suite: CaseSuite) -> None:
    """Check that the file at ``path`` is of the same suite: only that is replaced without ``force``."""
    try:
        held = open_golden(path)
    except VectorsError as error:
        raise VectorsError(path, error.problem, remedy="replace it with --force, or choose another -o") from error
    if held.suite.name != suite.suite.name or not isinstance(held, CaseGolden):
        raise InvalidArgument("--output", str(path), f"free for {suite.suite.name}", hint="add --force to replace it")
