from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import product

import pytest

from posvec.schemas.errors import InputError, InvalidLine
from posvec.schemas.report import Behaviour, CaseResult, Elements, Report
from posvec.verifier.known_failures import KnownFailure, KnownFailures
from posvec.verifier.todays_failures import ListFile, grouped
from tests.verifier.test_verdict import judged, verdict

IDS = [f"s/seed={seed}/T={T}" for seed, T in product((0, 1, 42), range(12))] + ["s/seed=0/T=1/as=str"]


def read(tmp_path, text):
    path = tmp_path / "known.txt"
    path.write_text(text)
    return KnownFailures.read(path)


def test_a_line_is_a_pattern_and_its_reason_and_comments_are_left_alone(tmp_path):
    found = read(tmp_path, "# mine\n\n  */T=3   #  no row # 3 yet \n*/seed=42/*\t# [42]\n")
    assert [(one.pattern, one.reason, one.line) for one in found.entries] == [
        ("*/T=3", "no row # 3 yet", 3),
        ("*/seed=42/*", "[42]", 4),
    ]
    assert {name: entry.line for name, entry in found.resolve(IDS).items()} == {
        **{name: 4 for name in IDS if "seed=42" in name},
        **{name: 3 for name in IDS if name.endswith("/T=3")},
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("*/T=3\n", "line 1: */T=3 has no reason; write PATTERN  # reason."),
        ("\n*/T=3 #  \n", "line 2: */T=3 has no reason"),
        ("*/T=3 no row\n", "line 1: '*/T=3 no row' has no # between pattern and reason"),
        ("*/T=3 # a\n*/T=3 # b\n", "line 2: */T=3 stands in line 1 already"),
    ],
)
def test_a_line_that_says_too_little_is_an_error_with_its_number(tmp_path, text, says):
    with pytest.raises(InvalidLine) as caught:
        read(tmp_path, text)
    assert (says in str(caught.value), caught.value.exit_code) == (True, 2)


def test_a_list_that_cannot_be_read_is_one_sentence(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\0")
    for path in (tmp_path, tmp_path / "none", tmp_path / "binary"):
        with pytest.raises(InputError, match="could not be read"):
            KnownFailures.read(path)


def test_a_pattern_that_matches_no_case_is_an_error(tmp_path):
    with pytest.raises(InvalidLine, match=r"line 2: \*/T=99 matches no case"):
        read(tmp_path, "*/T=3 # a\n*/T=99 # b\n").resolve(IDS)


def test_cases_of_strings_are_meant_only_by_patterns_that_say_so():
    assert "s/seed=0/T=1/as=str" not in KnownFailure(pattern="*", reason="-").matching(IDS)
    assert KnownFailure(pattern="*/as=*", reason="-").matching(IDS) == ["s/seed=0/T=1/as=str"]


# Verdicts


def known(outcome, number=0):
    one = judged(outcome, number=number)
    return replace(one, result=replace(one.result, known_failing="a reason"))


def test_only_known_failures_conform_and_are_never_called_exact():
    got = verdict(judged(), known("value", 1))
    assert (got.code, got.exit_code) == ("known-failures", 0)
    assert got.sentence == "ONLY KNOWN FAILURES: 1 of 2 cases fail, as listed; exact holds in the others"
    alone = verdict(known("crash"))
    assert alone.code == "known-failures"
    assert alone.sentence.endswith("1 of 1 cases fail, as listed, and there are no others")


def test_a_listed_case_that_passes_fails_the_run():
    got = verdict(judged(), known("pass", 1))
    assert (got.code, got.exit_code) == ("outdated-list", 1)
    assert got.sentence == "KNOWN FAILURES OUT OF DATE: 1 listed case passes, first s/T=1"


def test_a_new_failure_is_told_from_the_known_ones():
    got = verdict(judged(), known("value", 1), judged("value", number=2))
    assert (got.code, got.exit_code) == ("not-conforming", 1)
    assert got.sentence == "NOT CONFORMING: 1 of 3 cases fail (1 value), 1 more as listed"


def test_a_listed_case_that_did_not_run_is_not_judged():
    assert verdict(judged(), known("not-run", 1)).code == "could-not-judge"
    assert verdict(judged(), known("value", 1), interrupted=True).code == "interrupted"


# Today's list


@pytest.mark.parametrize(
    ("failing", "patterns"),
    [
        (lambda seed, T: T > 0, ["s/seed=*/T=[!0]*"]),
        (lambda seed, T: seed == 42, ["s/seed=42/T=*"]),
        (lambda seed, T: T == 3, ["s/seed=*/T=3"]),
        (lambda seed, T: seed == 1 and T in (2, 10), ["s/seed=1/T=2", "s/seed=1/T=10"]),
        (lambda seed, T: True, ["s/seed=*/T=*"]),
    ],
)
def test_patterns_match_exactly_the_cases_that_fail(failing, patterns):
    wanted = [f"s/seed={seed}/T={T}" for seed, T in product((0, 1, 42), range(12)) if failing(seed, T)]
    found = [one.pattern for one in grouped(dict.fromkeys(wanted, "value"), IDS)]
    assert found == patterns
    plain = [name for name in IDS if "/as=" not in name]
    assert sorted(wanted) == sorted({name for p in found for name in plain if fnmatchcase(name, p)})


def test_cases_of_different_reasons_are_kept_apart():
    reasons = {f"s/seed=0/T={T}": "value" if T % 2 else "crash" for T in range(12)}
    assert {one.reason for one in grouped(reasons, IDS)} == {"value", "crash"}


def report(outcomes, exit_code=1):
    return Report(
        verdict="not-conforming",
        sentence="",
        exit_code=exit_code,
        target="t",
        vectors={"name": "s"},
        level_asked="exact",
        build_asked=None,
        levels_held=(),
        explained_by=(),
        elements=Elements(),
        results=tuple(CaseResult(id=name, outcome=outcome) for name, outcome in outcomes.items()),
        total=len(IDS),
        failure=None,
        notes=(),
        behaviour=Behaviour(),
        environment={},
        output="",
        restarts=0,
        seconds={},
    )


def outcomes(failing):
    return {name: "value" if failing(name) else "pass" for name in IDS if "/as=" not in name}


def test_reasons_and_comments_that_were_written_stay_and_what_passes_goes(tmp_path):
    path = tmp_path / "known.txt"
    path.write_text(
        "# ours\n*/seed=1/* # half of it works now\n*/seed=0/T=3  # still\n\n*/seed=42/T=5 # it passes now\n"
        "s/seed=0/T=4  # value: seed-plus-one\n"
    )
    file = ListFile(path)
    failing = outcomes(lambda name: name in ("s/seed=1/T=2", "s/seed=0/T=3", "s/seed=0/T=7"))
    said = list(file.write(report(failing), IDS))
    assert path.read_text() == (
        "# ours\ns/seed=1/T=2  # half of it works now\n*/seed=0/T=3  # still\n\ns/seed=0/T=7  # value\n"
    )
    assert said == [
        f"{path} lists 3 cases in 3 patterns.",
        "  taken out: */seed=42/T=5  # it passes now",
        "  taken out: s/seed=0/T=4  # value: seed-plus-one",
    ]
    assert KnownFailures.read(path).resolve(IDS).keys() == {"s/seed=1/T=2", "s/seed=0/T=3", "s/seed=0/T=7"}


def test_what_did_not_run_today_stays_listed(tmp_path):
    path = tmp_path / "known.txt"
    path.write_text("*/seed=1/* # mine\ns/seed=42/T=*  # value\n")
    only = {"s/seed=0/T=1": "value", "s/seed=1/T=1": "value"}
    list(ListFile(path).write(report(only), IDS))
    assert path.read_text() == "*/seed=1/* # mine\ns/seed=42/T=*  # value\ns/seed=0/T=1  # value\n"


@pytest.mark.parametrize(("exit_code", "outcome"), [(130, "value"), (3, "value"), (1, "not-run")])
def test_a_run_that_is_not_whole_writes_nothing(tmp_path, exit_code, outcome):
    path = tmp_path / "known.txt"
    said = list(ListFile(path).write(report({"s/seed=0/T=1": outcome}, exit_code), IDS))
    assert (said, path.exists()) == ([f"{path} is not written: not all cases ran."], False)
