import pytest

from posvec.schemas.build import STREAMS
from posvec.verifier.mistakes.catalogue import BY_ID
from posvec.verifier.mistakes.confusion import SAME, confuse


@pytest.fixture(scope="module", params=[pytest.param(s, marks=pytest.mark.slow) for s in STREAMS])
def found(request):
    return confuse(request.param)


def test_every_pair_of_mistakes_differs_on_the_default_sweep_but_those_listed_with_a_reason(found):
    same = {
        frozenset((found.mistakes[i].id, found.mistakes[j].id))
        for i in range(len(found.mistakes))
        for j in range(i)
        if not found.differ[i, j]
    }
    listed = {pair for pair in SAME if pair <= {mistake.id for mistake in found.mistakes}}
    assert same == listed


def test_every_mistake_differs_from_the_reference_in_some_case(found):
    assert [mistake.id for mistake, wrong in zip(found.mistakes, found.wrong, strict=True) if not wrong] == []


def test_nothing_is_listed_that_is_not_in_the_catalogue():
    assert {name for pair in SAME for name in pair} <= set(BY_ID)
    assert all(reason.strip() for reason in SAME.values())


def test_the_nearest_pair_is_the_one_that_only_full_length_tells_apart(found):
    ids = [mistake.id for mistake in found.mistakes]
    near = [
        (int(found.differ[i, j]), {ids[i], ids[j]})
        for i in range(len(ids))
        for j in range(i)
        if found.differ[i, j] < 200
    ]
    assert near == [(63, {"rows-from-one", "rotated-rows"})]
