"""The suites that posvec knows: what each function under test promises."""

from __future__ import annotations

from posvec.schemas.suite import Output, Parameter, Suite

MAX_T = 32

LEARNED_POS_EMBED = Suite(
    name="learned_pos_embed",
    function="learned_pos_embed_forward",
    summary="The first T rows, flattened, of a learned position table as Flax initialises it: 32 rows of d_model "
    "float32 values, normal with standard deviation 0.02.",
    source="Flax Linen: Module.param, nn.initializers.normal; JAX: random.PRNGKey, random.normal",
    parameters=(
        Parameter(name="seed", kind="int", minimum=-(2**63), maximum=2**63 - 1),
        Parameter(name="T", kind="int", minimum=0, maximum=MAX_T),
        Parameter(name="d_model", kind="int", minimum=1, maximum=2**20),
    ),
    output=Output(dtype="float32", rank=1, shape="(T * d_model,)"),
    coercion=True,
)
