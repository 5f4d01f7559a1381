"""The command: what it writes, what it keeps, and what is left of it when it is stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from posvec.generator.cli import generate as command
from posvec.generator.scratch import remove_leftovers
from posvec.schemas.errors import PosvecError
from posvec.schemas.manifest import Manifest
from posvec.schemas.validate import violation
from posvec.vectors.golden import Golden, content_digest

from .conftest import TINY, generate, start

FILE = "learned_pos_embed.h5"
MANIFEST = "learned_pos_embed.json"
NO_FMA = {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def modes(folder: Path) -> list[tuple[str, str]]:
    golden = Golden.open(folder / FILE)
    return sorted((b.isa, b.mode) for recording in golden.recordings for b in recording.builds)


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    """A copy of the tiny golden file, to be written to."""
    return Path(shutil.copytree(tiny, tmp_path / "golden"))


def test_the_file_and_its_manifest_are_whole(tiny: Path):
    golden = Golden.open(tiny / FILE)
    text = (tiny / MANIFEST).read_text()
    assert sorted(contents(tiny)) == [FILE, MANIFEST]
    assert violation(json.loads(text), "golden.schema.json") is None
    assert text == golden.manifest.to_json()
    assert golden.manifest.command == ("posvec generate --seeds=0,-1 --T=0..32 --d-model=1 --stream=partitionable")
    assert modes(tiny) == [("native", "eager"), ("native", "jit")]


def test_the_same_command_writes_the_same_bytes(tiny: Path, folder: Path, tmp_path: Path):
    again = generate("--d-model", "1", "--seeds", "0,-1", "-o", str(folder), "--T", "0..32")
    fresh = generate(*TINY, "-o", str(tmp_path / "fresh"))
    assert (again.returncode, fresh.returncode) == (0, 0), again.stderr + fresh.stderr
    assert contents(folder) == contents(tiny) == contents(tmp_path / "fresh")


def test_two_builds_at_once_are_both_recorded_and_neither_drops_what_was_there(folder: Path):
    (folder / ".generate-dead.posvec-tmp").mkdir()
    (folder / f".{FILE}.dead.posvec-tmp").write_bytes(b"left by a killed run")
    both = [
        start(*TINY, "-o", str(folder), variables=variables)
        for variables in (NO_FMA, {"XLA_FLAGS": "--xla_a=1 --xla_cpu_max_isa=SSE4_2 --xla_dump_to=/tmp/x"})
    ]
    # The second names a flag that XLA does not know, and must not end well, nor harm the first.
    codes = [process.wait(timeout=120) for process in both]
    errors = [process.communicate()[1] for process in both]
    assert codes[0] == 0, errors[0]
    assert codes[1] != 0
    assert modes(folder) == [("SSE4_2", "eager"), ("SSE4_2", "jit"), ("native", "eager"), ("native", "jit")]
    assert all(path.name in (FILE, MANIFEST) or "generate-" in path.name for path in folder.iterdir())


@pytest.mark.slow
def test_two_builds_that_end_together_are_both_recorded(folder: Path):
    both = [start(*TINY, "-o", str(folder), variables=NO_FMA), start(*TINY, "-o", str(folder))]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in both]
    assert [code for _, code in ended] == [0, 0], ended
    assert modes(folder) == [("SSE4_2", "eager"), ("SSE4_2", "jit"), ("native", "eager"), ("native", "jit")]
    assert (folder / MANIFEST).read_text() == Golden.open(folder / FILE).manifest.to_json()
    assert sorted(path.name for path in folder.iterdir()) == [FILE, MANIFEST]


def test_what_other_commands_are_writing_is_not_taken_for_leftovers(folder: Path):
    """A report of `posvec verify`, say: only a golden file is written with the folder's lock held."""
    writing, dead = folder / ".report.json.abc.posvec-tmp", folder / f".{FILE}.abc.posvec-tmp"
    for path in (writing, dead):
        path.touch()
    remove_leftovers(folder)
    assert (writing.exists(), dead.exists()) == (True, False)


@pytest.mark.slow
def test_a_run_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tiny: Path, tmp_path: Path):
    """Sixteen moments over the whole run of the real command, JAX's start included."""
    done = tmp_path / "done"
    shutil.copytree(tiny, done)
    began = time.monotonic()
    assert generate(*TINY, "-o", str(done), variables=NO_FMA).returncode == 0
    seconds = time.monotonic() - began
    old, new = contents(tiny), contents(done)
    folder = tmp_path / "golden"
    ended = []
    for moment in range(16):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tiny, folder)
        process = start(*TINY, "-o", str(folder), variables=NO_FMA)
        try:
            process.wait(timeout=seconds * (moment + 1) / 16)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        now = contents(folder)
        assert all(now[name] in (old[name], new[name]) for name in (FILE, MANIFEST))
        assert all(name.startswith(".") and name.endswith(".posvec-tmp") for name in set(now) - {FILE, MANIFEST})
        ended.append(process.returncode)
    assert ended.count(-signal.SIGKILL) > 8
    assert generate(*TINY, "-o", str(folder), variables=NO_FMA).returncode == 0
    assert contents(folder) == new
    assert sorted(path.name for path in folder.iterdir()) == [FILE, MANIFEST]


def test_check_judges_the_running_build_by_its_own_recording_or_by_expected(tiny: Path):
    holds = generate("--check", "-o", str(tiny))
    assert (holds.returncode, holds.stdout.splitlines()[0]) == (0, f"{tiny / FILE}: holds")
    other = generate("--check", "--vectors", str(tiny / FILE), variables=NO_FMA)
    assert "jit, no FMA" in other.stdout
    assert "is not recorded, and nothing is asked of it" in other.stdout
    assert other.returncode == (1 if "DOES NOT HOLD" in other.stdout else 0)


def test_a_file_of_another_suite_or_with_values_that_cannot_be_is_not_checked_or_merged_into(tiny: Path, folder: Path):
    """Both have the digest that goes with them: someone has edited the file and sealed it again."""

    def edit(change: Callable[[h5py.File, Manifest], Manifest]) -> None:
        shutil.copy(tiny / FILE, folder / FILE)
        with h5py.File(folder / FILE, "r+") as file:
            manifest = change(file, Golden.open(tiny / FILE).manifest)
            manifest = replace(manifest, content_sha256=content_digest(file, manifest))
            del file["manifest"]
            file["manifest"] = np.bytes_(manifest.to_json().encode())

    def other_suite(_: h5py.File, manifest: Manifest) -> Manifest:
        return replace(manifest, suite=replace(manifest.suite, name="other"))

    def no_number(file: h5py.File, manifest: Manifest) -> Manifest:
        file["d_model=1/expected"][0, 0, 0] = np.nan
        return manifest

    for change, said in ((other_suite, "holds"), (no_number, "not finite")):
        edit(change)
        for words in (("--check", "-o", str(folder)), (*TINY, "-o", str(folder))):
            done = generate(*words)
            assert done.returncode == 3, done.stderr
            assert said in done.stderr
            assert len(done.stderr.splitlines()) == 1


def test_other_axes_need_force_which_says_what_it_replaced(folder: Path):
    before = contents(folder)
    refused = generate("--seeds=0", "--d-model=1", "-o", str(folder))
    assert refused.returncode == 2
    assert "--seeds must be 0,-1" in refused.stderr
    assert "--force" in refused.stderr
    assert contents(folder) == before
    forced = generate("--seeds=0", "--d-model=1", "--force", "-o", str(folder))
    assert forced.returncode == 0, forced.stderr
    assert "replaced 66 cases recorded from 2 builds" in forced.stdout
    assert str(Golden.open(folder / FILE).manifest.axes["seed"]) == "0"


def test_a_damaged_file_is_not_merged_into(folder: Path):
    damaged = (folder / FILE).read_bytes()[:-100]
    (folder / FILE).write_bytes(damaged)
    done = generate(*TINY, "-o", str(folder))
    assert done.returncode == 3
    assert "replace it with --force" in done.stderr
    assert (folder / FILE).read_bytes() == damaged


@pytest.mark.parametrize(
    "moment",
    [*(pytest.param(m, marks=pytest.mark.slow) for m in (".generate-*", ".generate-*/eager-1.f32")), f".{FILE}.*"],
)
def test_a_killed_run_leaves_the_old_file_whole(folder: Path, moment: str):
    before = contents(folder)
    process = start(*TINY, "-o", str(folder), variables=NO_FMA)
    deadline = time.monotonic() + 60
    while not any(folder.glob(moment)) and process.poll() is None and time.monotonic() < deadline:
        pass
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    left = {path.name for path in folder.iterdir()} - {FILE, MANIFEST}
    assert {name: contents(folder)[name] for name in (FILE, MANIFEST)} == before
    assert left
    assert all(name.startswith(".") and name.endswith(".posvec-tmp") for name in left)


def test_an_interrupted_run_leaves_nothing(folder: Path):
    before = contents(folder)
    process = start(*TINY, "-o", str(folder))
    while not any(folder.glob(".generate-*/eager-1.f32")) and process.poll() is None:
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert contents(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == [FILE, MANIFEST]


@pytest.mark.parametrize("limit", [pytest.param(100, marks=pytest.mark.slow), 20_000])
def test_a_full_disk_leaves_the_old_file_untouched(folder: Path, limit: int):
    """``RLIMIT_FSIZE`` stands for the disk: 100 bytes hold no raw table, 20,000 hold no golden file."""
    before = contents(folder)
    done = generate(
        *TINY,
        "-o",
        str(folder),
        variables={**NO_FMA, "PYTHONDONTWRITEBYTECODE": "1"},
        file_size=limit,
    )
    assert done.returncode == 3, done.stderr
    assert "could not be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert contents(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == [FILE, MANIFEST]


def test_a_folder_that_cannot_be_made_or_written_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    done = generate(*TINY, "-o", str(tmp_path / "file" / "golden"))
    assert done.returncode == 3
    assert str(tmp_path / "file" / "golden") in done.stderr
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.geteuid() == 0:  # who may write anywhere, but not into what the kernel makes up
        closed = Path("/sys/kernel")
    done = generate(*TINY, "-o", str(closed))
    assert done.returncode == 3
    assert f"{closed} could not be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--seeds", "x"], "--seeds must be"),
        (["--seeds", ""], "--seeds must be"),
        (["--seeds", "9223372036854775808"], "--seeds must be within -9223372036854775808..9223372036854775807"),
        (["--seeds", "0..9223372036854775807"], "--seeds must be at most 1,000,000,000 values"),
        (["--T", "33"], "--T must be within 0..32"),
        (["--T", "-1"], "--T must be within 0..32"),
        (["--T", "5..3"], "write 3..5"),
        (["--d-model", "0"], "--d-model must be within 1.."),
        (["-o", __file__], "--output must be a folder"),
        (["--vectors", "x.h5"], "--vectors goes with --check"),
        (["--check", "--force"], "--force does not go with --check"),
        (["--stream", "threefry"], "'threefry' is not one of"),
        (["--check", "--vectors", "x.h5", "-o", "y"], "--output does not go with --check"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_imported_or_run(arguments: list[str], named: str):
    result = CliRunner().invoke(command, arguments)
    said = str(result.exception) if isinstance(result.exception, PosvecError) else result.output
    assert named in said
    assert getattr(result.exception, "exit_code", result.exit_code) == 2


def test_more_than_the_disk_holds_is_refused_before_anything_runs(tmp_path: Path):
    done = generate("--seeds=0..999999999", "--d-model=1048576", "-o", str(tmp_path))
    assert done.returncode == 3
    assert "are free" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_stored_values_are_those_of_the_literal_call(tiny: Path):
    from posvec.generator.references.learned_pos_embed import learned_pos_embed_forward

    golden = Golden.open(tiny / FILE)
    own = next(r for r in golden.recordings if any(b.mode == "eager" for b in r.builds))
    got = golden.read(own, 1, 0, 2).reshape(2, 32)
    expected = np.stack([np.asarray(learned_pos_embed_forward(seed, 32, 1)) for seed in (0, -1)])
    np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32), strict=True)
