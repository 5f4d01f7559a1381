"""Whatever a target does decides its own outcome and nothing else."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from posvec.schemas.case import Case
from posvec.schemas.errors import TargetUnavailable
from posvec.verifier.running.runner import RunOptions, Session
from posvec.verifier.running.target import parse_target

from .conftest import alive, cases, gone, printed

ONES = "np.ones(4, np.float32)"
ONES_BYTES = b"\x00\x00\x80\x3f" * 4
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="adopts orphans: Linux only")


def middle_of_three(answers, body, **options):
    """Answer T = 0 and 2 with 1.5, T = 1 with ``body`` or 1.5; the neighbours must be untouched."""
    got = answers(
        f"""
        import os, sys, signal, threading, time, ctypes, gc
        def write_everywhere():
            for fd in range(64):
                try: os.write(fd, b"PASS" * 10)
                except OSError: pass
        def fn(seed, T, d_model):
            if T == 1:
                {body}
            return 1.5
    """,
        3,
        **options,
    )
    assert [(a.kind, a.detail) for a in got[::2]] == [("other", "1.5")] * 2, got
    return got[1]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("sys.exit(0)", "SystemExit"),
        ("raise SystemExit", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("os.kill(os.getpid(), signal.SIGINT); time.sleep(9)", "KeyboardInterrupt"),
        ("f = lambda: f(); f()", "RecursionError"),
        ("bytes(2**62)", "MemoryError"),
        ("raise MemoryError", "MemoryError"),
        ("raise type('Odd', (BaseException,), {'__str__': lambda s: 1 / 0})", "answer.Odd"),
        ("raise type('Odd', (Exception,), {'__str__': lambda s: sys.exit(0)})", "answer.Odd"),
        ("raise ValueError('x' * 10**7)", "ValueError"),
        ("raise ValueError('\\ud800\\x1b[2J')", "ValueError"),
    ],
)
def test_an_exception_is_raised(answers, body, kind):
    answer = middle_of_three(answers, body)
    assert (answer.kind, answer.type_name) == ("raised", kind)
    assert len(answer.detail) < 32 * 1024
    answer.detail.encode("utf-8")
    assert "running/child" not in answer.detail


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("os._exit(0)", "exit status 0"),
        ("os._exit(9)", "exit status 9"),
        ("os.abort()", "SIGABRT"),
        ("ctypes.string_at(0)", "SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os.killpg(0, signal.SIGKILL)", "SIGKILL"),
        ("os.kill(os.getppid(), signal.SIGTERM); time.sleep(9)", "SIGKILL"),
        ("signal.alarm(1); time.sleep(9)", "SIGALRM"),
        ("os.closerange(0, 256)", "exit status 70"),
        ("write_everywhere()", "private channel"),
    ],
)
def test_a_crash_costs_only_its_case(answers, body, words):
    answer = middle_of_three(answers, body)
    assert answer.kind == "crash"
    assert words in answer.detail


def test_a_stack_overflow_of_the_machine_is_a_crash_that_is_told_briefly(answers):
    answer = middle_of_three(
        answers,
        """
                compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
                library, pair, size = ctypes.CDLL(None), (ctypes.c_int * 2)(2, 1), ctypes.c_size_t
                def sort(a=None, b=None): return library.qsort(pair, size(2), size(4), again) or 0
                again = compare(sort)
                sys.setrecursionlimit(10**9)
                sort()
        """,
    )
    assert (answer.kind, "SIGSEGV" in answer.detail) == ("crash", True)
    assert "times more)" in answer.detail
    assert len(answer.detail.splitlines()) < 20


def test_a_crash_says_where(answers):
    answer = middle_of_three(answers, "print('so far', end=''); ctypes.string_at(0)")
    assert "so far" in answer.detail
    assert "in fn" in answer.detail
    assert "running/child" not in answer.detail


@pytest.mark.parametrize(
    "body",
    [
        "print('{\"k\": \"array\"}' * 1000); sys.stdout.flush(); sys.stderr.write('PASS')",
        "sys.stdout.close(); sys.stderr.close()",
        "os.close(0); os.close(1); os.close(2)",
        "sys.stdout = sys.stderr = None",
        "sys.stdin.read()",
        "input if sys.stdin.read(1) else 0",
        "os.dup2(0, 1); os.dup2(0, 2)",
        "os.fork() or time.sleep(0)",
        "gc.disable(); gc.collect()",
        "sys.setrecursionlimit(60)",
        "sys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "os.chdir('/')",
        "os.environ.clear()",
        "sys.path.clear()",
        "sys.modules.clear()",
        "threading.Thread(target=time.sleep, args=(1000,)).start()",
        "import atexit; atexit.register(time.sleep, 1000)",
        "os.setpgid(0, 0) if 0 else None",
        "import warnings; warnings.simplefilter('error')",
        "import multiprocessing; pool = multiprocessing.Pool(1); assert pool.map(abs, [-1]) == [1]; pool.terminate()",
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))",
        "sys.stderr.write(os.linesep * 10**6)",
        "os.write(1, bytes(range(256)) * 100)",
    ],
)
def test_a_nuisance_changes_nothing(answers, body):
    answer = middle_of_three(answers, body)
    assert (answer.kind, answer.detail) == ("other", "1.5"), answer


@pytest.mark.parametrize(
    "patch",
    [
        "np.array_equal = np.asarray = np.ndarray.__class__",
        "np.ndarray = np.float32 = list; sys.modules['numpy'] = None",
        "import json; json.dumps = json.JSONEncoder = json.encoder.encode_basestring_ascii = None",
        "import builtins; builtins.len = builtins.isinstance = builtins.type = builtins.str = lambda *a: 0",
        "import builtins; builtins.__import__ = builtins.open = builtins.list = builtins.bytes = None",
        "import builtins; vars(builtins).clear()",
        "os.write = os.read = os._exit = os.getpid = lambda *a: 0",
        "import struct; struct.pack = struct.unpack = None",
        "time.perf_counter = time.monotonic = lambda: -1",
        "import traceback; traceback.TracebackException = None",
        "import __main__; vars(__main__).clear()",
        "np.ndarray.tobytes if 0 else np.set_printoptions(threshold=1)",
    ],
)
def test_monkeypatching_is_not_seen(answers, patch):
    got = answers(
        f"""
        import os, sys, time
        import numpy as np
        ones = {ONES}
        kinds = [ValueError]
        def fn(seed, T, d_model):
            if T == 2: raise kinds[0]("after")
            return ones
        {patch}
    """,
        3,
    )
    assert [(a.kind, a.data) for a in got[:2]] == [("array", ONES_BYTES)] * 2, got
    assert got[2].kind == "raised"


@pytest.fixture(scope="module")
def returned(tmp_path_factory):
    """Give the answer of a target that returns what an expression gives; one process for all of them."""
    path = tmp_path_factory.mktemp("returned") / "answer.py"
    path.write_text("import numpy as np\ndef fn(expression): return eval(expression)", encoding="utf-8")
    with Session(parse_target(str(path)), "fn") as session:
        session.start()

        def returned(expression):
            [answer] = session.run([Case(id="c", args={"expression": expression})])
            return answer

        yield returned


@pytest.mark.parametrize(
    ("expression", "name", "dtype", "shape"),
    [
        ("np.zeros(3, np.float16)", "numpy.ndarray", "<f2", (3,)),
        ("np.zeros(3)", "numpy.ndarray", "<f8", (3,)),
        ("np.zeros(3, int)", "numpy.ndarray", "<i8", (3,)),
        ("np.zeros(3, complex)", "numpy.ndarray", "<c16", (3,)),
        ("np.zeros(3, bool)", "numpy.ndarray", "|b1", (3,)),
        ("np.zeros(3, '>f4')", "numpy.ndarray", ">f4", (3,)),
        ("np.zeros((), np.float32)", "numpy.ndarray", "<f4", ()),
        ("np.float32(0)", "numpy.float32", "<f4", ()),
        ("np.float64(0)", "numpy.float64", "<f8", ()),
        ("np.zeros((2, 3), np.float32)", "numpy.ndarray", "<f4", (2, 3)),
        ("np.zeros(0, np.float32)", "numpy.ndarray", "<f4", (0,)),
        ("np.zeros((0, 4), 'f4')", "numpy.ndarray", "<f4", (0, 4)),
        ("np.zeros(3, 'S4')", "numpy.ndarray", "|S4", (3,)),
        ("np.zeros(2, 'M8[s]')", "numpy.ndarray", "<M8[s]", (2,)),
        ("np.ma.zeros(3, 'f4')", "numpy.ma.MaskedArray", "<f4", (3,)),
        ("np.broadcast_to(np.float32(0), (7, 3))", "numpy.ndarray", "<f4", (7, 3)),
    ],
)
def test_numpy_arrays_are_taken_as_they_are(returned, expression, name, dtype, shape):
    answer = returned(expression)
    assert (answer.kind, answer.type_name, answer.dtype, answer.shape) == ("array", name, dtype, shape)
    assert answer.data is not None
    assert not any(answer.data)


@pytest.mark.parametrize(
    ("expression", "order"),
    [
        ("np.arange(12, dtype='f4').reshape(3, 4)", "C"),
        ("np.asfortranarray(np.arange(12, dtype='f4').reshape(3, 4))", "F"),
        ("np.arange(24, dtype='f4').reshape(3, 8)[:, ::2] / 2", "C"),
        ("np.repeat(np.arange(12, dtype='f4'), 2).reshape(3, 8)[:, ::2]", "strided"),
        ("np.arange(12, dtype='f4')[::-1].reshape(3, 4)[::-1, ::-1]", "C"),
    ],
)
def test_data_comes_in_content_order(returned, expression, order):
    import numpy as np

    answer = returned(expression)
    assert answer.data == np.arange(12, dtype="f4").tobytes()
    assert answer.memory_order == order


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("np.array([1, 'a', None], object)", "no plain bytes"),
        ("np.zeros(3, 'f4,i4')", "no plain bytes"),
        ("np.zeros(3, 'V8')", ""),
        ("np.broadcast_to(np.float32(0), (2**40, 2**15))", "more than the 67108864"),
        ("np.broadcast_to(np.float32(0), 2**24 + 1)", "more than the 67108864"),
    ],
)
def test_arrays_without_data(returned, expression, words):
    answer = returned(expression)
    assert answer.kind == "array"
    assert words in answer.detail
    assert answer.data is None or "V8" in expression


def test_64_mib_are_read(returned):
    assert len(returned("np.zeros(2**24, np.float32)").data) == 2**26


@pytest.mark.parametrize(
    ("expression", "name", "detail", "shape"),
    [
        ("[0.0] * 12", "list", "list of 12 float", (12,)),
        ("(1, 2)", "tuple", "tuple of 2 int", (2,)),
        ("[[1.0] * 4] * 3", "list", "list of 3 list of 4 float", (3, 4)),
        ("[]", "list", "list of 0", (0,)),
        ("[1, 2.0]", "list", "list of 2 int or float", (2,)),
        ("[[1], [1, 2]]", "list", "unequal lengths, 1 to 2", None),
        ("[np.float32(1)] * 3", "list", "list of 3 numpy.float32", (3,)),
        ("[1, [2]]", "list", "int or list", None),
        (
            "type('L', (list,), {'__len__': lambda s: 99, '__iter__': None})([1])",
            "answer.L",
            "answer.L of 1 int",
            (1,),
        ),
        ("[0] * 2**21", "list", "list of 2097152", None),
        ("(x := [], x.append(x))[0]", "list", "and more", None),
        ("None", "NoneType", "", None),
        ("3.5", "float", "3.5", None),
        ("'ab'", "str", "str of length 2", None),
        ("{1: 2}", "dict", "dict of 1", None),
        ("(i for i in [1])", "generator", "", None),
        ("10**5000", "int", "a large int", None),
        ("lambda: 1", "function", "", None),
        ("memoryview(b'ab')", "memoryview", "", None),
    ],
)
def test_what_is_no_array_is_named(returned, expression, name, detail, shape):
    answer = returned(expression)
    assert (answer.kind, answer.type_name, answer.shape, answer.data) == ("other", name, shape, None)
    assert detail in answer.detail


def test_an_object_that_lies_is_not_asked(answers):
    [answer] = answers(
        """
        import numpy as np
        def bad(*args, **more): raise SystemExit("asked")
        class Meta(type):
            __hash__ = bad
            __eq__ = bad
            __instancecheck__ = __subclasscheck__ = bad
            __getattribute__ = bad
        class Liar(metaclass=Meta):
            __module__ = "numpy"
            __qualname__ = __name__ = "ndarray"
            __array__ = __eq__ = __len__ = __iter__ = __bool__ = __getattribute__ = __repr__ = bad
            __class__ = np.ndarray
            def tobytes(self): return b""
            shape = dtype = flags = None
            __del__ = bad
        def fn(seed, T, d_model):
            return object.__new__(Liar)
    """,
        1,
    )
    assert (answer.kind, answer.data) == ("other", None)


def test_a_numpy_subclass_is_read_by_numpys_own_methods(answers):
    [answer] = answers(
        f"""
        import numpy as np
        class Mine(np.ndarray):
            dtype = shape = flags = property(lambda self: 1 / 0)
            def tobytes(self, *args): return b"forged"
            def __eq__(self, other): return True
        def fn(seed, T, d_model):
            return {ONES}.view(Mine)
    """,
        1,
    )
    assert (answer.kind, answer.type_name, answer.data) == ("array", "answer.Mine", ONES_BYTES)


def test_a_fork_that_returns_twice_answers_once(answers):
    got = answers(f"import os\nimport numpy as np\ndef fn(seed, T, d_model):\n    os.fork()\n    return {ONES}", 6)
    assert [a.data for a in got] == [ONES_BYTES] * 6


FORGER = """
    import gc, os, sys
    def channel():
        for thing in gc.get_objects():
            if type(thing).__name__ == "Channel":
                return thing
        frame = sys._getframe()
        while frame:
            if "self" in frame.f_locals and hasattr(frame.f_locals["self"], "channel"):
                return frame.f_locals["self"].channel
            frame = frame.f_back
    def fn(seed, T, d_model):
        if T == 1:
            c = channel()
            {forge}
        return 1
"""


@pytest.mark.parametrize(
    ("forge", "kinds"),
    [
        ("c.send({'i': 1, 'k': 'other', 'e': 0.0}); c.send({'i': 1, 'k': 'other', 'e': 0.0})", "other"),
        ("c.send({'i': 99, 'k': 'other', 'e': 0.0})", "crash"),
        ("c.send({'i': 1, 'k': 'pass'})", "crash"),
        (
            "c.send({'i': 1, 'k': 'array', 'd': '<f4', 's': [4], 'o': 'C', 'b': True, 'e': 0.0}, b'short')",
            "crash",
        ),
        ("c.send({'i': 1, 'k': 'array', 'd': '<f4', 's': [-4], 'o': 'C', 'b': False, 'e': 0.0})", "crash"),
        ("c.send({'op': 'hello', 'pid': 1})", "crash"),
        ("c.send({'op': 'ready'})", "crash"),
        ("c.send({'op': 'unavailable'})", "crash"),
        ("c.send([])", "crash"),
        ("c.send({'op': []})", "crash"),
        ("os.write(c.answers, c.token + b'\\xff' * 8)", "crash"),
        ("os.write(c.answers, c.token[:9]); os._exit(0)", "crash"),
        ("os.write(c.answers, c.token + bytes([2, 0, 0, 0, 0, 0, 0, 0]) + b'[[')", "crash"),
        ("os.write(c.answers, c.token + bytes([2, 0, 0, 0, 0, 0, 0, 0]) + b'\\xff\\xff')", "crash"),
        ("c.send({'i': 1, 'k': 'raised', 't': 5, 'e': 0.0})", "crash"),
        ("c.send({'i': 1, 'k': 'other', 'e': -1})", "crash"),
        ("c.send({'i': True, 'k': 'other', 'e': 0.0}); os._exit(0)", "crash"),
        (
            "c.send({'i': 1, 'k': 'array', 'd': '\\ud800' * 10**5, 's': [10**17], 'e': 0}); os._exit(0)",
            "array",
        ),
    ],
)
def test_forged_answers_cost_only_the_forger(answers, forge, kinds):
    got = answers(FORGER.format(forge=forge), 4)
    assert [a.case_id for a in got] == [c.id for c in cases(4)]
    assert got[0].kind == "other"
    assert got[1].kind == kinds, got[1]
    assert got[3].kind == "other"
    got[1].detail.encode("utf-8")


def left_behind(open_session, start):
    with open_session(f"""
        import os, signal, subprocess, sys, time
        def fn(seed, T, d_model):
            {start}
    """) as session:
        [answer] = session.run(cases(1))
        pids = [int(word) for word in printed(session, 1)]
        assert pids, answer
        assert all(alive(pid) for pid in pids)
    return pids


SLEEP = "[sys.executable, '-c', 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(1000)']"


@pytest.mark.parametrize(
    "start",
    [
        f"print(subprocess.Popen({SLEEP}).pid)",
        "pid = os.fork(); print(pid) if pid else time.sleep(1000)",
        pytest.param(f"print(subprocess.Popen({SLEEP}, start_new_session=True).pid)", marks=linux_only),
        pytest.param(f"print(subprocess.Popen({SLEEP}, start_new_session=True, env={{}}).pid)", marks=linux_only),
        pytest.param("os.system('env -i setsid sleep 1000 & echo $!')", marks=linux_only),
    ],
)
def test_nothing_that_a_target_started_outlives_the_run(open_session, start):
    pids = left_behind(open_session, start)
    assert gone(pids)


@linux_only
def test_processes_left_by_a_crash_are_gone_too(open_session):
    with open_session(f"""
        import os, subprocess, sys
        def fn(seed, T, d_model):
            print(subprocess.Popen({SLEEP}, start_new_session=True, env={{}}).pid)
            os._exit(1)
    """) as session:
        assert [a.kind for a in session.run(cases(1))] == ["crash"]
        assert gone([int(printed(session, 1)[0])])


@linux_only
@pytest.mark.parametrize("strike", ["signal.SIGKILL", "signal.SIGSTOP"])
def test_a_target_that_strikes_its_supervisor(open_session, strike):
    with open_session(f"""
        import os, signal, subprocess, sys
        def fn(seed, T, d_model):
            if T == 1:
                os.kill(os.getppid(), {strike})
                print(os.getpid(), subprocess.Popen({SLEEP}, start_new_session=True).pid)
            return T
    """) as session:
        got = list(session.run(cases(3)))
        pids = [int(word) for word in printed(session, 2)]
        assert len(pids) == 2
    assert [a.kind for a in got] == ["other"] * 3
    assert gone(pids)


@linux_only
def test_the_time_that_posvec_itself_was_stopped_does_not_count(write):
    """Ctrl-Z, or a target that stops its grandparent: the case that was under way is not late for it."""
    path = write("""
        import os, signal, time
        def fn(seed, T, d_model):
            if T == 1:
                posvec = int(open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[1])
                if os.fork() == 0:
                    time.sleep(0.2); os.kill(posvec, signal.SIGSTOP)
                    time.sleep(1.8); os.kill(posvec, signal.SIGCONT)
                    os._exit(0)
                time.sleep(2.3)
            return T
    """)
    code = f"""
from posvec.verifier.running.runner import RunOptions, Session
from posvec.verifier.running.target import parse_target
from tests.verifier.running.conftest import cases
with Session(parse_target({str(path)!r}), "fn", RunOptions(timeout=1)) as session:
    print([answer.kind for answer in session.run(cases(3))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['other', 'other', 'other']\n"


def test_siblings_are_what_the_target_sees_and_nobody_else(write, answers):
    for name in ("random", "numpy", "json", "traceback", "struct", "posvec/__init__"):
        write("mark = 'sibling'\nprint('loaded', __name__)", f"{name}.py")
    [answer] = answers(
        """
        import random, numpy, json, traceback, struct, posvec
        for module in random, numpy, json, traceback, struct, posvec:
            assert module.mark == "sibling", module
        def fn(seed, T, d_model):
            return ["fine"]
    """,
        1,
    )
    assert answer.detail == "list of 1 str"


def test_siblings_that_the_target_does_not_import_are_not_run(write, open_session):
    for name in (
        "random",
        "numpy",
        "json",
        "traceback",
        "struct",
        "re",
        "ctypes",
        "signal",
        "posvec/__init__",
    ):
        write("raise SystemExit('stolen')", f"{name}.py")
    with open_session("def fn(seed, T, d_model):\n    if T: raise ValueError(T)\n    return 1") as session:
        assert [a.kind for a in session.run(cases(2))] == ["other", "raised"]
        assert session.output.text == ""


def test_a_sibling_that_hides_a_module_of_python_is_named_when_that_breaks_the_import(write, open_session):
    write("", "struct.py")
    with (
        pytest.raises(TargetUnavailable, match=r"rename .*struct\.py: it hides Python's own struct"),
        open_session("import tempfile, numpy\ndef fn(seed, T, d_model): return 1") as session,
    ):
        session.start()


def test_pythonpath_reaches_the_target_and_not_the_bootstrap(write, answers, tmp_path, monkeypatch):
    for name in ("json", "struct", "mine"):
        write("mark = 'on the path'", f"lib/{name}.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    [answer] = answers(
        """
        import json, mine, struct
        def fn(seed, T, d_model):
            return [json.mark, mine.mark, struct.mark]
    """,
        1,
    )
    assert answer.detail == "list of 3 str"


def test_the_world_looks_as_it_does_to_a_script(answers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    [answer] = answers(
        f"""
        import __main__, os, sys
        here = {str(tmp_path)!r}
        assert sys.path[0] == here, sys.path
        assert not any("posvec" in p and "verifier" in p for p in sys.path), sys.path
        assert __name__ == "answer" and sys.modules[__name__].__dict__ is globals()
        assert __file__ == os.path.join(here, "answer.py") and sys.argv == [__file__]
        assert os.getcwd() == {str(tmp_path.parent)!r}
        assert not hasattr(__main__, "Channel") and "posvec" not in sys.modules
        from dataclasses import dataclass
        import inspect
        @dataclass
        class Point:
            x: int
        assert "x: int" in inspect.getsource(Point)
        assert not os.path.exists(os.path.join(here, "__pycache__"))
        def fn(seed, T, d_model):
            import sibling
            return Point(1)
        open(os.path.join(here, "sibling.py"), "w").close()
        if __name__ == "__main__": raise SystemExit("run as a program")
    """,
        1,
    )
    assert answer.type_name == "answer.Point", answer


def test_isolated_posvec_shows_the_target_the_same(write, tmp_path):
    write("import sibling\ndef fn(seed, T, d_model): return sibling.x", "answer.py")
    write("x = 2.5", "sibling.py")
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from posvec.verifier.running.runner import Session; from posvec.verifier.running.target import parse_target\n"
        "from posvec.schemas.case import Case\n"
        f"with Session(parse_target({str(tmp_path / 'answer.py')!r}), 'fn') as s:\n"
        "    print([a.detail for a in s.run([Case(id='c', args={'seed': 1, 'T': 2, 'd_model': 3})])])"
    )
    for flags in (["-I"], ["-P"], []):
        done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True, cwd="/")
        assert done.stdout == "['2.5']\n"


def test_a_module_is_found_from_the_current_directory(write, tmp_path, monkeypatch):
    write(
        "from .part import x\nclass C:\n    @staticmethod\n    def method(seed, T, d_model): return x",
        "pkg/mod.py",
    )
    write("", "pkg/__init__.py")
    write("x = 1.5", "pkg/part.py")
    monkeypatch.chdir(tmp_path)
    with Session(parse_target("pkg.mod:C.method"), "fn") as session:
        assert [a.detail for a in session.run(cases(1))] == ["1.5"]
    for text, words in (
        ("pkg.none:fn", "no module 'pkg.none'"),
        ("nopkg:fn", "no module 'nopkg'"),
        ("pkg.mod:C.methd", "did you mean method?"),
    ):
        with (
            pytest.raises(TargetUnavailable, match=words[:12]) as caught,
            Session(parse_target(text), "fn") as session,
        ):
            session.start()
        assert words in str(caught.value)


@pytest.mark.parametrize("name", ["my-answer.py", "1.py", "numpy.py", "os.py", "json.py", "mit leer zeichen ü.py"])
def test_any_file_name_will_do(open_session, name):
    with open_session("import os\ndef fn(seed, T, d_model): return 1.5", name=name) as session:
        assert [a.detail for a in session.run(cases(1))] == ["1.5"]


def test_a_slow_import_does_not_count_against_the_cases(answers):
    got = answers("import time; time.sleep(1.5)\ndef fn(seed, T, d_model): return 1", 2, timeout=1)
    assert [a.kind for a in got] == ["other", "other"]


def test_threads_that_print_after_the_call_do_no_harm(answers):
    got = answers(
        """
        import threading
        def chatter():
            while True: print("x" * 1000)
        threading.Thread(target=chatter, daemon=True).start()
        def fn(seed, T, d_model): return T
    """,
        50,
    )
    assert [a.detail for a in got] == [str(i) for i in range(50)]


def test_a_stale_cache_is_not_believed(write):
    import py_compile

    path = write("def fn(seed, T, d_model): return 1.5")
    stamp = path.stat()
    py_compile.compile(str(path))
    path.write_text("def fn(seed, T, d_model): return 2.5", encoding="utf-8")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with Session(parse_target(str(path)), "fn") as session:
        assert [a.detail for a in session.run(cases(1))] == ["2.5"]


def test_no_process_and_no_descriptor_is_leaked(write):
    path = write("import os\ndef fn(seed, T, d_model):\n    if T == 1: os._exit(1)\n    if T == 2: 1 / 0")

    def descriptors():
        return len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0

    def once():
        with Session(parse_target(str(path)), "fn", RunOptions(jobs=2)) as session:
            list(session.run(cases(4)))

    once()
    before = descriptors()
    once()
    assert descriptors() == before


def test_a_target_that_reads_golden_files_is_noted(write, tmp_path):
    golden = write("golden", "vectors.h5")
    path = write("""
        import os
        def fn(seed, T, d_model):
            if T == 1: open(os.path.join(os.path.dirname(__file__), ".", "vectors.h5"), "rb").close()
            if T == 2: import posvec.schemas.errors
            if T == 3: import h5py
            return 1
    """)
    write("", "other/vectors.h5")
    write("mark = 'a sibling is not noted'", "h5py.py")
    with Session(parse_target(str(path)), "fn", watch=[golden]) as session:
        assert [a.kind for a in session.run(cases(1))] == ["other"]
        assert session.notes == ()
        assert [a.kind for a in session.run(cases(4))] == ["other"] * 4
    assert session.notes == (f"opens {tmp_path}/./vectors.h5", "imports posvec", "imports h5py")


@linux_only
def test_nothing_outlives_posvec_killed_outright(write):
    path = write("""
        import os, tempfile
        def fn(seed, T, d_model):
            print(os.getpid(), os.getppid(), tempfile.mkdtemp())
            while True: pass
    """)
    code = f"""
import sys
from posvec.verifier.running.runner import Session
from posvec.verifier.running.target import parse_target
from posvec.schemas.case import Case
session = Session(parse_target({str(path)!r}), "fn")
session.start()
session._capture.feed = lambda data: (sys.stdout.buffer.write(data), sys.stdout.flush())
next(session.run([Case(id="c", args={{"seed": 1, "T": 2, "d_model": 3}})]))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as posvec:
        assert posvec.stdout is not None
        *pids, scratch = posvec.stdout.readline().split()
        assert Path(scratch).is_dir()
        ended = [os.pidfd_open(int(pid)) for pid in pids]
        posvec.kill()
    try:
        assert all(select.select([descriptor], [], [], 20)[0] for descriptor in ended)
    finally:
        for descriptor in ended:
            os.close(descriptor)
    assert not Path(scratch).parent.exists()


def test_library_arrays_by_imitation_are_not_believed(write, answers):
    write(
        "class Tensor:\n    def detach(self): return self\n    def __getattr__(self, name): raise SystemExit",
        "torch.py",
    )
    [answer] = answers("import torch\ndef fn(seed, T, d_model): return torch.Tensor()", 1)
    assert answer.kind in ("other", "raised")
    assert answer.data is None


def test_coercion_with_a_numpy_of_the_targets_own(write, open_session):
    write("int64 = None", "numpy.py")
    with open_session("def fn(seed): return 1") as session:
        [answer] = session.run([Case(id="c", args={"seed": 5}, coercion="numpy")])
    assert answer.kind == "not-run"
