"""The other suites that look rows up and add: against loops, and against modules of PyTorch and Flax."""

from __future__ import annotations

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from tests.generator.references.conftest import golden, refusals, suite_of


def expectations(name: str):
    return [(case.args, expected.values) for case, expected in golden(name) if expected is not None]


def test_decoding_returns_the_rows_from_the_offset():
    for args, got in expectations("learned_pos_embed_decode"):
        rows = [args["table"][args["offset"] + step] for step in range(args["T"])]
        assert got.tobytes() == b"".join(row.tobytes() for row in rows)


def test_decoding_step_by_step_returns_what_one_slice_returns():
    decode = suite_of("learned_pos_embed_decode").reference
    table = np.arange(24, dtype=np.float32).reshape(8, 3)
    steps = [np.asarray(decode(table, offset, 1)) for offset in range(8)]
    np.testing.assert_array_equal(np.concatenate(steps), table, strict=True)


@pytest.mark.parametrize(("offset", "T"), [(8, 1), (7, 2), (0, 9), (-1, 2), (2, -1)])
def test_decoding_past_an_end_raises(offset: int, T: int):
    with pytest.raises(ValueError, match="must lie within"):
        suite_of("learned_pos_embed_decode").reference(np.ones((8, 3), np.float32), offset, T)


def test_token_and_position_rows_are_added_once():
    for args, got in expectations("token_pos_embed"):
        for b, t in np.ndindex(got.shape[:2]):
            row = args["tok_weight"][args["token_ids"][b, t]] + args["pos_weight"][t]
            assert got[b, t].tobytes() == row.tobytes()


def test_segment_word_and_position_rows_are_added_exactly_and_rounded_once():
    for args, got in expectations("bert_embed"):
        for b, t in list(np.ndindex(got.shape[:2]))[:8]:
            rows = (
                args["word_embeddings"][args["input_ids"][b, t]],
                args["position_embeddings"][t],
                args["token_type_embeddings"][args["token_type_ids"][b, t]],
            )
            for value, parts in zip(got[b, t], zip(*rows, strict=True), strict=True):
                exact = sum(Fraction(float(part)) for part in parts)
                neighbours = np.nextafter(value, np.float32([-np.inf, np.inf]))
                error = abs(Fraction(float(value)) - exact)
                assert all(error <= abs(Fraction(float(other)) - exact) for other in neighbours)


def test_sums_of_dyadic_values_are_the_same_in_any_order_and_have_no_room():
    for case, expected in golden("bert_embed"):
        if expected is not None and case.axes["values"] == "dyadic":
            assert not expected.below.any()
            assert not expected.above.any()


@pytest.mark.parametrize("order", ["word+type, position", "word+position, type", "position+type, word"])
def test_every_order_of_adding_three_rows_conforms_within_one_step(order: str):
    def in_order(word_embeddings, position_embeddings, token_type_embeddings, input_ids, token_type_ids):
        rows = {
            "word": word_embeddings[input_ids],
            "type": token_type_embeddings[token_type_ids],
            "position": position_embeddings[np.arange(input_ids.shape[1])][None],
        }
        pair, last = order.split(", ")
        first, second = pair.split("+")
        return (rows[first] + rows[second]) + rows[last]

    for level in ("equivalent", "ulp:1", "ulp:2"):
        assert list(refusals("bert_embed", in_order, level)) == []
    exact = list(refusals("bert_embed", in_order, "exact"))
    assert (exact == []) == (order == "position+type, word")  # small and small: an exact sum, so one rounding


def test_the_class_token_has_row_zero_and_patch_n_row_n_plus_one():
    for args, got in expectations("vit_embed"):
        for b, n in np.ndindex(got.shape[:2]):
            token = args["cls"] if n == 0 else args["patches"][b, n - 1]
            assert got[b, n].tobytes() == (token + args["pos"][n]).tobytes()


def test_a_pytorch_module_with_two_embeddings_conforms():
    torch = pytest.importorskip("torch")

    class Input(torch.nn.Module):
        """Absolute positions as a second embedding whose rows are counted off, with dropout after the sum."""

        def __init__(self, tok_weight, pos_weight):
            super().__init__()
            self.of_token = torch.nn.Embedding.from_pretrained(torch.from_numpy(tok_weight))
            self.of_position = torch.nn.Embedding.from_pretrained(torch.from_numpy(pos_weight))
            self.dropout = torch.nn.Dropout(0.1)

        def forward(self, token_ids):
            steps = torch.arange(token_ids.size(1)).repeat(token_ids.size(0), 1)
            return self.dropout(self.of_token(token_ids) + self.of_position(steps))

    def evaluated(tok_weight, pos_weight, token_ids):
        return Input(tok_weight, pos_weight).eval()(torch.from_numpy(token_ids)).numpy()

    def in_training(tok_weight, pos_weight, token_ids):
        torch.manual_seed(0)
        return Input(tok_weight, pos_weight).train()(torch.from_numpy(token_ids)).numpy()

    assert list(refusals("token_pos_embed", evaluated)) == []
    assert list(refusals("token_pos_embed", in_training)) != []


def test_flax_nnx_embeddings_conform_where_the_sequence_fits():
    def embed(weight, ids):
        given = nnx.Embed(*weight.shape, embedding_init=lambda *_: jnp.asarray(weight), rngs=nnx.Rngs(0))
        return given(ids)

    def by_nnx(tok_weight, pos_weight, token_ids):
        return embed(tok_weight, token_ids) + embed(pos_weight, np.arange(token_ids.shape[1]))

    assert [case.must_raise for case in refusals("token_pos_embed", by_nnx)] == [True, True, True]
