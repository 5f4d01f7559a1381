"""Runs implementations in their own processes and judges what they return. Never imports JAX or Flax."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posvec.verifier.known_cases import NotConforming, cases
    from posvec.verifier.serving import serve

__all__ = ["NotConforming", "cases", "serve"]


def __getattr__(name: str) -> object:
    """Load what is public here only when it is asked for: the command starts without it."""
    if name == "serve":
        from posvec.verifier.serving import serve

        return serve
    if name in ("NotConforming", "cases"):
        from posvec.verifier import known_cases

        return getattr(known_cases, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
