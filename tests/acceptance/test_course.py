"""The worked course: its copy of the vectors is whole, and its README shows what happens."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import EXAMPLES

COURSE = EXAMPLES / "course"


def sessions():
    """Return the commands in the README of the course, and what it shows of their output."""
    blocks = re.findall(r"```\n\$ posvec (.*?)\n(.*?)```", (COURSE / "README.md").read_text(), re.DOTALL)
    return {command.split()[0]: (command.split(), shown) for command, shown in blocks}


def test_the_vectors_of_the_course_are_those_of_today(posvec):
    ran = posvec("vendor", "--check", COURSE / "student/golden")
    assert (ran.status, ran.out.split(":")[0]) == (0, "UNCHANGED")
    assert "up to date" in ran.out


@pytest.mark.slow
def test_the_readme_of_the_course_shows_what_student_and_instructor_see(posvec, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(COURSE, course)
    verify, batch = sessions()["verify"], sessions()["batch"]
    ran = posvec(*verify[0], cwd=course)
    assert (ran.status, ran.out[: len(verify[1])]) == (1, verify[1])
    ran = posvec(*batch[0], cwd=course)
    assert (ran.status, ran.out[: len(batch[1])]) == (0, batch[1])


@pytest.mark.slow
def test_pytest_alone_checks_the_file_of_a_student(tmp_path):
    shutil.copytree(COURSE / "student", tmp_path, dirs_exist_ok=True)

    def run():
        return subprocess.run(
            [Path(sys.executable).with_name("pytest"), "-q"], cwd=tmp_path, capture_output=True, text=True
        )

    skeleton = run()
    assert skeleton.returncode == 1
    assert "homework 3" in skeleton.stdout
    shutil.copy(COURSE / "submissions/ada/homework.py", tmp_path)
    right = run()
    assert right.returncode == 0, right.stdout
    assert "EXACT" in right.stdout
