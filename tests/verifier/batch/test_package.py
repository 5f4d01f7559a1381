import os

import pytest

from posvec.verifier.batch import package
from posvec.verifier.batch.package import read_package
from posvec.verifier.batch.refusal import Refused


def test_a_folder_is_read_with_all_below_it_but_not_what_belongs_to_tools(tmp_path):
    for name in ("a.py", "src/b.py", ".git/x", ".hidden.py", "__pycache__/a.pyc", "node_modules/x.js", "env/lib/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "env/pyvenv.cfg").write_text("")
    (tmp_path / "golden.h5").write_text("")
    (tmp_path / "golden.json").write_text("")
    found = read_package(tmp_path)
    assert found.paths == ("a.py", "golden.json", "src/b.py")
    assert found.notes == ("golden.h5 is a golden file and was left out.",)


def test_a_link_is_followed_only_within_the_submission(tmp_path):
    secret = tmp_path / "secret.py"
    secret.write_text("secret")
    own = tmp_path / "own"
    (own / "src").mkdir(parents=True)
    (own / "src/a.py").write_text("mine")
    (own / "inside.py").symlink_to("src/a.py")
    (own / "outside.py").symlink_to("../secret.py")
    (own / "folder").symlink_to("..")
    (own / "loop.py").symlink_to("loop.py")
    found = read_package(own)
    assert dict(found.files) == {"inside.py": b"mine", "src/a.py": b"mine"}
    assert [note.split()[0] for note in found.notes] == ["folder", "loop.py", "outside.py"]


def test_a_submission_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "a.py").write_text("")
    (tmp_path / "b.py").symlink_to("a.py")
    with pytest.raises(Refused, match="is a symbolic link, which is not followed"):
        read_package(tmp_path / "b.py")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_does_not_keep_anyone_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "a.py").write_text("")
    found = read_package(tmp_path)
    assert (found.paths, found.notes) == (("a.py",), ("pipe.py is no regular file and was left out.",))
    with pytest.raises(Refused, match=r"pipe\.py is no regular file"):
        read_package(tmp_path / "pipe.py")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("MOST_BYTES", 10, "holds more than"),
        ("MOST_FILES", 2, "holds more than 2 files"),
        ("_MOST_ENTRIES", 3, "holds more than 3 entries"),
        ("_MOST_DEPTH", 1, "holds folders more than 1 deep"),
    ],
)
def test_a_submission_that_is_too_large_is_refused(tmp_path, monkeypatch, name, value, says):
    for file in ("a.py", "b/c.py", "b/d/e.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("12345")
    monkeypatch.setattr(package, name, value)
    with pytest.raises(Refused, match=says) as raised:
        read_package(tmp_path)
    assert raised.value.problem == "too-large"


def test_what_is_not_there_any_more_is_unreadable(tmp_path):
    with pytest.raises(Refused, match="cannot be read: No such file") as raised:
        read_package(tmp_path / "gone.py")
    assert raised.value.problem == "unreadable"


def test_a_package_is_written_as_it_was_and_its_digest_knows_names_and_contents(tmp_path):
    own = tmp_path / "own"
    (own / "src").mkdir(parents=True)
    (own / "src" / os.fsdecode(b"caf\xe9.py")).write_bytes(b"\x00\r\n")
    (own / "a.py").write_text("1")
    found = read_package(own)
    found.write(tmp_path / "copy")
    assert read_package(tmp_path / "copy") == found
    digests = {found.digest}
    (own / "a.py").write_text("2")
    digests.add(read_package(own).digest)
    (own / "a.py").rename(own / "b.py")
    digests.add(read_package(own).digest)
    assert len(digests) == 3
