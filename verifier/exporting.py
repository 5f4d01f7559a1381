"""Which cases ``posvec export`` writes, and where."""

from __future__ import annotations

from pathlib import Path

from posvec.schemas.build import Stream
from posvec.schemas.errors import InvalidArgument
from posvec.vectors.case_golden import open_golden
from posvec.vectors.export.cases import Source
from posvec.vectors.export.write import EXTENSIONS
from posvec.vectors.replace import told_of
from posvec.verifier.selection import select as select_cases


def choose(
    path: Path, *, stream: Stream | None, select: str | None, quick: bool, intervals: bool, draws: bool
) -> Source:
    """Open a golden file and choose cases of it, as ``posvec verify`` does, in the order of the file.

    Raises:
        VectorsError: The file is missing or damaged.
        InvalidArgument: ``select`` matches no case, or ``stream`` is not the file's.

    """
    golden = open_golden(path)
    if stream is not None and golden.stream != stream:
        raise InvalidArgument("--stream", stream, f"{golden.stream or 'left out'}, for the vectors of {golden.path}")
    cases = golden.cases()
    chosen = {case.id for case in select_cases(cases, golden.suite, quick=quick, glob=select, coercion=False).cases}
    return Source(
        golden=golden,
        cases=[case for case in cases if case.id in chosen],
        intervals=intervals,
        draws=draws,
    )


def place(output: str | None, to: str, name: str, *, folder: bool) -> Path:
    """Return the file that ``-o`` means: itself, or in a folder one with the name of the vectors.

    Raises:
        OutputError: The folder cannot be made.

    """
    file = f"{name}.cases{EXTENSIONS[to]}"
    path = Path(output or ".")
    if folder or (output or "").endswith("/"):
        with told_of(path, remedy="choose another folder with -o"):
            path.mkdir(parents=True, exist_ok=True)
    return path / file if path.is_dir() else path
