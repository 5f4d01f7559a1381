"""Mistakes that no output alone shows: what is seen by calling again; and what cannot be recomputed."""

from __future__ import annotations

from posvec.verifier.mistakes.parts import Mistake, Observed

MISTAKES = (
    Mistake(
        id="not-repeatable",
        title="The same call gives something else each time",
        why="The output does not depend on the arguments alone: a generator without a seed, the clock, or a global "
        "state.",
        fix="Make the key from the seed in every call.",
        code="key = jax.random.PRNGKey(seed)",
        example="table = 0.02 * np.random.randn(32, d_model)",
        reference="https://docs.jax.dev/en/latest/random-numbers.html",
        variants=(Observed(phrase="other bytes at a second call"),),
    ),
    Mistake(
        id="depends-on-calls",
        title="What a call returns depends on the calls before it",
        why="Some state outlives a call: a generator that goes on, a counter, a cache, an array that is changed in "
        "place.",
        fix="Start each call from its arguments alone.",
        code="key = jax.random.PRNGKey(seed)",
        example="rngs = nnx.Rngs(0)  # at the top of the module, used by every call",
        reference="https://flax.readthedocs.io/en/latest/guides/randomness.html",
        variants=(Observed(phrase="other bytes in another order of calls"),),
    ),
    Mistake(
        id="shared-buffer",
        title="All calls return one buffer",
        why="An array that was returned changes when the function is called again.",
        fix="Return a new array each time.",
        code="return buffer[: T * d_model].copy()",
        example="buffer[: T * d_model] = table[:T].reshape(-1)\nreturn buffer[: T * d_model]",
        reference="https://numpy.org/doc/stable/user/basics.copies.html",
        variants=(Observed(phrase="results that later calls change"),),
    ),
    Mistake(
        id="other-prng",
        title="JAX's PRNG is not threefry",
        why="With the implementation rbg or unsafe_rbg the numbers come from the compiler's generator, which posvec "
        "does not recompute: this one is never named, but numbers of the right spread that nothing explains are a "
        "sign of it.",
        fix="Unset JAX_DEFAULT_PRNG_IMPL.",
        code="jax.config.update('jax_default_prng_impl', 'threefry2x32')",
        example="JAX_DEFAULT_PRNG_IMPL=rbg python homework.py",
        reference="https://docs.jax.dev/en/latest/_autosummary/jax.default_prng_impl.html",
        variants=(Observed(phrase="another PRNG"),),
    ),
)
