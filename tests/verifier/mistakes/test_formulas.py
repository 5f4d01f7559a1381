"""What the catalogue computes is what the libraries give; the zoo covers the rest."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from posvec.vectors.derive import fold_in, param_key, seed_key
from posvec.vectors.random_bits import random_bits
from posvec.verifier.mistakes.catalogue import BY_ID
from posvec.verifier.mistakes.distributions import low_precision_parameter, to_bfloat16, to_float16
from posvec.verifier.mistakes.evidence import fits
from posvec.verifier.mistakes.generators import torch_normals
from posvec.verifier.mistakes.hypothesis import Hypothesis, Part
from posvec.verifier.mistakes.normal import quantile
from posvec.verifier.mistakes.numbers import Numbers, split, words_at
from posvec.verifier.mistakes.parts import Args
from tests.verifier.mistakes.conftest import evidence_of

SEEDS = [0, 7, -1, 2**31, 2**32 + 5]


@pytest.mark.parametrize("stream", ["partitionable", "original"])
@pytest.mark.parametrize("number", [2, 3])
def test_split_keys_are_those_of_jax(stream, number):
    with jax.threefry_partitionable(stream == "partitionable"):
        theirs = np.stack([jax.random.split(jax.random.PRNGKey(seed), number) for seed in SEEDS])
    assert split(seed_key(SEEDS), stream, number).tolist() == theirs.tolist()


@pytest.mark.parametrize("stream", ["partitionable", "original"])
@pytest.mark.parametrize("size", [1, 2, 7, 96])
def test_words_at_some_positions_are_those_of_the_whole_array(stream, size):
    keys = seed_key(SEEDS)
    positions = np.array([0, size - 1, size // 2])
    assert (
        words_at(keys, size, positions, stream).tolist()
        == random_bits(keys, size, stream=stream)[:, positions].tolist()
    )


def test_the_keys_of_nnx_are_counted_from_zero_in_both_streams():
    for partitionable in (True, False):
        with jax.threefry_partitionable(partitionable):
            rngs = nnx.Rngs(7)
            theirs = [np.asarray(jax.random.key_data(rngs.params())).tolist() for _ in range(2)]
        assert theirs == [fold_in(seed_key([7]), count)[0].tolist() for count in (0, 1)]


@pytest.mark.parametrize(
    ("dtype", "rounded", "used", "drop"),
    [(jnp.bfloat16, to_bfloat16, 0xFF, 1), (jnp.float16, to_float16, 0xFFFF, 6)],
)
def test_a_parameter_of_16_bits_is_bit_for_bit_what_jax_makes(dtype, rounded, used, drop, draw_table):
    """Some 8,000 words make every one of the 128 and 1,024 numbers."""
    key = param_key(seed_key([7]))
    words = random_bits(key, 32 * 256, stream="partitionable")[0]
    values = low_precision_parameter(rounded, used, drop, "")
    ways = np.stack(list(values.exact(Numbers(table=draw_table, words=words), np.full(words.size, 256))))
    init = jax.nn.initializers.normal(0.02, dtype)
    for run in (init, jax.jit(init, static_argnums=1)):
        theirs = np.asarray(run(jnp.asarray(key[0]), (32, 256)).astype(jnp.float32)).reshape(-1)
        assert (ways == theirs).any(axis=0).all()
    assert len(np.unique(ways[0])) <= {jnp.bfloat16: 128, jnp.float16: 1024}[dtype]
    assert (ways != ways[0]).any(axis=0).mean() < 0.5


def test_the_quantile_is_that_of_scipy():
    from scipy.special import erfinv

    tails = 1 - 2.0 ** -np.arange(2, 52)
    u = np.concatenate([np.linspace(-0.999, 0.999, 1998), tails, -tails])
    assert np.abs(quantile(u) / (np.sqrt(2) * erfinv(u)) - 1).max() < 4e-15


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 32, 33, 96, 100])
@pytest.mark.parametrize("seed", SEEDS)
def test_torchs_generator_is_recomputed_without_torch(size, seed):
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed)
    theirs = torch.randn(size).numpy()
    assert np.abs(torch_normals(seed, size) - theirs).max() < 3e-6


@pytest.mark.parametrize("wide", [True, False])
def test_x64_is_recomputed(wide, world):
    def forward(seed, T, d_model):
        with jax.enable_x64():
            key = jax.random.fold_in(jax.random.PRNGKey(seed), 0xBF8B4530)
            return np.asarray(0.02 * jax.random.normal(key, (32, d_model)))[:T].reshape(-1)

    def narrow(seed, T, d_model):
        with jax.enable_x64():
            key = jax.random.fold_in(jax.random.PRNGKey(seed), 0xBF8B4530)
            return np.asarray(0.02 * jax.random.normal(key, (32, d_model), jnp.float32))[:T].reshape(-1)

    calls = [Args(seed, 3, 4) for seed in SEEDS]
    mistake = BY_ID["x64" if wide else "long-seed"]
    evidence = evidence_of(forward if wide else narrow, calls)
    assert fits(world(calls), Hypothesis(parts=(Part(mistake, mistake.variants[0]),)), evidence)


def test_the_seed_offset_that_the_target_has_is_taken_from_its_environment(world):
    mistake = BY_ID["seed-offset"]
    hypothesis = Hypothesis(parts=(Part(mistake, mistake.variants[0]),))
    calls = [Args(7, 3, 4)]
    right = Hypothesis()

    def moved(offset):
        shifted = world(calls, jax_random_seed_offset=offset)
        predicted = shifted.predict(hypothesis, calls)
        return None if predicted is None else predicted.numbers.words.tolist()

    assert moved("5") == world(calls).predict(right, [Args(12, 3, 4)]).numbers.words.tolist()
    assert moved("-7") == world(calls).predict(right, [Args(0, 3, 4)]).numbers.words.tolist()
    assert [moved(said) for said in ("0", "", "x", "5" * 30, None, True)] == [None] * 6
