"""Names that pytest's ``-k`` can tell apart: it takes no ``=``, and finds ``d_model=1`` in ``d_model=16``."""

from __future__ import annotations

import re

_PAIR = re.compile(r"(\w+)=([\w.+-]+)")


def keywords_of(name: str) -> list[str]:
    """Return ``d_model[4]`` for each ``d_model=4`` in the name of an item."""
    return [f"{argument}[{value}]" for argument, value in _PAIR.findall(name)]


def as_keyword(expression: str) -> str:
    """Return an expression of ``-k`` in which ``d_model=4`` is ``d_model[4]``, which matches no ``d_model=48``."""
    return _PAIR.sub(r"\1[\2]", expression)
