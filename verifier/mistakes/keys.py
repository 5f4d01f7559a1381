r"""Mistakes in the key: every draw is another one.

The reference's key is ``fold_in(PRNGKey(seed), word)`` with ``word`` the first four bytes, big endian, of
``sha1(b"\x01")``: the number of the parameter in a module without a name around it (``flax.core.scope``). All
formulas here were checked against JAX 0.10.2 and Flax 0.12.8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posvec.schemas.build import Stream
from posvec.vectors.derive import fold_in, fold_word, param_key, seed_key
from posvec.vectors.threefry import UInt32
from posvec.verifier.mistakes.numbers import split
from posvec.verifier.mistakes.parts import Key, Mistake

_FLAX_FOLDING = "https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/rng_guide.html"
_RIGHT = "variables = LearnedPos(32, d_model).init(jax.random.PRNGKey(seed), T)"

MODULES = (
    "LearnedPos", "LearnedPosEmbed", "LearnedPosEmbedding", "LearnedPositionEmbedding", "LearnedPositionalEmbedding",
    "LearnedPositionEmbeddings", "LearnedPositionalEncoding", "LearnedPE", "PosEmbed", "PosEmbedding", "PosEmb",
    "PositionEmbedding", "PositionEmbeddings", "PositionalEmbedding", "PositionalEmbeddings", "PositionalEncoding",
    "PositionEncoding", "PositionTable", "AddPositionEmbs", "Embed", "M", "Model", "Module", "Table",
)  # fmt: skip
"""Class names that an automatic name is made of: ``LearnedPos_0``."""

_GIVEN = (
    "pos_embed", "pos_emb", "pos_embedding", "pos_embeddings", "posembed", "pos", "position", "positions",
    "position_embed", "position_embedding", "position_embeddings", "positional_embedding", "positional_encoding",
    "embed_positions", "embed", "embedding", "embeddings", "learned_pos", "wpe", "pe", "table",
)  # fmt: skip
_AROUND = (
    "Encoder_0", "Decoder_0", "Transformer_0", "TransformerEncoder_0", "Embeddings_0", "Model_0", "BertEmbeddings_0",
    "encoder", "decoder", "transformer", "embeddings", "model",
)  # fmt: skip


def _folded(phrase: str, word: int) -> Key:
    return Key(phrase=phrase, of=lambda seeds, _: fold_in(seed_key(list(seeds)), word), word=word)


def _in_module(*path: str) -> Key:
    return _folded(f"the parameter inside a module called {'/'.join(path)!r}", fold_word(path=path))


def long_key(seeds: Sequence[int]) -> UInt32:
    """Return the keys of seeds of 64 bits, as ``jax_enable_x64`` makes them: both words count."""
    words = [(seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF) for seed in seeds]
    return np.array(words, np.uint32).reshape(len(words), 2)


def _nth(index: int) -> Key:
    return _folded(f"the parameter as the module's parameter number {index}", fold_word(index=index))


def _split_key(which: int, *, folded: bool) -> Key:
    def of(seeds: Sequence[int], stream: Stream) -> UInt32:
        key = split(seed_key(list(seeds)), stream)[:, which]
        return param_key(key) if folded else key

    how = f"`split(key)[{which}]`"
    return Key(phrase=f"{how} given to init in place of the key" if folded else f"{how} as the key", of=of)


def _jitted(seeds: Sequence[int], _: Stream) -> UInt32:
    return param_key(param_key(seed_key(list(seeds))), index=2)


def _jitted_module(name: str) -> Key:
    return Key(
        phrase=f"the parameter inside an `nn.jit` module called 'Jit{name}_0'",
        of=lambda seeds, _: param_key(param_key(seed_key(list(seeds)), path=(f"Jit{name}_0",)), index=2),
    )


MISTAKES = (
    Mistake(
        id="unfolded-key",
        title="The seed's key is used without Flax's key folding",
        why="Flax hands a parameter's initializer not the key given to init but that key folded with a hash of the "
        "parameter's place, so `normal(PRNGKey(seed), …)` draws from another key. Equinox and plain JAX do so.",
        fix="Create the table with Module.param and init, or fold the key as Flax does.",
        code="key = jax.random.fold_in(jax.random.PRNGKey(seed), 0xBF8B4530)",
        example="table = 0.02 * jax.random.normal(jax.random.PRNGKey(seed), (32, d_model))",
        reference=_FLAX_FOLDING,
        variants=(
            Key(
                phrase="the key of the seed itself, unfolded: `normal(PRNGKey(seed), …)`",
                of=lambda seeds, _: seed_key(list(seeds)),
            ),
        ),
    ),
    Mistake(
        id="split-key-first",
        title="The first half of a split key is used",
        why="`split` makes new keys; none of them is the one that Flax folds from the key given to init. "
        "`nnx.Rngs(seed).params()` gives the same key at its first call.",
        fix="Give the key to init unsplit, and let Flax fold it.",
        code=_RIGHT,
        example="key, _ = jax.random.split(jax.random.PRNGKey(seed))\n"
        "table = 0.02 * jax.random.normal(key, (32, d_model))",
        reference="https://github.com/jax-ml/jax/pull/13341",
        variants=(_split_key(0, folded=False),),
    ),
    Mistake(
        id="split-key-second",
        title="The second half of a split key is used",
        why="`split` makes new keys; none of them is the one that Flax folds from the key given to init. Haiku's "
        "`get_parameter` draws from this key too.",
        fix="Give the key to init unsplit, and let Flax fold it.",
        code=_RIGHT,
        example="_, key = jax.random.split(jax.random.PRNGKey(seed))\n"
        "table = 0.02 * jax.random.normal(key, (32, d_model))",
        reference="https://github.com/google-deepmind/dm-haiku/blob/main/haiku/_src/base.py",
        variants=(_split_key(1, folded=False),),
    ),
    Mistake(
        id="nnx-first-key",
        title="The first key of `nnx.Rngs(seed)` is used",
        why="NNX folds a running number, from 0, into the key of the seed; Linen folds a hash of the parameter's "
        "place.",
        fix="Use a Linen module, or fold the key as Linen does.",
        code="key = jax.random.fold_in(jax.random.PRNGKey(seed), 0xBF8B4530)",
        example="table = 0.02 * jax.random.normal(nnx.Rngs(seed).params(), (32, d_model))",
        reference="https://flax.readthedocs.io/en/latest/guides/randomness.html",
        variants=(
            _folded("`nnx.Rngs(seed).params()`, first call, as the key", 0),
            _folded("`nnx.Rngs(seed).params()`, second call, as the key", 1),
        ),
        streams=("original",),  # in the other stream these are the keys of a split
    ),
    Mistake(
        id="init-with-split-key",
        title="A split key is given to init",
        why="`split` makes new keys, so the module is initialised as that of another seed would be.",
        fix="Give PRNGKey(seed) itself to init.",
        code=_RIGHT,
        example="key, init_key = jax.random.split(jax.random.PRNGKey(seed))\nvariables = module.init(init_key, T)",
        reference=_FLAX_FOLDING,
        variants=(_split_key(1, folded=True), _split_key(0, folded=True)),
    ),
    Mistake(
        id="nth-parameter",
        title="Another parameter is drawn before the table",
        why="Flax folds the running number of a parameter into its key, so the second one draws from another key.",
        fix="Declare the table first, or in a module of its own.",
        code="pos_embed = self.param('pos_embed', nn.initializers.normal(0.02), (32, self.d_model))",
        example="scale = self.param('scale', nn.initializers.normal(), (d,))\n"
        "pos_embed = self.param('pos_embed', nn.initializers.normal(0.02), (32, d))",
        reference=_FLAX_FOLDING,
        variants=tuple(_nth(index) for index in range(2, 9)),
    ),
    Mistake(
        id="nested-module",
        title="The table's module is nested in another module",
        why="Flax hashes the names of the modules around a parameter into its key, so a module inside another, under "
        "an automatic or a given name, draws other numbers than the same module at the top.",
        fix="Call init on the module that owns the table itself.",
        code=_RIGHT,
        example="class Model(nn.Module):\n    @nn.compact\n    def __call__(self, T):\n"
        "        return LearnedPos(32, d_model)(T)",
        reference=_FLAX_FOLDING,
        variants=(
            *(_in_module(f"{name}_0") for name in MODULES),
            *(_in_module(name) for name in _GIVEN),
            *(_in_module(outer, f"{name}_0") for outer in _AROUND for name in MODULES),
            *(_in_module(outer, name) for outer in _AROUND for name in _GIVEN),
        ),
    ),
    Mistake(
        id="remat-module",
        title="The table's module is nested under `nn.remat`",
        why="`nn.remat` (`nn.checkpoint`) puts its own name before that of the class, and Flax hashes the names of "
        "modules around a parameter into its key.",
        fix="Call init on the module itself, or give the wrapped module the name that it had.",
        code=_RIGHT,
        example="return nn.remat(LearnedPos)(32, d_model)(T)",
        reference="https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html",
        variants=tuple(_in_module(f"Checkpoint{name}_0") for name in MODULES),
    ),
    Mistake(
        id="nn-jit",
        title="The module is wrapped in `nn.jit`",
        why="`nn.jit` draws a key for the compiled program first, so the parameter's key is folded twice.",
        fix="Compile the function around init with jax.jit instead.",
        code="init = jax.jit(module.init, static_argnums=1)",
        example="variables = nn.jit(LearnedPos)(32, d_model).init(jax.random.PRNGKey(seed))",
        reference="https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html",
        variants=(
            Key(phrase="the key folded twice, as `nn.jit` does", of=_jitted),
            *(_jitted_module(name) for name in MODULES),
        ),
    ),
    Mistake(
        id="rng-separator",
        title="Flax ran with FLAX_FIX_RNG_SEPARATOR on",
        why="That option hashes a zero byte before each part of a parameter's place, so every key is another one.",
        fix="Unset FLAX_FIX_RNG_SEPARATOR.",
        code="flax.config.update('flax_fix_rng_separator', False)",
        example="FLAX_FIX_RNG_SEPARATOR=1 python homework.py",
        reference="https://github.com/google/flax/blob/main/flax/configurations.py",
        variants=(_folded("FLAX_FIX_RNG_SEPARATOR=1", fold_word(fix_rng_separator=True)),),
    ),
    Mistake(
        id="nnx-bridge",
        title="The Linen module is initialised through `ToNNX`",
        why="The bridge takes its key from nnx.Rngs, which folds a running number into the key of the seed, twice, "
        "before Linen folds the parameter's place.",
        fix="Call init on the Linen module itself.",
        code=_RIGHT,
        example="module = nnx.bridge.ToNNX(LearnedPos(32, d_model), rngs=nnx.Rngs(seed))\n"
        "nnx.bridge.lazy_init(module, T)",
        reference="https://flax.readthedocs.io/en/latest/guides/bridge_guide.html",
        variants=(
            Key(
                phrase="the key as `nnx.bridge.ToNNX` with `nnx.Rngs(seed)` gives it",
                of=lambda seeds, _: param_key(fold_in(fold_in(seed_key(list(seeds)), 0), 0)),
            ),
        ),
    ),
    Mistake(
        id="keras-seed",
        title="The seed is used as Keras uses it",
        why="Keras on JAX makes the key (seed, 0); PRNGKey(seed) is (0, seed), folded by Flax.",
        fix="Initialise a Flax module with jax.random.PRNGKey(seed).",
        code=_RIGHT,
        example="table = keras.random.normal((32, d_model), stddev=0.02, seed=seed)",
        reference="https://github.com/keras-team/keras/blob/master/keras/src/random/seed_generator.py",
        variants=(
            Key(
                phrase="Keras' key, the words (seed, 0)",
                of=lambda seeds, _: np.ascontiguousarray(seed_key(list(seeds))[:, ::-1]),
            ),
        ),
    ),
    Mistake(
        id="long-seed",
        title="All 64 bits of the seed are used",
        why="Without x64, PRNGKey keeps the low 32 bits of a seed, so that -1 and 2**32 - 1 are one seed; with x64, "
        "or in a port that keeps both words, the key is (seed >> 32, seed).",
        fix="Keep the low 32 bits only, and a first key word of 0; unset JAX_ENABLE_X64.",
        code="key = (0, seed & 0xFFFFFFFF)",
        example="key = np.array([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32)",
        reference="https://docs.jax.dev/en/latest/_autosummary/jax.random.PRNGKey.html",
        variants=(
            Key(
                phrase="both words of the seed in the key, (seed >> 32, seed)",
                of=lambda seeds, _: param_key(long_key(seeds)),
            ),
        ),
    ),
)
