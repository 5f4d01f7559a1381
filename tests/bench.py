"""Measures the figures in README.md: `make bench`. Compare ratios, and only within one run."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
POSVEC = str(Path(sys.executable).with_name("posvec"))
SEEDS = 1000

# A target that costs nothing: it looks its answers up.
TRIVIAL = """
import numpy as np
TABLES = dict(np.load({tables!r}))
def learned_pos_embed_forward(seed, T, d_model):
    return TABLES[f"{{int(seed)}},{{int(d_model)}}"][: int(T) * int(d_model)]
"""
PYTEST = """
import h5py, numpy as np, pytest
from trivial import learned_pos_embed_forward
with h5py.File({vectors!r}) as file:
    TABLES = {{d: file[f"d_model={{d}}/expected"][()] for d in (1, 2, 3, 4, 8, 16, 64)}}
    SEEDS = file["axes/seed"][()].tolist()
@pytest.mark.parametrize("T", range(33))
@pytest.mark.parametrize("d_model", list(TABLES))
@pytest.mark.parametrize("row", range(len(SEEDS)))
def test_case(row, d_model, T):
    expected = TABLES[d_model][row].reshape(-1)[: T * d_model]
    np.testing.assert_array_equal(learned_pos_embed_forward(SEEDS[row], T, d_model), expected)
"""
COLD = """
import sys, tempfile, time, flax, jax, jax.numpy
from posvec.verifier.cli import run
with tempfile.TemporaryDirectory() as folder:
    began = time.perf_counter()
    assert run(["generate", "-o", folder]) == 0
    print(time.perf_counter() - began, file=sys.stderr)
"""


def clock(call: Callable[[], Any], repeat: int = 3) -> float:
    """Return the median wall time of ``call`` in seconds."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def command(*words: str, cwd: Path | str = ROOT, **variables: str) -> Callable[[], Any]:
    """Return a call that runs a command, whatever its exit status."""
    return lambda: subprocess.run(words, cwd=cwd, env={**os.environ, **variables}, capture_output=True, check=False)


def say(what: str, figure: str, goal: str = "") -> None:
    """Print one line of the table."""
    print(f"{what:<64} {figure:>14}  {goal}", flush=True)


def start_up() -> None:
    """Measure what a command costs before it does anything."""
    bare = clock(command(sys.executable, "-c", "pass"), 5)
    say("python -c pass", f"{bare:.3f} s")
    say("posvec --help", f"{clock(command(POSVEC, '--help'), 5):.3f} s", "goal 0.15 s")
    say("posvec verify --help", f"{clock(command(POSVEC, 'verify', '--help'), 5):.3f} s", "goal 0.15 s")
    shown = clock(command(POSVEC, "show", "--seed", "0", "--d-model", "4", "--T", "3"))
    say("posvec show, whole process", f"{shown:.3f} s", "goal 0.6 s")


def verifying() -> None:
    """Measure 2,079 cases of a trivial target, against pytest, and what posvec adds to the reference."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vectors = ROOT / "vectors/learned_pos_embed.h5"
        save_tables(vectors, folder / "tables.npz")
        (folder / "trivial.py").write_text(TRIVIAL.format(tables=str(folder / "tables.npz")))
        (folder / "test_trivial.py").write_text(PYTEST.format(vectors=str(vectors)))
        own = clock(command(POSVEC, "verify", "trivial.py", cwd=folder))
        theirs = clock(command(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder))
        say("verify, 2,079 cases of a trivial NumPy target, whole process", f"{own:.2f} s")
        say("pytest + assert_array_equal, the same 2,079 cases", f"{theirs:.2f} s")
        say("  ratio", f"1/{theirs / own:.1f}", "goal 1/5")
    literal, verified, calls = reference_overhead()
    say("the Flax reference in a bare loop, 297 cases", f"{literal:.2f} s")
    say("  the same cases under verify", f"{100 * (verified / literal - 1):+.1f} %", "goal 5 %")
    say("  of that, outside the calls themselves", f"{100 * (verified - calls) / literal:+.1f} %")


def save_tables(vectors: Path, path: Path) -> None:
    """Write the expected tables of a golden file as one array a seed and d_model."""
    import h5py
    import numpy as np

    with h5py.File(vectors) as file:
        seeds = file["axes/seed"][()].tolist()
        widths = file["axes/d_model"][()].tolist()
        tables = {d: file[f"d_model={d}/expected"][()] for d in widths}
    np.savez(path, **{f"{seed},{d}": tables[d][row].reshape(-1) for row, seed in enumerate(seeds) for d in widths})


def reference_overhead() -> tuple[float, float, float]:
    """Return the time of 297 cases of the reference in a bare loop, under verify, and in its calls alone."""
    import json

    reference = ROOT / "generator/references/learned_pos_embed.py"
    loop = (
        "import time, sys; sys.path.insert(0, 'generator/references')\n"
        "from learned_pos_embed import learned_pos_embed_forward as f\nimport numpy as np\n"
        "seeds = (0, 1, 2, 42, 2**31 - 1, 2**31, 2**32 - 1, -1, 2**32 + 5)\n"
        "began = time.perf_counter()\n"
        "for seed in seeds:\n    for T in range(33): np.asarray(f(seed, T, 4))\n"
        "print(time.perf_counter() - began)"
    )
    bare, verified, calls = [], [], []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", loop], cwd=ROOT, capture_output=True, text=True, check=True)
        bare.append(float(done.stdout))
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "r.json"
            command(
                POSVEC, "verify", str(reference), "--select", "*/d_model=4/T=*[0-9]", "--report", f"json={report}"
            )()
            found = json.loads(report.read_text())
            verified.append(found["seconds"]["cases"])
            calls.append(sum(case["seconds"] for case in found["cases"]))
    return statistics.median(bare), statistics.median(verified), statistics.median(calls)


def running() -> None:
    """Measure cases/s of two programs and a callable, and what posvec adds to each case, against a bare loop."""
    from posvec.verifier.scaffolds.languages import Language

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, source, language, goal in (
            ("C", "port.c", "c", "goal 20,000/s"),
            ("Node", "port.js", "javascript", ""),
        ):
            copy = Path(shutil.copy(ROOT / "examples/ports" / source, folder))
            words = Language.parse(language).build_words(copy)
            program = Language.parse(language).run_words(copy)
            if shutil.which((words or program)[0]) is None:
                say(f"{label} port under verify --exec", "not here")
                continue
            if words:
                subprocess.run(words, check=True)
            cases, seconds = verified(folder, "--exec", *program)
            compare_loops(
                f"{label} port under verify --exec", goal, cases, seconds, bare_program(folder, program, cases)
            )
        port = ROOT / "examples/numpy_port.py"
        cases, seconds = verified(folder, str(port))
        compare_loops("NumPy port, a callable, under verify", "", cases, seconds, bare_callable(folder, port, cases))


def verified(folder: Path, *words: str) -> tuple[list[dict[str, int]], float]:
    """Return the arguments of the golden cases, and the time that they take under verify."""
    import json

    report, times = folder / "report.json", []
    for _ in range(5):
        command(POSVEC, "verify", "--match", "equivalent", "--report", f"json={report}", *words)()
        found = json.loads(report.read_text())
        assert found["verdict"]["exit_code"] == 0, found["verdict"]["sentence"]
        times.append(found["seconds"]["cases"])
    arguments = [dict(part.split("=") for part in case["id"].split("/")[1:]) for case in found["cases"]]
    cases = [{key: int(value) for key, value in one.items() if key != "as"} for one in arguments]
    return cases, statistics.median(times)


def bare_program(folder: Path, program: list[str], cases: list[dict[str, int]]) -> float:
    """Return the time in which a program answers requests from a file to nowhere, without that of its start."""
    from posvec.schemas import protocol

    hello = protocol.encode(protocol.hello("learned_pos_embed", "partitionable"))
    asked = [protocol.request(number, case) for number, case in enumerate(cases)]
    requests = b"".join(map(protocol.encode, asked))
    times = []
    for text in (hello, hello + requests):
        (folder / "requests").write_bytes(text)

        def answer() -> None:
            with (folder / "requests").open("rb") as file:
                subprocess.run(program, stdin=file, stdout=subprocess.DEVNULL, check=True)

        times.append(clock(answer, 9))
    return times[1] - times[0]


def bare_callable(folder: Path, port: Path, cases: list[dict[str, int]]) -> float:
    """Return the time of calling a function for all cases, in a process of its own."""
    loop = (
        f"import json, sys, time; sys.path.insert(0, {str(port.parent)!r})\n"
        f"from {port.stem} import learned_pos_embed_forward as f\n"
        "cases = [(c['seed'], c['T'], c['d_model']) for c in json.load(open('cases.json'))]\n"
        "f(*cases[0]); began = time.perf_counter()\n"
        "for case in cases: f(*case)\n"
        "print(time.perf_counter() - began)"
    )
    import json

    (folder / "cases.json").write_text(json.dumps(cases))
    runs = [command(sys.executable, "-c", loop, cwd=folder)() for _ in range(5)]
    return statistics.median(float(done.stdout) for done in runs)


def compare_loops(what: str, goal: str, cases: list[dict[str, int]], seconds: float, bare: float) -> None:
    """Print cases/s under verify and in a bare loop, and what lies between, for each case."""
    say(f"{what}, {len(cases):,} cases", f"{len(cases) / seconds:,.0f} cases/s", goal)
    say("  the same cases in a bare loop", f"{len(cases) / bare:,.0f} cases/s")
    say("  what posvec adds", f"{1e6 * (seconds - bare) / len(cases):+.1f} µs a case")


def generating() -> None:
    """Measure the sweep against the literal loop, and the whole default sweep, cold."""
    from dataclasses import replace

    from posvec.generator.environment import prepare
    from posvec.generator.sweep import sweep
    from posvec.schemas.axes import Axis

    eager, _ = prepare(stream="partitionable")
    eager = replace(eager)
    seeds, widths = Axis(((0, SEEDS - 1),)), Axis(((4, 4),))
    from posvec.generator.references.learned_pos_embed import learned_pos_embed_forward

    with tempfile.TemporaryDirectory() as folder:

        def batch() -> None:
            sweep(
                build=eager,
                reference="posvec.generator.references.learned_pos_embed",
                seeds=seeds,
                d_models=widths,
                folder=Path(folder),
            )

        batch()
        learned_pos_embed_forward(0, 32, 4)
        batched = clock(batch)
    import numpy as np

    literal = clock(lambda: [np.asarray(learned_pos_embed_forward(seed, 32, 4)) for seed in range(100)], 1) * 10
    say(f"literal loop, {SEEDS} seeds, d_model 4, eager, compiled", f"{literal:.2f} s")
    say("generate's sweep, the same seeds and bytes", f"{batched:.3f} s")
    say("  ratio", f"{literal / batched:.0f}", "goal 100")
    done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True)
    say("generate, default sweep, cold, after imports", f"{float(done.stderr.split()[-1]):.1f} s", "goal 15 s")


def diagnosing() -> None:
    """Measure how long a failing default run takes to be diagnosed: what is known, and what is not."""
    for name, what in (
        ("unfolded", "one mistake"),
        ("unfolded_two_dimensions", "two mistakes"),
        ("own_generator", "nothing known"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            target = ROOT / "verifier" / "zoo" / f"numpy_numbers.py:{name}"
            command = [sys.executable, "-m", "posvec", "verify", str(target), "--report", f"json={report}"]
            subprocess.run(command, capture_output=True, check=False)
            seconds = json.loads(report.read_text())["seconds"]["diagnosis"]
        say(f"diagnosis of 2,079 failing cases, {what}", f"{seconds:.2f} s", "goal 1 s")


def reporting() -> None:
    """Measure what an HTML report of a failing default run adds to it, and how large it is."""
    target = str(ROOT / "verifier" / "zoo" / "numpy_numbers.py:unfolded")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        without = clock(command(POSVEC, "verify", target), 5)
        added = clock(command(POSVEC, "verify", target, "--report", f"html={page}"), 5) - without
        say("HTML report of 2,079 failing cases", f"{max(added, 0):.2f} s", "goal 1 s")
        say("  its size", f"{page.stat().st_size / 1e6:.2f} MB", "goal 2 MB")


def batches() -> None:
    """Measure a class of NumPy submissions, right, wrong and broken, and what a submission in JAX takes."""
    port = (ROOT / "examples/numpy_port.py").read_text() + "\nright = learned_pos_embed_forward\n"
    endings = [
        "",
        *(
            f"\ndef learned_pos_embed_forward(seed, T, d_model):\n    return {expression}\n"
            for expression in (
                "right(seed, T, d_model).copy()",
                "right(seed + 1, T, d_model)",
                "right(seed, T, d_model).reshape(T, d_model)",
                "right(seed, 32, d_model).reshape(32, -1)[:T].T.ravel()",
                "right(seed, T, d_model) * np.float32(2)",
                "np.zeros(T * d_model, np.float32)",
                "np.random.default_rng(seed).normal(0, 0.02, T * d_model).astype(np.float32)",
                "right(seed, T, d_model)[::-1]",
                "[1",
            )
        ),
    ]
    numpy = {f"{number}.py": f"{port}{endings[number % 10]}\n# {number}\n" for number in range(200)}
    seconds = batch_seconds(numpy)
    say("batch of 200 NumPy submissions, 7 of 10 wrong, quick", f"{seconds:.0f} s", "goal 60 s")
    reference = (ROOT / "examples/flax_reference.py").read_text()
    seconds = batch_seconds({f"{number}.py": f"{reference}\n# {number}\n" for number in range(8)})
    say("batch of 8 JAX submissions, quick, each", f"{seconds / 8:.1f} s")


def batch_seconds(submissions: dict[str, str]) -> float:
    """Return the wall time of verifying a class, a submission a core at a time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "class"
        folder.mkdir()
        for file, source in submissions.items():
            (folder / file).write_text(source)
        words = "batch", "class", "--match", "equivalent", "--strict", "-o", "results"
        seconds = clock(command(POSVEC, *words, cwd=name), 1)
        found = json.loads((Path(name) / "results/batch.json").read_text())["statistics"]
        assert found["submissions"] == len(submissions), found
        return seconds


def deriving() -> None:
    """Measure deriving draws without JAX against JAX's own, and loading the draw table."""
    import jax
    import numpy as np

    from posvec.generator.references.learned_pos_embed import LearnedPos
    from posvec.generator.sweep import prng_keys
    from posvec.vectors.derive import table_draws
    from posvec.vectors.draws import DrawTable

    seeds, d_model = list(range(SEEDS)), 64
    elements = SEEDS * 32 * d_model
    own = clock(lambda: table_draws(seeds, d_model, stream="partitionable"))
    say("draws derived without JAX, d_model 64", f"{elements / own / 1e6:.0f} M/s", "goal 20 M/s")
    module: Any = LearnedPos(max_T=32, d_model=d_model)
    init: Any = jax.jit(jax.vmap(lambda key: module.init(key, 32)["params"]["pos_embed"]))
    keys = prng_keys(seeds)
    np.asarray(init(keys))
    theirs = clock(lambda: np.asarray(init(keys)))
    say("jax.jit(jax.vmap(init)), the same tables, with values", f"{elements / theirs / 1e6:.0f} M/s")
    table = DrawTable.load()
    loaded = clock(lambda: DrawTable.load().values(table.canonical))
    say("loading one arithmetic of the draw table", f"{loaded:.3f} s", "goal 0.2 s")


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}\n")
    start_up()
    verifying()
    diagnosing()
    reporting()
    running()
    generating()
    batches()
    deriving()
