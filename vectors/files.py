"""Where golden files are and what they are called; light, so that a command can start before it reads one."""

from __future__ import annotations

from pathlib import Path

from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.errors import VectorsError, shorten
from posvec.vectors.suites import LEARNED_POS_EMBED

SHIPPED = Path(__file__).parent
DEFAULT_SUITE = LEARNED_POS_EMBED


def file_name(suite: str, stream: Stream) -> str:
    """Return the name of a suite's golden file for a stream."""
    return f"{suite}.h5" if stream == "partitionable" else f"{suite}.{stream}.h5"


def suites_in(folder: Path) -> list[str]:
    """Return the names of the suites that a folder has golden files of, in the order of their names."""
    return sorted({path.name.split(".")[0] for path in folder.glob("*.h5") if path.with_suffix(".json").exists()})


def locate(vectors: Path | None, stream: Stream | None, *, suite: str | None = None) -> Path:
    """Return the golden file that ``--vectors`` (a file, a folder or nothing) and ``--stream`` ask for.

    Raises:
        VectorsError: The folder holds no such file.

    """
    folder = SHIPPED if vectors is None else vectors
    if not folder.is_dir():
        return folder
    path = folder / file_name(suite or DEFAULT_SUITE.name, stream or "partitionable")
    if suite is not None and not path.exists():
        import difflib

        there = [name for name in STREAMS if (folder / file_name(suite, name)).exists()]
        if there:
            problem = f"the vectors of the suite {shorten(suite)!r} here are not of the stream {stream or STREAMS[0]}"
            remedy = "leave out --stream" if there == ["partitionable"] else f"add --stream {there[0]}"
            raise VectorsError(folder, problem, remedy=remedy)
        near = difflib.get_close_matches(suite, suites_in(folder), n=1)
        holds = f"did you mean {near[0]}?" if near else f"its suites are {', '.join(suites_in(folder)) or 'none'}"
        raise VectorsError(folder, f"there are no golden vectors of the suite {shorten(suite)!r} here", remedy=holds)
    if not path.exists():
        found = sorted(
            p.name for p in folder.glob("*.h5") if p.name in {file_name(DEFAULT_SUITE.name, s) for s in STREAMS}
        )
        holds = f"it holds {', '.join(found)}" if found else "nor any other of the suite"
        raise VectorsError(
            folder,
            f"there is no golden file {path.name} in this folder ({holds})",
            remedy="name the file, or make it with `posvec generate`",
        )
    return path
