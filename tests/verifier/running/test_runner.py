"""A session gives exactly one answer a case, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from posvec.schemas.case import Case
from posvec.schemas.errors import InvalidArgument, TargetUnavailable
from posvec.verifier.running.runner import RunOptions, Session
from posvec.verifier.running.target import parse_target

from .conftest import alive, cases, gone, printed

ZEROS = """
    import numpy as np
    def fn(seed, T, d_model):
        return np.zeros(T * d_model, np.float32)
"""


def test_each_case_has_one_answer_in_order(answers):
    got = answers(ZEROS, 300)
    assert [a.case_id for a in got] == [c.id for c in cases(300)]
    assert {a.kind for a in got} == {"array"}
    assert got[3].data == bytes(48)
    assert (got[3].dtype, got[3].shape, got[3].type_name, got[3].memory_order) == (
        "<f4",
        (12,),
        "numpy.ndarray",
        "C",
    )


def test_each_case_has_one_answer_with_several_processes(answers):
    got = answers(ZEROS, 300, jobs=3)
    assert sorted(a.case_id for a in got) == sorted(c.id for c in cases(300))
    assert all(a.data == bytes(16 * int(a.case_id.rsplit("=")[1])) for a in got)


@pytest.mark.parametrize("strike", ["os._exit(1)", "time.sleep(1000)"])
def test_several_processes_lose_only_the_case_that_failed(answers, strike):
    got = answers(
        f"""
        import os, time
        def fn(seed, T, d_model):
            if T in (20, 70): {strike}
            return T
    """,
        90,
        jobs=2,
        timeout=1,
    )
    assert sorted(a.case_id for a in got) == sorted(c.id for c in cases(90))
    failed = {a.case_id for a in got if a.kind != "other"}
    assert failed == {"suite/T=20", "suite/T=70"}


def test_every_case_has_an_answer_when_one_of_several_processes_cannot_start_again(answers, tmp_path):
    got = answers(
        f"""
        import os, time
        here = {str(tmp_path)!r}
        open(os.path.join(here, "start" + str(os.getpid())), "w").close()
        if sum(name.startswith("start") for name in os.listdir(here)) > 2: raise OSError("only twice")
        def fn(seed, T, d_model):
            if T == 10: os._exit(1)
            time.sleep(0.01)
            return T
    """,
        100,
        jobs=2,
    )
    assert sorted(a.case_id for a in got) == sorted(c.id for c in cases(100))
    assert {a.kind for a in got} >= {"other", "crash"}
    assert all("could not be started again" in a.detail for a in got if a.kind == "not-run")


def test_a_run_that_was_left_does_not_disturb_the_next(open_session):
    with open_session("def fn(seed, T, d_model): return T") as session:
        left = session.run(cases(500))
        next(left)
        assert [a.detail for a in session.run(cases(3))] == ["0", "1", "2"]
        left.close()
        assert [a.detail for a in session.run(cases(3))] == ["0", "1", "2"]


def test_arguments_are_passed_by_position_as_plain_ints(answers):
    got = answers(
        """
        def fn(*args, **more):
            assert not more and [type(a) for a in args] == [int] * 3, args
            return [*args]
    """,
        2,
    )
    assert [(a.kind, a.detail, a.shape) for a in got] == [("other", "list of 3 int", (3,))] * 2


@pytest.mark.parametrize(
    ("coercion", "int32", "expected"),
    [
        ("str", False, "str"),
        ("float", False, "float"),
        ("numpy", False, "int64"),
        ("numpy", True, "int32"),
    ],
)
def test_coercion_happens_in_the_targets_process(open_session, coercion, int32, expected):
    case = Case(id="c", args={"seed": 5, "T": 3, "d_model": 4}, coercion=coercion, numpy_int32=int32)
    with open_session("""
        def fn(seed, T, d_model):
            raise ValueError(type(T).__name__ + " " + str(T))
    """) as session:
        [answer] = session.run([case])
    assert answer.kind == "raised"
    assert f"ValueError: {expected} 3" in answer.detail


def test_numpy_arguments_without_numpy_are_not_run(open_session):
    case = Case(id="c", args={"seed": 5}, coercion="numpy")
    with open_session("""
        import sys
        sys.modules["numpy"] = None
        def fn(seed): return 1
    """) as session:
        [answer] = session.run([case])
    assert answer.kind == "not-run"
    assert "cannot be NumPy integers here" in answer.detail


def test_an_exception_comes_with_the_targets_own_traceback(answers, tmp_path):
    got = answers(
        """
        def inner(T):
            return 1 // T
        def fn(seed, T, d_model):
            return inner(T)
    """,
        2,
    )
    assert got[0].kind == "raised"
    assert got[0].type_name == "ZeroDivisionError"
    assert got[0].detail.count("File ") == 2
    assert str(tmp_path / "answer.py") in got[0].detail
    assert "return 1 // T" in got[0].detail
    assert "running/child" not in got[0].detail
    assert got[1].kind == "other"


def test_output_is_captured_in_order(open_session):
    with open_session("""
        import sys
        print("loaded")
        def fn(seed, T, d_model):
            print("out", T); print("err", T, file=sys.stderr); print("\\u2192")
    """) as session:
        list(session.run(cases(2)))
    assert session.output.text.split() == ["loaded", "out", "0", "err", "0", "→", "out", "1", "err", "1", "→"]


def test_a_flood_of_output_keeps_both_ends_in_bounded_memory(open_session):
    with open_session("""
        import os
        def fn(seed, T, d_model):
            os.write(1, b"first")
            for _ in range(100):
                os.write(1, bytes(2**20)); os.write(2, bytes(2**10))
            os.write(2, b"last")
    """) as session:
        assert [a.kind for a in session.run(cases(1))] == ["other"]
    output = session.output
    assert output.head.startswith(b"first")
    assert output.tail.endswith(b"last")
    assert output.total == 100 * (2**20 + 2**10) + 9
    assert len(output.head) == len(output.tail) == 2**16
    assert f"{output.omitted} bytes" in output.text


@pytest.mark.parametrize(
    "hang",
    [
        "while True: pass",
        "import time; time.sleep(1000)",
        "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(1000)",
    ],
)
def test_a_case_that_hangs_costs_only_itself(open_session, hang):
    with open_session(
        f"""
        def fn(seed, T, d_model):
            if T == 1:
                {hang}
            return T
    """,
        timeout=1,
    ) as session:
        got = list(session.run(cases(4)))
    assert [a.kind for a in got] == ["other", "timeout", "other", "other"]
    assert got[1].seconds == 1.0
    assert "no answer within 1 s" in got[1].detail
    assert session.restarts == 1


def test_a_timeout_says_where_the_target_was(answers):
    [got] = answers(
        """
        def spin():
            while True: pass
        def fn(seed, T, d_model): spin()
    """,
        1,
        timeout=0.3,
    )
    assert "in spin" in got.detail
    assert "in fn" in got.detail
    assert "running/child" not in got.detail


def test_after_three_failures_in_a_row_the_rest_is_not_run(open_session):
    with open_session("""
        import os
        def fn(seed, T, d_model):
            if T > 0: os._exit(3)
    """) as session:
        got = list(session.run(cases(8)))
    assert [a.kind for a in got] == ["other", "crash", "crash", "crash", *["not-run"] * 4]
    assert "3 crashes or timeouts in a row" in got[-1].detail
    assert [a.case_id for a in got] == [c.id for c in cases(8)]


def test_after_ten_failures_in_all_the_rest_is_not_run(answers):
    got = answers(
        """
        import os
        def fn(seed, T, d_model):
            if T % 2: os.abort()
    """,
        30,
    )
    assert sum(a.kind == "crash" for a in got) == 10
    assert [a.kind for a in got[20:]] == ["not-run"] * 10
    assert len(got) == 30


def test_a_target_that_cannot_start_again_leaves_the_rest_not_run(answers, tmp_path):
    got = answers(
        f"""
        import os, pathlib
        once = pathlib.Path({str(tmp_path)!r}, "once")
        if once.exists(): raise OSError("only once")
        once.touch()
        def fn(seed, T, d_model):
            if T == 1: os._exit(0)
    """,
        4,
    )
    assert [a.kind for a in got] == ["other", "crash", "not-run", "not-run"]
    assert "could not be started again: it raised OSError" in got[-1].detail


def test_a_process_that_grows_is_replaced_between_cases(open_session):
    with open_session(
        """
        import os, time
        hoard = []
        def fn(seed, T, d_model):
            hoard.append(b"x" * 2**20)
            deadline = time.perf_counter() + 0.004
            while time.perf_counter() < deadline: pass
            return os.getpid()
    """,
        growth=60 * 2**20,
    ) as session:
        got = list(session.run(cases(200)))
    assert [a.case_id for a in got] == [c.id for c in cases(200)]
    assert {a.kind for a in got} == {"other"}
    assert 1 <= session.recycled <= 5
    assert session.restarts == 0
    assert len({a.detail for a in got}) in (session.recycled, session.recycled + 1)


def test_a_fresh_process_for_each_case(open_session):
    with open_session("import os\ndef fn(seed, T, d_model): return os.getpid()", fresh=True) as session:
        got = list(session.run(cases(3)))
    assert len({a.detail for a in got}) == 3


def test_too_much_memory_is_a_crash_of_that_case(answers):
    got = answers(
        """
        import time
        def fn(seed, T, d_model):
            if T == 1:
                hoard = b"x" * (300 * 2**20)
                time.sleep(1000)
    """,
        3,
        memory=150 * 2**20,
    )
    assert [a.kind for a in got] == ["other", "crash", "other"]
    assert "more than the 150 allowed" in got[1].detail


def test_leaving_early_kills_the_processes_at_work(open_session):
    with open_session(
        "import os, time\ndef fn(seed, T, d_model):\n    if T: time.sleep(1000)\n    return os.getpid()"
    ) as session:
        run = session.run(cases(5))
        pid = int(next(run).detail)
        assert alive(pid)
        run.close()
        assert gone([pid])
        [answer] = session.run(cases(1))
        assert int(answer.detail) != pid


def test_ctrl_c_kills_the_child_and_propagates(open_session):
    with open_session(
        "import os, time\ndef fn(seed, T, d_model):\n    if T: time.sleep(1000)\n    return os.getpid()"
    ) as session:
        run = session.run(cases(5))
        pid = int(next(run).detail)
        threading.Timer(
            0.1,
            signal.raise_signal if os.name == "nt" else lambda _: os.kill(os.getpid(), signal.SIGINT),
            [signal.SIGINT],
        ).start()
        with pytest.raises(KeyboardInterrupt):
            next(run)
        assert gone([pid])


def test_environment_names_only_what_the_target_loaded(open_session, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX2")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    with open_session("def fn(seed, T, d_model): return 1") as session:
        list(session.run(cases(1)))
        without = session.environment
    with open_session(ZEROS) as session:
        list(session.run(cases(1)))
        with_numpy = session.environment
    assert without["python"] == ".".join(map(str, sys.version_info[:3]))
    assert without["XLA_FLAGS"] == "--xla_cpu_max_isa=AVX2"
    assert without["JAX_PLATFORMS"] == "cpu"
    assert "numpy" not in without
    assert str(with_numpy["numpy"])[0].isdigit()


def test_behaviour_of_an_honest_target(open_session):
    with open_session(ZEROS) as session:
        seen = session.behaviour(cases(5))
    assert seen.observed == tuple(c.id for c in cases(5))
    assert (seen.not_repeatable, seen.order_dependent, seen.overwritten, seen.incomplete) == ((), (), (), "")
    assert seen.seconds > 0


@pytest.mark.parametrize(
    ("body", "field", "count"),
    [
        ("calls += 1; return np.full(4, calls, np.float32)", "not_repeatable", 4),
        (
            "before = last; last = T; return np.full(4, 0 if before in (T - 1, T, -1) else 9, np.float32)",
            "order_dependent",
            3,
        ),
        ("buffer[:] = T; return buffer", "overwritten", 3),
    ],
)
def test_behaviour_notices(open_session, body, field, count):
    with open_session(f"""
        import numpy as np
        calls, last, buffer = 0, -1, np.zeros(4, np.float32)
        def fn(seed, T, d_model):
            global calls, last
            {body}
    """) as session:
        seen = session.behaviour(cases(4))
    assert seen.incomplete == ""
    assert len(getattr(seen, field)) == count


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("os._exit(5)", "ended with exit status 5"),
        ("time.sleep(1000)", "no answer within 1 s"),
    ],
)
def test_behaviour_that_ends_early_says_why(open_session, body, words):
    with open_session(
        f"""
        import os, time
        calls = 0
        def fn(seed, T, d_model):
            global calls
            calls += 1
            if calls == 5: {body}
    """,
        timeout=1,
    ) as session:
        seen = session.behaviour(cases(4))
        assert words in seen.incomplete
        assert "suite/T=2" in seen.incomplete
        assert [a.kind for a in session.run(cases(2))] == ["other", "other"]


def test_close_works_at_any_time(write):
    session = Session(parse_target(str(write(ZEROS))), "fn")
    session.close()
    session.start()
    session.close()
    session.close()
    assert [a.kind for a in session.run(cases(1))] == ["array"]
    session.close()


def test_temporary_files_that_a_target_has_locked_away_are_gone(open_session, tmp_path):
    (tmp_path / "other").mkdir(mode=0o500)
    if os.access(tmp_path / "other", os.W_OK):
        pytest.skip("root may delete anything")
    with open_session(f"""
        import os, tempfile
        def fn(seed, T, d_model):
            folder = os.path.join(tempfile.mkdtemp(), "below")
            os.mkdir(folder); open(os.path.join(folder, "file"), "w").close()
            os.symlink({str(tmp_path / "other")!r}, os.path.join(folder, "link"))
            os.chmod(folder, 0); os.chmod(os.path.dirname(folder), 0o500)
            print(folder)
    """) as session:
        list(session.run(cases(1)))
        path = Path(printed(session, 1)[0])
    assert not path.parents[1].exists()
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o500


def test_temporary_files_are_gone(open_session):
    with open_session("""
        import os, tempfile
        def fn(seed, T, d_model):
            print(tempfile.mkdtemp())
    """) as session:
        list(session.run(cases(1)))
        path = Path(printed(session, 1)[0])
        assert path.is_dir()
    assert not path.exists()
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"timeout": 0}, "--timeout"),
        ({"start_timeout": -1}, "--start-timeout"),
        ({"jobs": 0}, "--jobs"),
        ({"memory": 0}, "--memory"),
        ({"timeout": float("nan")}, "--timeout"),
    ],
)
def test_options_are_checked(options, name):
    with pytest.raises(InvalidArgument, match=name):
        RunOptions(**options)


def test_an_interpreter_that_is_not_there(open_session):
    with (
        pytest.raises(InvalidArgument, match="--python"),
        open_session(ZEROS, python="/no/such/python") as session,
    ):
        session.start()


def test_an_interpreter_that_is_none(open_session):
    with (
        pytest.raises(TargetUnavailable, match="ended with exit status 0 before it could load it"),
        open_session(ZEROS, python="/bin/true") as session,
    ):
        session.start()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise ValueError('no luck')", ["raised ValueError", "no luck"]),
        ("import no_such_module_at_all", ["raised ModuleNotFoundError", "no_such_module_at_all"]),
        ("def fn(:", ["is not valid Python", "def fn(:"]),
        ("import sys; sys.exit(4)", ["ended the program", "__main__"]),
        ("import os; print('bye', flush=True); os._exit(7)", ["ended with exit status 7 while", "bye"]),
        ("import os; os.abort()", ["killed by SIGABRT"]),
        (
            "import time; print('here', flush=True)\nwhile True: time.sleep(1)",
            ["not ready after 2 s", "here"],
        ),
        ("def fun(): pass", ["has no 'fn'", "did you mean fun?"]),
        ("x = 1", ["has no 'fn'", "defines no function"]),
        ("from os.path import join\nfn = 3", ["'fn' is no function but int", "defines no function"]),
        ("raise KeyboardInterrupt", ["raised KeyboardInterrupt"]),
        ("from . import sibling", ["raised ImportError", "package.module:function"]),
        ("\0", ["null bytes"]),
    ],
)
def test_a_target_that_does_not_load(open_session, source, words):
    with (
        pytest.raises(TargetUnavailable) as caught,
        open_session(source, start_timeout=2 if "while True" in source else 60) as session,
    ):
        session.start()
    text = f"{caught.value}\n{caught.value.details}"
    for word in words:
        assert word in text
    assert "running/child" not in text


def test_what_a_target_prints_at_the_end_is_in_the_output(open_session):
    with open_session("def fn(seed, T, d_model): print('no newline', end='')") as session:
        list(session.run(cases(1)))
    assert session.output.text == "no newline"


def test_the_parent_loads_neither_numpy_nor_h5py():
    code = "import sys, posvec.verifier.running.runner; print({'numpy', 'h5py', 'jax', 'rich'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_trivial_target_costs_little(open_session):
    with open_session(ZEROS) as session:
        session.start()
        start = time.perf_counter()
        assert sum(a.kind == "array" for a in session.run(cases(32) * 60)) == 1920
        assert (time.perf_counter() - start) / 1920 < 500e-6  # ten times the goal: CI machines are noisy


def test_values_arrive_bit_for_bit(answers):
    got = answers(
        """
        import struct, numpy as np
        def fn(seed, T, d_model):
            return np.frombuffer(struct.pack("<4I", 0x7fc01234, 0x80000000, 1, 0xff800000), np.float32)
    """,
        1,
    )
    assert got[0].data == struct.pack("<4I", 0x7FC01234, 0x80000000, 1, 0xFF800000)
