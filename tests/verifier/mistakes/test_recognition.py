"""Each implementation of the zoo, called in this process, is recognised by its values; most are made with real JAX."""

import importlib.util
import sys

import numpy as np
import pytest

from posvec.verifier.mistakes.catalogue import BY_ID
from posvec.verifier.mistakes.parts import Args, Dtype, Observed, Shape
from posvec.verifier.mistakes.search import search
from posvec.verifier.specimens import SPECIMENS, ZOO
from tests.verifier.mistakes.conftest import evidence_of

CALLS = [
    Args(*args)
    for args in [
        (1, 2, 3), (2, 4, 3), (42, 2, 4), (2**31, 3, 4), (2**32 + 5, 2, 3), (1, 1, 3), (0, 3, 3), (7, 2, 3), (5, 3, 34),
        (7, 32, 2), (-1, 2, 3),
    ]
]  # fmt: skip


def by_values(specimen):
    """Return what the values alone must tell of a specimen."""
    (ids,) = specimen.mistakes
    return tuple(i for i in ids if not isinstance(BY_ID[i].variants[0], Dtype | Shape))


def is_told_by_values(specimen):
    if not specimen.mistakes or "cached" in specimen.mistakes[0]:  # which the order of the calls decides
        return False
    told = by_values(specimen)
    numbers = [BY_ID[i].variants[0] for i in told]
    containers = {"scalar", "list", "tuple"}
    return bool(told) and not containers & set(told) and not any(isinstance(v, Observed) for v in numbers)


@pytest.fixture
def specimen_function(monkeypatch):
    """Load a function of the zoo; what such functions change in JAX, Flax and NumPy is set back."""
    monkeypatch.syspath_prepend(str(ZOO))
    state = np.random.get_state()

    def load(specimen):
        for name in specimen.needs:
            pytest.importorskip(name)
        spec = importlib.util.spec_from_file_location(specimen.file, ZOO / f"{specimen.file}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, specimen.file, module)
        spec.loader.exec_module(module)
        return getattr(module, specimen.name)

    yield load
    np.random.set_state(state)
    if "flax" in sys.modules:
        sys.modules["flax"].config.update("flax_fix_rng_separator", False)


# Compiling for JAX and loading Torch take minutes.
CHOSEN = [
    pytest.param(
        specimen, id=f"{specimen.label}-{specimen.options[-1]}", marks=[pytest.mark.slow] if specimen.needs else []
    )
    for specimen in SPECIMENS
    if is_told_by_values(specimen)
]


@pytest.mark.parametrize("specimen", CHOSEN)
def test_the_values_of_a_wrong_implementation_tell_its_mistakes(specimen, specimen_function, world):
    stream = "original" if "original" in specimen.options else "partitionable"
    # NumPy's generator refuses negative seeds, as it does in a run.
    calls = [args for args in CALLS if args.seed >= 0 or specimen.name != "default_rng"]
    found = search(world(calls, stream), evidence_of(specimen_function(specimen), calls))
    assert [one.hypothesis.ids for one in found] == [by_values(specimen)]


def test_most_of_the_catalogue_has_an_implementation_in_the_zoo():
    told = {i for specimen in SPECIMENS for ids in specimen.mistakes for i in ids}
    missing = set(BY_ID) - told
    # Each of these is made with a variable of the environment, with a library that is not installed here, or not named.
    assert missing == {"nnx-first-key", "seed-offset", "other-prng", "float16", "bfloat16"}
