"""x + table[:T], against loops and against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.generator.references.conftest import golden, refusals

NAME = "learned_pos_embed_add"


def test_each_element_is_one_rounded_addition():
    for case, expected in golden(NAME):
        if expected is not None:
            x, table = case.args["x"], case.args["table"]
            for b, t, d in np.ndindex(x.shape):
                assert expected.values[b, t, d] == np.float32(x[b, t, d] + table[t, d])


def test_it_is_what_an_embedding_of_pytorch_adds():
    torch = pytest.importorskip("torch")

    def add(x, table):
        embedding = torch.nn.Embedding.from_pretrained(torch.from_numpy(table))
        return (torch.from_numpy(x) + embedding(torch.arange(x.shape[1]))).numpy()

    assert list(refusals(NAME, add)) == []


def test_a_float64_sum_rounded_once_is_accepted():
    assert list(refusals(NAME, lambda x, table: (x.astype(np.float64) + table[: x.shape[1]]).astype(np.float32))) == []


def test_adding_in_place_returns_the_right_values_and_spoils_the_callers_array():
    def in_place(x, table):
        x += table[: x.shape[1]]
        return x

    assert list(refusals(NAME, in_place)) == []
