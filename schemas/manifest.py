"""The manifest of a golden file: what is in it, where it came from and the digest that proves it whole."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from posvec.schemas.axes import Axis
from posvec.schemas.build import CANONICAL_LABEL, STREAMS, Build, Stream
from posvec.schemas.reading import one_of, read
from posvec.schemas.suite import Suite

FORMAT = "posvec-golden"
FORMAT_VERSION = 1
SCHEMA_FILE = "golden.schema.json"
LICENSE = "CC0-1.0"
EXPECTED_ID = "r00"
_LARGEST_SLACK = 65_535
_LONGEST_AXIS = 10**12
# 32 rows of d_model 2**20 with 32 recordings: what a reader must hold at once, 4 bytes each.
_LARGEST_TABLE = 2**30
_RECORDING_ID = re.compile(r"r[0-9]{2,4}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_CASE = re.compile(r"[^/]{1,200}/seed=(-?[0-9]{1,20})/d_model=([0-9]{1,20})/T=([0-9]{1,20})", re.ASCII)
LARGEST_SUBSET = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One set of bytes in a golden file and everything that returns them.

    Attributes:
        id: ``r00``, ``r01``, …: the name of its datasets of ULP differences.
        builds: The builds that returned exactly these bytes; empty if none was run.
        arithmetics: Arithmetics of the draw table that give exactly these bytes.

    """

    id: str
    builds: tuple[Build, ...]
    arithmetics: tuple[str, ...]

    @property
    def derived(self) -> bool:
        """Whether these bytes were computed from the draw table and returned by no build that was run."""
        return not self.builds

    @property
    def label(self) -> str:
        """The first name of these bytes for people; ``r00`` is ``expected``, the canonical build's."""
        if self.id == EXPECTED_ID:
            return CANONICAL_LABEL
        return min(self.builds, key=_canonical_first).label if self.builds else f"{self.arithmetics[0]} (derived)"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recording:
        """Read what :meth:`to_dict` wrote."""
        arithmetics = read(data, "arithmetics", list)
        if not all(type(name) is str for name in arithmetics) or len(set(arithmetics)) != len(arithmetics):
            raise TypeError("arithmetics must be distinct names")
        builds = tuple(Build.from_dict(build) for build in read(data, "builds", list))
        if not builds and not arithmetics:
            raise ValueError("a recording must come from a build or an arithmetic")
        return cls(
            id=matching(read(data, "id", str), _RECORDING_ID),
            builds=builds,
            arithmetics=tuple(arithmetics),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the recording as JSON values."""
        return {
            "id": self.id,
            "source": "derived" if self.derived else "recorded",
            "arithmetics": list(self.arithmetics),
            "builds": [build.to_dict() for build in self.builds],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything about a golden file but its numbers.

    Attributes:
        suite: The function under test.
        stream: Which integers a seed gives.
        axes: The values of each argument.
        subset: The cases, if they are not all combinations: ``(seed, d_model, T)`` of each, in the order of the axes.
        rows: Rows of each stored table; a case's expected array is the first ``T * d_model`` elements of one.
        expected: Id of the recording that is ``expected``.
        recordings: All recordings; the first is ``expected``.
        slack_ulp: ULP added on either side of the span of the known values to get the accept interval.
        draw_table_sha256: Content digest of the draw table that the intervals come from.
        command: The command that makes this file, in normal form.
        posvec: Version of posvec that wrote it.
        content_sha256: Digest of the content: this manifest without the digest, and every dataset.

    """

    suite: Suite
    stream: Stream
    axes: Mapping[str, Axis]
    rows: int
    recordings: tuple[Recording, ...]
    slack_ulp: int
    draw_table_sha256: str
    command: str
    posvec: str
    subset: tuple[tuple[int, int, int], ...] = ()
    content_sha256: str = ""

    @property
    def name(self) -> str:
        """What case ids and file names begin with: the suite, and the stream unless it is the default."""
        return self.suite.name if self.stream == "partitionable" else f"{self.suite.name}.{self.stream}"

    @property
    def cases(self) -> int:
        """Number of cases: those of the subset, else the product of the axes' lengths."""
        if self.subset:
            return len(self.subset)
        product = 1
        for axis in self.axes.values():
            product *= len(axis)
        return product

    @property
    def elements(self) -> int:
        """Number of floats compared in all cases together."""
        if self.subset:
            return sum(T * d_model for _, d_model, T in self.subset)
        return len(self.axes["seed"]) * self.axes["T"].total * self.axes["d_model"].total

    @property
    def expected_source(self) -> Literal["recorded", "derived"]:
        """Whether the canonical build itself was run, or its bytes were computed from the draw table."""
        return "recorded" if any(build.is_canonical for build in self.recordings[0].builds) else "derived"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Manifest:
        """Read what :meth:`to_dict` wrote, strictly.

        A document that ``golden.schema.json`` refuses either raises here or is not what :meth:`to_json` writes.

        Raises:
            KeyError, TypeError, ValueError: A field is missing, of the wrong type, or outside what is allowed.

        """
        check_text(data)
        suite = Suite.from_dict(read(data, "suite", dict))
        axes, accept = read(data, "axes", dict), read(data, "accept", dict)
        provenance = read(data, "provenance", dict)
        recordings = tuple(Recording.from_dict(recording) for recording in read(data, "recordings", list))
        rows, slack = read(read(data, "storage", dict), "rows", int), read(accept, "slack_ulp", int)
        ids = [recording.id for recording in recordings]
        if len(set(ids)) != len(ids) or ids[:1] != [EXPECTED_ID]:
            raise ValueError(f"recordings must begin with {EXPECTED_ID} and have distinct ids")
        if rows < 1 or not 0 <= slack <= _LARGEST_SLACK or not _NAME.fullmatch(suite.name) or suite.output.rank < 0:
            raise ValueError("rows, slack_ulp, name or rank is out of range")
        axes = {p.name: p.parse(read(axes, p.name, str), option=f"axes.{p.name}") for p in suite.parameters}
        if len(suite.parameters) != len(axes):
            raise ValueError("two parameters have the same name")
        _check_axes(axes, rows=rows, recordings=len(recordings))
        name = suite.name if data["stream"] == "partitionable" else f"{suite.name}.{data['stream']}"
        subset = _read_subset(read(data, "subset", list), name, axes) if "subset" in data else ()
        return cls(
            suite=suite,
            stream=one_of(read(data, "stream", str), STREAMS),  # type: ignore[arg-type]
            axes=axes,
            rows=rows,
            recordings=recordings,
            slack_ulp=slack,
            draw_table_sha256=matching(read(accept, "draw_table_sha256", str), _SHA256),
            command=read(provenance, "command", str),
            posvec=read(provenance, "posvec", str),
            subset=subset,
            content_sha256=matching(read(data, "content_sha256", str), _SHA256),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as JSON values, in the order in which people read it."""
        expected = self.recordings[0]
        return {
            "$schema": SCHEMA_FILE,
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "name": self.name,
            "license": LICENSE,
            "suite": self.suite.to_dict(),
            "stream": self.stream,
            "axes": {name: str(axis) for name, axis in self.axes.items()},
            **({"subset": [case_id(self.name, *case) for case in self.subset]} if self.subset else {}),
            "counts": {
                "cases": self.cases,
                "elements": self.elements,
                "tables": len(self.axes["seed"]) * len(self.axes["d_model"]),
                "recordings": len(self.recordings),
                "builds": sum(len(recording.builds) for recording in self.recordings),
            },
            "storage": {"kind": "prefix", "rows": self.rows},
            "expected": {"recording": expected.id, "label": expected.label, "source": self.expected_source},
            "accept": {"slack_ulp": self.slack_ulp, "draw_table_sha256": self.draw_table_sha256},
            "recordings": [recording.to_dict() for recording in self.recordings],
            "provenance": {"command": self.command, "posvec": self.posvec},
            "content_sha256": self.content_sha256,
        }

    def to_json(self) -> str:
        """Return the text of the manifest beside and inside the golden file."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=True) + "\n"


def case_id(name: str, seed: int, d_model: int, T: int) -> str:
    """Return the id of a case of the vectors called ``name``: it never changes."""
    return f"{name}/seed={seed}/d_model={d_model}/T={T}"


def _read_subset(ids: list[Any], name: str, axes: Mapping[str, Axis]) -> tuple[tuple[int, int, int], ...]:
    """Return what the ids of a subset mean; they must be on the axes, in their order, and distinct."""
    subset: list[tuple[int, int, int]] = []
    places: list[tuple[int, ...]] = []
    if not 0 < len(ids) <= LARGEST_SUBSET:
        raise ValueError(f"a subset must have 1 to {LARGEST_SUBSET:,} cases, got {len(ids):,}")
    for text in ids:
        match = _CASE.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise TypeError(f"a subset must hold ids, got {str(text)[:80]!r}")
        seed, d_model, T = (int(number) for number in match.groups())
        if case_id(name, seed, d_model, T) != text:
            raise ValueError(f"{text[:80]!r} is no id of a case of {name}")
        places.append((axes["seed"].index(seed), axes["d_model"].index(d_model), axes["T"].index(T)))
        subset.append((seed, d_model, T))
    if any(after <= before for before, after in pairwise(places)):
        raise ValueError("a subset must be in the order of the axes, each case once")
    return tuple(subset)


def _check_axes(axes: Mapping[str, Axis], *, rows: int, recordings: int) -> None:
    """Check what the tables of a golden file take for granted, whatever the suite in the manifest allows."""
    if set(axes) != {"seed", "T", "d_model"}:
        raise ValueError(f"the axes must be seed, T and d_model, got {', '.join(axes)}")
    seed, T, d_model = axes["seed"], axes["T"], axes["d_model"]
    if seed.lowest < -(2**63) or seed.highest >= 2**63 or T.lowest < 0 or T.highest > rows or d_model.lowest < 1:
        raise ValueError("axes must be seeds of 64 bits, T of at most the rows of a table, d_model of at least 1")
    if any(last - first >= _LONGEST_AXIS for axis in axes.values() for first, last in axis.ranges):
        raise ValueError(f"an axis must have at most {_LONGEST_AXIS:,} values")
    if rows * d_model.highest * recordings > _LARGEST_TABLE:
        raise ValueError(f"all recordings of a table must have at most {_LARGEST_TABLE:,} elements together")


def check_text(value: Any) -> None:
    """Check that every text in a JSON value can be shown: no control characters, no lone surrogates."""
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            pending += [*found, *found.values()]
        elif isinstance(found, list):
            pending += found
        elif isinstance(found, str) and not found.isprintable():
            raise ValueError(f"a text must have no control characters, got {found[:80]!r}")


def _canonical_first(build: Build) -> tuple[bool, bool, bool, bool, str]:
    return (
        not build.is_canonical,
        build.jax != "0.10.2",
        build.mode != "eager",
        build.isa == "native",
        build.id,
    )


def matching(text: str, pattern: re.Pattern[str]) -> str:
    """Return ``text`` if all of it matches ``pattern``; ValueError if not."""
    if pattern.fullmatch(text) is None:
        raise ValueError(f"{text[:80]!r} does not match {pattern.pattern}")
    return text
