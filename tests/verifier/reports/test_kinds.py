import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import get_args

import jsonschema
import pytest
from markdown_it import MarkdownIt

from posvec.schemas.report import OUTCOMES, Behaviour, CaseResult, Diagnosis, VerdictCode
from posvec.schemas.validate import violation
from posvec.verifier.reports.audience import for_audience
from posvec.verifier.reports.files import WRITERS
from posvec.verifier.reports.grid import MARKS
from posvec.verifier.reports.next_steps import WORDS


def test_every_outcome_and_verdict_has_its_mark_and_words():
    assert set(MARKS) == set(OUTCOMES)
    assert len(set(MARKS.values())) == len(OUTCOMES)
    assert set(WORDS) == set(get_args(VerdictCode))


FORMATS = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
GRADESCOPE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["score", "tests"],
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 100},
        "execution_time": {"type": "number", "minimum": 0},
        "output": {"type": "string"},
        "output_format": FORMATS,
        "test_output_format": FORMATS,
        "test_name_format": FORMATS,
        "visibility": VISIBILITY,
        "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "output"],
                "properties": {
                    "score": {"type": "number", "minimum": 0},
                    "max_score": {"type": "number", "minimum": 0},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string", "minLength": 1},
                    "name_format": FORMATS,
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": FORMATS,
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": VISIBILITY,
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
}
"""After https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format."""


def gradescope(report):
    found = json.loads(WRITERS["gradescope"](report))
    jsonschema.validate(found, GRADESCOPE)
    visible = [test for test in found["tests"] if "max_score" in test]
    assert sum(test["max_score"] for test in visible) == 100
    assert all(test["score"] <= test["max_score"] for test in visible)
    return found


def ended(report, verdict, exit_code):
    """Return the report as if no case had run."""
    results = tuple(replace(r, outcome="not-run", elements=0, max_ulp=None) for r in report.results)
    return replace(
        report, verdict=verdict, exit_code=exit_code, results=results, failure=None, diagnosis=None, tables=()
    )


@pytest.mark.parametrize("audience", ["instructor", "student"])
@pytest.mark.parametrize("kind", list(WRITERS))
def test_every_kind_is_written_whatever_became_of_the_run(report_of, kind, audience):
    failing = report_of("raising")
    hostile = replace(
        failing,
        target="<script>/</style>](javascript:x)\x1b\ud800.py",
        output="]]></script>```</pre>" + "\x00\U0001f600" * 100_000,
        results=(*failing.results, CaseResult(id="=x/<b>/\ud800\x1b=1", outcome="crash", detail="\udfff`|" * 30_000)),
    )
    for report in (
        hostile,
        report_of("right"),
        report_of("transposed"),
        ended(failing, "could-not-judge", 3),
        ended(failing, "interrupted", 130),
        replace(ended(failing, "could-not-judge", 3), results=()),
    ):
        content = WRITERS[kind](for_audience(report, audience)).decode("utf-8")
        assert all(c.isprintable() or c in "\n\t" for c in content)
        assert "<script>" not in content.replace('"target": "<script>', "") or kind in ("json", "gradescope")
        if kind == "json":
            assert violation(json.loads(content), "report.schema.json") is None
        elif kind == "junit":
            assert ET.fromstring(content).tag == "testsuites"
        elif kind == "gradescope":
            gradescope(for_audience(report, audience))
            assert len(content.encode()) < 512 * 1024
        elif kind == "markdown":
            assert len(content.encode()) < 512 * 1024
            page = MarkdownIt("commonmark", {"html": True}).enable("table").render(content)
            assert "<script" not in page
            assert 'href="javascript' not in page


@pytest.mark.parametrize(
    ("name", "match", "score"),
    [
        ("right", "equivalent", 100),
        ("rounded", "exact", 80),
        ("transposed", "equivalent", 30),
        ("two_dimensional", "equivalent", 10),
        ("raising", "equivalent", 0),
    ],
)
def test_the_score_follows_the_verdict(report_of, name, match, score):
    found = gradescope(report_of(name, match))
    assert found["score"] == score
    assert sum(test.get("score", 0) for test in found["tests"]) == score


def test_a_share_of_the_cases_earns_that_share_and_empty_arrays_earn_nothing_for_values(report_of):
    report = report_of("right")
    results = tuple(
        CaseResult(id=f"x/T={i}", outcome="value" if i == 2 else "pass", elements=4 if i else 0) for i in range(5)
    )
    found = gradescope(replace(report, results=results, verdict="not-conforming", exit_code=1))
    assert [test.get("score") for test in found["tests"]][:4] == [10, 20, 37.5, 15]


def test_under_strict_arguments_and_behaviour_earn_points_too(report_of):
    report = replace(report_of("right"), strict=True)
    assert gradescope(report)["score"] == 100
    failing = replace(report, behaviour=Behaviour(checked=1, repeat=("x",)), exit_code=1, verdict="not-conforming")
    assert gradescope(failing)["score"] == 90


@pytest.mark.parametrize(("verdict", "status"), [("could-not-judge", 3), ("interrupted", 130)])
def test_what_did_not_run_earns_nothing(report_of, verdict, status):
    assert gradescope(ended(report_of("right"), verdict, status))["score"] == 0


def test_only_what_instructors_alone_see_has_expected_values(report_of):
    report = report_of("transposed")
    found = gradescope(report)
    hidden = [test for test in found["tests"] if test["visibility"] == "hidden"]
    assert found["stdout_visibility"] == "hidden"
    assert report.failure.expected in hidden[0]["output"]
    found["tests"].remove(hidden[0])
    assert report.failure.expected not in json.dumps(found)
    assert not [t for t in gradescope(for_audience(report, "student"))["tests"] if t["visibility"] == "hidden"]


@pytest.mark.parametrize(
    ("name", "match", "message", "color", "failed"),
    [
        ("right", "equivalent", "exact in 3 of 2,079 cases", "brightgreen", False),
        ("rounded", "exact", "same draws, other rounding", "orange", True),
        ("raising", "equivalent", "not conforming, 3 of 3 cases fail", "red", True),
    ],
)
def test_the_badge_says_the_verdict(report_of, name, match, message, color, failed):
    badge = json.loads(WRITERS["badge"](report_of(name, match)))
    assert badge == {
        "schemaVersion": 1,
        "label": "posvec learned_pos_embed",
        "message": message,
        "color": color,
        "isError": failed,
    }


def test_markdown_shows_the_mistake_the_first_failure_and_how_to_repeat_it(report_of):
    page = MarkdownIt("commonmark").enable("table").render(WRITERS["markdown"](report_of("transposed")).decode())
    assert page.startswith("<h2>❌ Not conforming: learned_pos_embed</h2>")
    assert "The rows are flattened feature by feature." in page
    assert "<td>expected</td>" in page


@pytest.mark.parametrize(
    ("sentence", "left_out"),
    [
        ("WITHIN 3 ULP: 9 elements, at most 2 ULP from the expected values in 1 of 9 cases", 1),
        ("SAME DRAWS, OTHER ROUNDING in 4 % of 9 elements, at most 1,234 ULP: not exact", 1),
        ("EQUIVALENT: same draws, other rounding in 4 % of 9 elements, not finite", 1),
        ("NOT CONFORMING: 9 of 9 cases fail (9 value)", 0),
    ],
)
def test_a_students_sentence_says_no_distance(report_of, sentence, left_out):
    shown = for_audience(replace(report_of("right"), sentence=sentence), "student").sentence
    assert not re.search("at most|finite", shown)
    assert sentence.startswith(shown.partition(" elements")[0])
    assert (shown != sentence) == left_out
    assert sentence[-9:] in shown or sentence.endswith("finite")


@pytest.mark.parametrize(
    ("fact", "shown"),
    [
        ("the right draw times 1.50001: the scale differs", "the right draw times a constant: the scale differs"),
        (
            "Every value is within 0.0012 of the right one: it rounds.",
            "Every value is close to the right one: it rounds.",
        ),
        ("Right for seed = 3 only.", "Right for seed = 3 only."),
    ],
)
def test_a_students_facts_say_no_distance(report_of, fact, shown):
    report = replace(report_of("transposed"), diagnosis=Diagnosis(sentence="x", facts=(fact,)))
    assert for_audience(report, "student").diagnosis.facts == (shown,)


@pytest.mark.parametrize("kind", list(WRITERS))
def test_no_distance_of_a_run_that_only_rounds_is_in_a_students_report(report_of, kind):
    report = report_of("rounded", "exact")
    assert re.search(r"\d ULP", report.sentence)
    content = WRITERS[kind](for_audience(report, "student")).decode()
    assert not re.search(r"\d ULP|ulp:\d|levels_held\": \[[^\]]*ulp", content)
