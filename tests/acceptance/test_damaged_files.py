"""Files that are damaged or made to harm, given to the real command: exit 3 and one sentence, soon.

What the reader refuses, and why, is in tests/vectors; here the commands must pass it on.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.acceptance.conftest import EXAMPLES, ROOT, STEERING
from tests.fuzz import targets

SHIPPED = ROOT / "vectors" / "learned_pos_embed.h5"
MANIFEST = json.loads(SHIPPED.with_suffix(".json").read_text())
# Address space, in which NumPy's libraries take some hundred MB a CPU: what would fill the memory fails.
LIMITED = (
    "import os, resource, sys; limit = int(sys.argv[1]); "
    "sys.platform == 'linux' and resource.setrlimit(resource.RLIMIT_AS, (limit, limit)); "  # macOS has no such limit
    "os.execv(sys.argv[2], sys.argv[2:])"
)
MEMORY = 8 * 2**30
SECONDS = 30


def command(*words):
    """Run posvec with limits and return status, stderr and seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(MEMORY), str(Path(sys.executable).with_name("posvec")), *map(str, words)],
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith(STEERING)},
            "OPENBLAS_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stderr, time.monotonic() - began


def refused(status, stderr):
    assert status == 3, (status, stderr)
    assert stderr.startswith("posvec: ")
    assert len(stderr.splitlines()) == 1
    assert stderr.isprintable() or stderr[:-1].isprintable()


def changed_manifest(change):
    """Return what puts another manifest into a file."""

    def put(file):
        document = json.loads(json.dumps(MANIFEST))
        text = change(document)
        del file["manifest"]
        file["manifest"] = np.bytes_((text or json.dumps(document, indent=1)).encode() + b"\n")

    return put


def axis(name, text, maximum=None):
    def change(document):
        document["axes"][name] = text
        for parameter in document["suite"]["parameters"]:
            if parameter["name"] == name and maximum is not None:
                parameter["maximum"] = maximum

    return changed_manifest(change)


def replaced(name, make):
    def change(file):
        del file[name]
        make(file, name)

    return change


def many(**fields):
    return changed_manifest(lambda document: document.update(**fields))


DRAW = "d_model=4/draw"
HOSTILE = {
    "terabytes": replaced(DRAW, lambda f, n: f.create_dataset(n, (2**38, 32, 4), "<u4", chunks=(9, 32, 4))),
    "a device": replaced(DRAW, lambda f, n: f.create_dataset(n, (9,), "<u4", external=[("/dev/zero", 0, 36)])),
    "a link": replaced("axes/seed", lambda f, n: f.__setitem__(n, h5py.ExternalLink("/proc/self/mem", "x"))),
    "a gigabyte of text": replaced("manifest", lambda f, n: f.create_dataset(n, (), "S1000000000")),
    "32 MB of text": replaced("manifest", lambda f, n: f.__setitem__(n, np.bytes_(b"[" * 2**25))),
    "deep nesting": changed_manifest(lambda _: "[" * 1_000_000 + "]" * 1_000_000),
    "a number of 100,000 digits": changed_manifest(lambda _: '{"format": ' + "9" * 100_000 + "}"),
    "a million violations": many(recordings=[0] * 1_000_000),
    "a million names": many(**{f"a{i}": None for i in range(1_000_000)}),
    "NaN": many(format_version=float("nan")),
    "control characters": many(license="\x1b[2J\x07"),
    "lone surrogates": many(license="\ud800"),
    "path": many(name="../../etc/passwd"),
    "duplicate keys": changed_manifest(lambda d: json.dumps(d, indent=1)[:-2] + ',\n "license": "CC0-1.0"\n}'),
    "an endless axis": axis("T", f"0..{10**18}", 10**18),
    "an axis of millions of ranges": axis("seed", ",".join(map(str, range(2_000_000, 0, -2)))),
    "an axis of zero": axis("d_model", "0", 10),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """All hostile files, by kind; also a small one with damage that no digest is needed to see."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = {}
    for number, (kind, change) in enumerate(HOSTILE.items()):
        paths[kind] = Path(shutil.copy(SHIPPED, folder / f"{number}.h5"))
        with h5py.File(paths[kind], "r+") as file:
            change(file)
    return paths


def test_a_hostile_file_costs_a_sentence(hostile):
    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(hostile, pool.map(lambda path: command("info", path), hostile.values()), strict=True))
    for kind, (status, stderr, seconds) in results.items():
        assert status == 3, (kind, status, stderr)
        refused(status, stderr)
        assert seconds < SECONDS, kind


def test_every_command_that_reads_a_file_refuses_it_alike(hostile):
    path = hostile["a link"]
    commands = [
        ("verify", "--vectors", path, EXAMPLES / "numpy_port.py:learned_pos_embed_forward"),
        ("diff", path, SHIPPED),
        ("diff", SHIPPED, path),
        ("generate", "--check", "--vectors", path),
    ]
    for words in commands:
        status, stderr, _ = command(*words)
        refused(status, stderr)
        assert str(path) in stderr


def test_a_damaged_draw_table_is_said_by_show(tmp_path):
    """The table of a copy of the package, since the command takes no other."""
    package = tmp_path / "posvec"
    for name in ("schemas", "vectors", "verifier"):
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (ROOT / "posvec").glob("*.py"):
        shutil.copy(path, package)
    table = package / "vectors" / "draws.h5"
    whole = table.read_bytes()
    run = [sys.executable, "-c", "import sys; from posvec.verifier.cli import main; main()", "show", "--seed=0"]
    for damaged in (whole[: len(whole) // 2], whole[:3000] + bytes(64) + whole[3064:], b"", None):
        table.unlink() if damaged is None else table.write_bytes(damaged)
        done = subprocess.run([*run, "--d-model=2"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
        refused(done.returncode, done.stderr)
        assert "the draw table" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("what", ["cut short", "a bit flipped"])
def test_a_small_file_damaged_anywhere_is_refused_or_shown_as_it_was(tmp_path, what):
    """The real command on 150 damaged files each; the fuzz targets do thousands in one process."""
    whole = targets.seed()
    (tmp_path / "whole.h5").write_bytes(whole)
    shown = subprocess.run(
        [Path(sys.executable).with_name("posvec"), "info", "--json", tmp_path / "whole.h5"], capture_output=True
    ).stdout
    random = np.random.default_rng(5)

    def damaged(number):
        content = bytearray(whole)
        if what == "cut short":
            del content[len(content) * number // 150 :]
        else:
            at = int(random.choice(targets.used()))
            content[at] ^= 1 << int(random.integers(8))
        path = tmp_path / f"{number}.h5"
        path.write_bytes(content)
        done = subprocess.run(
            [Path(sys.executable).with_name("posvec"), "info", "--json", path],
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return done.returncode, done.stdout, done.stderr

    with ThreadPoolExecutor(2) as pool:
        for status, out, err in pool.map(damaged, range(150)):
            if status:
                refused(status, err)
            else:
                assert out.encode() == shown
