"""The quick subset of a golden file is a golden file with the same ids and the same knowledge of each case."""

import numpy as np
import pytest

from posvec.schemas.case import Case
from posvec.schemas.suite import Output, Parameter, Suite
from posvec.vectors.case_golden import CaseGolden, open_golden
from posvec.vectors.diff import diff
from posvec.vectors.diff_cases import diff_cases
from posvec.vectors.golden import Golden
from posvec.vectors.quick import QUICK_CASES, quick_subset
from posvec.vectors.vendoring.subset import write_quick
from posvec.vectors.write_cases import CaseValues, write_cases
from tests.vectors.conftest import CANONICAL

COUNT = Suite(
    name="count",
    function="count",
    summary="n as x.dtype.",
    source="here",
    parameters=(
        Parameter(name="n", kind="int", minimum=0, maximum=999),
        Parameter(name="x", kind="array", dtype="int32", shape="(1,)"),
    ),
    output=Output(dtype="float32", rank=1, shape="(1,)"),
    coercion=False,
)


@pytest.fixture
def whole(make_golden):
    return make_golden("whole.h5", builds=[(CANONICAL, "jax0.10.2-fma-eager")])


def test_of_tables_it_is_the_cases_of_verify_quick(whole, tmp_path):
    path = tmp_path / "quick.h5"
    assert write_quick(whole, path)
    quick = Golden.open(path)
    quick.check_values()
    expected = {case.id: case.args for case in quick_subset(whole.cases())}
    assert {case.id: case.args for case in quick.cases()} == expected
    assert quick.manifest.cases == len(expected) == QUICK_CASES
    assert quick.recordings == whole.recordings
    for case in quick.cases():
        mine, theirs = quick.known(case), whole.known(case)
        for name in ("expected", "draw", "accept_below", "accept_above", "cell_below", "cell_above", "recordings"):
            assert getattr(mine, name).tobytes() == getattr(theirs, name).tobytes()
    assert path.with_suffix(".json").read_text("ascii") == quick.manifest.to_json()
    found = diff(quick, whole)
    assert (found.kind, found.subset, found.axes) == ("coverage", True, ())


def test_it_is_the_same_bytes_each_time_and_its_own_quick_subset(whole, tmp_path):
    for name in ("a.h5", "b.h5"):
        write_quick(whole, tmp_path / name)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    assert not write_quick(Golden.open(tmp_path / "a.h5"), tmp_path / "c.h5")
    assert not (tmp_path / "c.h5").exists()


def test_of_a_list_it_keeps_arguments_intervals_and_what_must_raise(tmp_path):
    def one(n, *, raises=False):
        case = Case(
            id=f"count/n={n}",
            args={"n": n, "x": np.array([n], np.int32)},
            must_raise=raises,
            neighbour="count/n=0" if raises else None,
        )
        if raises:
            return CaseValues(case=case, expected=None)
        bound = np.array([n % 3], np.uint32)
        return CaseValues(case=case, expected=np.array([n], np.float32), below=bound, above=bound)

    write_cases(
        tmp_path / "count.h5",
        suite=COUNT,
        cases=[*(one(n) for n in range(150)), one(500, raises=True)],
        command="posvec generate",
    )
    whole = open_golden(tmp_path / "count.h5")
    assert write_quick(whole, tmp_path / "quick.h5")
    quick = open_golden(tmp_path / "quick.h5")
    assert isinstance(quick, CaseGolden)
    assert isinstance(whole, CaseGolden)
    ids = {case.id for case in quick.cases()}
    assert ids == {case.id for case in quick_subset(whole.cases())}
    assert {"count/n=500", "count/n=0"} <= ids
    found = diff_cases(quick, whole)
    assert (found.kind, found.only_first) == ("coverage", ())
