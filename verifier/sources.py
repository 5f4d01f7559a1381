"""Where the cases of a run come from: the golden file asked for, fresh derivation, or both."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posvec.schemas.build import Stream
from posvec.schemas.errors import InvalidArgument
from posvec.vectors.case_golden import CaseGolden, open_golden
from posvec.vectors.golden import Golden
from posvec.vectors.known import Vectors

FRESH_LIMIT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The vectors of a run, what a report says about them, and the golden file opened."""

    vectors: Sequence[Vectors]
    facts: dict[str, str]
    golden: Golden | CaseGolden


def find_vectors(
    *, path: Path, stream: Stream | None, fresh: int | None, fresh_seed: int | None, golden: bool
) -> Sources:
    """Open what the options ask for.

    Raises:
        InvalidArgument: The options contradict each other or a value is out of range.
        VectorsError: A golden file or the draw table is missing or damaged.

    """
    if fresh is None and (golden or fresh_seed is not None):
        raise InvalidArgument("--golden" if golden else "--fresh-seed", "no --fresh", "given beside --fresh N")
    if fresh is not None and not 1 <= fresh <= FRESH_LIMIT:
        raise InvalidArgument("--fresh", fresh, f"a number of cases from 1 to {FRESH_LIMIT}")
    if fresh_seed is not None and not 0 <= fresh_seed < 2**64:
        raise InvalidArgument("--fresh-seed", fresh_seed, "within 0..2**64-1")
    opened = open_golden(path)
    if stream is not None and opened.stream != stream:
        raise InvalidArgument("--stream", stream, f"{opened.stream or 'left out'}, for the vectors of {opened.path}")
    facts = {"name": opened.name, "stream": opened.stream or "", "source": "golden", "fresh_seed": ""}
    found: list[Vectors] = []
    if fresh is None or golden:
        found.append(opened)
        facts |= {"file": str(opened.path), "content_sha256": opened.manifest.content_sha256}
    if fresh is not None and isinstance(opened, CaseGolden):
        raise InvalidArgument("--fresh", fresh, f"left out: every case of {opened.name} is in its golden file")
    if fresh is not None and isinstance(opened, Golden):
        from posvec.vectors.draws import DrawTable
        from posvec.vectors.fresh import FreshVectors

        chosen = fresh_seed if fresh_seed is not None else secrets.randbits(32)
        found.append(
            FreshVectors(
                suite=opened.suite,
                stream=opened.stream,
                count=fresh,
                choice_seed=chosen,
                table=DrawTable.load(),
                like=opened.recordings,
                avoid=opened.manifest.axes["seed"],
            )
        )
        facts |= {"source": "golden and fresh" if golden else "fresh", "fresh_seed": str(chosen)}
    return Sources(vectors=found, facts=facts, golden=opened)
