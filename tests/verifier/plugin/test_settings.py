import pytest

from posvec.schemas.errors import InvalidArgument
from posvec.verifier.plugin.settings import Settings

USUAL = dict.fromkeys(("target", "program", "match", "vectors", "suite", "stream", "known_failing"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"target": "a.py", "program": "cat"}, "--posvec-exec must be given without a target"),
        ({"program": "cat 'x"}, "--posvec-exec must be a command line, quoted as for a shell, got .*; no closing quot"),
    ],
)
def test_what_cannot_be_found_is_one_sentence(given, says):
    with pytest.raises(InvalidArgument, match=says):
        Settings(**{**USUAL, "quick": False, **given}).find()


def test_of_two_options_none_is_dropped(pytestconfig, monkeypatch):
    monkeypatch.setattr(pytestconfig.option, "posvec", "a.py")
    monkeypatch.setattr(pytestconfig.option, "posvec_exec", "cat")
    read = Settings.read(pytestconfig)
    assert (read.target, read.program) == ("a.py", "cat")
