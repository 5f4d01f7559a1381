"""Reading JSON values strictly: a field of the wrong type is an error, never converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def read(data: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """Return ``data[name]``, which must be of exactly this type (a bool is no int).

    Raises:
        KeyError: There is no such field.
        TypeError: It is of another type, or ``data`` is no object.

    """
    if not isinstance(data, Mapping):
        raise TypeError(f"an object with {name!r} was expected, got {type(data).__name__}")
    value = data[name]
    if type(value) is not kind:
        raise TypeError(f"{name} must be {kind.__name__}, got {type(value).__name__}")
    return value


def one_of(value: T, allowed: Sequence[T]) -> T:
    """Return ``value`` if it is among ``allowed``.

    Raises:
        ValueError: It is not.

    """
    if value not in allowed:
        raise ValueError(f"one of {', '.join(map(str, allowed))} was expected, got {value!r}")
    return value
