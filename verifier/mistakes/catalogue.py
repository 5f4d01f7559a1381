"""The catalogue: every known mistake, in the order in which they are listed; each is declared in one module only."""

from __future__ import annotations

from difflib import get_close_matches

from posvec.schemas.errors import InvalidArgument
from posvec.verifier.mistakes import arguments, behaviours, generators, keys, layouts, rows, values
from posvec.verifier.mistakes.parts import Mistake

CATALOGUE: tuple[Mistake, ...] = tuple(
    mistake
    for module in (keys, arguments, generators, values, rows, layouts, behaviours)
    for mistake in module.MISTAKES
)
BY_ID = {mistake.id: mistake for mistake in CATALOGUE}


def find(name: str) -> Mistake:
    """Return the mistake called ``name``.

    Raises:
        InvalidArgument: There is none; the nearest is named.

    """
    if name in BY_ID:
        return BY_ID[name]
    near = get_close_matches(name, BY_ID, n=1, cutoff=0.3)
    hint = f"the nearest is {near[0]!r}" if near else "`posvec mistakes` lists them"
    raise InvalidArgument("ID", name, "the id of a known mistake", hint=hint)
