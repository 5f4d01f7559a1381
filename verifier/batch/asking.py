"""From what was asked to the settings of a batch: the golden file is opened once before anything runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from posvec.schemas.build import Stream
from posvec.schemas.errors import InvalidArgument
from posvec.vectors.files import locate
from posvec.verifier.batch.settings import Settings
from posvec.verifier.match import Match
from posvec.verifier.plan import Plan, Request
from posvec.verifier.running.target import Target
from posvec.verifier.sources import Sources, find_vectors


def settle(
    *,
    match: str | None = None,
    vectors: Path | None = None,
    suite: str | None = None,
    stream: Stream | None = None,
    select: str | None = None,
    every: bool = False,
    fresh: int | None = None,
    fresh_seed: int | None = None,
    timeout: float = 10.0,
    start_timeout: float = 60.0,
    limit: float = 300.0,
    memory: int | None = None,
    python: str | None = None,
    before: dict[str, Any] | None = None,
    local: bool = True,
) -> tuple[Settings, dict[str, str]]:
    """Return the settings of a batch, and what reports say of them.

    ``memory`` is in MiB; ``before`` are the settings of an earlier run whose results are in the same folder: fresh
    cases are chosen as they were then, so that its results can be kept. Not ``local``: it runs on other machines.

    Raises:
        InvalidArgument: A value is not allowed, or values contradict each other.
        VectorsError: The golden file is missing or damaged.

    """
    if memory is not None and memory < 1:
        raise InvalidArgument("--memory", memory, "a number of MiB above 0")
    if every and fresh is not None:
        raise InvalidArgument("--all", "with --fresh", "left out: fresh cases are instead of golden ones, and all run")
    if fresh is not None and fresh_seed is None and before is not None and before.get("fresh") == fresh:
        fresh_seed = before.get("fresh_seed") if type(before.get("fresh_seed")) is int else None
    level = Match.parse(match) if match is not None else None
    path = locate(vectors, stream, suite=suite)
    sources = find_vectors(path=path, stream=stream, fresh=fresh, fresh_seed=fresh_seed, golden=False)
    settings = Settings(
        match=str(level or Match.parse(sources.golden.suite.default_match)),
        vectors=None if vectors is None else str(path.resolve()),
        suite=suite,
        stream=stream,
        digest=sources.golden.manifest.content_sha256,
        quick=not every and fresh is None and select is None,
        fresh=fresh,
        fresh_seed=int(sources.facts["fresh_seed"]) if sources.facts["fresh_seed"] else None,
        select=select,
        timeout=timeout,
        start_timeout=start_timeout,
        limit=limit,
        memory=None if memory is None else memory * 2**20,
        python=_interpreter(python) if local else python,
    )
    return settings, _facts(settings, sources)


def _interpreter(python: str | None) -> str | None:
    """Return where the interpreter is, found from here: each submission runs in a folder of its own."""
    if python is None:
        return None
    found = shutil.which(python)
    if found is None:
        raise InvalidArgument("--python", python, "the path of a Python interpreter")
    return os.path.abspath(found)  # noqa: PTH100 - not resolve(): a virtual environment is known by the link's name


def _facts(settings: Settings, sources: Sources) -> dict[str, str]:
    """Say what was asked, label by label."""
    plan = Plan(
        Request(
            target=Target(text="", path=Path()),
            match=Match.parse(settings.match),
            vectors=sources.vectors,
            vectors_facts=sources.facts,
            golden=sources.golden,
            select=settings.select,
            quick=settings.quick,
        )
    )
    cases = f"{len(plan.selection.cases):,} of {plan.selection.total:,}"
    if settings.fresh is not None:
        cases = f"{settings.fresh:,} fresh ones, the same for all: --fresh-seed {settings.fresh_seed}"
    elif settings.quick and len(plan.selection.cases) < plan.selection.total:
        cases += " (--all runs them all)"
    return {
        "vectors": sources.facts["name"],
        "golden file": settings.vectors or "the one shipped with posvec",
        "SHA-256": settings.digest,
        "level": settings.match,
        "cases": cases,
        **({"selected": settings.select} if settings.select else {}),
        **({"interpreter": settings.python} if settings.python else {}),
        "limits": f"{settings.timeout:g} s a case, {settings.start_timeout:g} s to start, "
        f"{settings.limit:g} s a submission",
    }
