"""Every recorded JAX x instruction set x stream, one process each: ``python -m posvec.generator.matrix``.

``record`` is what ``make vectors`` runs: it records each setting into the golden files of the repository.
``verify`` is what ``make test-matrix`` runs: it verifies the reference, eager and jitted, under each setting.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from posvec.generator.entry import run
from posvec.generator.environment import STREAM_VARIABLE, cpu_instruction_set
from posvec.generator.environments import ENVIRONMENTS, EnvironmentMissingError, Pins, build, clean_environ
from posvec.schemas.build import STREAMS, Mode, Stream
from posvec.schemas.errors import InvalidArgument
from posvec.vectors.draws import DEFAULT_PATH

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = Path("generator/references/learned_pos_embed.py")
NATIVE = "unset"
# Each instruction set needs a CPU that has it: on another the flag limits nothing.
ISAS = {
    NATIVE: {"AVX512", "AVX2", "AVX", "SSE4_2", "generic"},
    "AVX512": {"AVX512"},
    "AVX2": {"AVX512", "AVX2"},
    "SSE4_2": {"AVX512", "AVX2", "AVX", "SSE4_2"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One process: a JAX version, what ``--xla_cpu_max_isa`` says, and a stream."""

    pins: Pins
    python: Path
    isa: str
    stream: Stream

    def environ(self) -> dict[str, str]:
        """Return the environment variables of the process."""
        flags = {} if self.isa == NATIVE else {"XLA_FLAGS": f"--xla_cpu_max_isa={self.isa}"}
        return clean_environ(**flags)


@dataclass(slots=True, kw_only=True)
class Results:
    """What came of each setting: rows are versions and streams or modes, columns ISA settings."""

    cells: dict[tuple[str, str, str], str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def table(self, second: str) -> Table:
        """Return the table; ``second`` heads the column beside the version."""
        table = Table("JAX", second, *ISAS)
        for version, row in dict.fromkeys((version, row) for version, row, _ in self.cells):
            table.add_row(version, row, *(self.cells.get((version, row, isa), "-") for isa in ISAS))
        return table


def environments(
    versions: Sequence[str], *, folder: Path, results: Results, say: Callable[[str], None]
) -> dict[Pins, Path]:
    """Build the environments of these versions; those that cannot be built here become problems."""
    pythons = {}
    for pins in ENVIRONMENTS:
        if pins.jax not in versions:
            continue
        say(f"environment: JAX {pins.jax}")
        try:
            pythons[pins] = build(pins, folder=folder, root=ROOT)
        except EnvironmentMissingError as error:
            results.problems.append(f"{error} What is recorded of it is kept.")
    return pythons


def settings(pythons: dict[Pins, Path], streams: Sequence[Stream], *, results: Results) -> list[Setting]:
    """Return the settings that this CPU can run."""
    cpu = cpu_instruction_set()
    missing = [isa for isa, cpus in ISAS.items() if cpu not in cpus]
    if missing:
        results.problems.append(f"This CPU ({cpu}) lacks {', '.join(missing)}; what is recorded of it is kept.")
    return [
        Setting(pins=pins, python=python, isa=isa, stream=stream)
        for pins, python in pythons.items()
        for stream in streams
        for isa in ISAS
        if isa not in missing
    ]


def record(setting: Setting, output: Path) -> str:
    """Record one setting into the golden file in ``output``; return an empty text, or what went wrong."""
    command = [
        str(setting.python),
        "-P",
        "-m",
        "posvec",
        "generate",
        "--stream",
        setting.stream,
        "--output",
        str(output),
    ]
    done = subprocess.run(
        command, env=setting.environ(), capture_output=True, text=True, check=False, cwd=tempfile.gettempdir()
    )
    return "" if done.returncode == 0 else (_last_line(done.stderr) or f"exit {done.returncode}")


def verify(setting: Setting, mode: Mode, vectors: Path) -> str:
    """Verify the reference under one setting and return the strictest level that holds, or what failed."""
    function = "learned_pos_embed_forward" + ("_jit" if mode == "jit" else "")
    environ = setting.environ()
    environ[STREAM_VARIABLE] = "1" if setting.stream == "partitionable" else "0"
    with tempfile.TemporaryDirectory(prefix="posvec-matrix-") as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable,
            "-P",
            "-m",
            "posvec",
            "verify",
            f"{ROOT / REFERENCE}:{function}",
            "--python",
            str(setting.python),
            "--stream",
            setting.stream,
            "--vectors",
            str(vectors),
            "--report",
            f"json={report}",
            *(["--quick", "--timeout", "60"] if mode == "jit" else []),
        ]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode not in (0, 1) or not report.exists():
            return f"exit {done.returncode}: {_last_line(done.stderr)}"
        levels = json.loads(report.read_text(encoding="utf-8"))["levels_held"]
    return "exact" if "exact" in levels else (str(levels[0]) if levels else "none")


@click.group()
def main() -> None:
    """Record or verify the reference under every JAX version and instruction set."""


_VERSIONS = click.option(
    "--jax",
    "versions",
    metavar="LIST",
    default=",".join(pins.jax for pins in ENVIRONMENTS),
    show_default=True,
    help="JAX versions, separated by commas.",
)
_VENVS = click.option(
    "--venvs", type=click.Path(path_type=Path), default=ROOT / ".venvs", help="Folder of the environments."
)
_JOBS = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    show_default=True,
    help="Processes at a time.",
)


@main.command("record")
@_VERSIONS
@_VENVS
@_JOBS
@click.option("--stream", "streams", type=click.Choice(STREAMS), multiple=True, default=STREAMS)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=ROOT / "vectors", help="Golden files.")
@click.option("--draws/--no-draws", default=True, help="Record the draw table of each environment first.")
def record_command(
    versions: str, venvs: Path, jobs: int, streams: tuple[Stream, ...], output: Path, draws: bool
) -> None:
    """Record each setting, eager and jit, into the draw table and the golden files."""
    results, console = Results(), Console(stderr=True)
    pythons = environments(_checked(versions), folder=venvs, results=results, say=console.print)
    if draws and pythons:
        from posvec.generator.draw_table import build as draw_table  # needs SciPy and mpmath

        collection = draw_table.Collection.from_file(DEFAULT_PATH)
        draw_table.record(collection, [str(python) for python in pythons.values()], draw_table.ISAS, console.print)
        draw_table.write(collection, DEFAULT_PATH, console.print)
    todo = settings(pythons, streams, results=results)

    def record_one(setting: Setting) -> None:
        problem = record(setting, output.resolve())
        results.cells[setting.pins.jax, setting.stream, setting.isa] = "FAILED" if problem else "eager, jit"
        if problem:
            results.problems.append(f"JAX {setting.pins.jax}, {setting.isa}, {setting.stream}: {problem}")

    _run_all(record_one, [(setting,) for setting in todo], jobs, console)
    _finish(results, "stream", wanted="eager, jit")


@main.command("verify")
@_VERSIONS
@_VENVS
@_JOBS
@click.option("--vectors", type=click.Path(path_type=Path), default=ROOT / "vectors", help="Golden files.")
def verify_command(versions: str, venvs: Path, jobs: int, vectors: Path) -> None:
    """Verify the reference under each setting: eager in full, jitted with --quick. All must be exact.

    Each version draws its own default stream: `original` before JAX 0.5, `partitionable` since.
    """
    results, console = Results(), Console(stderr=True)
    pythons = environments(_checked(versions), folder=venvs, results=results, say=console.print)
    modes: tuple[Mode, ...] = ("eager", "jit")

    def verify_one(setting: Setting, mode: Mode) -> None:
        level = verify(setting, mode, vectors.resolve())
        results.cells[setting.pins.jax, mode, setting.isa] = level
        if level != "exact":
            results.problems.append(f"JAX {setting.pins.jax} {mode}, {setting.isa}, {setting.stream}: {level}")

    todo = [
        (setting, mode)
        for setting in settings(pythons, STREAMS, results=results)
        if setting.stream == setting.pins.default_stream
        for mode in modes
    ]
    _run_all(verify_one, todo, jobs, console)
    _finish(results, "mode", wanted="exact")


def _checked(versions: str) -> list[str]:
    known = [pins.jax for pins in ENVIRONMENTS]
    asked = [version.strip() for version in versions.split(",")]
    for version in asked:
        if version not in known:
            raise InvalidArgument("--jax", version, f"among {', '.join(known)}")
    return asked


def _run_all(run: Callable[..., None], todo: Sequence[tuple[object, ...]], jobs: int, console: Console) -> None:
    with Progress(console=console, disable=not console.is_terminal) as bar, ThreadPoolExecutor(jobs) as pool:
        task = bar.add_task("settings", total=len(todo))
        for _ in pool.map(lambda arguments: run(*arguments), todo):
            bar.advance(task)


def _finish(results: Results, second: str, *, wanted: str) -> None:
    order = [pins.jax for pins in ENVIRONMENTS]
    results.cells = dict(sorted(results.cells.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))
    Console(width=120).print(results.table(second))
    for problem in results.problems:
        click.echo(problem)
    if any(cell != wanted for cell in results.cells.values()) or not results.cells:
        raise click.exceptions.Exit(1)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


if __name__ == "__main__":
    run(main)
