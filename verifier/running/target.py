"""What is under test: ``mypkg.mod:function`` or ``path/file.py:function``."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posvec.schemas.errors import InvalidTarget, TargetUnavailable

_ALLOWED = "path/file.py:function or package.module:function"
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A Python callable and where it is. Exactly one of ``path`` and ``module`` is set.

    Attributes:
        text: The target as it was given, for messages and for commands that run it again.
        path: The file that defines it.
        module: The name of the module that defines it, found from the current directory.
        attribute: The callable's name, dotted inside a class; None: the suite's own function name.

    """

    text: str
    path: Path | None = None
    module: str | None = None
    attribute: str | None = None

    def command(self, options: Sequence[str]) -> list[str]:
        """Return the words of a ``posvec verify`` with these options that runs this target."""
        return ["posvec", "verify", self.text, *options]

    def files(self) -> list[Path]:
        """Return the file of this target, as far as it can be told without importing anything."""
        if self.path is not None:
            return [self.path]
        parts = (self.module or "").split(".")
        return [Path(*parts).with_suffix(".py"), Path(*parts, "__init__.py")]

    def __post_init__(self) -> None:
        if (self.path is None) == (self.module is None):
            raise InvalidTarget("target", self.text, f"a file or a module, as in {_ALLOWED}")


def parse_target(text: str) -> Target:
    r"""Return the target that ``text`` names, split at the last colon; the colon of ``C:\x.py`` is not one.

    Raises:
        InvalidTarget: ``text`` is not of the form ``path/file.py:function`` or ``package.module:function``.
        TargetUnavailable: The file is not there.

    """
    if not text.strip():
        raise InvalidTarget("target", text, f"{_ALLOWED}, not empty")
    if "\0" in text:
        raise InvalidTarget("target", text, f"{_ALLOWED}, without NUL characters")
    where, attribute = _split(text)
    if not where:
        raise InvalidTarget("target", text, f"{_ALLOWED}; it has no file or module before the colon")
    if attribute is not None:
        _check_attribute(text, attribute)
    if _is_path(where):
        return Target(text=text, path=_file(text, where), attribute=attribute)
    _check_module(text, where)
    return Target(text=text, module=where, attribute=attribute)


def _split(text: str) -> tuple[str, str | None]:
    start = 2 if _DRIVE.match(text) else 0
    colon = text.rfind(":", start)
    return (text, None) if colon < 0 else (text[:colon], text[colon + 1 :])


def _check_attribute(text: str, attribute: str) -> None:
    if not attribute:
        raise InvalidTarget(
            "target",
            text,
            f"{_ALLOWED}; nothing follows the last colon",
            hint="leave the colon out to use the suite's own function name",
        )
    for part in attribute.split("."):
        if not part.isidentifier() or keyword.iskeyword(part):
            raise InvalidTarget("target", text, f"{_ALLOWED}; {attribute!r} is not the name of a function")


def _is_path(where: str) -> bool:
    if where.endswith(".py") or "/" in where or "\\" in where or where in (".", ".."):
        return True
    return Path(where).is_file()


def _file(text: str, where: str) -> Path:
    path = Path(where)
    try:
        if path.is_dir():
            raise InvalidTarget("target", text, f"{_ALLOWED}; {where!r} is a directory", hint="name the file in it")
        if path.suffix != ".py":
            raise InvalidTarget("target", text, f"{_ALLOWED}; {where!r} does not end in .py")
        if not path.is_file():
            problem = "is not a regular file" if path.exists() else "there is no such file"
            raise TargetUnavailable(text, problem, remedy=_nearby(path))
        with path.open("rb"):
            pass
    except OSError as error:
        if isinstance(error, (InvalidTarget, TargetUnavailable)):
            raise
        raise TargetUnavailable(text, f"the file cannot be read: {error.strerror or error}") from None
    return path


def _nearby(path: Path) -> str:
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.suffix == ".py"]
    except OSError:
        return f"there is no directory {str(path.parent)!r} that can be read"
    close = difflib.get_close_matches(path.name, names, n=3)
    return f"did you mean {' or '.join(close)}?" if close else "check the path"


def _check_module(text: str, where: str) -> None:
    for part in where.split("."):
        if not part:
            raise InvalidTarget("target", text, f"{_ALLOWED}; {where!r} is not the full name of a module")
        if not part.isidentifier() or keyword.iskeyword(part):
            raise InvalidTarget(
                "target", text, f"{_ALLOWED}; {part!r} is not the name of a module", hint="a file's name ends in .py"
            )
