"""``posvec export``: which cases, into which file."""

import json

import numpy as np
import pytest

from posvec.vectors.files import SHIPPED
from posvec.verifier.cli import run


def test_a_json_case_reads_without_tools_and_without_loss(posvec):
    ran = posvec("export", "--to", "json", "--select", "*/seed=42/d_model=2/T=2", "-o", "-")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith(
        """\
 "cases": [
  {
   "id": "learned_pos_embed/seed=42/d_model=2/T=2",
   "args": {"seed": 42, "T": 2, "d_model": 2},
   "must_raise": false,
   "expected": {"dtype": "float32", "shape": [4],
    "values": [
     -0.0037518984, 0.033775948,
     -0.0050992607, -0.009009867],
    "bits": [
     "0xbb75e269", "0x3d0a58a6",
     "0xbba717b3", "0xbc139e1f"]}
  }
 ]
}
"""
    )


def test_each_format_goes_to_the_current_folder_or_where_it_is_sent(posvec, tmp_path):
    raw = posvec("export", "--to", "raw", "--suite", "rope_half")
    assert raw.out == "rope_half.cases.bin and rope_half.cases.bin.json: 63 cases, written.\n"
    npz = posvec("export", "--to", "npz", "--quick", "--stream", "original", "-o", tmp_path)
    assert (npz.status, (tmp_path / "learned_pos_embed.original.cases.npz").exists()) == (0, True)
    with np.load(tmp_path / "learned_pos_embed.original.cases.npz") as archive:
        ids = archive["ids"].tolist()
        assert (len(ids), archive[f"{ids[-1]}/expected"].dtype) == (92, np.float32)
    csv = posvec("export", "--to", "csv", "--vectors", SHIPPED / "alibi_bias.h5", "-o", "a.csv", "--with-intervals")
    assert (csv.status, csv.out) == (0, "a.csv: 58 cases, written.\n")
    index = json.loads((tmp_path / "rope_half.cases.bin.json").read_text())
    assert (index["function"], index["byte_order"]) == ("rope_half(x, positions, base)", "little")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ((), 2, "--to"),
        (("--to", "json", "--select", "no"), 2, "ids look like learned_pos_embed/seed=0"),
        (("--to", "raw", "-o", "-"), 2, "a file for raw, which is two files"),
        (("--to", "csv", "--suite", "rope_half", "--stream", "original"), 3, "leave out --stream."),
        (("--to", "csv", "--suite", "rope_hal"), 3, "did you mean rope_half?"),
        (("--to", "csv", "--suite", "all"), 2, "given with -o DIR"),
        (("--to", "csv", "-o", "none/a.csv", "--quick"), 3, "could not be written: No such file or directory"),
    ],
)
def test_a_wrong_argument_writes_one_sentence_and_no_file(capsys, monkeypatch, tmp_path, arguments, status, says):
    """In this process: only the start of Python would be another's."""
    monkeypatch.chdir(tmp_path)
    assert run(["export", *map(str, arguments)]) == status
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert says in printed.err
    assert not list(tmp_path.iterdir())
