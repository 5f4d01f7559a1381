"""A sweep returns the literal call's bytes, however it gets them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from posvec.generator import sweep as sweep_module
from posvec.generator.environment import describe
from posvec.generator.environments import clean_environ
from posvec.generator.references.learned_pos_embed import learned_pos_embed_forward, learned_pos_embed_forward_jit
from posvec.generator.suites import LEARNED_POS_EMBED
from posvec.generator.sweep import Sweep, prng_keys, sweep
from posvec.schemas.axes import Axis
from posvec.schemas.build import Mode, Stream

SEEDS = (0, 42, 2**31 - 1, 2**31, 2**32 - 1, -1, 2**32 + 5, -(2**63), 2**63 - 1)
WIDTHS = [int(width) for width in LEARNED_POS_EMBED.default_axes["d_model"].split(",")]
VENVS = sorted((Path(__file__).parents[2] / ".venvs").glob("jax-*/bin/python"))


def swept(folder: Path, mode: Mode, *widths: int, seeds: tuple[int, ...] = SEEDS) -> Sweep:
    return sweep(
        build=replace(describe(), mode=mode),
        reference=LEARNED_POS_EMBED.reference,
        seeds=Axis.of(seeds),
        d_models=Axis.of(widths),
        folder=folder,
    )


def literal(mode: Mode, seed: int, d_model: int) -> bytes:
    function = learned_pos_embed_forward if mode == "eager" else learned_pos_embed_forward_jit
    return np.asarray(function(seed, 32, d_model)).tobytes()


def disagreements(folder: Path, mode: Mode, *, widths: list[int], literal_seeds: tuple[int, ...]) -> list[str]:
    found = []
    for d_model in widths:
        result = swept(folder, mode, d_model)
        found += [f"{mode} d_model={d_model}: fell back"] * len(result.not_batched)
        found += [
            f"{mode} d_model={d_model} seed={seed}"
            for seed in literal_seeds
            if result.read(d_model, SEEDS.index(seed), SEEDS.index(seed) + 1).tobytes() != literal(mode, seed, d_model)
        ]
    return found


@pytest.mark.slow
def test_a_batch_of_seeds_has_the_literal_loop_s_bytes(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_module, "LITERAL_SEEDS", 0)
    assert disagreements(tmp_path, "eager", widths=WIDTHS, literal_seeds=SEEDS) == []


@pytest.mark.slow
def test_one_program_with_the_key_as_argument_has_the_literal_jit_s_bytes(tmp_path):
    assert disagreements(tmp_path, "jit", widths=WIDTHS[1::2], literal_seeds=SEEDS[1:3]) == []


def test_the_size_of_the_batch_does_not_show(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_module, "LITERAL_SEEDS", 0)
    monkeypatch.setattr(sweep_module, "_BATCH_SEEDS", 4)
    assert disagreements(tmp_path, "eager", widths=[3], literal_seeds=SEEDS) == []
    assert swept(tmp_path, "eager", 3).path(3).stat().st_size == len(SEEDS) * 32 * 3 * 4


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_where_the_batch_differs_the_literal_call_counts(mode: Mode, tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_module, "LITERAL_SEEDS", 0)
    monkeypatch.setattr(
        sweep_module._Width, f"_{mode}_batch", lambda _: lambda keys: np.zeros((len(keys), 32, 1), np.float32)
    )
    advanced: list[int] = []
    result = sweep(
        build=replace(describe(), mode=mode),
        reference=LEARNED_POS_EMBED.reference,
        seeds=Axis.of((0, 1)),
        d_models=Axis.of((1,)),
        folder=tmp_path,
        advance=advanced.append,
    )
    assert result.not_batched == [1]
    assert sum(advanced) == 2
    assert result.read(1, 0, 2).tobytes() == literal(mode, 0, 1) + literal(mode, 1, 1)


def test_a_build_known_to_depend_on_the_batch_is_never_batched(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_module, "LITERAL_SEEDS", 0)
    monkeypatch.delattr(sweep_module._Width, "_eager_batch")
    build = replace(describe(), jax="0.7.2")
    result = sweep(
        build=build,
        reference=LEARNED_POS_EMBED.reference,
        seeds=Axis.of((0,)),
        d_models=Axis.of((1,)),
        folder=tmp_path,
    )
    assert result.read(1, 0, 1).tobytes() == literal("eager", 0, 1)


def test_keys_are_those_of_prngkey():
    expected = np.stack([np.asarray(jax.random.PRNGKey(seed)) for seed in SEEDS])
    np.testing.assert_array_equal(prng_keys(list(SEEDS)), expected, strict=True)


PROOF = """
import sys, tempfile
from pathlib import Path
from posvec.generator.environment import prepare
eager, jit = prepare(stream=sys.argv[1])
import numpy as np
from posvec.generator import sweep as sweep_module
from posvec.generator.references import learned_pos_embed as reference
from posvec.schemas.axes import Axis
sweep_module.LITERAL_SEEDS = 0
seeds = (0, 42, 2**32 - 1, -1, 2**32 + 5)
for build, literal, few in (
    (eager, reference.learned_pos_embed_forward, seeds),
    (jit, reference.learned_pos_embed_forward_jit, seeds[1:3]),
):
    with tempfile.TemporaryDirectory() as folder:
        widths = Axis.parse(sys.argv[2], name="d_model", minimum=1, maximum=64)
        result = sweep_module.sweep(
            build=build, reference=reference.__name__, seeds=Axis.of(seeds), d_models=widths, folder=Path(folder)
        )
        for d_model in widths:
            for seed in few:
                at = seeds.index(seed)
                if result.read(d_model, at, at + 1).tobytes() != np.asarray(literal(seed, 32, d_model)).tobytes():
                    print(build.id, d_model, seed)
"""


@pytest.mark.slow
@pytest.mark.skipif(not VENVS, reason="`make vectors` builds the environments that this needs")
@pytest.mark.parametrize("stream", ["partitionable", "original"])
@pytest.mark.parametrize("python", VENVS, ids=lambda path: path.parts[-3])
def test_the_same_holds_under_every_recorded_jax(python: Path, stream: Stream):
    widths = LEARNED_POS_EMBED.default_axes["d_model"]
    done = subprocess.run(
        [str(python), "-c", PROOF, stream, widths], env=clean_environ(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.slow
def test_the_proof_for_other_versions_runs_here():
    done = subprocess.run(
        [sys.executable, "-c", PROOF, "original", "3"],
        env=clean_environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
