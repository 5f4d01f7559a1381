import json
import os
from pathlib import Path

import pytest

from posvec.schemas.errors import InvalidArgument, OutputError
from posvec.verifier.reports.files import ReportFile
from posvec.verifier.running.program import Program
from posvec.verifier.running.target import parse_target
from posvec.verifier.todays_failures import ListFile


def badge(path):
    return ReportFile.parse(f"badge={path}")


@pytest.mark.parametrize("name", ["homework.py", "./homework.py", "link.py", "folder/../homework.py"])
def test_no_report_takes_the_place_of_a_file_that_the_run_needs(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("homework.py").write_text("precious")
    Path("link.py").symlink_to("homework.py")
    Path("folder").mkdir()
    for needed in (
        parse_target("homework.py").files(),
        parse_target("homework:f").files(),
        Program(argv=("node", "homework.py"), path="/bin/node").files(),
    ):
        with pytest.raises(InvalidArgument, match="a file that the run does not need"):
            badge(name).check_writable(needed)
    badge("other.py").check_writable(parse_target("homework.py").files())


def test_a_list_that_is_not_there_yet_is_no_place_for_a_report_either(tmp_path):
    with pytest.raises(InvalidArgument):
        badge(tmp_path / "new").check_writable([tmp_path / "x" / ".." / "new"])


def test_a_pipe_is_written_to_and_not_opened_before(report_of, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    badge(pipe).check_writable()  # would wait for a reader
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    badge(pipe).write(report_of("right"))
    assert json.loads(os.read(reader, 10_000))["schemaVersion"] == 1
    os.close(reader)
    assert pipe.is_fifo()


def test_an_open_file_of_the_shell_is_written_to(report_of):
    reader, writer = os.pipe()
    badge(f"/dev/fd/{writer}").check_writable()
    badge(f"/dev/fd/{writer}").write(report_of("right"))
    os.close(writer)
    assert json.loads(os.read(reader, 10_000))["schemaVersion"] == 1
    os.close(reader)


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_a_report_on_stdout_is_whole(report_of, capfdbinary, name):
    badge(name).write(report_of("right"))
    assert json.loads(capfdbinary.readouterr().out)["schemaVersion"] == 1
    assert badge("-").is_same(Path("/dev/stdout"))


def test_a_list_of_known_failures_is_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/stdout"), Path("/dev/full")):
        with pytest.raises(OutputError, match="it is no regular file"):
            ListFile(path)
