import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from posvec.schemas.validate import violation
from posvec.vectors.files import locate
from posvec.vectors.golden import Golden
from tests.acceptance.browser import CHROMIUM, on_a_phone
from tests.acceptance.conftest import EXAMPLES

KINDS = ("junit", "markdown", "gradescope", "badge", "html")
HOSTILE = (
    "BAD = '<script>alert(1)</script></style></pre> [x](javascript:alert(1)) ]]> \\x1b[31m \\u202e\\u2028 '\n"
    "BAD += 'A' * 70000\n"
    "print(BAD, flush=True)\n"
    "def learned_pos_embed_forward(seed, T, d_model):\n"
    "    if T == 3:\n        raise ValueError(BAD)\n"
    "    return right(seed, T, d_model) * np.float32(2)\n"
)


def written(folder, *kinds):
    return [word for kind in kinds for word in ("--report", f"{kind}={folder / f'report.{kind}'}")]


def read(folder):
    return {kind: (folder / f"report.{kind}").read_bytes().decode("utf-8") for kind in KINDS}


def test_every_kind_of_report_comes_from_one_run_and_takes_hostile_text_for_text(posvec, target, tmp_path):
    path = target(HOSTILE, name="](javascript:x)<b>.py")
    ran = posvec(
        "verify", f"{path}:learned_pos_embed_forward", "--select", "*/d_model=4/T=[34]", *written(tmp_path, *KINDS)
    )
    assert ran.status == 1
    found = read(tmp_path)
    assert violation(ran.report, "report.schema.json") is None
    for kind in ("junit", "markdown", "html"):
        assert "<script>" not in found[kind]
        assert "<b>" not in found[kind]
    assert "](javascript:" not in found["markdown"]
    for content in (*found.values(), json.dumps(ran.report, ensure_ascii=False), ran.out):
        assert all(c.isprintable() or c in "\n\t" for c in content)
    assert len(ET.fromstring(found["junit"]).findall(".//testcase")) == ran.report["counts"]["selected"]
    assert len(ran.report["output"].encode()) <= 64 * 1024
    assert len(found["markdown"]) < 256 * 1024
    assert len(found["gradescope"]) < 256 * 1024
    assert len(found["html"]) < 2_000_000
    assert json.loads(found["badge"])["message"] == "not conforming, 18 of 18 cases fail"


def secrets(report):
    """Return what a student must not see of the cases that failed: expected values and draws, as texts."""
    golden = Golden.open(locate(None, None, suite=None))
    texts = set()
    failed = {case["id"] for case in report["cases"] if case["outcome"] == "value"}
    for case in golden.cases():
        if case.id in failed:
            known = golden.known(case)
            texts |= {str(value) for value in known.expected}
            texts |= {float(value).hex() for value in known.expected}
            texts |= {f"{bits:08x}" for bits in known.expected.view(np.uint32).tolist()}
            texts |= {f"{draw:,}" for draw in known.draw.tolist()}
    assert len(texts) > 100
    return texts


def test_a_students_reports_and_screen_have_no_expected_value(inside, target, tmp_path):
    path = target(
        "def learned_pos_embed_forward(seed, T, d_model):\n    return right(seed, T, d_model) + np.float32(1)\n"
    )
    options = ("--select", "*/seed=[12]/d_model=8/T=[1245]", *written(tmp_path, *KINDS))
    teacher = inside("verify", path, *options)
    texts = secrets(teacher.report)

    def leaks(text):
        return {secret for secret in texts if secret in text}

    for content in (json.dumps(teacher.report), teacher.out, *read(tmp_path).values()):
        assert leaks(content) or "schemaVersion" in content  # the scan finds what is there
    student = inside("verify", path, *options, "--audience", "student")
    assert violation(student.report, "report.schema.json") is None
    assert student.report["audience"] == "student"
    assert student.report["elements"]["max_ulp"] is None
    assert {case["max_ulp"] for case in student.report["cases"]} == {None}
    assert student.report["failure"]["got"] == teacher.report["failure"]["got"]
    for content in (json.dumps(student.report), student.out, *read(tmp_path).values()):
        assert leaks(content) == set()
        assert not re.search(r"(?<!or )\d ULP", content)


def test_a_report_is_appended_to_a_step_summary_and_replaces_any_other_file(posvec, tmp_path):
    summary, other = tmp_path / "summary.md", tmp_path / "other.md"
    for path in (summary, other):
        path.write_text("# Before\n")
    options = ("--select", "*/d_model=2/T=2", "--match", "equivalent")
    files = (
        "--report",
        f"markdown={summary}",
        "--report",
        f"markdown={other}",
        "--report",
        f"html={tmp_path / 'x.html'}",
    )
    ran = posvec("verify", EXAMPLES / "numpy_port.py", *options, *files, env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert ran.status == 0
    assert summary.read_text() == f"# Before\n\n{other.read_text()}"
    assert other.read_text().startswith("## ✅ ")


def test_a_target_that_cannot_be_loaded_has_every_report(inside, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("print('before')\nimport nosuch_module\n")
    ran = inside("verify", path, *written(tmp_path, *KINDS))
    found = read(tmp_path)
    assert ran.status == 3
    assert "No module named &#x27;nosuch_module&#x27;" in found["html"]
    assert json.loads(found["gradescope"])["score"] == 0
    assert json.loads(found["badge"])["message"] == "could not judge"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_fits_a_phone_in_light_and_dark_asks_for_nothing_and_complains_of_nothing(posvec, target, tmp_path):
    page = tmp_path / "report.html"
    path = target(HOSTILE)
    assert posvec("verify", path, "--select", "*/T=[0-7]", "--report", f"html={page}").status == 1
    seen = {}
    for dark in (False, True):
        text, console = on_a_phone(page, tmp_path, dark=dark)
        seen[dark] = json.loads(text)
        assert console == []
        assert seen[dark]["width"] <= 390
        assert (seen[dark]["outside"], seen[dark]["requests"], seen[dark]["scripts"]) == (0, 0, 0)
        assert seen[dark]["images"] >= 9
        assert (seen[dark]["pictures"], seen[dark]["focusable"]) == (0, 0)
        assert seen[dark]["touch"] >= 24
    assert (seen[False]["background"], seen[True]["background"]) == ("rgb(255, 255, 255)", "rgb(13, 17, 23)")
    assert seen[False]["colour"] != seen[True]["colour"]


def test_a_report_on_stdout_is_alone_there_and_none_replaces_the_homework(inside, target):
    path = target("learned_pos_embed_forward = right")
    words = ("verify", path, "--select", "*/d_model=2/T=2", "--match", "equivalent")
    ran = inside(*words, "--report", "badge=-")
    assert json.loads(ran.out)["message"] == "equivalent in 9 of 2,079 cases"
    assert ran.err.startswith("EQUIVALENT: ")
    before = path.read_text()
    refused = inside(*words, "--report", f"html={path}")
    assert (refused.status, "a file that the run does not need" in refused.err, path.read_text()) == (2, True, before)
