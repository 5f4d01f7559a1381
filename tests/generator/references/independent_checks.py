"""What code of other projects reaches in the suites. Run as a module, this prints the table of docs/suites.md.

python -m tests.generator.references.independent_checks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import metadata

import numpy as np

from posvec.generator.case_suite import ReferenceCase
from tests.generator.references import independent as code
from tests.generator.references.conftest import accepts, copied, golden, suite_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One function of another project under one suite.

    Attributes:
        package: Distribution on PyPI.
        called: What of it is called.
        suite: The suite.
        build: Imports it and returns a function with the suite's signature.
        level: The strictest level that holds in all cases it applies to; None if it disagrees.
        mistake: If it disagrees: the known mistake whose values it returns.
        applies: Whether it can be called with the arguments of a case at all.
        note: How it is called, where it cannot be, and why it disagrees.
        slow: Whether all cases take more than some seconds.

    """

    package: str
    called: str
    suite: str
    build: Callable[[], code.Function]
    level: str | None = None
    mistake: str | None = None
    applies: Callable[[ReferenceCase], bool] = lambda _: True
    note: str = ""
    slow: bool = False

    @property
    def name(self) -> str:
        """A short name, unlike that of any other check."""
        return f"{self.called} {self.suite} {self.level or self.mistake}"

    @property
    def version(self) -> str | None:
        """Version of the package, without a local part; None if it is not installed."""
        try:
            return metadata.version(self.package).partition("+")[0]
        except metadata.PackageNotFoundError:
            return None

    def row(self) -> str:
        """Return its row in the table."""
        reached = self.level or f"no: `{self.mistake}`"
        return f"| {self.package} {self.version} | `{self.called}` | `{self.suite}` | {reached} | {self.note} |"

    def cases(self):
        """Return the cases that it can be called with, and what must come of each."""
        return [(case, expected) for case, expected in golden(self.suite) if self.applies(case)]


def level_reached(check: Check) -> str | None:
    """Return the strictest level at which all cases that apply are accepted; None if there is none."""
    with code.importing():
        function, reached = check.build(), 0
        levels = ("exact", "equivalent")
        for case, expected in check.cases():
            try:
                got = function(**copied(case))
            except Exception:
                if expected is not None:
                    return None
                continue
            if expected is None:
                return None
            while not accepts(expected, got, levels[reached]):
                reached += 1
                if reached == len(levels):
                    return None
    return levels[reached]


def is_mistake(check: Check) -> bool:
    """Return whether, in all cases that apply, it returns what its mistake returns, but for rounding."""
    with code.importing():
        function, mistake = check.build(), suite_of(check.suite).mistakes[str(check.mistake)]
        for case, expected in check.cases():
            if case.axes.get("positions") == "far":
                continue  # float32 angles there are off by up to 0.1
            try:
                wrong = mistake(**copied(case))
            except Exception:
                wrong = None
            try:
                got = function(**copied(case))
            except Exception:
                if wrong is None or expected is None:
                    continue
                return False
            if wrong is None or got.shape != wrong.shape:
                return False
            # An angle of 4096 in float32 is off by up to 0.01.
            if not np.allclose(got, wrong, rtol=2**-16, atol=0.01, equal_nan=True):
                return False
    return True


def _base_10000(case: ReferenceCase) -> bool:
    return case.args["base"] == 10000 and case.args["T"] > 0


def _even(case: ReferenceCase) -> bool:
    return case.args["d_model"] % 2 == 0


def _no_positions(case: ReferenceCase) -> bool:
    return all(case.axes[key] != 0 for key in ("T", "L") if key in case.axes)


def _four_features(case: ReferenceCase) -> bool:
    return case.axes["D"] != 2 and _no_positions(case)


_IDENTITY = "its layer normalisation replaced by the identity"
_SOFTMAX = "its rows differ from the suite's by a constant each, which softmax cancels"

TORCH, JAX, FLAX = "torch", "jax", "flax"
TRANSFORMERS, X, KERAS = "transformers", "x-transformers", "keras-hub"
ADD, DECODE, TOKENS = "learned_pos_embed_add", "learned_pos_embed_decode", "token_pos_embed"
CONCAT, ALIBI, BUCKETS = "sinusoidal_pos_encoding_concat", "alibi_bias", "t5_relative_position_bucket"

CHECKS = (
    Check(package=TORCH, called="nn.Embedding", suite=ADD, build=code.torch_add, level="exact"),
    Check(
        package=X,
        called="AbsolutePositionalEmbedding",
        suite=ADD,
        build=code.x_absolute,
        mistake="table-divided-by-sqrt-d",
        note="its table holds rows sqrt(D) times as large, on purpose",
    ),
    Check(
        package=TORCH,
        called="nn.Embedding of arange(offset, offset + T)",
        suite=DECODE,
        build=code.torch_decode,
        level="exact",
    ),
    Check(
        package=TORCH,
        called="table[offset : offset + T]",
        suite=DECODE,
        build=code.torch_slice,
        mistake="slice-stops-at-the-end",
        note="right up to the end",
    ),
    Check(
        package=JAX,
        called="lax.dynamic_slice_in_dim",
        suite=DECODE,
        build=code.jax_dynamic_slice,
        mistake="start-moved-back",
        note="right up to the end",
    ),
    Check(
        package=JAX,
        called='numpy.take(mode="clip")',
        suite=DECODE,
        build=partial(code.jax_take, "clip"),
        mistake="clamped-past-the-end",
        note="right up to the end; so does indexing an array",
    ),
    Check(
        package=JAX,
        called="numpy.take",
        suite=DECODE,
        build=partial(code.jax_take, "fill"),
        mistake="nan-past-the-end",
        note="right up to the end",
    ),
    Check(
        package=KERAS,
        called="PositionEmbedding(start_index)",
        suite=DECODE,
        build=code.keras_decode,
        mistake="start-moved-back",
        note="on JAX; right up to the end",
        slow=True,
    ),
    Check(
        package=TRANSFORMERS,
        called="OPTLearnedPositionalEmbedding",
        suite=DECODE,
        build=code.hf_opt,
        mistake="offset-two",
        note="OPT's tables have two rows before that of position 0",
    ),
    Check(package=TORCH, called="nn.Embedding, twice", suite=TOKENS, build=code.torch_tokens, level="exact"),
    Check(
        package=TRANSFORMERS,
        called="GPT2Model",
        suite=TOKENS,
        build=code.hf_gpt2,
        level="exact",
        applies=_no_positions,
        note="without layers, " + _IDENTITY + "; cannot be called with L = 0",
    ),
    Check(
        package=KERAS,
        called="TokenAndPositionEmbedding",
        suite=TOKENS,
        build=code.keras_tokens,
        level="exact",
        note="on JAX",
        slow=True,
    ),
    Check(
        package=FLAX,
        called="nnx.Embed, twice",
        suite=TOKENS,
        build=code.flax_nnx_tokens,
        mistake="nan-past-the-end",
        note="right up to the end",
    ),
    Check(
        package=TRANSFORMERS,
        called="BertEmbeddings",
        suite="bert_embed",
        build=partial(code.hf_bert, normalised=False),
        level="equivalent",
        note=_IDENTITY + "; adds word, segment and position in this order: within `ulp:1`",
    ),
    Check(
        package=TRANSFORMERS,
        called="BertEmbeddings",
        suite="bert_embed",
        build=partial(code.hf_bert, normalised=True),
        mistake="layer-normalised",
        note="as it is: the suite ends before the normalisation",
    ),
    Check(
        package=TRANSFORMERS,
        called="ViTEmbeddings",
        suite="vit_embed",
        build=code.hf_vit,
        level="exact",
        note="its projection of pixels replaced by the given patches",
    ),
    Check(
        package=KERAS,
        called="SinePositionEncoding",
        suite="sinusoidal_pos_encoding",
        build=code.keras_sinusoidal,
        level="equivalent",
        note="on JAX",
        slow=True,
    ),
    Check(
        package="positional-encodings",
        called="PositionalEncoding1D",
        suite="sinusoidal_pos_encoding",
        build=code.positional_encodings,
        level="equivalent",
        applies=lambda case: _base_10000(case) and _even(case),
        note="base 10000 only, even d_model",
    ),
    Check(
        package="positional-encodings",
        called="PositionalEncoding1D",
        suite="sinusoidal_pos_encoding",
        build=code.positional_encodings,
        mistake="odd-width-rounded-up",
        applies=lambda case: _base_10000(case) and not _even(case),
        note="odd d_model: its exponents are those of d_model + 1",
    ),
    Check(
        package=TRANSFORMERS,
        called="MarianSinusoidalPositionalEmbedding",
        suite=CONCAT,
        build=code.hf_marian,
        level="exact",
        applies=_base_10000,
        note="float64, rounded once; base 10000 only",
    ),
    Check(
        package=TRANSFORMERS,
        called="M2M100SinusoidalPositionalEmbedding",
        suite=CONCAT,
        build=code.hf_m2m100,
        mistake="spacing-half-minus-one",
        applies=lambda case: _base_10000(case) and _even(case) and case.args["d_model"] > 2,
        note="tensor2tensor's and fairseq's frequencies, on purpose; even d_model above 2 only",
    ),
    Check(
        package=X,
        called="ScaledSinusoidalEmbedding",
        suite=CONCAT,
        build=code.x_sinusoidal,
        level="equivalent",
        applies=_even,
        note="its scale set to 1; even d_model only",
    ),
    Check(
        package=TRANSFORMERS,
        called="CohereRotaryEmbedding",
        suite="rope_interleaved",
        build=code.hf_cohere,
        level="equivalent",
    ),
    Check(
        package=X,
        called="RotaryEmbedding",
        suite="rope_interleaved",
        build=code.x_rotary,
        level="equivalent",
        applies=_four_features,
        note="cannot be made for D = 2 nor called with T = 0",
    ),
    Check(
        package="rotary-embedding-torch",
        called="RotaryEmbedding",
        suite="rope_interleaved",
        build=code.lucidrains_rotary,
        level="equivalent",
        applies=_four_features,
        note="cannot be made for D = 2",
    ),
    Check(
        package=TRANSFORMERS,
        called="LlamaRotaryEmbedding",
        suite="rope_half",
        build=code.hf_llama,
        level="equivalent",
        note="its `rotate_half` is this layout",
    ),
    Check(
        package=TRANSFORMERS,
        called="LlamaRotaryEmbedding",
        suite="rope_interleaved",
        build=code.hf_llama,
        mistake="other-layout",
        note="Llama's own code is interleaved; its weights were permuted for this module",
    ),
    Check(
        package=KERAS,
        called="RotaryEmbedding",
        suite="rope_half",
        build=code.keras_rotary,
        level="equivalent",
        note="on JAX",
        slow=True,
    ),
    Check(
        package=X,
        called="AlibiPositionalBias",
        suite=ALIBI,
        build=code.x_alibi,
        mistake="symmetric",
        applies=_no_positions,
        note="the same up to the diagonal; beyond it, for use without a causal mask, the distance counts the same",
    ),
    Check(
        package=TRANSFORMERS,
        called="bloom.build_alibi_tensor",
        suite=ALIBI,
        build=code.hf_bloom,
        mistake="keys-only",
        note=_SOFTMAX,
    ),
    Check(
        package=KERAS,
        called="AlibiBias",
        suite=ALIBI,
        build=code.keras_alibi,
        mistake="last-query-for-all",
        note="on JAX; " + _SOFTMAX,
        slow=True,
    ),
    Check(
        package=TRANSFORMERS,
        called="T5Attention._relative_position_bucket",
        suite=BUCKETS,
        build=code.hf_t5,
        level="exact",
        note="its int64 cast to int32",
    ),
    Check(
        package=X,
        called="RelativePositionBias",
        suite=BUCKETS,
        build=code.x_buckets,
        level="exact",
        note="its int64 cast to int32",
    ),
)


if __name__ == "__main__":
    print("| package | code | suite | level | |")
    print("|---|---|---|---|---|")
    for check in CHECKS:
        print(check.row())
