"""Other generators than JAX's, recomputed in NumPy: NumPy's own, Torch's, Box-Muller; and tables of no randomness.

Torch's CPU generator is the Mersenne Twister that NumPy's legacy seeding starts too, so Torch need not be installed.
Box-Muller is Box and Muller, "A note on the generation of random normal deviates" (1958).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.vectors.derive import param_key, seed_key
from posvec.vectors.random_bits import random_bits
from posvec.vectors.threefry import UInt32, encrypt
from posvec.verifier.mistakes.keys import long_key
from posvec.verifier.mistakes.normal import quantile
from posvec.verifier.mistakes.numbers import Float64, split
from posvec.verifier.mistakes.parts import Args, Generator, Mistake

_FLAX = "table = self.param('pos_embed', nn.initializers.normal(0.02), (32, d_model))"
_LOW = 0xFFFFFFFF


def _numpy_legacy(args: Args, size: int) -> Float64:
    return np.random.RandomState(args.seed & _LOW).standard_normal(size)


def _numpy_pcg(seed: Callable[[int], int], dtype: str) -> Callable[[Args, int], Float64 | None]:
    def of(args: Args, size: int) -> Float64 | None:
        value = seed(args.seed)
        if value < 0:
            return None  # default_rng refuses it
        drawn: NDArray[Any] = np.random.default_rng(value).standard_normal(size, dtype=np.dtype(dtype).type)
        numbers: Float64 = drawn.astype(np.float64)
        return numbers

    return of


def torch_normals(seed: int, size: int) -> Float64:
    """Return ``torch.manual_seed(seed); torch.randn(size)`` on a CPU, within some 1e-6.

    From ``aten/src/ATen/native/cpu/DistributionTemplates.h``: 16 numbers and more are 24-bit uniforms, turned in
    blocks of 16 by Box-Muller, the last block anew if it is not whole; fewer are pairs of 53-bit uniforms.
    """
    engine = np.random.RandomState(seed & _LOW)
    if size < 16:
        return np.fromiter(itertools.islice(_torch_pairs(engine), size), np.float64, size)
    words = engine.randint(0, 2**32, size + (16 if size % 16 else 0), dtype=np.uint32)
    uniforms = (words & np.uint32(0xFFFFFF)) * 2.0**-24
    out = np.empty(size)
    whole = size - size % 16
    out[:whole] = _blocks_of_16(uniforms[:whole])
    if size % 16:
        out[-16:] = _blocks_of_16(uniforms[size:])
    return out


def _blocks_of_16(uniforms: NDArray[Any]) -> Float64:
    first, second = uniforms.reshape(-1, 2, 8)[:, 0], uniforms.reshape(-1, 2, 8)[:, 1]
    radius, angle = np.sqrt(-2 * np.log(1 - first)), 2 * np.pi * second
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


def _torch_pairs(engine: np.random.RandomState) -> Iterator[float]:
    while True:
        words = [int(word) for word in engine.randint(0, 2**32, 4, dtype=np.uint32)]
        first, second = (((words[i] << 32 | words[i + 1]) & (2**53 - 1)) * 2.0**-53 for i in (0, 2))
        radius, angle = math.sqrt(-2 * math.log1p(-second)), 2 * math.pi * first
        yield radius * math.cos(angle)
        yield radius * math.sin(angle)


def _torch(args: Args, size: int) -> Float64:
    return torch_normals(args.seed, size)


def _torch_own_rows(args: Args, size: int) -> Float64:
    own = torch_normals(args.seed, args.T * args.d_model) if args.T else np.empty(0)
    return np.concatenate([own, np.full(max(0, size - own.size), np.nan)])


def _double_normals(args: Args, size: int) -> Float64:
    """Return ``jax.random.normal`` with x64 on: 52 of 64 bits make a float64 uniform (``jax._src.random``)."""
    words = encrypt(param_key(long_key([args.seed])), 0, np.arange(size, dtype=np.uint32))
    bits = (words[:, 0].astype(np.uint64) << np.uint64(32) | words[:, 1]) >> np.uint64(12)
    low = np.nextafter(-1.0, 0.0)
    return quantile(np.maximum(low, bits * 2.0**-52 * (1 - low) + low))


def _box_muller(
    pair: Callable[[UInt32, int], tuple[UInt32, UInt32]], *, folded: bool, sine: bool = False
) -> Callable[[Args, int], Float64]:
    def of(args: Args, size: int) -> Float64:
        key = seed_key([args.seed])
        first, second = ((words >> np.uint32(9)) * 2.0**-23 for words in pair(param_key(key) if folded else key, size))
        turned: Float64 = (np.sin if sine else np.cos)(2 * np.pi * second)
        numbers: Float64 = np.sqrt(-2 * np.log1p(-first)) * turned
        return numbers

    return of


def _one_array(key: UInt32, size: int) -> tuple[UInt32, UInt32]:
    words = random_bits(key, 2 * size, stream="partitionable")[0]
    return words[:size], words[size:]


def _two_keys(key: UInt32, size: int) -> tuple[UInt32, UInt32]:
    words = random_bits(split(key, "partitionable")[0], size, stream="partitionable")
    return words[0], words[1]


def _swap(
    pair: Callable[[UInt32, int], tuple[UInt32, UInt32]],
) -> Callable[[UInt32, int], tuple[UInt32, UInt32]]:
    return lambda key, size: pair(key, size)[::-1]


def _constant(value: float) -> Callable[[Args, int], Float64]:
    return lambda _, size: np.full(size, value)


def _sinusoid(halves: bool) -> Callable[[Args, int], NDArray[np.float64]]:
    """Return sines and cosines of position / 10000**(2i / d_model): Vaswani et al., "Attention Is All You Need"."""

    def of(args: Args, size: int) -> NDArray[np.float64]:
        d = args.d_model
        position = np.arange(-(-size // d))[:, None]
        feature = np.arange(d)[None, :]
        pair = feature % ((d + 1) // 2) if halves else feature // 2
        angle = position / 10000.0 ** (2 * pair / d)
        even = feature < (d + 1) // 2 if halves else feature % 2 == 0
        return np.where(even, np.sin(angle), np.cos(angle)).reshape(-1)[:size]

    return of


MISTAKES = (
    Mistake(
        id="numpy-legacy",
        title="The numbers are those of NumPy's legacy generator",
        why="`np.random.seed` starts a Mersenne Twister, which has nothing in common with JAX's threefry.",
        fix="Draw the table in JAX, as Flax initialises it.",
        code=_FLAX,
        example="np.random.seed(seed)\ntable = 0.02 * np.random.randn(32, d_model)",
        reference="https://numpy.org/doc/stable/reference/random/legacy.html",
        variants=(Generator(phrase="`np.random.seed(seed)` and `np.random.randn` for its draws", of=_numpy_legacy),),
    ),
    Mistake(
        id="numpy-default-rng",
        title="The numbers are those of NumPy's `default_rng`",
        why="`default_rng` is PCG64 with a ziggurat, which has nothing in common with JAX's threefry.",
        fix="Draw the table in JAX, as Flax initialises it.",
        code=_FLAX,
        example="table = np.random.default_rng(seed).normal(0, 0.02, (32, d_model))",
        reference="https://numpy.org/doc/stable/reference/random/generator.html",
        variants=(
            Generator(phrase="`np.random.default_rng(seed)` for its draws", of=_numpy_pcg(lambda s: s, "float64")),
            Generator(
                phrase="`np.random.default_rng(seed % 2**32)` for its draws",
                of=_numpy_pcg(lambda s: s & _LOW, "float64"),
            ),
            Generator(
                phrase="`np.random.default_rng(seed)` in float32 for its draws",
                of=_numpy_pcg(lambda s: s, "float32"),
            ),
            Generator(
                phrase="`np.random.default_rng(abs(seed))` for its draws",
                of=_numpy_pcg(abs, "float64"),
            ),
        ),
    ),
    Mistake(
        id="torch-generator",
        title="The numbers are those of Torch's generator",
        why="`torch.manual_seed` starts a Mersenne Twister, which has nothing in common with JAX's threefry.",
        fix="Draw the table in JAX, or port threefry and erf_inv.",
        code=_FLAX,
        example="torch.manual_seed(seed)\ntable = 0.02 * torch.randn(32, d_model)",
        reference="https://docs.pytorch.org/docs/stable/notes/randomness.html",
        variants=(
            Generator(
                phrase="`torch.manual_seed(seed)` and `torch.randn(32, d_model)`", of=_torch, error=3e-6, sized=True
            ),
            Generator(
                phrase="`torch.manual_seed(seed)` and `torch.randn(T, d_model)`",
                of=_torch_own_rows,
                error=3e-6,
                sized=True,
                per_T=True,
            ),
        ),
    ),
    Mistake(
        id="x64",
        title="JAX ran with x64 on",
        why="With jax_enable_x64 a normal number is a float64 made of 64 random bits, and both words of the seed "
        "count.",
        fix="Unset JAX_ENABLE_X64.",
        code="jax.config.update('jax_enable_x64', False)",
        example="JAX_ENABLE_X64=1 python homework.py",
        reference="https://github.com/jax-ml/jax/issues/27002",
        variants=(Generator(phrase="jax_enable_x64, float64 numbers of 64 random bits", of=_double_normals),),
        streams=("partitionable",),  # the other stream makes its pairs of words in another way
        implies=("float64",),
    ),
    Mistake(
        id="box-muller",
        title="Normal numbers are made by Box-Muller in place of erf_inv",
        why="`jax.random.normal` turns one uniform into one normal number by the inverse of erf; Box-Muller takes two.",
        fix="Take one uniform of 23 bits in (-1, 1) and apply sqrt(2) * erf_inv.",
        code="normal = np.sqrt(2) * scipy.special.erfinv(uniform)",
        example="u1, u2 = jax.random.uniform(key, (2, 32, d_model))\n"
        "table = 0.02 * jnp.sqrt(-2 * jnp.log(1 - u1)) * jnp.cos(2 * jnp.pi * u2)",
        reference="https://github.com/tinygrad/tinygrad/blob/master/tinygrad/tensor.py",
        variants=tuple(
            Generator(
                phrase=f"Box-Muller ({'sine' if sine else 'cosine'}) of two uniforms from {how}, "
                f"the {key}{', the other way round' if other else ''}",
                of=_box_muller(_swap(pair) if other else pair, folded=folded, sine=sine),
                error=2e-5,
                sized=True,
            )
            for pair, how in ((_one_array, "one array of twice the size"), (_two_keys, "the halves of a split key"))
            for other in (False, True)
            for sine in (False, True)
            for folded, key in ((True, "right key"), (False, "unfolded key"))
        ),
        streams=("partitionable",),
    ),
    Mistake(
        id="zeros",
        title="Every value is zero",
        why="The table was never initialised with random numbers, or its values were replaced.",
        fix="Initialise the table with normal(stddev=0.02).",
        code=_FLAX,
        example="table = self.param('pos_embed', nn.initializers.zeros, (32, d_model))",
        reference="https://docs.jax.dev/en/latest/jax.nn.initializers.html",
        variants=(Generator(phrase="zeros for its values", of=_constant(0.0), fixed=True),),
    ),
    Mistake(
        id="ones",
        title="Every value is one",
        why="The table was initialised with ones, or a dummy input was returned in its place.",
        fix="Initialise the table with normal(stddev=0.02), and return its rows.",
        code=_FLAX,
        example="table = self.param('pos_embed', nn.initializers.ones, (32, d_model))",
        reference="https://docs.jax.dev/en/latest/jax.nn.initializers.html",
        variants=(Generator(phrase="ones for its values", of=_constant(1.0), fixed=True),),
    ),
    Mistake(
        id="sinusoidal",
        title="The values are those of sinusoidal position encodings",
        why="A learned table starts as random numbers; sines and cosines are the other kind of position encoding.",
        fix="Initialise a parameter with normal(stddev=0.02).",
        code=_FLAX,
        example="table = np.where(feature % 2 == 0, np.sin(angle), np.cos(angle))",
        reference="https://arxiv.org/abs/1706.03762",
        variants=(
            Generator(
                phrase="sines and cosines, interleaved, for its values", of=_sinusoid(False), fixed=True, error=2e-5
            ),
            Generator(
                phrase="sines and cosines, in halves, for its values", of=_sinusoid(True), fixed=True, error=2e-5
            ),
        ),
    ),
)
