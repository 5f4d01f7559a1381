"""Mistakes in the arguments: a right function of something other than what it was given; and the other stream."""

from __future__ import annotations

from collections.abc import Callable

from posvec.verifier.mistakes.parts import Args, Arguments, Mistake, OtherStream, RunFacts

CONSTANTS = (0, 1, 42, 2, 3, 7, 10, 100, 123, 1234, 1337, 2023, 2024, 2025)
"""Seeds that people write into a program."""

_GIVEN = "key = jax.random.PRNGKey(seed)"


def _seed(change: Callable[[int], int]) -> Callable[[RunFacts], Callable[[Args], Args]]:
    return lambda _: lambda args: args._replace(seed=_wrapped(change(args.seed)))


def _wrapped(seed: int) -> int:
    """Return a seed as an integer of 64 bits, which is what NumPy and JAX compute with."""
    return (seed + 2**63) % 2**64 - 2**63


def _constant(value: int) -> Arguments:
    return Arguments(phrase=f"seed {value}, whatever seed was given", of=_seed(lambda _: value))


def _offset(facts: RunFacts) -> Callable[[Args], Args] | None:
    """Shift seeds by what the target's JAX says it adds to them."""
    said = (facts.environment or {}).get("jax_random_seed_offset")
    if not isinstance(said, str) or not said.lstrip("-").isdecimal() or len(said) > 20 or int(said) == 0:
        return None
    offset = int(said)
    return lambda args: args._replace(seed=_wrapped(args.seed + offset))


def _kept(names: str, same: Callable[[Args], tuple[int, ...]], *, own_rows: bool = False) -> Arguments:
    """Return the arguments of the first call of the run that a cache takes for this one."""

    def of(facts: RunFacts) -> Callable[[Args], Args]:
        first: dict[tuple[int, ...], Args] = {}
        for args in facts.order:
            first.setdefault(same(args), args)

        def change(args: Args) -> Args:
            kept = first.get(same(args), args)
            return kept._replace(T=args.T) if own_rows else kept

        return change

    return Arguments(phrase=f"the table of the first call with the same {names}, kept for all later ones", of=of)


def _swapped(args: Args) -> Args:
    return Args(args.seed, min(args.d_model, 32), args.T) if args.T else args


MISTAKES = (
    Mistake(
        id="seed-plus-one",
        title="The seed is one too large",
        why="Each seed has a table of its own: the next seed's table shares no value with it.",
        fix="Use the seed as it is given.",
        code=_GIVEN,
        example="key = jax.random.PRNGKey(seed + 1)",
        reference="https://docs.jax.dev/en/latest/_autosummary/jax.random.PRNGKey.html",
        variants=(
            Arguments(phrase="seed + 1", of=_seed(lambda seed: seed + 1)),
            Arguments(phrase="seed - 1", of=_seed(lambda seed: seed - 1)),
        ),
    ),
    Mistake(
        id="seed-offset",
        title="JAX_RANDOM_SEED_OFFSET shifts every seed",
        why="JAX adds that option to the seed that PRNGKey is given.",
        fix="Unset JAX_RANDOM_SEED_OFFSET.",
        code="jax.config.update('jax_random_seed_offset', 0)",
        example="JAX_RANDOM_SEED_OFFSET=5 python homework.py",
        reference="https://docs.jax.dev/en/latest/config_options.html",
        variants=(Arguments(phrase="seeds shifted by the jax_random_seed_offset that its process has", of=_offset),),
    ),
    Mistake(
        id="seed-ignored",
        title="The seed that was given is not used",
        why="Every call starts from the same seed, so all seeds give one table.",
        fix="Make the key from the argument.",
        code=_GIVEN,
        example="key = jax.random.PRNGKey(0)",
        reference="https://docs.jax.dev/en/latest/random-numbers.html",
        variants=tuple(map(_constant, CONSTANTS)),
    ),
    Mistake(
        id="seed-narrowed",
        title="Not all 32 bits of the seed are used",
        why="PRNGKey keeps the low 32 bits of a seed as they are, so 2**31 and -1 are seeds like any other.",
        fix="Keep the low 32 bits, without their sign.",
        code="low = seed & 0xFFFFFFFF",
        example="key = jax.random.PRNGKey(seed & 0x7FFFFFFF)",
        reference="https://docs.jax.dev/en/latest/_autosummary/jax.random.PRNGKey.html",
        variants=(
            Arguments(phrase="the low 31 bits of the seed", of=_seed(lambda seed: seed & 0x7FFFFFFF)),
            Arguments(phrase="the absolute value of the seed", of=_seed(abs)),
            Arguments(phrase="the seed modulo 2**32 - 1", of=_seed(lambda seed: seed % (2**32 - 1))),
        ),
    ),
    Mistake(
        id="arguments-swapped",
        title="T and d_model are swapped",
        why="The table then has T columns. In the stream of JAX 0.5 and later the first numbers of a table do not "
        "depend on its shape, so this shows only where d_model is larger than the table's 32 rows.",
        fix="Give the table 32 rows and d_model columns, and return its first T rows.",
        code="table = self.param('pos_embed', init, (32, d_model))[:T]",
        example="table = self.param('pos_embed', init, (32, T))[:d_model]",
        reference="https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/layers.html",
        variants=(Arguments(phrase="T and d_model swapped", of=lambda _: _swapped),),
    ),
    Mistake(
        id="cached",
        title="A result is kept and returned for other arguments too",
        why="The cache's key leaves an argument out, or a compiled function has an argument's first value built in, so "
        "later calls get what an earlier one computed.",
        fix="Make every argument part of the cache's key, or keep nothing.",
        code="@functools.cache\ndef table(seed, d_model): ...",
        example="if T not in cache:\n    cache[T] = forward(seed, T, d_model)\nreturn cache[T]",
        reference="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
        variants=(
            _kept("T", lambda args: (args.T,)),
            _kept("T and d_model", lambda args: (args.T, args.d_model)),
            _kept("d_model", lambda args: (args.d_model,), own_rows=True),
        ),
    ),
    Mistake(
        id="other-stream",
        title="The draws are those of the other random stream",
        why="JAX 0.5.0 turned jax_threefry_partitionable on, which changes every number that a key gives: older "
        "versions, and programs that turn it off, draw the stream `original`, all others `partitionable`.",
        fix="Set the flag that the vectors were made with, or verify with --stream.",
        code="jax.config.update('jax_threefry_partitionable', True)  # False: original",
        example="JAX_THREEFRY_PARTITIONABLE=0 python homework.py",
        reference="https://github.com/jax-ml/jax/issues/13346",
        variants=(
            OtherStream(phrase="the stream of JAX before 0.5, `original`", stream="original"),
            OtherStream(phrase="the stream of JAX 0.5 and later, `partitionable`", stream="partitionable"),
        ),
    ),
)
