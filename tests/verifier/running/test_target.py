"""A target is split at its last colon, and each way of getting it wrong has a sentence of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from posvec.schemas.errors import InvalidTarget, TargetUnavailable
from posvec.verifier.running.target import Target, parse_target


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("answer.py", "a:b.py", "C:\\x.py", "notes.txt", "mod"):
        Path(name).write_text("", encoding="utf-8")
    Path("sub.py").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "path", "module", "attribute"),
    [
        ("answer.py:fn", "answer.py", None, "fn"),
        ("answer.py", "answer.py", None, None),
        ("./answer.py:Class.method", "./answer.py", None, "Class.method"),
        ("a:b.py:fn", "a:b.py", None, "fn"),
        ("C:\\x.py:fn", "C:\\x.py", None, "fn"),
        ("C:\\x.py", "C:\\x.py", None, None),
        ("mypkg:fn", None, "mypkg", "fn"),
        ("mypkg.mod:fn", None, "mypkg.mod", "fn"),
        ("mypkg.mod", None, "mypkg.mod", None),
        ("mypkg.mod:größe", None, "mypkg.mod", "größe"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_is_split_at_the_last_colon(text, path, module, attribute):
    expected = Target(text=text, path=None if path is None else Path(path), module=module, attribute=attribute)
    assert parse_target(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not empty"),
        ("  ", "not empty"),
        (":fn", "no file or module before the colon"),
        ("answer.py:", "nothing follows the last colon"),
        ("answer.py:1st", "'1st' is not the name of a function"),
        ("answer.py:fn()", "'fn()' is not the name of a function"),
        ("answer.py:a..b", "'a..b' is not the name of a function"),
        ("answer.py:def", "'def' is not the name of a function"),
        ("mypkg.:fn", "'mypkg.' is not the full name of a module"),
        (".mypkg:fn", "'.mypkg' is not the full name of a module"),
        ("my-pkg:fn", "'my-pkg' is not the name of a module"),
        ("mypkg.class:fn", "'class' is not the name of a module"),
        ("notes.txt:fn", "'notes.txt' does not end in .py"),
        ("./notes.txt:fn", "'./notes.txt' does not end in .py"),
        ("mod:fn", "'mod' does not end in .py"),
        (".:fn", "is a directory"),
        ("sub.py:fn", "is a directory"),
        ("./:fn", "is a directory"),
        ("a\0b.py:fn", "without NUL"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_malformed_targets_have_a_sentence_each(text, words):
    with pytest.raises(InvalidTarget) as caught:
        parse_target(text)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("missing.py:fn", "there is no such file"),
        ("answr.py:fn", "did you mean answer.py?"),
        ("nowhere/answer.py:fn", "no directory 'nowhere'"),
        ("x" * 5000 + ".py", "cannot be read"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_files_that_are_not_there(text, words):
    with pytest.raises(TargetUnavailable) as caught:
        parse_target(text)
    assert words in str(caught.value)
    assert caught.value.exit_code == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_no_file(folder):
    os.mkfifo(folder / "pipe.py")
    with pytest.raises(TargetUnavailable, match="not a regular file"):
        parse_target("pipe.py")


def test_neither_or_both_of_file_and_module_is_refused():
    with pytest.raises(InvalidTarget):
        Target(text="x")
