"""Puts the draw table together: runs each environment, tells known arithmetics from new, proves, writes."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from posvec.generator.draw_table import oracle, store, theorem
from posvec.schemas.errors import PosvecError
from posvec.vectors.derive import N_DRAWS
from posvec.vectors.draws import Arithmetic, DrawTable, Recording
from posvec.vectors.ulp import Int32, ordered

ISAS: Final = ("AVX2", "AVX", "SSE4_2")
"""Narrower than the widest that a processor has; XLA cannot be told to use more."""

PROBE_SHAPES: Final = (
    "1x1", "1x7", "3x5", "32x1", "32x2", "32x3", "32x4", "32x5", "32x6", "32x7", "32x12", "32x17", "32x997",
)  # fmt: skip
"""Arrays in which kernels take other paths than in a wide one: single elements, tails, small tables."""

CANONICAL: Final = ("0.10.2", "eager", ("AVX2", "AVX512"))

_RECORD: Final = Path(__file__).with_name("record.py")


class UnexplainedError(PosvecError, ArithmeticError):
    """A build gives values that no recorded arithmetic gives, or the canonical build was never recorded."""


@dataclass(slots=True, kw_only=True)
class Collection:
    """The arithmetics found so far.

    Attributes:
        orders: the ordered value of every draw, by id.
        recordings: in what ways each came about, by id.

    """

    orders: dict[str, Int32] = field(default_factory=dict)
    recordings: dict[str, set[Recording]] = field(default_factory=dict)

    @classmethod
    def from_file(cls, path: Path) -> Collection:
        """Return what an earlier run recorded, or nothing if there is no file."""
        collection = cls()
        if path.exists():
            table = DrawTable.load(path)
            for arithmetic in table.arithmetics:
                collection.orders[arithmetic.id] = ordered(table.values(arithmetic.id))
                collection.recordings[arithmetic.id] = set(arithmetic.recordings)
        return collection

    def add(self, order: Int32, recording: Recording) -> tuple[str, bool]:
        """Return the id of an arithmetic, and whether it is new."""
        for name, known in self.orders.items():
            if np.array_equal(known, order):
                self.recordings[name].add(recording)
                return name, False
        fma = "fma" if recording.isa in ("AVX2", "AVX512") else "nofma"
        fma = fma if recording.machine == "x86_64" else recording.machine
        name = f"jax{recording.jax}-{fma}-{recording.mode}"
        name += "" if recording.path == "body" else f"-{recording.path.split()[-1]}"
        if name in self.orders:
            name += f"-{recording.isa.lower()}"
        self.orders[name] = order
        self.recordings[name] = {recording}
        return name, True

    def body_of(self, build: dict[str, str], mode: str) -> str:
        """Return the id of the arithmetic of a build's wide arrays."""
        wanted = Recording(**build, mode=mode, path="body")
        return next(name for name, recordings in self.recordings.items() if wanted in recordings)

    def record_path(self, name: str, recording: Recording) -> None:
        """Say that a build's small arrays use an arithmetic, in place of what was said of them before."""
        known = self.recordings[name]
        stale = {r for r in known if r.path != "body" and replace(r, path=recording.path) == recording}
        self.recordings[name] = (known - stale) | {recording}

    def discriminating(self, per_pair: int = 3000) -> NDArray[np.uint32]:
        """Return draws that tell the arithmetics apart, and as many random ones to find unknown ones with."""
        generator = np.random.default_rng(0)
        chosen = []
        for first, second in itertools.combinations(self.orders.values(), 2):
            apart = np.flatnonzero(first != second)
            chosen.append(generator.choice(apart, min(per_pair, len(apart)), replace=False))
        telling = np.unique(np.concatenate([np.arange(1), *chosen]))
        return np.concatenate([telling, generator.integers(0, N_DRAWS, len(telling))]).astype(np.uint32)


def environment(isa: str) -> dict[str, str]:
    """Return the variables to run a JAX with: none of the caller's JAX settings, and this instruction set."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    variables |= {"JAX_PLATFORMS": "cpu", "PYTHONPATH": ""}
    if isa != "host":
        variables["XLA_FLAGS"] = f"--xla_cpu_max_isa={isa}"
    return variables


def run(interpreter: str, isa: str, folder: Path, *arguments: str) -> tuple[dict[str, str], dict[str, Any]] | None:
    """Run ``record.py`` under an interpreter; None if that XLA cannot be limited to the instruction set."""
    out = folder / "recorded.npz"
    command, *rest = arguments
    line = [interpreter, str(_RECORD), command, str(out), *rest]
    done = subprocess.run(line, env=environment(isa), capture_output=True, text=True, check=False)
    if "Unknown flag" in done.stderr:
        return None
    if done.returncode:
        raise RuntimeError(f"{interpreter} could not record: {done.stderr.strip()[-2000:]}")
    with np.load(out) as arrays:
        recorded = {name: arrays[name] for name in arrays.files}
    out.unlink()
    return json.loads(str(recorded.pop("build"))), recorded


def record(
    collection: Collection, interpreters: Sequence[str], isas: Iterable[str], say: Callable[[str], None]
) -> None:
    """Record every interpreter under every instruction set into the collection.

    Bodies first, all of them: only then are the draws known that tell the arithmetics apart, and a probe of a
    few thousand elements names the arithmetic that each place of a small array uses.

    Raises:
        UnexplainedError: a probed value is given by no arithmetic, nor by one that a small shape records.

    """
    settings = [(interpreter, isa) for interpreter in interpreters for isa in ("host", *isas)]
    known_builds: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for interpreter, isa in settings:
            answer = run(interpreter, isa, folder, "body")
            if answer is None:
                say(f"{interpreter}: its XLA cannot be limited to {isa}")
                continue
            known_builds.append((interpreter, isa))
            build, arrays = answer
            for mode, values in arrays.items():
                recording = Recording(**build, mode=mode, path="body")
                found, new = collection.add(ordered(values), recording)
                say(f"{recording}: {'NEW ' if new else ''}{found}")
        for interpreter, isa in known_builds:
            probe(collection, interpreter, isa, folder, say)


def probe(collection: Collection, interpreter: str, isa: str, folder: Path, say: Callable[[str], None]) -> None:
    """Find the arithmetics of an environment's small and ragged arrays, recording new ones whole."""
    np.save(folder / "draws.npy", collection.discriminating())
    answer = run(interpreter, isa, folder, "probe", str(folder / "draws.npy"), *PROBE_SHAPES)
    if answer is None:
        return
    build, arrays = answer
    for mode in ("jit", "eager"):
        pending = [shape for shape in PROBE_SHAPES if unexplained(collection, arrays, mode, shape)]
        for shape in pending:
            if not unexplained(collection, arrays, mode, shape):
                continue
            full = run(interpreter, isa, folder, "full", mode, shape)
            at_places = [ordered(values) for values in full[1].values()] if full else []
            first = at_places[0]
            if not all(np.array_equal(first, other) for other in at_places):
                say(f"{build} {mode}: {shape} mixes arithmetics, one of them unknown; trying another shape")
                continue
            found, _ = collection.add(first, Recording(**build, mode=mode, path=f"in arrays of {shape}"))
            say(f"{build} {mode}: NEW {found}, found in {shape}")
        left = {shape: unexplained(collection, arrays, mode, shape) for shape in pending}
        if any(left.values()):
            raise UnexplainedError(f"{build} {mode}: draws with unexplained values, by shape: {left}")
        shapes: dict[str, list[str]] = {}
        for shape in PROBE_SHAPES:
            for name in others_than_body(collection, build, arrays, mode, shape):
                shapes.setdefault(name, []).append(shape)
        for name, where in shapes.items():
            recording = Recording(**build, mode=mode, path=f"in arrays of {', '.join(where)}")
            collection.record_path(name, recording)
            say(f"{recording}: {name}")


def unexplained(collection: Collection, arrays: dict[str, Any], mode: str, shape: str) -> list[int]:
    """Return up to ten draws whose probed value no arithmetic gives."""
    draws, values = arrays[f"{mode} {shape} draws"], ordered(arrays[f"{mode} {shape} values"])
    explained = np.zeros(values.shape, bool)
    for order in collection.orders.values():
        explained |= order[draws] == values
    return [int(draw) for draw in draws[~explained][:10]]


def others_than_body(
    collection: Collection, build: dict[str, str], arrays: dict[str, Any], mode: str, shape: str
) -> list[str]:
    """Return the arithmetics that some place of an array uses whose values the body's does not give.

    The fewest that explain all places, those of the most places first.
    """
    draws, values = arrays[f"{mode} {shape} draws"], ordered(arrays[f"{mode} {shape} values"])
    fits = {name: (order[draws] == values).all(axis=0) for name, order in collection.orders.items()}
    left = ~fits[collection.body_of(build, mode)]
    chosen = []
    while left.any():
        best = max(fits, key=lambda name: (fits[name] & left).sum())
        if not (fits[best] & left).any():
            raise UnexplainedError(f"{build} {mode} {shape}: one place of the array uses several arithmetics")
        chosen.append(best)
        left &= ~fits[best]
    return chosen


def write(collection: Collection, path: Path, say: Callable[[str], None]) -> theorem.Proof:
    """Round correctly, prove the theorem and write the file.

    Raises:
        TheoremBrokenError: a recording breaks the theorem; the file is left as it was.

    """
    truth = oracle.correctly_rounded()
    say(
        f"correctly rounded: {truth.n_near_ties} draws needed mpmath, "
        f"SciPy is at most {truth.worst_residual:.1e} off elsewhere"
    )
    rounded = ordered(truth.values)
    proof = theorem.prove(collection.orders, rounded)
    say(f"proved over {N_DRAWS:,} draws: smallest gap {proof.smallest_gap} ULP")
    arithmetics = [
        Arithmetic(id=name, description=describe(recordings), recordings=tuple(sorted(recordings, key=_age)))
        for name, recordings in collection.recordings.items()
    ]
    arithmetics.sort(key=lambda arithmetic: _age(arithmetic.recordings[0]))
    store.write(path, arithmetics, collection.orders, canonical(collection), rounded, proof)
    say(f"wrote {path}, {path.stat().st_size:,} bytes")
    return proof


def canonical(collection: Collection) -> str:
    """Return the id of the arithmetic of JAX 0.10.2, eager, x86-64 with FMA.

    Raises:
        UnexplainedError: it was never recorded.

    """
    jax, mode, isas = CANONICAL
    for name, recordings in collection.recordings.items():
        if any((r.jax, r.mode, r.path) == (jax, mode, "body") and r.isa in isas for r in recordings):
            return name
    raise UnexplainedError(f"the canonical build, JAX {jax} {mode} with FMA, is not among the interpreters.")


def describe(recordings: Iterable[Recording]) -> str:
    """Return in a line which builds compute so in wide arrays, or in which arrays if in no wide one."""
    bodies = sorted((r for r in recordings if r.path == "body"), key=_age)
    if not bodies:
        first = min(recordings, key=_age)
        return f"no wide array computes so; JAX {first.jax}, {first.isa}, {first.path}"
    versions = list(dict.fromkeys(r.jax for r in bodies))
    fma = "FMA" if any(r.isa in ("AVX2", "AVX512") for r in bodies) else "no FMA"
    once = all(r.mode == "jit" for r in bodies) or any(_age(r)[0] >= (0, 12) for r in bodies)
    order = "erf_inv times (sqrt2 * stddev)" if once else "(erf_inv times sqrt2) times stddev"
    return f"{order}, {fma}; JAX {', '.join(versions)}"


def _age(recording: Recording) -> tuple[Any, ...]:
    version = tuple(int(part) for part in recording.jax.split(".") if part.isdigit())
    isa = ISAS.index(recording.isa) if recording.isa in ISAS else -1
    return version, isa, recording.mode, recording.path != "body", recording.path
