"""Mistakes in the distribution: right draws, other values."""

from __future__ import annotations

import math

from posvec.verifier.mistakes.distributions import (
    CORRECTION,
    STDDEV,
    by_width,
    low_precision_parameter,
    normal,
    plus_one,
    plus_one_exactly,
    rounded_values,
    rows_and,
    to_bfloat16,
    to_float16,
    truncated,
    uniform,
    with_sigma,
)
from posvec.verifier.mistakes.parts import Mistake, Observed, Values

_INIT = "init = nn.initializers.normal(stddev=0.02)"
_INITIALIZERS = "https://docs.jax.dev/en/latest/jax.nn.initializers.html"

MISTAKES = (
    Mistake(
        id="stddev",
        title="The standard deviation is another one",
        why="The table is drawn with standard deviation 0.02; every value is the right one times a constant.",
        fix="Use 0.02.",
        code=_INIT,
        example="init = nn.initializers.normal(stddev=0.2)",
        reference=_INITIALIZERS,
        variants=tuple(
            with_sigma(str(value), value)
            for value in (0.2, 0.1, 0.002, 0.001, 0.05, 0.5, 0.3, 0.03, 0.025, 0.015, 0.04, 0.005, 2.0)
        ),
    ),
    Mistake(
        id="stddev-default",
        title="The initializer's default standard deviation is used",
        why="`nn.initializers.normal()` has 0.01 unless it is told otherwise.",
        fix="Say stddev=0.02.",
        code=_INIT,
        example="init = nn.initializers.normal()",
        reference=_INITIALIZERS,
        variants=(with_sigma("0.01, the default", 0.01),),
    ),
    Mistake(
        id="not-scaled",
        title="The numbers are standard normal: nothing scales them",
        why="`jax.random.normal`, `torch.randn` and `nn.Embedding` have standard deviation 1; the table has 0.02.",
        fix="Multiply by 0.02.",
        code=_INIT,
        example="table = jax.random.normal(key, (32, d_model))",
        reference="https://docs.jax.dev/en/latest/_autosummary/jax.random.normal.html",
        variants=(with_sigma("1", 1.0),),
    ),
    Mistake(
        id="variance-for-stddev",
        title="Variance and standard deviation are confused",
        why="0.02 is the standard deviation, not the variance: its square root or its square scales the values "
        "wrongly.",
        fix="Use 0.02 as it is.",
        code=_INIT,
        example="table = math.sqrt(0.02) * jax.random.normal(key, (32, d_model))",
        reference=_INITIALIZERS,
        variants=(with_sigma("sqrt(0.02)", math.sqrt(0.02)), with_sigma("0.02**2", 0.02**2)),
    ),
    Mistake(
        id="embed-default",
        title="The table has the default initialisation of `nn.Embed`",
        why="`nn.Embed` draws with standard deviation 1 / sqrt(d_model) unless it is told otherwise.",
        fix="Give nn.Embed the initializer.",
        code="nn.Embed(32, d_model, embedding_init=nn.initializers.normal(0.02))",
        example="table = nn.Embed(32, d_model)",
        reference="https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/layers.html",
        variants=(
            Values(phrase="standard deviation 1 / sqrt(d_model), as `nn.Embed` has it", of=normal(by_width(-0.5))),
        ),
    ),
    Mistake(
        id="scaled-by-width",
        title="The table is scaled with its width",
        why="Token embeddings are multiplied by sqrt(d_model) in some models; the position table is returned as it is.",
        fix="Leave the factor out.",
        code="return pos_embed[:T].reshape(-1)",
        example="return (pos_embed[:T] * math.sqrt(d_model)).reshape(-1)",
        reference="https://arxiv.org/abs/1706.03762",
        variants=(
            Values(phrase="the table times sqrt(d_model)", of=normal(by_width(0.5, STDDEV))),
            Values(phrase="the table divided by sqrt(d_model)", of=normal(by_width(-0.5, STDDEV))),
        ),
    ),
    Mistake(
        id="xavier-normal",
        title="A fan-scaled normal initialisation is used (Xavier, He)",
        why="Those initializers scale with the table's shape, and cut the normal distribution at two standard "
        "deviations.",
        fix="Use normal(stddev=0.02).",
        code=_INIT,
        example="init = nn.initializers.xavier_normal()",
        reference=_INITIALIZERS,
        variants=tuple(
            Values(phrase=f"`{name}` for its initializer", of=truncated(factor))
            for name, factor in (
                ("xavier_normal()", lambda d: rows_and(2)(d) / CORRECTION),
                ("lecun_normal()", lambda _: math.sqrt(1 / 32) / CORRECTION),
                ("he_normal()", lambda _: math.sqrt(2 / 32) / CORRECTION),
            )
        ),
    ),
    Mistake(
        id="xavier-uniform",
        title="A fan-scaled uniform initialisation is used (Xavier, He)",
        why="Those initializers draw uniform numbers within limits that depend on the table's shape.",
        fix="Use normal(stddev=0.02).",
        code=_INIT,
        example="init = nn.initializers.xavier_uniform()",
        reference=_INITIALIZERS,
        variants=tuple(
            Values(phrase=f"`{name}` for its initializer", of=uniform(limit, symmetric=True))
            for name, limit in (
                ("xavier_uniform()", rows_and(6)),
                ("lecun_uniform()", lambda _: math.sqrt(3 / 32)),
                ("he_uniform()", lambda _: math.sqrt(6 / 32)),
            )
        ),
    ),
    Mistake(
        id="truncated-normal",
        title="The normal distribution is cut at two standard deviations",
        why="BERT's own code draws a truncated normal, whose uniform and so whose every value differs; this table is "
        "drawn from a plain normal distribution.",
        fix="Use normal in place of truncated_normal.",
        code=_INIT,
        example="init = nn.initializers.truncated_normal(stddev=0.02)",
        reference="https://docs.jax.dev/en/latest/_autosummary/jax.random.truncated_normal.html",
        variants=(
            Values(phrase="a normal distribution truncated at two sigma", of=truncated(lambda _: STDDEV)),
            Values(
                phrase="a normal distribution truncated at two sigma, rescaled to standard deviation 0.02",
                of=truncated(lambda _: STDDEV / CORRECTION),
            ),
        ),
    ),
    Mistake(
        id="uniform",
        title="The numbers are uniform, not normal",
        why="The table is drawn from a normal distribution.",
        fix="Use normal in place of uniform.",
        code=_INIT,
        example="init = nn.initializers.uniform(0.02)",
        reference=_INITIALIZERS,
        variants=(
            Values(phrase="uniform numbers from 0 to 0.02", of=uniform(lambda _: STDDEV, symmetric=False)),
            Values(phrase="uniform numbers from -0.02 to 0.02", of=uniform(lambda _: STDDEV, symmetric=True)),
            Values(phrase="uniform numbers from 0 to 0.01", of=uniform(lambda _: 0.01, symmetric=False)),
            Values(phrase="uniform numbers from 0 to 1", of=uniform(lambda _: 1.0, symmetric=False)),
            Values(phrase="uniform numbers from -0.05 to 0.05", of=uniform(lambda _: 0.05, symmetric=True)),
            Values(phrase="uniform numbers from -0.1 to 0.1", of=uniform(lambda _: 0.1, symmetric=True)),
            Values(phrase="uniform numbers from -1 to 1", of=uniform(lambda _: 1.0, symmetric=True)),
        ),
    ),
    Mistake(
        id="bfloat16-parameter",
        title="The parameter is bfloat16",
        why="JAX draws a bfloat16 normal from 7 of the random bits and rounds every step, so its values are others, "
        "not rounded ones.",
        fix="Initialise the parameter in float32.",
        code="self.param('pos_embed', init, (32, d_model), jnp.float32)",
        example="self.param('pos_embed', init, (32, d_model), jnp.bfloat16)",
        reference="https://github.com/jax-ml/jax/issues/2274",
        variants=(low_precision_parameter(to_bfloat16, 0xFF, 1, "a bfloat16 parameter"),),
        streams=("partitionable",),
        implies=("bfloat16",),
    ),
    Mistake(
        id="float16-parameter",
        title="The parameter is float16",
        why="JAX draws a float16 normal from 10 of the random bits and rounds every step, so its values are others, "
        "not rounded ones.",
        fix="Initialise the parameter in float32.",
        code="self.param('pos_embed', init, (32, d_model), jnp.float32)",
        example="self.param('pos_embed', init, (32, d_model), jnp.float16)",
        reference="https://github.com/jax-ml/jax/issues/3062",
        variants=(low_precision_parameter(to_float16, 0xFFFF, 6, "a float16 parameter"),),
        streams=("partitionable",),
        implies=("float16",),
    ),
    Mistake(
        id="rounded-to-bfloat16",
        title="The float32 values were rounded to bfloat16",
        why="A cast to bfloat16 keeps 8 bits of each value, and casting back does not bring the others back.",
        fix="Keep float32 throughout.",
        code="pos_embed = pos_embed.astype(jnp.float32)  # and no bfloat16 before",
        example="return pos_embed[:T].astype(jnp.bfloat16).astype(jnp.float32).reshape(-1)",
        reference="https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/half_precision.html",
        variants=(rounded_values(to_bfloat16, "its values rounded to bfloat16"),),
        implies=("bfloat16",),
    ),
    Mistake(
        id="rounded-to-float16",
        title="The float32 values were rounded to float16",
        why="A cast to float16 keeps 11 bits of each value, and casting back does not bring the others back.",
        fix="Keep float32 throughout.",
        code="pos_embed = pos_embed.astype(jnp.float32)  # and no float16 before",
        example="return pos_embed[:T].astype(jnp.float16).astype(jnp.float32).reshape(-1)",
        reference="https://docs.jax.dev/en/latest/type_promotion.html",
        variants=(rounded_values(to_float16, "its values rounded to float16"),),
        implies=("float16",),
    ),
    Mistake(
        id="input-added",
        title="The input is added to the table's rows",
        why="The function returns the position vectors alone; a dummy input of ones adds one to every value.",
        fix="Return the table's rows without the input.",
        code="return pos_embed[:T].reshape(-1)",
        example="return (x + pos_embed[:T]).reshape(-1)  # x = jnp.ones((T, d_model))",
        reference="https://arxiv.org/abs/1810.04805",
        variants=(Values(phrase="an input of ones added", of=plus_one, exact=plus_one_exactly, bits=14),),
    ),
    Mistake(
        id="finer-uniform",
        title="The uniform has more than 23 bits",
        why="`jax.random.uniform` uses the upper 23 of 32 random bits; more bits put each value between its draw and "
        "the next one.",
        fix="Drop the lower nine bits.",
        code="draw = bits >> 9",
        example="uniform = bits / 2**32",
        reference="https://github.com/jax-ml/jax/blob/main/jax/_src/random.py",
        variants=(
            Observed(phrase="a uniform of 32 bits"),
            Observed(phrase="a uniform of 24 bits"),
        ),
    ),
    Mistake(
        id="too-few-digits",
        title="The numbers are printed with too few digits",
        why="A float32 needs 9 significant digits as text; `%f` of printf, `std::to_string` and `cout` print 6.",
        fix="Print 9 significant digits, or send the bytes.",
        code='printf("%.9g", x);',
        example='printf("%f", x);',
        reference="https://en.cppreference.com/w/cpp/types/numeric_limits/max_digits10",
        variants=(
            Observed(phrase="6 digits after the point (%f of printf)"),
            Observed(phrase="6 significant digits (%g of printf)"),
        ),
    ),
)
