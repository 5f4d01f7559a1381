import json
import math

import numpy as np
import pytest

from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.verifier.cli import run


def reference(seed, T, d_model):
    from posvec.generator.references.learned_pos_embed import learned_pos_embed_forward

    return np.asarray(learned_pos_embed_forward(seed, T, d_model))


@pytest.mark.parametrize(("seed", "T", "d_model"), [(0, 3, 4), (-1, 1, 7), (2**63 - 1, 32, 2), (123_456_789, 5, 33)])
def test_show_prints_what_the_reference_returns_for_any_seed(posvec, tmp_path, seed, T, d_model):
    arguments = ("show", "--seed", seed, "--T", T, "--d-model", d_model)
    expected = reference(seed, T, d_model)
    document = json.loads(posvec(*arguments, "--json").out)
    assert np.array(document["values"], np.float32).tobytes() == expected.tobytes()
    assert [int(bits, 16) for bits in document["bits"]] == expected.view(np.uint32).tolist()
    assert document["shape"] == [T * d_model]
    text = posvec(*arguments).out
    numbers = [float(word) for line in text.splitlines() for word in line.split(":")[1].split()]
    assert np.array(numbers, np.float32).tobytes() == expected.tobytes()
    assert len(text.splitlines()) == T
    written = posvec(*arguments, "--npy", tmp_path / "values.npy")
    assert written.status == 0
    assert np.load(tmp_path / "values.npy").tobytes() == expected.tobytes()


def test_show_knows_every_arithmetic_and_the_builds_that_have_it(posvec, capsys):
    table = DrawTable.load()
    draws = table_draws([7], 8, stream="original")[0, :4].reshape(-1)
    for arithmetic in table.arithmetics:
        words = ["show", "--seed", "7", "--d-model", "8", "--T", "4", "--stream", "original", "--json", "--build"]
        assert run([*words, arithmetic.id]) == 0
        bits = [int(word, 16) for word in json.loads(capsys.readouterr().out)["bits"]]
        assert bits == table.values_at(arithmetic.id, draws).view(np.uint32).tolist()
    named = posvec("show", "--seed", "7", "--d-model", "8", "--T", "4", "--build", "JAX 0.10.2 eager, FMA", "--json")
    assert json.loads(named.out)["arithmetic"] == table.canonical
    unknown = posvec("show", "--seed", "7", "--d-model", "8", "--build", "JAX 9")
    assert (unknown.status, "--build must be" in unknown.err) == (2, True)


@pytest.mark.parametrize("stream", ["partitionable", "original"])
@pytest.mark.parametrize(("position", "feature", "d_model"), [(0, 0, 3), (31, 2, 3), (16, 4, 5), (15, 1, 2)])
def test_explain_shows_every_stage_of_one_element(posvec, stream, position, feature, d_model):
    ran = posvec(
        "show", "--seed", "42", "--d-model", d_model, "--stream", stream, "--explain",
        "--position", position, "--feature", feature,
    )  # fmt: skip
    assert ran.status == 0
    stages = {line[:14].strip(): line[15:].split("  ")[0].strip() for line in ran.out.splitlines()}
    draw = int(table_draws([42], d_model, stream=stream)[0, position, feature])
    words = [int(word, 16) for word in stages["threefry words"].split()]
    assert stages["key"] == "0x00000000 0x0000002a"
    assert stages["SHA-1 word"] == "0xbf8b4530"
    assert int(stages["bits"], 16) in (words[0] ^ words[1], *words)
    assert int(stages["bits"], 16) >> 9 == int(stages["draw"]) == draw
    u = float.fromhex(stages["uniform"])
    assert u == draw * 2.0**-22 - (1 - 2.0**-24)
    assert math.isclose(math.erf(float.fromhex(stages["erf_inv"])), u, rel_tol=1e-6)
    true = np.float32(float.fromhex(stages["true value"]))
    assert true == DrawTable.load().correctly_rounded_at(np.array([draw]))[0]
    assert all(len(line) <= 100 for line in ran.out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--seed", 2**63, "--d-model", 4), "--seed must be within -9223372036854775808..9223372036854775807"),
        (("--seed", -(2**63) - 1, "--d-model", 4), "--seed must be within"),
        (("--seed", 0, "--d-model", 0), "--d-model must be within 1..1048576, got '0'"),
        (("--seed", 0, "--d-model", 4, "--T", 33), "--T must be within 0..32, got '33'"),
        (("--seed", 0, "--d-model", 4, "--T", -1), "--T must be within 0..32"),
        (("--seed", "x", "--d-model", 4), "--seed"),
        (("--d-model", 4), "--seed"),
        (("--seed", 0, "--d-model", 4, "--T", 2, "--explain", "--position", 2), "--position must be within 0..1"),
        (("--seed", 0, "--d-model", 4, "--T", 0, "--explain"), "--T must be at least 1 with --explain"),
        (("--seed", 0, "--d-model", 4, "--json", "--explain"), "exclude each other"),
    ],
)
def test_a_wrong_argument_is_one_sentence_and_exit_2(posvec, arguments, says):
    ran = posvec("show", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_an_empty_table_prints_nothing(posvec):
    ran = posvec("show", "--seed", "0", "--d-model", "4", "--T", "0")
    assert (ran.status, ran.out) == (0, "")
