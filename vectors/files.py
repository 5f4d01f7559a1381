"""Where golden files are and what they are called; light, so that a command can start before it reads one."""

from __future__ import annotations

from pathlib import Path

from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.errors import VectorsError
from posvec.vectors.suites import LEARNED_POS_EMBED

SHIPPED = Path(__file__).parent
DEFAULT_SUITE = LEARNED_POS_EMBED


def file_name(suite: str, stream: Stream) -> str:
    """Return the name of a suite's golden file for a stream."""
    return f"{suite}.h5" if stream == "partitionable" else f"{suite}.{stream}.h5"


def locate(vectors: Path | None, stream: Stream | None, *, suite: str = DEFAULT_SUITE.name) -> Path:
    """Return the golden file that ``--vectors`` (a file, a folder or nothing) and ``--stream`` ask for.

    Raises:
        VectorsError: The folder holds no such file.

    """
    folder = SHIPPED if vectors is None else vectors
    if not folder.is_dir():
        return folder
    path = folder / file_name(suite, stream or "partitionable")
    if not path.exists():
        found = sorted(p.name for p in folder.glob("*.h5") if p.name in {file_name(suite, s) for s in STREAMS})
        holds = f"it holds {', '.join(found)}" if found else "nor any other of the suite"
        raise VectorsError(
            folder,
            f"there is no golden file {path.name} in this folder ({holds})",
            remedy="name the file, or make it with `posvec generate`",
        )
    return path
