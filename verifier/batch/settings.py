"""How each submission of a batch is verified: small, picklable, and part of the key by which a result is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posvec import __version__
from posvec.schemas.build import Stream
from posvec.schemas.errors import InvalidArgument
from posvec.vectors.files import locate
from posvec.verifier.running.options import RunOptions

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is verified and how, the same for all submissions.

    Attributes:
        match: The level asked for.
        vectors: The golden file; None: the one shipped with posvec, wherever it runs.
        suite: The name of the suite, if one was named.
        stream: Which integers a seed gives, if that was said.
        digest: SHA-256 of the content of the golden file, which must be the same wherever it is opened.
        quick: Only the quick cases.
        fresh: So many fresh cases instead of golden ones.
        fresh_seed: What chooses them.
        select: Only cases whose id matches.
        timeout, start_timeout: Seconds for a case, and for importing.
        limit: Seconds for a submission.
        memory: Largest resident size in bytes.
        python: The interpreter that runs the submissions.

    """

    match: str
    vectors: str | None = None
    suite: str | None = None
    stream: Stream | None = None
    digest: str
    quick: bool = True
    fresh: int | None = None
    fresh_seed: int | None = None
    select: str | None = None
    timeout: float = 10.0
    start_timeout: float = 60.0
    limit: float = 300.0
    memory: int | None = None
    python: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.limit < 1e9:
            raise InvalidArgument("--limit", self.limit, "a number of seconds above 0 and below 1e9")
        self.run_options(folder=None, threads=1)

    def key(self, digest: str, target: str) -> str:
        """Return what a result is kept by: of the submission's digest, all that is asked, and posvec's version."""
        asked = asdict(self) | {"posvec": __version__, "submission": digest, "target": target}
        del asked["vectors"]  # where the golden file is changes nothing, only what is in it
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def golden_file(self) -> Path:
        """Return where the golden file is, on the machine where this is asked."""
        return locate(None if self.vectors is None else Path(self.vectors), self.stream, suite=self.suite)

    def run_options(self, *, folder: str | None, threads: int) -> RunOptions:
        """Return how the target is run: in its folder, with a bounded number of threads."""
        return RunOptions(
            python=self.python,
            timeout=self.timeout,
            start_timeout=self.start_timeout,
            memory=self.memory,
            folder=folder,
            variables=tuple((name, str(threads)) for name in _THREADS),
        )

    def reproduce(self) -> Sequence[str]:
        """Return the options of a ``posvec verify`` that runs a case of this batch the same way."""
        asked: dict[str, Any] = {
            "--match": self.match,
            "--vectors": self.vectors,
            "--suite": self.suite,
            "--stream": self.stream,
            "--python": self.python,
            "--fresh": self.fresh,
            "--fresh-seed": self.fresh_seed,
            "--memory": None if self.memory is None else self.memory // 2**20,
            "--timeout": None if self.timeout == 10.0 else f"{self.timeout:g}",
        }
        return [word for option, value in asked.items() if value is not None for word in (option, str(value))]
