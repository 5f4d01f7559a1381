"""For whom a report is."""

from __future__ import annotations

from typing import Literal

Audience = Literal["instructor", "student"]
"""A student's report has no expected values, nor what they could be computed from."""
AUDIENCES: tuple[Audience, ...] = ("instructor", "student")
