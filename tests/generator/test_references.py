"""The reference does what the exercise asks, and can be a target by itself."""

from __future__ import annotations

import ast
from pathlib import Path

import jax
import numpy as np
import pytest

from posvec.generator.references import learned_pos_embed
from posvec.generator.references.learned_pos_embed import (
    LearnedPos,
    learned_pos_embed_forward,
    learned_pos_embed_forward_jit,
)
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable


def table(seed: int, d_model: int) -> np.ndarray:
    return np.asarray(learned_pos_embed_forward(seed, 32, d_model)).reshape(32, d_model)


def test_the_only_parameter_is_pos_embed_with_32_rows():
    variables = LearnedPos(max_T=32, d_model=3).init(jax.random.PRNGKey(0), 5)
    assert jax.tree.map(lambda leaf: (leaf.shape, str(leaf.dtype)), dict(variables)) == {
        "params": {"pos_embed": ((32, 3), "float32")}
    }


@pytest.mark.parametrize("T", [0, 1, 31, 32])
def test_fewer_rows_are_a_prefix_of_the_table(T: int):
    got = np.asarray(learned_pos_embed_forward(42, T, 3))
    assert (got.shape, got.dtype, got.tobytes()) == ((3 * T,), np.float32, table(42, 3)[:T].tobytes())


@pytest.mark.parametrize("arguments", [("7", "2", "4"), (7.9, 2.0, 4.0), (np.int64(7), np.int32(2), np.int64(4))])
def test_arguments_pass_through_int(arguments: tuple[object, ...]):
    expected = np.asarray(learned_pos_embed_forward(7, 2, 4))
    assert np.asarray(learned_pos_embed_forward(*arguments)).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("seed", "same"), [(-1, 2**32 - 1), (2**32 + 5, 5), (2**63 - 1, 2**32 - 1)])
def test_only_the_low_32_bits_of_a_seed_count(seed: int, same: int):
    assert table(seed, 2).tobytes() == table(same, 2).tobytes()


@pytest.mark.parametrize("function", [learned_pos_embed_forward, learned_pos_embed_forward_jit])
def test_its_draws_are_those_derived_without_jax(function):
    got = np.asarray(function(42, 32, 4)).reshape(1, 32, 4)
    expected = table_draws([42], 4, stream="partitionable")
    np.testing.assert_array_equal(DrawTable.load().decode(got), expected)


def test_it_imports_nothing_of_posvec():
    tree = ast.parse(Path(learned_pos_embed.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "jax", "flax"}
