"""``posvec plot``: what is drawn, into PNG or SVG, the same each time."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

from posvec.schemas.errors import InvalidArgument
from posvec.vectors.case_golden import open_golden
from posvec.vectors.files import SHIPPED
from posvec.verifier.cli import run
from posvec.verifier.plot_tables import learned, of_case, sinusoidal
from posvec.verifier.plots import Picture, draw

mpl.use("Agg")
ID = "learned_pos_embed/seed=1/d_model=8/T=32"


def texts(path):
    """Return what is written in an SVG: matplotlib names the text of each label in a comment."""
    return [
        line.strip().removeprefix("<!-- ").removesuffix(" -->")
        for line in path.read_text().splitlines()
        if "<!--" in line
    ]


@pytest.mark.slow
def test_a_table_two_of_them_and_sinusoidal_against_learned_are_drawn(posvec, tmp_path):
    one = posvec("plot", "--seed", "7", "--d-model", "16", "-o", "one.png")
    assert (one.status, one.out) == (0, "one.png: drawn.\n")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    files = SHIPPED / "learned_pos_embed.h5", SHIPPED / "learned_pos_embed.original.h5"
    assert posvec("plot", *files, "--case", ID, "-o", "two.svg").status == 0
    assert {ID, "position t", "feature d", "right minus left"} <= set(texts(tmp_path / "two.svg"))
    assert posvec("plot", "--sinusoidal", "-o", "both.svg").status == 0
    shown = set(texts(tmp_path / "both.svg"))
    assert {"sinusoidal, T=32, d_model=64, base=10000", "learned_pos_embed/seed=0/d_model=64/T=32"} <= shown


@pytest.mark.parametrize("name", ["x.png", "x.svg"])
def test_the_same_tables_are_the_same_file(tmp_path, name):
    written = []
    for _ in range(2):
        draw([sinusoidal(T=4, d_model=5)], tmp_path / name, heading="", difference=False)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]


def test_what_is_drawn_is_what_the_golden_files_hold():
    golden = open_golden(SHIPPED / "learned_pos_embed.h5")
    case = next(case for case in golden.cases() if case.id == ID)
    for picture in (of_case(ID, None, option="x"), of_case(ID, golden.path, option="x")):
        assert picture.values.shape == (32, 8)
        assert picture.values.tobytes() == golden.known(case).expected.tobytes()
    encoding = open_golden(SHIPPED / "sinusoidal_pos_encoding.h5")
    cases = [case for case in encoding.cases() if case.args["base"] == 10000 and case.args["T"] and case.args["T"] < 99]
    assert cases
    for case in cases:
        drawn = sinusoidal(T=case.args["T"], d_model=case.args["d_model"]).values
        known = encoding.known(case)
        np.testing.assert_allclose(drawn, known.expected.reshape(known.shape), rtol=0, atol=1e-6)


def test_equal_tables_and_other_rounding_are_said_in_ulp(tmp_path):
    table = learned(seed=3, T=4, d_model=5, stream="partitionable")
    draw([table, table], tmp_path / "same.svg", heading="$a_b$", difference=True)
    assert {"right minus left: bit-identical", "$a_b$"} <= set(texts(tmp_path / "same.svg"))
    near = Picture(title="near", values=np.nextafter(table.values, np.float32(1), dtype=np.float32))
    draw([table, near], tmp_path / "near.svg", heading="", difference=True)
    shown = " ".join(texts(tmp_path / "near.svg"))
    assert "20 of 20 differ, at most 1 ULP" in shown
    with pytest.raises(InvalidArgument, match="of at most 4,096 positions"):
        draw([Picture(title="x", values=np.zeros((1, 5000)))], tmp_path / "x.png", heading="", difference=False)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("-o", "a.pdf"), 2, "ends with .png or .svg"),
        (("-o", "a.png", "--T", "0"), 2, "--T must be at least 1"),
        (("-o", "a.png", "alibi_bias/n_heads=3/T=999"), 2, "the id of a case"),
        (("-o", "a.png", ID, "--seed", "3"), 2, "--seed does not go with a case"),
        (("-o", "a.png", "none/missing.h5"), 2, "a file that is there, got 'none/missing.h5'"),
        (("-o", "none/a.png"), 3, "could not be written"),
    ],
)
def test_a_wrong_argument_is_one_sentence(capsys, monkeypatch, tmp_path, arguments, status, says):
    """In this process: only the start of Python would be another's."""
    monkeypatch.chdir(tmp_path)
    assert run(["plot", *map(str, arguments)]) == status
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert says in printed.err
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_it_says_how_to_get_it(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from posvec.verifier.cli import run\n"
        f"sys.exit(run(['plot', '-o', {str(tmp_path / 'a.png')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "posvec: posvec plot needs matplotlib, which is not installed; install it with: pip install 'posvec[plot]'.\n"
    )
