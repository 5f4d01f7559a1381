"""The commands behind `make vectors` and `make test-matrix` end with a status that make can see."""

import subprocess
import sys

import click
import pytest

from posvec.generator.entry import run
from posvec.schemas.errors import InvalidArgument


def ending(body):
    @click.command()
    def command():
        body()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["command"])
        with pytest.raises(SystemExit) as ended:
            run(command)
    return ended.value.code


def test_a_command_that_ends_with_a_status_exits_with_it():
    def fail():
        raise click.exceptions.Exit(1)

    assert ending(fail) == 1
    assert ending(lambda: None) == 0


def test_an_error_on_purpose_is_one_sentence_and_its_status(capsys):
    def refuse():
        raise InvalidArgument("--jax", "9", "among 0.10.2")

    assert ending(refuse) == 2
    assert capsys.readouterr().err == "posvec: --jax must be among 0.10.2, got '9'.\n"


@pytest.mark.parametrize("arguments", [["verify", "--jax", "9"], ["verify", "--jobs", "0"], ["nothing"]])
def test_wrong_arguments_of_the_matrix_exit_with_2(arguments):
    command = [sys.executable, "-m", "posvec.generator.matrix", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
