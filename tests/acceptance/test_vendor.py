"""``posvec vendor``: a course copies golden files, keeps them in git, checks and updates them."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from posvec.vectors.case_golden import open_golden
from posvec.vectors.files import SHIPPED, suites_in
from posvec.vectors.golden import table_case
from posvec.verifier.cli import run
from tests.acceptance.conftest import EXAMPLES

SHUT_OUT = """
import sys
class NothingElse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in {"numpy", "h5py", *sys.stdlib_module_names}:
            raise ImportError(name)
sys.meta_path.insert(0, NothingElse())
"""


def git(folder, *words, **options):
    environment = {
        **os.environ,
        **{f"GIT_{who}_{what}": "course@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    return subprocess.run(
        ["git", "-C", folder, *words], check=True, capture_output=True, text=True, env=environment, **options
    ).stdout


def test_a_copy_is_written_checked_verified_with_and_left_alone_once_edited(posvec, tmp_path):
    folder = tmp_path / "tests" / "golden"
    written = posvec("vendor", folder)
    assert (written.status, written.out.splitlines()[0].split(": ")[1]) == (
        0,
        "13 golden files, vectors 1.0.0, 10.7 MB, written.",
    )
    names = {path.name for path in folder.iterdir()}
    assert {f"{suite}.h5" for suite in suites_in(SHIPPED)} < names
    assert {"VERSION", "SHA256SUMS", "LICENSE", "README.md", ".gitattributes", "golden.schema.json"} < names
    assert "draws.h5" not in names
    for path in folder.glob("*.h5"):
        assert path.read_bytes() == (SHIPPED / path.name).read_bytes()
        assert path.with_suffix(".json").read_bytes() == (SHIPPED / path.with_suffix(".json").name).read_bytes()
    said = json.loads((folder / "VERSION").read_text())
    assert said["command"] == "posvec vendor ."
    assert {name: entry["sha256"] for name, entry in said["files"].items()} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.name != "VERSION"
    }
    subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=folder, check=True, capture_output=True)
    checked = posvec("vendor", "--check", folder)
    assert (checked.status, checked.out) == (0, f"UNCHANGED: {len(names)} files, vectors 1.0.0, up to date\n")
    (folder / "README.md").write_text("mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused = posvec("vendor", folder, "--suite", "rope_half")
    assert (refused.status, refused.out) == (1, "")
    assert "README.md was edited or damaged since posvec wrote it" in refused.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    edited = posvec("vendor", "--check", folder)
    assert (edited.status, edited.out.startswith("EDITED: 1 file not as posvec wrote it")) == (1, True)
    assert "README.md is not as it was written" in edited.out


def test_a_quick_copy_holds_the_cases_of_verify_quick(posvec):
    posvec("vendor", "golden", "--subset", "quick", "--suite", "learned_pos_embed")
    port = EXAMPLES / "numpy_port.py"
    ran = posvec("verify", "--vectors", "golden", "--match", "equivalent", port)
    assert (ran.status, ran.report["elements"]["compared"], ran.report["counts"]["pass"]) == (0, 19_903, 92)
    compared = posvec("diff", "golden", SHIPPED)
    assert compared.out.splitlines()[1] == "  cases: 92 in A, 2,079 in B"


def test_an_update_is_announced_with_what_it_changes_and_the_command(posvec, tmp_path):
    """Vectors of one's own, whose new version has a corrected value and a further suite."""
    for name in ("alibi_bias", "vit_embed"):
        for suffix in (".h5", ".json"):
            (tmp_path / "own").mkdir(exist_ok=True)
            shutil.copy(SHIPPED / f"{name}{suffix}", tmp_path / "own")
    posvec("vendor", "golden", "--vectors", "own/alibi_bias.h5")
    alone = posvec("vendor", "--check", "golden")
    assert " ".join(alone.out.split()) == (
        "UNCHANGED: 8 files, vectors of your own; --vectors FILE compares them with others"
    )
    same = posvec("vendor", "--check", "golden", "--vectors", "own")
    assert same.status == 0
    original = SHIPPED / "learned_pos_embed.original.h5"
    other = posvec("vendor", "--check", "golden", "--vectors", original)
    assert other.status == 1
    assert other.out.splitlines()[:2] == [
        "OUTDATED: vectors of your own; an update to those given changes which suites",
        "there are",
    ]
    assert f"posvec vendor golden --vectors={original}" in " ".join(other.out.split())
    stream = posvec("vendor", "original", "--vectors", original)
    assert stream.out.splitlines()[-1] == "  verify   posvec verify --vectors original --stream original TARGET"


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ((), 2, "Missing argument 'DIR'"),
        (("x", "--subset", "some"), 2, "--subset"),
        (("x", "--suite", "rope"), 3, "did you mean rope_half?"),
        (("--check", "."), 3, "no vendored copy"),
        (("--check", ".", "--suite", "rope_half"), 2, "--suite does not go with --check"),
    ],
)
def test_a_wrong_argument_is_one_sentence(capsys, monkeypatch, tmp_path, arguments, status, says):
    """In this process: only the start of Python would be another's."""
    monkeypatch.chdir(tmp_path)
    assert run(["vendor", *map(str, arguments)]) == status
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert says in printed.err
    assert not list(tmp_path.iterdir())


def test_the_lines_in_the_readme_of_a_copy_read_it_with_numpy_and_h5py_alone(posvec, tmp_path):
    posvec("vendor", "golden", "--suite", "learned_pos_embed", "--suite", "rope_half")
    page = (tmp_path / "golden" / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    found = []
    for number, block in enumerate(blocks):
        script = tmp_path / f"read{number}.py"
        script.write_text(f"{SHUT_OUT}{block}\nsys.stdout.buffer.write(expected.tobytes())\n")
        ran = subprocess.run([sys.executable, script], cwd=tmp_path / "golden", capture_output=True, check=True)
        found.append(ran.stdout)
    table, cases = (open_golden(SHIPPED / name) for name in ("learned_pos_embed.h5", "rope_half.h5"))
    known = table.known(table_case(table.name, seed=42, T=3, d_model=4))
    assert np.frombuffer(found[0], np.float32).tobytes() == known.expected.tobytes()
    assert found[1] == cases.known(cases.cases()[0]).expected.tobytes()


def test_git_keeps_every_byte_whatever_it_does_to_line_ends(posvec, tmp_path):
    repository = tmp_path / "course"
    repository.mkdir()
    posvec("vendor", repository / "golden", "--suite", "alibi_bias")
    before = {path.name: path.read_bytes() for path in (repository / "golden").iterdir()}
    (repository / "notes.txt").write_text("a\nb\n")
    git(repository, "init", "-q")
    git(repository, "-c", "core.autocrlf=true", "add", ".")
    git(repository, "commit", "-qm", "golden vectors")
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", "course", "student")
    assert (tmp_path / "student" / "notes.txt").read_bytes() == b"a\r\nb\r\n"
    assert {path.name: path.read_bytes() for path in (tmp_path / "student" / "golden").iterdir()} == before
    checked = posvec("vendor", "--check", tmp_path / "student" / "golden")
    assert checked.out.startswith("UNCHANGED")
