"""The manifest of a golden file that is a list of cases: inputs of any kind, arrays among them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posvec.schemas.manifest import FORMAT, FORMAT_VERSION, LICENSE, check_text, matching
from posvec.schemas.reading import read
from posvec.schemas.suite import Suite

SCHEMA_FILE = "golden-cases.schema.json"
STORAGE = "cases"
MAX_RANK = 8
MOST_CASES = 10_000
_LARGEST_ARRAY = 2**28
_ID_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[A-Za-z0-9_.+-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LEVEL = re.compile(r"exact|equivalent|ulp:[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEntry:
    """One case, but for its arrays.

    Attributes:
        id: ``vit_embed/B=2/N=5/D=6``.
        args: Integers and floats by name; for an array its shape.
        shape: Shape of the expected array; None if the function must raise.
        accept: Whether accept intervals are stored; without, only the expected value itself is ``equivalent``.
        neighbour: For a case that must raise, the id of a case nearby that must not.

    """

    id: str
    args: Mapping[str, Any]
    shape: tuple[int, ...] | None
    accept: bool = False
    neighbour: str | None = None

    @property
    def axes(self) -> dict[str, str]:
        """What tells this case from the others: the parts of its id."""
        return dict(part.split("=", 1) for part in self.id.split("/")[1:])

    def to_dict(self) -> dict[str, Any]:
        """Return the case as JSON values."""
        return {
            "id": self.id,
            "args": {name: list(value) if isinstance(value, tuple) else value for name, value in self.args.items()},
            "must_raise": self.shape is None,
            "shape": None if self.shape is None else list(self.shape),
            "accept": self.accept,
            "neighbour": self.neighbour,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], suite: Suite) -> CaseEntry:
        """Read what :meth:`to_dict` wrote."""
        given = read(data, "args", dict)
        if list(given) != [parameter.name for parameter in suite.parameters]:
            raise ValueError(f"a case must have the arguments of {suite.function}")
        args: dict[str, Any] = {}
        for parameter in suite.parameters:
            value: Any = given[parameter.name]
            if parameter.kind == "array":
                args[parameter.name] = _shape(value)
            elif parameter.kind == type(value).__name__ and math.isfinite(value):
                args[parameter.name] = value
            else:
                raise TypeError(f"{parameter.name} must be a finite {parameter.kind}")
        shape = None if read(data, "must_raise", bool) else _shape(data["shape"])
        neighbour, accept = data["neighbour"], read(data, "accept", bool)
        if (shape is None) != (neighbour is not None) or (accept and shape is None):
            raise ValueError("a case that must raise has a neighbour and no shape, and no other case has")
        found = read(data, "id", str)
        name, *parts = found.split("/")
        if name != suite.name or not parts or not all(_ID_PART.fullmatch(part) for part in parts):
            raise ValueError(f"{found[:80]!r} is no id of a case of {suite.name}")
        return cls(id=found, args=args, shape=shape, accept=accept, neighbour=neighbour)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseManifest:
    """Everything about such a golden file but its numbers.

    Attributes:
        suite: The function under test.
        cases: The cases, in order; ``cases/0000`` and so on in the file hold their arrays.
        command: The command that makes this file, in normal form.
        posvec: Version of posvec that wrote it.
        content_sha256: Digest of the content: this manifest without the digest, and every dataset.

    """

    suite: Suite
    cases: tuple[CaseEntry, ...]
    command: str
    posvec: str
    content_sha256: str = ""

    @property
    def name(self) -> str:
        """What case ids and file names begin with."""
        return self.suite.name

    @property
    def elements(self) -> int:
        """Number of values compared in all cases together."""
        return sum(math.prod(case.shape) for case in self.cases if case.shape is not None)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CaseManifest:
        """Read what :meth:`to_dict` wrote, strictly.

        Raises:
            KeyError, TypeError, ValueError: A field is missing, of the wrong type, or outside what is allowed.

        """
        check_text(data)
        suite = Suite.from_dict(read(data, "suite", dict))
        if not _NAME.fullmatch(suite.name) or not _LEVEL.fullmatch(suite.default_match):
            raise ValueError("the suite's name or default level is out of range")
        listed = read(data, "cases", list)
        if not 0 < len(listed) <= MOST_CASES:
            raise ValueError(f"a file must hold 1 to {MOST_CASES:,} cases, got {len(listed):,}")
        cases = tuple(CaseEntry.from_dict(case, suite) for case in listed)
        ids = {case.id: case for case in cases}
        if len(ids) != len(cases):
            raise ValueError("two cases have the same id")
        for case in cases:
            near = None if case.neighbour is None else ids.get(case.neighbour)
            if case.neighbour is not None and (near is None or near.shape is None):
                raise ValueError(f"the neighbour of {case.id} must be a case that does not raise")
        provenance = read(data, "provenance", dict)
        return cls(
            suite=suite,
            cases=cases,
            command=read(provenance, "command", str),
            posvec=read(provenance, "posvec", str),
            content_sha256=matching(read(data, "content_sha256", str), _SHA256),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as JSON values, in the order in which people read it."""
        return {
            "$schema": SCHEMA_FILE,
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "name": self.name,
            "license": LICENSE,
            "suite": self.suite.to_dict(),
            "counts": {
                "cases": len(self.cases),
                "must_raise": sum(case.shape is None for case in self.cases),
                "elements": self.elements,
            },
            "storage": {"kind": STORAGE},
            "cases": [case.to_dict() for case in self.cases],
            "provenance": {"command": self.command, "posvec": self.posvec},
            "content_sha256": self.content_sha256,
        }

    def to_json(self) -> str:
        """Return the text of the manifest beside and inside the golden file."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=True) + "\n"


def _shape(value: object) -> tuple[int, ...]:
    if type(value) is not list or len(value) > MAX_RANK or not all(type(n) is int and n >= 0 for n in value):
        raise TypeError("a shape must be a list of lengths")
    if math.prod(value) > _LARGEST_ARRAY:
        raise ValueError(f"an array must have at most {_LARGEST_ARRAY:,} elements")
    return tuple(value)
