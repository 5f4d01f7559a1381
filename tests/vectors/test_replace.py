import os
import stat

import pytest

from posvec.vectors.replace import replacing


def test_the_old_file_stays_if_the_block_raises(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_link_keeps_pointing_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert os.read(reader, 100) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_permissions_are_kept(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
