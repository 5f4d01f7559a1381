"""The fuzz targets hold for every past failure and for some hundred new inputs; `make fuzz` searches for longer."""

import json
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import targets

# The same inputs each time: a test that fails once in a thousand runs is of no use to who runs it.
BOUNDED = settings(
    max_examples=300, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
KEPT = [(name, path) for name in targets.TARGETS for path in targets.corpus(name)]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=6,
)
TEXTS = ["", "..", "/etc/passwd", "\x1b[2J", "\ud800", "0..10000000000000000", "²"]
LENGTHS = st.sampled_from([0, 1, 4, 8, 2**20, 2**20 + 1, 2**26, 2**26 + 1, 2**31, 2**32 - 1]) | st.integers(0, 64)


@pytest.mark.parametrize(("name", "path"), KEPT, ids=[f"{name}-{path.name[:20]}" for name, path in KEPT])
def test_what_was_found_once_stays_mended(name, path):
    targets.TARGETS[name](path.read_bytes())


def test_the_first_inputs_of_the_golden_target_are_read_and_not_only_refused():
    """Were the small file refused as it is, its fuzzing would find nothing and say so."""
    with targets.written(targets.seed()) as path:
        assert targets.resealed(path, targets.seed()) == targets.seed()
        assert targets.Golden.open(path).manifest.cases == 66


@st.composite
def _frame(draw):
    kind = st.sampled_from(["array", "other", "raised", "not-run", "x"]) | VALUES
    fields = {
        "e": st.floats() | VALUES,
        "d": st.sampled_from(["<f4", ">f8", "|b1", "bfloat16", "<f99", "<U3"]) | VALUES,
        "s": st.lists(st.integers(-1, 2**64), max_size=3) | VALUES,
        "o": st.sampled_from(["C", "F"]) | VALUES,
        "b": st.just(True) | VALUES,
        "t": st.text(max_size=8) | VALUES,
        "x": VALUES,
    }
    header = draw(st.fixed_dictionaries({"k": kind}, optional=fields))
    text = json.dumps(header).encode() if draw(st.booleans()) else draw(st.binary(max_size=24))
    data = draw(st.binary(max_size=24))
    lengths = len(text), len(data)
    if draw(st.integers(0, 5)) == 0:
        lengths = draw(LENGTHS), draw(LENGTHS)
    return targets.TOKEN + struct.pack("<II", *lengths) + text + data


@BOUNDED
@given(step=st.binary(min_size=1, max_size=1), stream=st.lists(_frame(), max_size=4), rest=st.binary(max_size=32))
def test_any_stream_of_frames_is_read_or_refused(step, stream, rest):
    targets.frames(step + b"".join(stream) + rest)


TOKENS = st.sampled_from(["NaN", "-Infinity", "nan", "-nan(0x1)", "inf", "1e39", "1e-50", "0." + "1" * 60, "9" * 500])
MESSAGE = st.one_of(
    st.dictionaries(
        st.sampled_from(["id", "values", "data", "dtype", "shape", "error", "protocol", "name", "x"]), VALUES
    ).map(json.dumps),
    st.lists(TOKENS | st.floats().map(repr) | st.integers().map(str), max_size=6).map(
        lambda numbers: '{"id": 0, "values": [' + ", ".join(numbers) + "]}"
    ),
    st.builds(
        lambda size, dtype, shape: json.dumps({"id": 1, "data": "AAAA" * size, "dtype": dtype, "shape": shape}),
        st.integers(0, 8),
        st.sampled_from(["float32", "bfloat16", "complex128", "str"]),
        st.lists(st.sampled_from([0, 1, 3, 6, 2**62]), max_size=3),
    ),
    st.text(max_size=12),
).map(lambda text: text.encode("utf-8", "surrogatepass"))
HELLO = b'{"protocol": 1, "name": "port", "version": "1", "language": "C"}'


@BOUNDED
@given(step=st.binary(min_size=1, max_size=1), said=st.lists(MESSAGE | st.binary(max_size=16), max_size=5))
def test_any_lines_of_a_program_are_read_or_refused(step, said):
    targets.lines(step + b"\n".join([HELLO, *said]))
    targets.lines(step + b"\n".join(said))


@BOUNDED
@given(words=st.lists(TOKENS | st.floats().map(repr) | st.text(max_size=4), max_size=8), json_list=st.booleans())
def test_whatever_a_program_prints_is_read_or_refused(words, json_list):
    text = "[" + ", ".join(words) + "]" if json_list else " ".join(words)
    targets.printed(text.encode("utf-8", "surrogatepass"))


@st.composite
def _manifest(draw, name="manifest"):
    document = json.loads((targets.CORPUS / name / "whole").read_bytes())
    for _ in range(draw(st.integers(1, 3))):
        where = document
        while True:
            keys = sorted(where) if isinstance(where, dict) else list(range(len(where)))
            key = draw(st.sampled_from(keys))
            if isinstance(where[key], dict | list) and where[key] and draw(st.integers(0, 4)):
                where = where[key]
                continue
            break
        if draw(st.booleans()):
            where[key] = draw(VALUES)
        elif isinstance(where[key], int):
            where[key] = draw(st.sampled_from([0, -1, 10**30, 2**63, 2**64, 7]))
        elif isinstance(where[key], str):
            where[key] = draw(
                st.sampled_from(["", "..", "/etc/passwd", "\x1b[2J", "\ud800", "0..10000000000000000", "²"])
            )
        else:
            del where[key]
    return json.dumps(document, indent=1).encode() + b"\n"


@BOUNDED
@given(text=_manifest() | st.binary(max_size=64))
def test_any_manifest_is_read_or_refused(text):
    targets.manifest(text)


PATCH = st.builds(
    lambda where, piece: struct.pack("<IB", where, len(piece)) + piece,
    st.integers(0, 2**32 - 1),
    st.binary(max_size=8)
    | st.sampled_from([2**63, 2**64 - 1, 2**40, 53714, 0, 1]).map(lambda value: value.to_bytes(8, "little")),
)


@BOUNDED
@given(seal=st.sampled_from([b"\0", b"\1"]), patches=st.lists(PATCH, max_size=4))
def test_any_change_to_a_golden_file_is_refused_or_changes_nothing(seal, patches):
    targets.golden(seal + b"".join(patches))


@BOUNDED
@given(st.binary(max_size=16))
def test_any_change_to_a_file_of_cases_is_refused_or_changes_nothing(data):
    targets.cases(data)


@BOUNDED
@given(text=_manifest("case_manifest"))
def test_any_manifest_of_cases_is_read_or_refused(text):
    targets.case_manifest(text)
