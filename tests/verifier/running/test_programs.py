"""Programs that talk the protocol, well and badly: each a real process."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from posvec.schemas import protocol
from posvec.schemas.case import Case
from posvec.schemas.errors import InvalidArgument, TargetUnavailable
from posvec.vectors.suites import LEARNED_POS_EMBED
from posvec.verifier.running.nearly import ON_STDERR, SPREAD
from posvec.verifier.running.options import RunOptions
from posvec.verifier.running.program import find_program
from posvec.verifier.running.program_session import ProgramSession

from .conftest import alive, cases, gone

PROGRAM = """
import base64, json, os, signal, subprocess, sys, time
seen = []
def say(message):
    print(message if type(message) is str else json.dumps(message), flush=True)
def right(m):
    return {{"id": m["id"], "values": [0.5] * (m["T"] * m["d_model"])}}
{prelude}
for line in sys.stdin:
    m = json.loads(line)
    if "protocol" in m:
        {hello}
        continue
    i, T = m["id"], m["T"]
{body}
{end}
"""
HELLO = 'say({"protocol": 1, "name": "p", "version": "2", "language": "Python"})'


@pytest.fixture
def program(tmp_path):
    """Write a program and open a session on it; ``body`` answers one request."""
    sessions = []

    def program(
        body="say(right(m))",
        *,
        prelude="",
        hello=HELLO,
        end="",
        source=None,
        words=(),
        per_case=False,
        output="text",
        **options,
    ):
        path = tmp_path / "port.py"
        body = textwrap.indent(textwrap.dedent(body), "    ")
        path.write_text(source or PROGRAM.format(prelude=prelude, hello=hello, body=body, end=end))
        found = find_program([sys.executable, str(path), *words], per_case=per_case, output=output)
        session = ProgramSession(found, RunOptions(**options), hello=protocol.hello("suite", "partitionable"))
        sessions.append(session)
        return session

    yield program
    for session in sessions:
        session.close()


@pytest.fixture
def answers(program):
    """Run a program on T = 0, 1, … and return its last answer to each case, in the order of the cases."""

    def answers(body="say(right(m))", count=4, **options):
        with program(body, **options) as session:
            got = {answer.case_id: answer for answer in session.run(cases(count))}
        got |= session.late
        return [got[case.id] for case in cases(count)]

    return answers


def kinds(got):
    return [answer.kind for answer in got]


# --- The conversation --------------------------------------------------------------------------------------


def test_values_arrive_as_float32(answers):
    got = answers()
    assert kinds(got) == ["array"] * 4
    assert (got[1].dtype, got[1].shape, got[1].type_name) == ("<f4", (4,), "values")
    assert got[1].data == np.full(4, 0.5, np.float32).tobytes()


def test_thousands_of_cases_are_answered_in_any_order(answers):
    got = answers(
        """
        seen.append(m)
        if len(seen) >= 3 or i > 1990:
            for one in reversed(seen):
                say(right(one))
            seen.clear()
        """,
        2001,
    )
    assert kinds(got) == ["array"] * 2001
    assert [answer.shape for answer in got[:5]] == [(0,), (4,), (8,), (12,), (16,)]


def test_data_is_taken_in_any_dtype_and_shape(answers):
    got = answers(
        """
        n = T * m["d_model"]
        say({"id": i, "data": base64.b64encode(bytes(8 * n)).decode(), "dtype": "float64", "shape": [T, m["d_model"]]})
        """
    )
    assert (got[2].kind, got[2].dtype, got[2].shape, got[2].data) == ("array", "<f8", (2, 4), bytes(64))


def test_the_hello_names_suite_and_stream_and_the_program_itself(program):
    with program(
        'say({**right(m), "values": [float(m == {"id": 0, "seed": 0, "T": 0, "d_model": 4})]})',
        hello='assert m == {"protocol": 1, "suite": "suite", "stream": "partitionable"}; ' + HELLO,
    ) as session:
        (got,) = session.run(cases(1))
    assert got.data == np.ones(1, np.float32).tobytes()
    assert dict(session.environment) == {"program": "p", "version": "2", "language": "Python"}


@pytest.mark.parametrize(
    ("seed", "halves"),
    [
        (2**53, []),
        (-(2**53), []),
        (2**53 + 1, [1, 2**21]),
        (-(2**53) - 1, [2**32 - 1, 2**32 - 2**21 - 1]),
        (-(2**63), [0, 2**31]),
    ],
)
def test_seeds_that_no_double_holds_come_in_halves_too(program, seed, halves):
    case = Case(id="x", args={"seed": seed, "T": 1, "d_model": 2})
    with program(
        'say({"id": i, "error": json.dumps([m["seed"], *[m[k] for k in ("seed_lo", "seed_hi") if k in m]])})'
    ) as s:
        (got,) = s.run([case])
    assert json.loads(got.detail) == [seed, *halves]


def test_an_error_is_an_exception(answers):
    got = answers('say({"id": i, "error": "not implemented"})', 2)
    assert [(answer.kind, answer.detail) for answer in got] == [("raised", "not implemented")] * 2


def test_chatter_is_shown_and_means_nothing(program):
    with program(
        'say("working"); say("[1, 2]"); say(\'{"id": 0\'); sys.stdout.buffer.write(b"\\xff\\xfe{}\\n"); say(right(m)); '
        'print("on stderr", file=sys.stderr)',
        hello='say("starting"); ' + HELLO,
    ) as session:
        assert kinds(session.run(cases(3))) == ["array"] * 3
    text = session.output.text
    assert text.startswith("starting\n")
    for line in ("working\n", "[1, 2]\n", '{"id": 0\n', "\\xff\\xfe{}\n", "on stderr\n"):
        assert text.count(line) == 3


def test_a_flood_of_chatter_is_kept_at_both_ends(program):
    with program('[sys.stdout.write("x" * 10**6) for _ in range(100)]; say(""); say(right(m))') as session:
        assert kinds(session.run(cases(1))) == ["array"]
    assert session.output.total > 10**8
    assert len(session.output.text) < 200_000


def test_what_a_program_says_last_needs_no_line_end(answers):
    got = answers(
        'sys.stdout.write(json.dumps(right(m)) + ("" if T == 3 else "\\n")); sys.stdout.flush(); T == 3 and sys.exit()'
    )
    assert kinds(got) == ["array"] * 4


# --- Answers that are no arrays ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('{"values": [[1, 2]]}', "values is a list of lists (values[0] is a list of 2), not flat"),
        ('{"values": [1, "2"]}', "values[1] is the text '2', not a number"),
        ('{"values": [null]}', "values[0] is null (JSON.stringify writes NaN and Infinity so), not a number"),
        ('{"values": [true]}', "values[0] is true, not a number"),
        ('{"values": {}}', "values is an object, not a list of numbers"),
        ('{"values": [1e39]}', "number 1 is 1e39, which is beyond the largest float32"),
        ('{"values": [0, -1e999]}', "number 2 is -1e999, which is beyond the largest float32"),
        ('{"values": [1' + "0" * 5000 + "]}", "beyond the largest float32"),
        ('{"value": [1]}', "the answer has the unknown key 'value'"),
        ("{}", "the answer has an id and nothing else"),
        ('{"values": [1], "error": "x"}', "the answer has error, values at once"),
        ('{"values": [1], "data": ""}', "the answer has both values and data"),
        ('{"error": 3}', "error is 3, not a text"),
        ('{"data": "AAAA"}', "the answer has data without dtype and shape"),
        (
            '{"data": "AAAAAA==", "dtype": "float32", "shape": [2]}',
            "data holds 4 bytes, and float32 of shape [2] takes 8",
        ),
        ('{"data": "", "dtype": "float32", "shape": [2147483648]}', "data holds 0 bytes, and float32 of shape"),
        ('{"data": "AA!A", "dtype": "int8", "shape": [3]}', "data is not base64"),
        ('{"data": "é", "dtype": "int8", "shape": [3]}', "data is not base64"),
        ('{"data": "", "dtype": "f32", "shape": [0]}', "'f32' is no dtype"),
        ('{"data": "", "dtype": "float32", "shape": [-1]}', "shape is [-1], not a list of lengths"),
        ('{"data": "", "dtype": "float32", "shape": 0}', "shape is 0, not a list of lengths"),
        ('{"data": [1], "dtype": "float32", "shape": [1]}', "data is a list of 1, not a text in base64"),
    ],
)
def test_an_answer_that_is_no_array_says_why(answers, answer, words):
    got = answers(f"say({answer!r}.replace('{{', '{{\"id\": %d, ' % i, 1).replace(', }}', '}}'))", 2)
    assert kinds(got) == ["other"] * 2
    assert words in got[1].detail


def test_more_than_64_mib_are_not_read(answers):
    got = answers('say({"id": i, "data": "A" * (86 * 2**20), "dtype": "int8", "shape": [1]})', 1)
    assert got[0].kind == "other"
    assert "64 MiB" in got[0].detail


def test_64_mib_are_read(answers):
    got = answers(
        'say({"id": i, "data": base64.b64encode(bytes(64 * 2**20)).decode(), "dtype": "int8", "shape": [64 * 2**20]})',
        1,
    )
    assert (got[0].kind, len(got[0].data)) == ("array", 64 * 2**20)


@pytest.mark.parametrize("token", ["NaN", "nan", "-nan", "nan(0x1)", "Infinity", "inf", "-Inf"])
def test_nan_and_infinity_are_numbers_however_they_are_printed(answers, token):
    got = answers(f'say(\'{{"id": %d, "values": [{token}, 1]}}\' % i)', 1)
    assert got[0].kind == "array"
    first, second = np.frombuffer(got[0].data, np.float32)
    assert np.isnan(first) if "n(" in token.lower() or "nan" in token.lower() else np.isinf(first)
    assert second == 1


# --- Programs that do what they should not -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("strike", "kind", "words"),
    [
        ("sys.exit(3)", "crash", "ended with exit status 3"),
        ("os._exit(0)", "crash", "ended with exit status 0"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crash", "SIGSEGV"),
        ("os.abort()", "crash", "SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "crash", "SIGKILL"),
        ("raise ValueError('no')", "crash", "ValueError: no"),
        ("while True: pass", "timeout", "no answer within 1 s"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)", "timeout", "no answer within 1 s"),
        ("os.close(1); time.sleep(1000)", "crash", "closed its standard output"),
        ("x = []\nwhile True: x.append(b'x' * 10**7)", "crash", "more than the 300 allowed"),
        (
            "sys.stdout.write('{\"id\": ' + str(i) + ', \"val'); sys.stdout.flush(); os._exit(1)",
            "crash",
            "exit status 1",
        ),
        ("say({'id': 10**6, 'values': []})", "crash", "an answer to a question that was not asked"),
        ("say({'id': str(i), 'values': []})", "crash", "must repeat the id"),
        ("say({'level': 'info'})", "crash", "a JSON object without an id came"),
        ("say({'values': []})", "crash", "an answer must repeat the id of its request"),
        ("say({'protocol': 1, 'name': ''})", "crash", "the hello is said once"),
        ("def f(): f()\nsys.setrecursionlimit(10**9); sys.stdin.close(); f()", "crash", "more than the 300 allowed"),
        (
            "subprocess.run([sys.executable, '-c', 'x = bytearray(400 * 2**20); import time; time.sleep(100)'])",
            "crash",
            "more than the 300 allowed",
        ),
        ("[sys.stdout.write('{' + 'x' * 10**6) for _ in range(100)]; say('')", "crash", "a line of more than"),
    ],
)
def test_a_strike_costs_only_its_case(answers, strike, kind, words):
    body = f"if T == 20:\n{textwrap.indent(strike, '    ')}\nelse:\n    say(right(m))"
    got = answers(body, 40, timeout=1, memory=300 * 2**20)
    assert [(a.case_id, a.kind) for a in got if a.kind != "array"] == [("suite/T=20", kind)]
    assert words in got[20].detail


@pytest.mark.parametrize("where", ["T == 2", "T == 3", "True"])
def test_a_case_that_is_answered_twice_fails(answers, where):
    got = answers(f"say(right(m))\nif {where}: say(right(m))")
    struck = [T for T in range(4) if eval(where, {"T": T})]  # noqa: S307
    assert [i for i, a in enumerate(got) if a.kind == "raised"] == struck
    assert got[struck[0]].detail == "the program answered it twice"


@pytest.mark.parametrize("pause", ["", "time.sleep(0.01); "])
def test_a_program_that_answers_one_case_for_ever_ends_in_a_timeout(answers, pause):
    got = answers(f"say(right(m))\nwhile T == 1: {pause}say(right(m))", timeout=0.5)
    assert kinds(got) == ["array", "raised", "array", "array"]
    assert got[1].detail == "the program answered it twice"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("say(json.dumps(right(m), indent=1))", "spread over several lines: write each message on one line"),
        ("say(str(right(m)))", "with single quotes, which is no JSON: print json.dumps"),
        ("say(json.dumps(right(m)) * 2)", "more than one JSON object came on a line: end each with a line end"),
        ("say(chr(0xFEFF) + json.dumps(right(m)))", "begins with a byte order mark: write UTF-8 without one"),
        ("os.write(1, (json.dumps(right(m)) + chr(10)).encode('utf-16'))", "it writes UTF-16: write UTF-8"),
        ("print(json.dumps(right(m)), file=sys.stderr, flush=True)", "wrote messages to standard error"),
        ('say(\'{"id": %d, "values": [.5]}\' % i)', "a line came that is no JSON, from its column 22 on: {"),
    ],
)
def test_a_line_that_was_meant_as_an_answer_is_named_when_none_comes(answers, wrong, words):
    got = answers(f"if T == 1: {wrong}\nelse: say(right(m))", timeout=0.5)
    assert kinds(got) == ["array", "timeout", "array", "array"]
    assert got[1].detail.startswith("no answer within 0.5 s: ")
    assert words in got[1].detail


def test_a_line_that_was_meant_as_another_answer_explains_nothing(answers):
    got = answers("say('{\"id\": %d}x' % (i & 2)); T == 3 and time.sleep(100); say(right(m))", timeout=0.5)
    assert kinds(got) == ["array", "array", "array", "timeout"]
    assert got[3].detail == "no answer within 0.5 s"


def test_line_ends_of_windows_are_read(answers):
    got = answers('sys.stdout.write(json.dumps(right(m)) + "\\r\\n"); sys.stdout.flush()')
    assert kinds(got) == ["array"] * 4


def test_the_answers_of_another_case_are_judged_as_they_say(answers):
    got = answers("seen.append(m); m['id'] ^= 1; say(right(m))")
    assert [a.shape for a in got] == [(4,), (0,), (12,), (8,)]


def test_a_breach_after_the_last_answer_fails_the_last_case(answers):
    got = answers(end="say({'id': 777, 'values': []})")
    assert kinds(got) == ["array", "array", "array", "raised"]
    assert "not asked" in got[3].detail


@pytest.mark.parametrize("strike", ["os._exit(1)", "time.sleep(1000)"])
def test_the_case_that_fails_is_found_although_others_are_open(answers, strike):
    """Answers that a program holds back are lost with it; they are asked again, one at a time."""
    got = answers(
        f"""
        if T == 20: {strike}
        seen.append(m)
        if len(seen) == 2 or T < 4 or T == 39 or T == 19 or not seen[:-1] and T > 20:
            for one in reversed(seen): say(right(one))
            seen.clear()
        elif T in (18, 21): time.sleep(0.01)
        """,
        40,
        timeout=1,
    )
    assert [a.case_id for a in got if a.kind != "array"] == ["suite/T=20"]


def test_a_program_that_fails_whenever_asked_ahead_is_asked_one_at_a_time(program):
    source = PROGRAM.format(
        prelude="import select",
        hello=HELLO,
        end="",
        body="""
    time.sleep(0.01)
    if select.select([0], [], [], 0)[0]: os._exit(1)
    say(right(m))
""",
    ).replace("for line in sys.stdin:", "for line in iter(lambda: sys.stdin.buffer.raw.readline(), b''):")
    with program(source=source) as session:
        assert kinds(session.run(cases(60))) == ["array"] * 60
    assert session.restarts == 3


@pytest.mark.parametrize("flushed", ["hello", "answers", "nothing"])
def test_a_missing_flush_is_named(program, flushed, monkeypatch):
    """Standard output into a pipe is kept until it is flushed or the program ends."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with program(
        "print(json.dumps(right(m)))",
        hello=HELLO if flushed == "hello" else HELLO.replace("say(", "print(json.dumps(").replace("})", "}))"),
        timeout=1,
        start_timeout=1,
    ) as session:
        if flushed == "hello":
            got = list(session.run(cases(5)))
            assert kinds(got) == ["timeout"] + ["not-run"] * 4
            assert all("flush standard output after every line" in a.detail for a in got)
        else:
            with pytest.raises(TargetUnavailable, match="flush standard output after every line"):
                session.start()


def test_a_program_that_is_merely_slow_is_not_told_to_flush(answers):
    got = answers("time.sleep(30)", 1, timeout=0.5)
    assert (got[0].kind, got[0].detail) == ("timeout", "no answer within 0.5 s")


def test_what_a_program_started_is_gone(program):
    with program(
        """
        daemon = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
        print(daemon.pid, os.getpid(), file=sys.stderr, flush=True)
        say(right(m))
        """
    ) as session:
        assert kinds(session.run(cases(2))) == ["array"] * 2
    pids = [int(word) for word in session.output.text.split()]
    assert len(pids) == 4
    assert gone(pids)


def test_a_program_may_end_in_its_own_time(program, tmp_path):
    """The end of its input is the end of the run; what it does then is done before it is killed."""
    with program(end=f"time.sleep(0.3); open({str(tmp_path / 'done')!r}, 'w').close()") as session:
        list(session.run(cases(1)))
    assert (tmp_path / "done").exists()
    assert list(session.notes) == []


def test_how_a_program_ends_is_noted(program):
    with program(end="sys.exit(7)") as session:
        list(session.run(cases(1)))
    assert list(session.notes) == ["ended with exit status 7 when its input had ended"]


def test_a_program_that_does_not_end_is_killed_and_noted(program):
    with program(prelude="print(os.getpid(), file=sys.stderr, flush=True)", end="time.sleep(1000)") as session:
        list(session.run(cases(1)))
    assert "was still there 2 s after its input had ended, and was killed" in session.notes
    assert not alive(int(session.output.text.split()[0]))


def test_several_processes_share_the_cases(answers):
    got = answers("if T == 30: os._exit(1)\nsay(right(m))", 90, jobs=2)
    assert [a.case_id for a in got if a.kind != "array"] == ["suite/T=30"]


# --- Start -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        ("sys.exit(2)", "ended with exit status 2 before it answered the hello"),
        ("time.sleep(100)", "did not answer the hello within 1 s"),
        ('say({"protocol": 2, "name": "", "version": "", "language": ""})', "speaks version 2 of the protocol"),
        (
            'say({"protocol": 1, "name": "p"})',
            "its hello must hold name, version, language as texts, and version is not",
        ),
        (HELLO.replace("})", ', "x": 1})'), "and nothing else, and it holds x"),
        ('say({"id": 0, "values": []})', "its first message must be the hello"),
        (
            HELLO.replace("say(", "print(", 1).replace("})", "}, file=sys.stderr, flush=True)"),
            "did not answer the hello",
        ),
        (HELLO.replace("say(", "print(json.dumps(").replace("})", "}), file=sys.stderr, flush=True)"), ON_STDERR),
        ("os.fork() and os._exit(0)", "it must stay, in the foreground, until its input ends"),
    ],
)
def test_a_hello_that_is_none(program, hello, words):
    with pytest.raises(TargetUnavailable) as caught:
        program(hello=hello, start_timeout=1).start()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("say", "words"),
    [
        ("json.dumps({}, indent=1)", SPREAD),
        ("str({})", "with single quotes"),
        ("chr(0xFEFF) + json.dumps({})", "byte order mark"),
        ("json.dumps({}) * 2", "more than one JSON object"),
    ],
)
def test_a_hello_that_is_almost_one_is_told_at_once(program, say, words):
    hello = 'print(f"got {line}"); H = {"protocol": 1, "name": "p", "version": "2", "language": "Python"}; '
    begun = time.monotonic()
    with pytest.raises(TargetUnavailable) as caught:
        program(hello=f"{hello}say({say.replace('{}', 'H')})").start()
    assert words in str(caught.value)
    assert time.monotonic() - begun < 30


def test_a_program_that_reads_all_its_input_first_is_told_so(program):
    with pytest.raises(TargetUnavailable, match="only when its input ended: read it line by line"):
        program(prelude="sys.stdin = iter(sys.stdin.read().splitlines())", start_timeout=0.5).start()


@pytest.mark.parametrize("command", ["exec {}", "{}", "{}; echo done"])
def test_a_program_may_be_wrapped_in_a_shell_script(program, tmp_path, command):
    """The shell waits, and the program holds the pipes: it starts as slowly as it likes, and nothing is left."""
    session = program("print(os.getpid(), file=sys.stderr, flush=True); say(right(m))", timeout=0.5)
    script = tmp_path / "wrap"
    script.write_text(f"#!/bin/sh\nsleep 0.7\n{command.format(session.program.text)}\n")
    script.chmod(0o755)
    with ProgramSession(
        find_program([str(script)]), RunOptions(timeout=0.5), hello=protocol.hello("suite", "partitionable")
    ) as session:
        assert kinds(session.run(cases(3))) == ["array"] * 3
    assert gone([int(word) for word in session.output.text.split() if word.isdigit()])


@pytest.mark.parametrize("strike", ["SIGKILL", "SIGSTOP"])
def test_a_program_that_strikes_its_supervisor(program, strike):
    with program(
        f"if T == 1:\n    os.kill(os.getppid(), signal.{strike})\n"
        "    print(os.getpid(), os.getppid(), file=sys.stderr, flush=True)\nsay(right(m))"
    ) as session:
        assert kinds(session.run(cases(3))) == ["array"] * 3
    pids = [int(word) for word in session.output.text.split()]
    assert len(pids) == 2
    assert gone([pid for pid in pids if pid > 1])


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_no_descriptor_is_leaked(program):
    def once():
        with program("if T == 1: os._exit(1)\nsay(right(m))", jobs=2) as session:
            list(session.run(cases(4)))
        return len(list(Path("/proc/self/fd").iterdir()))

    assert once() == once()


def test_a_program_that_only_prints_is_told_of_per_case(program):
    with pytest.raises(TargetUnavailable, match="--per-case"):
        program(source="print(1, 2, 3)").start()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such-program-here"], "there is no program 'no-such-program-here' on PATH"),
        (["./nothing"], "there is no file ./nothing; check the path"),
        (["./folder"], "./folder is a directory"),
        (["./port.py"], "./port.py is not executable; write --exec python3 port.py"),
        (["port.py"], "write --exec python3 port.py"),
        (["./port.c"], "it is source code: build it with cc"),
        (["tool"], "there is no program 'tool' on PATH; write ./tool"),
    ],
)
def test_a_program_that_is_not_there(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("port.py", "port.c", "tool"):
        (tmp_path / name).touch(mode=0o755 if name == "tool" else 0o644)
    with pytest.raises(TargetUnavailable) as caught:
        find_program(words)
    assert message in str(caught.value)


def test_a_file_that_no_system_runs(tmp_path):
    path = tmp_path / "port"
    path.write_bytes(b"\0\1\2")
    path.chmod(0o755)
    with (
        ProgramSession(find_program([str(path)]), hello={}) as session,
        pytest.raises(TargetUnavailable) as caught,
    ):
        session.start()
    assert "it could not be started: Exec format error" in str(caught.value)


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("#!/bin/sh\r\n", "its first line ends with a carriage return: save it with Unix line ends"),
        ("#!/no/such/shell -e\n", "its first line names /no/such/shell: is that here?"),
    ],
)
def test_a_script_whose_interpreter_is_not_found_says_why(tmp_path, first, words):
    path = tmp_path / "port"
    path.write_bytes(first.encode() + b"echo\n")
    path.chmod(0o755)
    with ProgramSession(find_program([str(path)]), hello={}) as session, pytest.raises(TargetUnavailable) as e:
        session.start()
    assert words in str(e.value)


@pytest.mark.parametrize("words", [[], [""], ["a\0b"]])
def test_an_empty_command_is_refused(words):
    with pytest.raises(InvalidArgument, match="--exec must be"):
        find_program(words)


# --- Behaviour ---------------------------------------------------------------------------------------------


def test_a_program_with_a_memory_is_noticed(program):
    with program('seen.append(1); say({"id": i, "values": [len(seen)]})') as session:
        found = session.behaviour(cases(3))
    assert found.observed == found.not_repeatable == found.order_dependent == tuple(c.id for c in cases(3))


def test_an_honest_program_behaves(program):
    with program() as session:
        earlier = {a.case_id: a.data for a in session.run(cases(5))}
        found = session.behaviour(cases(5), earlier)
    assert (len(found.observed), found.not_repeatable, found.order_dependent, found.incomplete) == (5, (), (), "")


def test_a_program_that_ends_during_the_check_says_so(program):
    with program("seen.append(1)\nif len(seen) == 3: os._exit(4)\nsay(right(m))") as session:
        found = session.behaviour(cases(3))
    assert found.incomplete == "the program ended with exit status 4 at the first call of suite/T=1"


# --- One process a case ------------------------------------------------------------------------------------

PRINTS = "import os, signal, subprocess, sys, time\nseed, T, d_model = map(int, sys.argv[1:4])\n"


@pytest.fixture
def printed(program):
    def printed(body, count=3, words=("{seed}", "{T}", "{d_model}"), **options):
        with program(source=PRINTS + body, words=words, per_case=True, **options) as session:
            return list(session.run(cases(count)))

    return printed


@pytest.mark.parametrize(
    "body", ["print(*[0.5] * (T * d_model))", "print([0.5] * (T * d_model))", "for _ in range(4 * T): print('5.0e-01')"]
)
def test_printed_numbers_are_taken_with_white_space_or_as_json(printed, body):
    got = printed(body)
    assert [(a.kind, a.shape) for a in got] == [("array", (0,)), ("array", (4,)), ("array", (8,))]
    assert got[2].data == np.full(8, 0.5, np.float32).tobytes()


def test_raw_float32_are_taken(printed):
    got = printed("sys.stdout.buffer.write(bytes(4 * T * d_model))", output="f32le")
    assert [(a.shape, a.data) for a in got] == [((4 * T,), bytes(16 * T)) for T in range(3)]


def test_words_are_replaced_inside_words(printed):
    body = "print(*sys.argv[4:], file=sys.stderr); sys.exit(1)"
    got = printed(body, 2, words=("{seed}", "{T}", "{d_model}", "--T={T},{d_model}", "{other}"))
    assert "--T=1,4 {other}" in got[1].detail


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("sys.exit('no such thing')", "raised", "ended with exit status 1; it wrote:\nno such thing"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crash", "was killed by SIGSEGV"),
        ("time.sleep(100)", "timeout", "no answer within 1 s"),
        ("print('0.5 x')", "other", "word 2 of what it printed is no number: 'x'"),
        ("print('1_0')", "other", "word 1 of what it printed is no number"),
        ("print('0.5,0.5')", "other", "no number: '0.5,0.5' (part numbers by white space alone)"),
        ("print(chr(0xFEFF) + '1')", "other", "(a byte order mark: write UTF-8 without one)"),
        ("print('{\"protocol\": 1}')", "other", "(it speaks the protocol: leave out --per-case)"),
        ("print('0.5', file=sys.stderr)", "array", "it wrote to standard error alone"),
        (
            "print('[0.5 0.5]')",
            "other",
            "like a JSON list and is none: '[0.5 0.5]' (print numbers alone, or with commas)",
        ),
        ("print([[1], [2]])", "other", "values is a list of lists"),
        ("print(1e39)", "other", "beyond the largest float32"),
        ("sys.stdout.buffer.write(b'\\xff')", "other", "is no number"),
        ("[sys.stdout.write('1 ' * 10**6) for _ in range(100)]", "other", "more than the 67,108,864 bytes"),
    ],
)
def test_what_a_program_of_one_case_may_do(printed, body, kind, words):
    got = printed(f"if T == 1: {body}\nelse: print(*[1] * (T * d_model))", timeout=1)
    assert [a.kind for a in got] == ["array", kind, "array"]
    assert words in got[1].detail


def test_half_a_float32_is_no_number(printed):
    assert (
        printed("os.write(1, bytes(6))", 1, output="f32le")[0].detail
        == "6 bytes came, which is no whole number of float32"
    )


def test_what_a_program_of_one_case_leaves_behind_is_gone(printed, tmp_path):
    begun = time.monotonic()
    got = printed(
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'], start_new_session=T == 1)\n"
        f"open({str(tmp_path)!r} + f'/{{T}}', 'w').write(str(child.pid))\nprint(*[1] * (T * d_model))"
    )
    assert kinds(got) == ["array"] * 3
    assert time.monotonic() - begun < 10
    assert gone([int((tmp_path / str(T)).read_text()) for T in range(3)])


@pytest.mark.parametrize("words", [("{seed}", "{T}"), (), ("{seed}{T}", "d_model")])
def test_a_command_without_a_place_for_each_argument_is_refused(words):
    with pytest.raises(InvalidArgument, match="--per-case must be given with a program whose arguments hold"):
        find_program([sys.executable, *words], per_case=True).check_fits(LEARNED_POS_EMBED)
