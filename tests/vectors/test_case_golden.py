"""A golden file of cases is read back as it was written, and only if it is whole."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest

from posvec.schemas.case import Case
from posvec.schemas.case_manifest import CaseManifest
from posvec.schemas.errors import OutputError, VectorsError
from posvec.schemas.suite import Output, Parameter, Suite
from posvec.schemas.validate import violation
from posvec.vectors.case_golden import CaseGolden, open_golden
from posvec.vectors.diff_cases import diff_cases
from posvec.vectors.write_cases import CaseValues, write_cases

SUITE = Suite(
    name="shift",
    function="shift",
    summary="x + n * scale.",
    source="here",
    parameters=(
        Parameter(name="x", kind="array", dtype="float32", shape="(B, D)"),
        Parameter(name="n", kind="int", minimum=-10, maximum=10),
        Parameter(name="scale", kind="float"),
    ),
    output=Output(dtype="float32", rank=2, shape="(B, D)"),
    coercion=False,
    default_match="equivalent",
)


def values(B, D, *, n=2, scale=0.5, raises=False, above=0):
    x = np.arange(B * D, dtype=np.float32).reshape(B, D)
    case = Case(
        id=f"shift/B={B}/D={D}",
        args={"x": x, "n": n, "scale": scale},
        must_raise=raises,
        neighbour="shift/B=2/D=3" if raises else None,
    )
    if raises:
        return CaseValues(case=case, expected=None)
    bound = np.full(x.shape, above, np.uint32)
    return CaseValues(case=case, expected=x + np.float32(n * scale), below=np.zeros_like(bound), above=bound)


CASES = [values(2, 3), values(3, 5, above=7), values(0, 4), values(9, 9, raises=True)]


@pytest.fixture
def path(tmp_path):
    write_cases(tmp_path / "shift.h5", suite=SUITE, cases=CASES, command="posvec generate")
    return tmp_path / "shift.h5"


def test_what_was_written_is_read(path):
    golden = open_golden(path)
    assert isinstance(golden, CaseGolden)
    assert golden.suite == SUITE
    for case, written in zip(golden.cases(), CASES, strict=True):
        assert (case.id, case.must_raise, case.neighbour) == (
            written.case.id,
            written.case.must_raise,
            written.case.neighbour,
        )
        assert case.args["x"].tobytes() == written.case.args["x"].tobytes()
        assert case.args["x"].shape == written.case.args["x"].shape
        assert (case.args["n"], case.args["scale"]) == (2, 0.5)
        if written.expected is not None:
            known = golden.known(case)
            assert (known.shape, known.expected.tobytes()) == (written.expected.shape, written.expected.tobytes())
            assert known.accept_above.tolist() == written.above.reshape(-1).tolist()


def test_the_same_cases_give_the_same_bytes(path, tmp_path):
    write_cases(tmp_path / "again.h5", suite=SUITE, cases=CASES, command="posvec generate")
    assert (tmp_path / "again.h5").read_bytes() == path.read_bytes()


def test_the_manifest_follows_its_schema_and_stands_beside_the_file(path):
    text = path.with_suffix(".json").read_text()
    assert violation(json.loads(text), "golden-cases.schema.json") is None
    assert CaseManifest.from_dict(json.loads(text)).to_json() == text == open_golden(path).manifest.to_json()


def test_any_hdf5_library_reads_it(path):
    with h5py.File(path) as file:
        group = file["cases/0001"]
        assert group["expected"][()].tolist() == (group["args/x"][()] + 1).tolist()
        assert set(group) == {"args", "expected", "accept_below", "accept_above"}
        assert set(file["cases/0003"]) == {"args"}


@pytest.mark.parametrize("name", ["cases/0000/expected", "cases/0001/args/x", "cases/0001/accept_above"])
def test_an_edited_value_is_noticed(path, name):
    with h5py.File(path, "r+") as file:
        file[name][0, 0] += 1
    with pytest.raises(VectorsError, match="damaged or edited"):
        open_golden(path)


@pytest.mark.parametrize("name", ["cases/0000/expected", "cases/0003/args/x", "cases/0002"])
def test_a_missing_array_is_noticed(path, name):
    with h5py.File(path, "r+") as file:
        del file[name]
    with pytest.raises(VectorsError, match="is missing"):
        open_golden(path)


def test_every_truncation_and_flipped_bit_is_noticed_or_harmless(path):
    whole = path.read_bytes()
    digest = open_golden(path).manifest.content_sha256
    rng = np.random.default_rng(0)
    for _ in range(150):
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(data)
        try:
            assert open_golden(path).manifest.content_sha256 == digest
        except VectorsError:
            continue
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(VectorsError):
            open_golden(path)


DOCUMENT = CaseManifest(suite=SUITE, cases=(), command="", posvec="", content_sha256="0" * 64).to_dict() | {
    "cases": [
        {
            "id": "shift/B=2",
            "args": {"x": [2, 3], "n": 1, "scale": 0.5},
            "must_raise": False,
            "shape": [2, 3],
            "accept": False,
            "neighbour": None,
        }
    ]
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cases": []}, "a file must hold 1 to"),
        ({"id": "shift"}, "is no id of a case"),
        ({"id": "other/B=2"}, "is no id of a case"),
        ({"id": "shift/../x"}, "is no id of a case"),
        ({"args": {"x": [2, 3], "n": 1}}, "must have the arguments"),
        ({"args": {"x": [2, -3], "n": 1, "scale": 0.5}}, "list of lengths"),
        ({"args": {"x": [2**40, 3], "n": 1, "scale": 0.5}}, "at most"),
        ({"args": {"x": [2, 3], "n": 1.0, "scale": 0.5}}, "n must be a finite int"),
        ({"args": {"x": [2, 3], "n": True, "scale": 0.5}}, "n must be a finite int"),
        ({"args": {"x": [2, 3], "n": 1, "scale": float("inf")}}, "scale must be a finite float"),
        ({"must_raise": True, "shape": None}, "has a neighbour"),
        ({"must_raise": True, "shape": None, "neighbour": "shift/B=3"}, "must be a case that does not raise"),
        ({"neighbour": "shift/B=2"}, "has a neighbour"),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(change, words):
    document = json.loads(json.dumps(DOCUMENT))
    if "cases" in change:
        document |= change
    else:
        document["cases"][0] |= change
    with pytest.raises((KeyError, TypeError, ValueError), match=words):
        CaseManifest.from_dict(document)


def test_two_cases_of_one_id_are_refused():
    document = json.loads(json.dumps(DOCUMENT))
    document["cases"] *= 2
    with pytest.raises(ValueError, match="the same id"):
        CaseManifest.from_dict(document)


def test_a_file_that_cannot_be_written_leaves_the_old_one(path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("posvec.vectors.write_cases.new_file", _fail)
    with pytest.raises(OutputError, match="No space left"):
        write_cases(path, suite=SUITE, cases=CASES[:1], command="")
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["shift.h5", "shift.json"]


def _fail(_):
    raise OSError(28, "No space left on device")


def test_two_files_are_compared_case_by_case(path, tmp_path):
    def other(*cases):
        write_cases(tmp_path / "b.h5", suite=SUITE, cases=cases, command="")
        return diff_cases(open_golden(path), open_golden(tmp_path / "b.h5"))

    assert other(*CASES).kind == "equal"
    less = other(*CASES[:2])
    assert (less.kind, less.common, less.only_first) == ("coverage", 2, ("shift/B=0/D=4", "shift/B=9/D=9"))
    wider = other(CASES[0], values(3, 5, above=8), *CASES[2:])
    assert (wider.kind, wider.intervals) == ("intervals", ("shift/B=3/D=5",))
    changed = other(values(2, 3, n=3), *CASES[1:])
    assert (changed.kind, changed.changed) == ("values", ("shift/B=2/D=3",))
