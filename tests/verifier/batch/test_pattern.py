import pytest

from posvec.schemas.errors import InvalidArgument
from posvec.verifier.batch.pattern import Pattern, refuse_file
from posvec.verifier.batch.refusal import Refused


@pytest.mark.parametrize(
    ("text", "glob", "attribute"),
    [
        ("*.py", "*.py", None),
        ("homework.py:learned_pos_embed_forward", "homework.py", "learned_pos_embed_forward"),
        ("./src/*.py:Model.forward", "src/*.py", "Model.forward"),
    ],
)
def test_a_target_is_a_glob_and_a_function(text, glob, attribute):
    assert Pattern.parse(text) == Pattern(glob=glob, attribute=attribute)


@pytest.mark.parametrize(
    "text",
    ["", ":f", "/etc/x.py", "../x.py", "a/../../x.py", "a//x.py", "homework", "x.py:", "x.py:1", "x.py:if", "a\\x.py"],
)
def test_a_target_that_leads_out_of_a_submission_or_names_no_function_is_refused(text):
    with pytest.raises(InvalidArgument, match="--target must be GLOB or GLOB:function"):
        Pattern.parse(text)


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("src/**/a.py", "src/a.py", True),
        ("src/*/a.py", "src/a.py", False),
        ("h?.py", "h1.py", True),
        ("H1.py", "h1.py", False),
    ],
)
def test_a_star_stays_in_a_folder_and_two_stars_do_not(glob, path, matches):
    assert Pattern(glob=glob).matches(path) is matches


@pytest.mark.parametrize(
    ("paths", "problem", "says"),
    [
        (["a.py", "b.py", "src/c.py"], "several-files", "2 files match '*.py': a.py, b.py; name one with --target"),
        ([], "no-file", "no file matches '*.py': it is an empty folder"),
        (["a.txt", "src/b.py"], "no-file", "no file matches '*.py': it holds a.txt, src/b.py"),
        (["a.ipynb", "data.csv"], "notebook", "there is a.ipynb; export it as Python"),
        (["a.zip"], "archive", "there is a.zip; unpack it first"),
        (["a\x1b[2J.py", "b\n.py"], "several-files", "a\\x1b[2J.py, b\\n.py"),
    ],
)
def test_a_submission_without_exactly_one_match_says_what_is_there(paths, problem, says):
    with pytest.raises(Refused) as raised:
        Pattern().find(paths)
    assert raised.value.problem == problem
    assert says in str(raised.value)


def test_the_one_match_is_found():
    assert Pattern.parse("src/*.py").find(["a.py", "src/b.py", "src/deep/c.py"]) == "src/b.py"


@pytest.mark.parametrize(
    ("name", "problem"), [("a.py", None), ("a.IPYNB", "notebook"), ("a.tar.gz", "archive"), ("a.docx", "not-python")]
)
def test_what_a_file_is_goes_by_its_name(name, problem):
    refused = refuse_file(name)
    assert (None if refused is None else refused.problem) == problem
