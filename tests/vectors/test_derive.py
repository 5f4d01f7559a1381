"""The integer derivation against recorded stages, and against JAX and Flax at random inputs."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posvec.vectors import derive, random_bits
from posvec.vectors.random_bits import MAX_SIZE

STREAMS = ("partitionable", "original")
CASES = json.loads(Path(__file__).with_name("derivation.json").read_text())["cases"]


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax")


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['seed']}-{c['d_model']}-{c['stream']}")
def test_every_stage_of_a_recorded_case(case):
    key = derive.seed_key(case["seed"])
    assert key.tolist() == case["key"]
    assert derive.param_key(key).tolist() == case["param_key"]
    arguments = ([case["seed"]], case["d_model"])
    assert derive.table_bits(*arguments, stream=case["stream"]).reshape(-1)[:8].tolist() == case["bits"]
    draws = derive.table_draws(*arguments, stream=case["stream"]).reshape(-1)[:8]
    assert draws.tolist() == case["draw"]
    assert [float(u) for u in derive.uniform(draws)] == [float.fromhex(u) for u in case["uniform_hex"]]


def test_first_parameter_folds_the_sha1_of_one_byte_1():
    assert derive.fold_word() == 0xBF8B4530


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("tables", [16, pytest.param(300, marks=pytest.mark.slow)])
def test_flax_agrees_on_hundreds_of_random_tables(jax, tables, stream):
    """Random seeds at 16 random shapes, odd sizes included: a real module draws the same words."""
    linen = pytest.importorskip("flax.linen")

    class Words(linen.Module):
        shape: tuple[int, int]

        @linen.compact
        def __call__(self):
            return self.param("pos_embed", jax.random.bits, self.shape)

    rng = np.random.default_rng(300)
    shapes = [(int(rng.choice([1, 5, 32])), int(d)) for d in rng.integers(1, 300, 15)] + [(32, 3)]
    assert sum(rows * d_model % 2 for rows, d_model in shapes) >= 3
    with jax.threefry_partitionable(stream == "partitionable"):
        for i in range(tables):
            seed = int(rng.integers(-(2**63), 2**63))
            rows, d_model = shapes[i % len(shapes)]
            variables = Words((rows, d_model)).init(jax.random.PRNGKey(seed))
            got = derive.table_bits([seed], d_model, stream=stream, rows=rows)[0]
            assert np.array_equal(got, variables["params"]["pos_embed"]), (seed, rows, d_model)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("size", [1, 2, 3, 16_385, 40_001])
def test_jax_agrees_on_sizes_around_the_chunk(jax, stream, size):
    key = np.array([0x12345678, 0x9ABCDEF0], np.uint32)
    with jax.threefry_partitionable(stream == "partitionable"):
        expected = np.asarray(jax.random.bits(key, (size,)))
    assert np.array_equal(random_bits.random_bits(key[None], size, stream=stream)[0], expected)


@pytest.mark.parametrize("separator", [False, True])
def test_flax_agrees_on_the_keys_of_nested_modules_and_later_parameters(jax, separator):
    """Three parameters in each of three nested modules get the keys that Flax hands to their initializers."""
    linen = pytest.importorskip("flax.linen")
    import flax

    class Level(linen.Module):
        depth: int

        @linen.compact
        def __call__(self):
            for n in (1, 2, 3):
                self.param(f"p{n}", lambda key: key)
            if self.depth:
                Level(depth=self.depth - 1, name=f"inner{self.depth}")()

    before = flax.config.flax_fix_rng_separator
    flax.config.update("flax_fix_rng_separator", separator)
    try:
        tree = Level(depth=2).init(jax.random.PRNGKey(-7))["params"]
    finally:
        flax.config.update("flax_fix_rng_separator", before)
    for path in ((), ("inner2",), ("inner2", "inner1")):
        level = tree
        for name in path:
            level = level[name]
        for n in (1, 2, 3):
            got = derive.param_key(derive.seed_key(-7), path=path, index=n, fix_rng_separator=separator)
            assert got.tolist() == np.asarray(level[f"p{n}"]).tolist(), (path, n)


def test_uniform_is_exact_for_every_draw():
    """All 2**23 uniforms are (4k + 1 - 2**24) / 2**24, which float64 holds exactly."""
    k = np.arange(derive.N_DRAWS)
    assert np.array_equal(derive.uniform(k).astype(np.float64), (4.0 * k + 1 - 2**24) / 2**24)


@pytest.mark.parametrize("stream", STREAMS)
@settings(deadline=None)
@given(
    size=st.integers(1, 70),
    n_seeds=st.integers(0, 5),
    block=st.integers(1, 200),
)
def test_streamed_blocks_are_the_whole_tables(stream, size, n_seeds, block):
    """However the sweep is cut into blocks, they hold each element once, with its value."""
    seeds = list(range(-2, n_seeds - 2))
    whole = derive.table_draws(seeds, size, stream=stream, rows=3).reshape(n_seeds, 3 * size)
    got = np.full_like(whole, 2**32 - 1)
    for part in derive.stream_draws(seeds, size, stream=stream, rows=3, block_elements=block):
        assert part.draws.size <= block
        assert np.all(got[part.seeds, part.flat] == 2**32 - 1)
        got[part.seeds, part.flat] = part.draws
    assert np.array_equal(got, whole)


def test_streaming_keeps_memory_bounded():
    """16 million draws of one table pass through less than 30 MB."""
    tracemalloc.start()
    try:
        total = sum(part.draws.size for part in derive.stream_draws([1], 1 << 19, stream="original"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 32 << 19
    assert peak < 30e6


def test_seeds_are_read_modulo_two_to_the_32():
    assert derive.seed_key([-1, 2**32 - 1]).tolist() == [[0, 2**32 - 1]] * 2
    assert derive.seed_key(2**32).tolist() == derive.seed_key(0).tolist()
    assert derive.seed_key(np.array([-5], np.int64)).tolist() == derive.seed_key([-5]).tolist()
    assert derive.seed_key([-(2**63), 2**63 - 1]).tolist() == [[0, 0], [0, 2**32 - 1]]


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, np.array([2**63], np.uint64)])
def test_a_seed_out_of_range_is_named(seed):
    with pytest.raises(ValueError, match=r"seed must be in -2\*\*63\.\.2\*\*63-1, got -?9223372036854775"):
        derive.seed_key(seed)


@pytest.mark.parametrize("seed", [1.0, "1", True, np.array([1.5])])
def test_a_seed_that_is_no_integer_is_refused(seed):
    with pytest.raises(TypeError, match="seed must be an integer, got"):
        derive.table_draws([seed] if not isinstance(seed, np.ndarray) else seed, 4, stream="original")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 0}, "d_model must be in 1..134217727, got 0"),
        ({"d_model": MAX_SIZE}, "d_model must be in 1..134217727, got"),
        ({"d_model": 4, "rows": 0}, "rows must be at least 1, got 0"),
        ({"d_model": 4, "stream": "new"}, "stream must be one of partitionable, original, got 'new'"),
    ],
)
def test_a_bad_table_is_refused_at_the_call(options, message):
    """The streaming generator checks before its first block is asked for."""
    options = {"stream": "partitionable"} | options
    with pytest.raises(ValueError, match=message):
        derive.stream_draws([0], options.pop("d_model"), **options)
