"""What the command says of itself: help pages, completion, widths and colours."""

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posvec.verifier.cli import COMMANDS, run
from posvec.verifier.commands.completion import SHELLS
from posvec.verifier.help_pages import topics
from tests.acceptance.conftest import EXAMPLES, ROOT

POSVEC = Path(sys.executable).with_name("posvec")


PAGES = [
    ["--help"],
    ["help"],
    *([name, "--help"] for name in COMMANDS),
    *(["help", topic] for topic in topics()),
]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_every_page_fits_80_columns_and_has_no_escapes(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(words) == 0
    out, err = capsys.readouterr()
    assert (err, "\x1b" in out) == ("", False)
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert len(out.splitlines()) > 3


def test_help_lists_every_topic_and_command_and_explains_a_command(capsys):
    assert run(["help"]) == 0
    listed = capsys.readouterr().out
    assert all(re.search(rf"^  {topic} +\w", listed, re.MULTILINE) for topic in topics())
    assert all(name in listed.split() for name in COMMANDS)
    assert sorted(path.stem for path in (ROOT / "verifier" / "help").glob("*.txt")) == sorted(topics())
    run(["help", "info"])
    of_help = capsys.readouterr().out
    run(["info", "--help"])
    assert of_help == capsys.readouterr().out


def test_an_unknown_topic_is_answered_with_the_nearest(capsys):
    assert run(["help", "exit-code"]) == 2
    assert capsys.readouterr().err == (
        "posvec: TOPIC must be a topic or a command, got 'exit-code'; the nearest is 'exit-codes'.\n"
    )


def test_the_pages_name_every_exit_status_outcome_and_option_that_there_is(capsys):
    run(["help", "exit-codes"])
    statuses = re.findall(r"^  (\d+) ", capsys.readouterr().out, re.MULTILINE)
    assert {"0", "1", "2", "3", "130"} <= set(statuses)
    from posvec.schemas.report import OUTCOMES

    run(["help", "outcomes"])
    assert tuple(re.findall(r"^  ([a-z-]+)  +", capsys.readouterr().out, re.MULTILINE)) == OUTCOMES


# Completion


COMPLETE = """
compopt() { FILES=$2; }
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); FILES=; _posvec_completion posvec
        echo "$* -> ${COMPREPLY[*]}${FILES:+files}"; }
ask posvec ver
ask posvec verify --str
ask posvec verify --stream o
ask posvec verify --match e
ask posvec verify --suite rope_
ask posvec verify ''
ask posvec verify --exec node --m
ask posvec verify --exec node p
ask posvec help exit
"""


def test_bash_completes_commands_options_and_values(tmp_path):
    version = subprocess.run(["bash", "-c", "echo ${BASH_VERSINFO[0]}"], capture_output=True, text=True)
    if not shutil.which("bash") or int(version.stdout) < 5:
        pytest.skip("needs bash 5")
    script = tmp_path / "complete.sh"
    script.write_text(f'PATH={POSVEC.parent}:$PATH\neval "$(posvec completion bash)"\n{COMPLETE}')
    done = subprocess.run(["bash", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "posvec ver -> verify",
        "posvec verify --str -> --stream --strict",
        "posvec verify --stream o -> original",
        "posvec verify --match e -> exact equivalent",
        "posvec verify --suite rope_ -> rope_half rope_interleaved",
        "posvec verify  -> files",
        "posvec verify --exec node --m -> ",
        "posvec verify --exec node p -> files",
        "posvec help exit -> exit-codes",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_defines_what_completes(shell, capsys):
    assert run(["completion", shell]) == 0
    assert "_posvec_completion" in capsys.readouterr().out


def test_what_helps_and_completes_loads_no_numpy():
    code = (
        "import os, sys\nfrom posvec.verifier.cli import run\n"
        "os.environ |= {'COMP_WORDS': 'posvec verify --suite r', 'COMP_CWORD': '3'}\n"
        "os.environ['_POSVEC_COMPLETE'] = 'bash_complete'\n"
        "assert run([]) == 0\ndel os.environ['_POSVEC_COMPLETE']\n"
        "assert run(['help', 'levels']) == run(['verify', '--help']) == 0\n"
        "assert not {'numpy', 'h5py', 'rich', 'pytest'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


# Terminals


def on_terminal(*words, **env):
    """Run the command on a terminal of its own and return all that it wrote."""
    ours, theirs = pty.openpty()
    usual = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [POSVEC, *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**usual, "TERM": "xterm-256color", "COLUMNS": "80", **env},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not part:
            break
        written += part
    os.close(ours)
    process.wait()
    return written.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_unless_no_color_is_set_and_nothing_wider_than_it():
    words = ("verify", EXAMPLES / "numpy_port.py", "--select", "*/seed=0/d_model=[14]/T=3")
    coloured, plain = on_terminal(*words), on_terminal(*words, NO_COLOR="1", FORCE_COLOR="1")
    assert "\x1b[32m\x1b[1mEXACT" in coloured or "\x1b[31m\x1b[1mSAME DRAWS" in coloured
    assert re.findall(r"\x1b\[[0-9;]*m", plain) == []
    assert [line for line in re.sub(r".*\x1b\[2K", "", plain).splitlines() if len(line) > 80] == []
    error = on_terminal("verify", "nope.py", "--match", "something like it")
    assert len(error.splitlines()) == 2
    assert max(map(len, error.splitlines())) <= 80
