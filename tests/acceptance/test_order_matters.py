"""Attention does not know the order of its inputs, and the example shows what that costs."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from posvec.generator.references.inputs import bell
from tests.acceptance.conftest import ROOT

EXAMPLE = ROOT / "examples" / "order_matters.py"


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    torch = pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("order_matters", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield module
    torch.set_num_threads(threads)


def attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One head, in float64, its sums over the keys correctly rounded and so the same in any order."""
    result = np.empty_like(values)
    for t, query in enumerate(queries):
        weights = [math.exp(math.fsum(query * key) / math.sqrt(len(key))) for key in keys]
        total = math.fsum(weights)
        for d in range(values.shape[1]):
            result[t, d] = math.fsum(w * v for w, v in zip(weights, values[:, d], strict=True)) / total
    return result


def test_self_attention_without_positions_is_permutation_equivariant_to_the_bit():
    x = bell("tokens", 7, 6).astype(np.float64)
    to_q, to_k, to_v = (bell(name, 6, 6).astype(np.float64) for name in ("queries", "keys", "values"))

    def attended(tokens: np.ndarray) -> np.ndarray:
        # Row by row: a matrix product may add up a row in an order that depends on where it is.
        q, k, v = (np.stack([np.array([math.fsum(t * c) for c in w.T]) for t in tokens]) for w in (to_q, to_k, to_v))
        return attention(q, k, v)

    order = np.array([3, 0, 6, 2, 5, 1, 4])
    assert attended(x)[order].tobytes() == attended(x[order]).tobytes()
    positions = bell("positions", 7, 6, scale=0.02)
    moved = attended(x + positions)[order] - attended(x[order] + positions)
    assert (np.abs(moved) > 2.0**-20).mean() > 0.9


def test_without_positions_a_sequence_and_its_reverse_have_the_same_scores_but_for_rounding(example):
    import torch

    ids, _ = example.samples(50, torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    with torch.no_grad():
        scores = example.Classifier(with_positions=False).double()(ids)
        assert (scores[0::2] - scores[1::2]).abs().max() < 2.0**-45  # 200 sums or so of float64 values below 8
        scores = example.Classifier(with_positions=True).double()(ids)
        assert (scores[0::2] - scores[1::2]).abs().min() > 2.0**-15


def test_samples_are_pairs_of_a_sequence_and_its_reverse_with_a_rule_that_only_order_shows(example):
    import torch

    ids, classes = example.samples(50, torch.Generator().manual_seed(0))
    assert ids.shape == (100, example.LENGTH)
    assert (ids[0::2] == ids[1::2].flip(1)).all()
    assert ((ids[:, 0] > ids[:, -1]).long() == classes).all()
    assert all(len(set(sequence)) == example.LENGTH for sequence in ids.tolist())


@pytest.mark.slow
def test_it_learns_the_order_with_positions_and_only_guesses_without(example):
    assert example.train(with_positions=True, steps=400, seed=1)[-1] >= 0.97
    without = example.train(with_positions=False, steps=100, seed=1)
    assert all(0.45 <= accuracy <= 0.55 for accuracy in without)


@pytest.mark.slow
def test_the_example_draws_its_curves_in_less_than_a_minute(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second, last = done.stdout.splitlines()
    assert first.split()[:2] == ["with", "positions"]
    assert float(first.split()[2].rstrip("%")) >= 97
    assert second.split()[:3] == ["without", "positions", "50.0%"]
    assert last == "curves: order_matters.png"
    assert (tmp_path / "order_matters.png").read_bytes().startswith(b"\x89PNG")
