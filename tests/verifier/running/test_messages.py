"""Numbers are rounded once, from their text; a message is taken as the schema says, and otherwise not."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posvec.schemas import protocol
from posvec.verifier.running.messages import answer_from_message, answer_from_text
from tests.acceptance.conftest import ROOT

SCHEMA = json.loads((ROOT / "schemas" / "protocol.schema.json").read_text())
ANSWER = jsonschema.Draft202012Validator({"$ref": "#/$defs/answer", "$defs": SCHEMA["$defs"]})
MOST = Fraction(2**128 - 2**104)  # the largest float32
FLOATS = st.integers(0, 2**32 - 1).map(lambda bits: np.uint32(bits).view(np.float32)).filter(np.isfinite)


def take(text):
    line = b'{"id": 0, "values": [' + text.encode() + b"]}"
    message = protocol.parse_object(line)
    assert message is not None
    return answer_from_message(message, line, "case", seconds=0.0)


def nearest(text):
    """The float32 nearest to a decimal, ties to even, by exact arithmetic; None beyond the largest."""
    exact = Fraction(Decimal(text))
    with np.errstate(over="ignore"):
        start = np.float32(float(max(-MOST, min(MOST, exact))))
    near = [np.nextafter(start, np.float32(-np.inf)), start, np.nextafter(start, np.float32(np.inf))]
    distances = [abs(exact - (Fraction(float(v)) if np.isfinite(v) else np.sign(v) * Fraction(2**128))) for v in near]
    best = [v for v, d in zip(near, distances, strict=True) if d == min(distances)]
    chosen = min(best, key=lambda v: v.view(np.uint32) & 1)
    return None if np.isinf(chosen) else chosen


def decimal_of(fraction):
    with localcontext() as context:
        context.prec = 400
        return format(Decimal(fraction.numerator) / Decimal(fraction.denominator), "f")


@settings(max_examples=300, deadline=None)
@given(value=FLOATS, exponent=st.integers(20, 300), side=st.sampled_from([-1, 0, 1]))
def test_what_lies_near_the_middle_of_two_floats_is_rounded_once(value, exponent, side):
    """A double cannot tell the middle from what is 10**-20 of it away; the text can."""
    above = np.nextafter(value, np.float32(np.inf))
    high = Fraction(float(above)) if np.isfinite(above) else Fraction(2**128)
    middle = (Fraction(float(value)) + high) / 2
    text = decimal_of(middle + side * abs(middle) / 10**exponent)
    got, expected = take(text), nearest(text)
    if expected is None:
        assert "beyond the largest float32" in got.detail
    else:
        assert (
            np.frombuffer(got.data, np.float32)[0].tobytes()
            == (expected + np.float32(0) if expected else np.float32(text)).tobytes()
        )
    printed = answer_from_text(text.encode(), "case", seconds=0.0)
    assert (printed.kind, printed.data) == (got.kind, got.data)


@settings(max_examples=300, deadline=None)
@given(st.lists(FLOATS, max_size=5))
def test_nine_digits_carry_every_float32(values):
    text = ", ".join(f"{float(v):.9g}" if v else str(float(v)) for v in values)
    assert take(text).data == np.array(values, np.float32).tobytes()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16777217", 16777216.0),
        ("16777219", 16777220.0),
        ("9007199254740993", 9007199254740992.0),
        ("340282346638528859811704183484516925440", 3.4028234663852886e38),
        ("340282356779733661637539395458142568447", 3.4028234663852886e38),
        ("-340282356779733661637539395458142568447", -3.4028234663852886e38),
        ("340282356779733661637539395458142568448", None),
        ("1e-45", 1e-45),
        ("7.0064923216240853546186479164495e-46", 0.0),
        ("7.0064923216240853546186479164496e-46", 1e-45),
        ("1e-999999999", 0.0),
        ("-0.0", -0.0),
        ("0." + "0" * 5000 + "1", 0.0),
        ("1" + "0" * 4999 + "e-5000", 0.1),
    ],
)
def test_where_it_is_easy_to_go_wrong(text, value):
    got = take(text)
    if value is None:
        assert "beyond the largest float32" in got.detail
    else:
        assert got.data == np.float32(value).tobytes()


KEYS = st.sampled_from(["values", "data", "dtype", "shape", "error", "extra"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**40)
    | st.floats(allow_nan=False, width=32)
    | st.sampled_from(["", "AAAAAA==", "float32", "x"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(KEYS, JSON, max_size=4))
def test_what_the_schema_refuses_is_no_array(fields):
    """What the schema allows may still not agree with itself: base64, sizes, float32's range."""
    line = json.dumps({"id": 3, **fields}).encode()
    message = protocol.parse_object(line)
    got = answer_from_message(message, line, "case", seconds=0.0)
    allowed = ANSWER.is_valid({"id": 3, **fields})
    assert got.kind in (("array", "raised", "other") if allowed else ("other",))
    if got.kind == "other":
        assert got.detail
    if allowed and "values" in fields:
        assert got.kind == "array"


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_line_is_an_object_or_nothing(line):
    assert type(protocol.parse_object(b"{" + line)) in (dict, type(None))
