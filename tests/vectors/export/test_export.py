"""An export loses no bit, is the same bytes each time, and leaves the golden file alone."""

import csv
import json
import struct

import numpy as np
import pytest

from posvec.schemas.errors import InvalidArgument, OutputError
from posvec.schemas.suite import DTYPES
from posvec.vectors.case_golden import open_golden
from posvec.vectors.export.cases import Source
from posvec.vectors.export.numbers import decimals, double_bits, double_text, float_bits
from posvec.vectors.export.write import EXTENSIONS, export
from posvec.vectors.files import SHIPPED

SUITES = ("learned_pos_embed", "rope_half", "t5_relative_position_bucket", "bert_embed")


@pytest.fixture(scope="module", params=SUITES)
def source(request):
    """Some cases of a suite: the first, the last, an empty one and one that must raise, where there are such."""
    golden = open_golden(SHIPPED / f"{request.param}.h5")
    cases = golden.cases()
    empty = [case for case in cases if not case.must_raise and not golden.known(case).expected.size]
    raising = [case for case in cases if case.must_raise]
    some = {case.id: case for case in (*cases[:3], cases[len(cases) // 2], *empty[:1], *raising[:1])}
    return Source(golden=golden, cases=list(some.values()), intervals=True, draws=True)


def arrays(source):
    """Yield (case, part, dtype, shape, bytes) of every array, and (case, part, value) of every other argument."""
    golden = source.golden
    kinds = {p.name: DTYPES[p.dtype] for p in golden.suite.parameters if p.kind == "array"}
    for case in source.cases:
        for name, value in case.args.items():
            if name in kinds:
                yield case.id, f"args.{name}", kinds[name], np.shape(value), np.asarray(value, kinds[name]).tobytes()
            else:
                yield case.id, f"args.{name}", value
        if case.must_raise:
            yield case.id, "must raise"
            continue
        known = golden.known(case)
        dtype = DTYPES[golden.suite.output.dtype]
        yield case.id, "expected", dtype, known.shape, known.expected.astype(dtype).tobytes()
        for name in ("accept_below", "accept_above", *(["draw"] if known.draw.size == known.expected.size else [])):
            yield case.id, name, "<u4", known.shape, getattr(known, name).astype("<u4").tobytes()


def from_json(path):
    def array(entry):
        dtype = np.dtype(entry["dtype"]).newbyteorder("<")
        if "bits" in entry:
            data = b"".join(struct.pack("<I", int(bits, 16)) for bits in entry["bits"])
            assert np.array(entry["values"], np.float64).astype("<f4").tobytes() == data
        else:
            data = np.array(entry["values"], dtype).tobytes()
        return dtype.str, tuple(entry["shape"]), data

    for case in json.loads(path.read_text("ascii"))["cases"]:
        for name, value in case["args"].items():
            yield case["id"], f"args.{name}", *(array(value) if isinstance(value, dict) else (value,))
        if case["must_raise"]:
            yield case["id"], "must raise"
        for name in ("expected", "accept_below", "accept_above", "draw"):
            if name in case:
                yield case["id"], name, *array(case[name])


def from_csv(path):
    parts = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            parts.setdefault((row["case"], row["part"]), []).append(row)
    for (case, part), rows in parts.items():
        first = rows[0]
        if first["value"] == "must raise":
            yield case, "must raise"
        elif first["dtype"] == "int64":
            yield case, part, int(first["value"])
        elif first["dtype"] == "float64":
            (number,) = struct.unpack("<d", struct.pack("<Q", int(first["bits"], 16)))
            assert number == float(first["value"])
            yield case, part, number
        else:
            dtype = np.dtype(first["dtype"]).newbyteorder("<")
            shape = tuple(int(n) for n in first["shape"].split("x") if n)
            full = [row for row in rows if row["index"]]
            assert [int(row["index"]) for row in full] == list(range(len(full)))
            words = [int(row["bits"], 16) for row in full] if dtype.kind == "f" else [int(row["value"]) for row in full]
            yield case, part, dtype.str, shape, np.array(words, "<u4" if dtype.kind == "f" else dtype).tobytes()


def from_npz(path):
    with np.load(path, allow_pickle=False) as archive:
        ids = archive["ids"].tolist()
        for case in ids:
            for key in archive.files:
                if not key.startswith(f"{case}/"):
                    continue
                part, value = key.removeprefix(f"{case}/").replace("args/", "args."), archive[key]
                if part == "must_raise":
                    yield case, "must raise"
                elif value.dtype.itemsize == 8:
                    yield case, part, value.item()
                else:
                    yield case, part, value.dtype.str, value.shape, value.tobytes()


def from_raw(path):
    index = json.loads(path.with_name(f"{path.name}.json").read_text("ascii"))
    data = path.read_bytes()
    assert index["file"] == path.name

    def array(entry):
        dtype = np.dtype(entry["dtype"]).newbyteorder("<")
        size = int(np.prod(entry["shape"])) * 4
        return dtype.str, tuple(entry["shape"]), data[entry["offset"] : entry["offset"] + size]

    for case in index["cases"]:
        for name, value in case["args"].items():
            yield case["id"], f"args.{name}", *(array(value) if isinstance(value, dict) else (value,))
        if case["must_raise"]:
            yield case["id"], "must raise"
        for name in ("expected", "accept_below", "accept_above", "draw"):
            if name in case:
                yield case["id"], name, *array(case[name])


READ = {"json": from_json, "csv": from_csv, "npz": from_npz, "raw": from_raw}


@pytest.mark.parametrize("to", READ)
def test_what_is_read_back_is_the_golden_file_bit_for_bit_and_it_is_the_same_file_each_time(source, to, tmp_path):
    path = tmp_path / f"a{EXTENSIONS[to]}"
    files = export(source, to, path)
    assert list(READ[to](path)) == list(arrays(source))
    first = [file.read_bytes() for file in files]
    assert [file.read_bytes() for file in export(source, to, path)] == first
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_decimals_read_back_as_the_same_float32_through_a_float64():
    words = np.concatenate(
        [
            np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint32),
            np.array([0, 1, 0x80000000, 0x80000001, 0x7F7FFFFF, 0x00800000, 0x007FFFFF], np.uint32),
        ]
    )
    values = words.view(np.float32)
    values = values[np.isfinite(values)]
    again = np.array([float(text) for text in decimals(values)]).astype(np.float32)
    assert again.tobytes() == values.tobytes()
    assert json.loads(decimals(np.array([-0.0], np.float32))[0]) == 0
    assert decimals(np.array([-0.0, np.inf, -np.inf, np.nan], np.float32)) == ["-0.0", "Infinity", "-Infinity", "NaN"]
    assert float_bits(np.array([0.01], np.float32)) == ["0x3c23d70a"]
    assert (double_text(10000.0), double_bits(1.0), double_text(float("inf"))) == (
        "10000.0",
        "0x3ff0000000000000",
        "Infinity",
    )


def test_the_golden_file_is_never_overwritten(make_golden, tmp_path):
    golden = make_golden(seed="0", T="1", d_model="1")
    source = Source(golden=golden, cases=golden.cases())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "link").symlink_to(golden.path)
    for name in ("learned_pos_embed.h5", "learned_pos_embed.json", "link"):
        with pytest.raises(InvalidArgument, match="another file than the golden file"):
            export(source, "json", tmp_path / name)
    with pytest.raises(OutputError):
        export(source, "csv", tmp_path / "none" / "x.csv")
    (tmp_path / "link").unlink()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
