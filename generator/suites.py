"""The suites that can be generated: their contracts, and the values that are swept by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posvec.schemas.suite import Output, Parameter, Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedSuite:
    """A suite, the module under ``references/`` that defines its function, and the default axes."""

    suite: Suite
    reference: str
    default_axes: Mapping[str, str]


LEARNED_POS_EMBED = GeneratedSuite(
    suite=Suite(
        name="learned_pos_embed",
        function="learned_pos_embed_forward",
        summary="The first T rows of a freshly initialised 32-row table of learned position embeddings, flat.",
        source="Flax: nn.Module.param with initializers.normal(stddev=0.02), key jax.random.PRNGKey(seed)",
        parameters=(
            Parameter(name="seed", kind="int", minimum=-(2**63), maximum=2**63 - 1),
            Parameter(name="T", kind="int", minimum=0, maximum=32),
            # The widest table is then 128 MiB; far wider ones than any model has are surely mistakes.
            Parameter(name="d_model", kind="int", minimum=1, maximum=2**20),
        ),
        output=Output(dtype="float32", rank=1, shape="(T * d_model,)"),
        coercion=True,
    ),
    reference="posvec.generator.references.learned_pos_embed",
    default_axes={
        # Both ends of the 32 bits that a key keeps, -1 which is 2**32 - 1 again, and 2**32 + 5 which is 5.
        "seed": "0,1,2,42,2147483647,2147483648,4294967295,-1,4294967301",
        "T": "0..32",
        # 3 and 4 because JAX 0.12 rounds tables of these widths in a way of its own on AVX-512 CPUs.
        "d_model": "1,2,3,4,8,16,64",
    },
)
