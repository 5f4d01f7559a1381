"""Which file and function of a submission are verified: ``homework.py:learned_pos_embed_forward``, as a pattern."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from posvec.schemas.errors import InvalidArgument, printable, shorten
from posvec.verifier.batch.refusal import Refused

_ALLOWED = "GLOB or GLOB:function, as in 'homework.py:learned_pos_embed_forward' or '**/*.py'"
_NOT_RUN = (
    ("notebook", (".ipynb",), "export it as Python: jupyter nbconvert --to script"),
    (
        "archive",
        (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar"),
        "unpack it first: posvec opens no archives",
    ),
)
"""What may hold Python and is not run: its name in a row, the endings of such files, and what to do."""
DEFAULT = "*.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A glob relative to each submission, and the function; None: the suite's own.

    ``*`` and ``?`` match within a name, ``**`` any number of folders.
    """

    glob: str = DEFAULT
    attribute: str | None = None

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read ``GLOB:function`` or ``GLOB``.

        Raises:
            InvalidArgument: It is neither, or leads out of a submission.

        """
        glob, separator, attribute = text.rpartition(":") if ":" in text else (text, "", "")
        parts = glob.split("/")
        if not glob.strip() or "\0" in glob or glob.startswith("/") or "\\" in glob or ".." in parts or "" in parts:
            raise InvalidArgument("--target", text, f"{_ALLOWED}, relative to each submission")
        if not parts[-1].endswith(".py"):
            raise InvalidArgument("--target", text, f"{_ALLOWED}; the file's name ends in .py")
        if separator and not all(p.isidentifier() and not keyword.iskeyword(p) for p in attribute.split(".")):
            raise InvalidArgument("--target", text, f"{_ALLOWED}; {shorten(attribute)!r} is not the name of a function")
        return cls(glob="/".join(part for part in parts if part != "."), attribute=attribute or None)

    def matches(self, path: str) -> bool:
        """Say whether a path in a submission, with ``/`` between its parts, is meant."""
        return _match(self.glob.split("/"), path.split("/"))

    def find(self, paths: Iterable[str]) -> str:
        """Return the one path that is meant.

        Raises:
            Refused: There is none, or there are several.

        """
        paths = sorted(paths)
        found = [path for path in paths if self.matches(path)]
        if len(found) == 1:
            return found[0]
        if found:
            raise Refused(
                "several-files",
                f"{len(found)} files match {self.glob!r}: {_listed(found)}; name one with --target, "
                "or leave one in the submission",
            )
        raise self._none(paths)

    def _none(self, paths: Sequence[str]) -> Refused:
        for problem, endings, advice in _NOT_RUN:
            found = [path for path in paths if path.lower().endswith(endings)]
            if found and not any(path.endswith(".py") for path in paths):
                return Refused(problem, f"no file matches {self.glob!r}, but there is {_listed(found)}; {advice}")
        there = f"it holds {_listed(paths)}" if paths else "it is an empty folder"
        return Refused("no-file", f"no file matches {self.glob!r}: {there}")


def refuse_file(name: str) -> Refused | None:
    """Return why a file is no submission that can be run, judging by its name; None if it can."""
    lower = name.lower()
    if lower.endswith(".py"):
        return None
    for problem, endings, advice in _NOT_RUN:
        if lower.endswith(endings):
            return Refused(problem, f"is {'an' if problem == 'archive' else 'a'} {problem}; {advice}")
    return Refused("not-python", "does not end in .py")


def _match(pattern: Sequence[str], path: Sequence[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_match(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _match(pattern[1:], path[1:])


def _listed(paths: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(printable(path) for path in paths[:most])
    return shorten(shown, 400) + (f" and {len(paths) - most} more" if len(paths) > most else "")
