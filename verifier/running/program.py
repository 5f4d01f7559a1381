"""What is under test, if it is a program: a command line, and how it is asked."""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from posvec.schemas.errors import InvalidArgument, TargetUnavailable
from posvec.schemas.suite import Suite

PerCaseOutput = Literal["text", "f32le"]
_INTERPRETERS = {
    ".py": "python3",
    ".js": "node",
    ".mjs": "node",
    ".jl": "julia",
    ".rb": "ruby",
    ".sh": "sh",
    ".R": "Rscript",
}
_SOURCES = {".c": "cc", ".rs": "rustc", ".cpp": "c++", ".go": "go build"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program and its arguments.

    Attributes:
        argv: The program as it was named, and its arguments.
        path: The file that is run.
        per_case: Whether a process is started for each case, with ``{seed}`` and so on replaced in ``argv``.
        output: With ``per_case``: whether it prints numbers or writes raw little-endian float32.

    """

    argv: tuple[str, ...]
    path: str
    per_case: bool = False
    output: PerCaseOutput = "text"

    @property
    def text(self) -> str:
        """The command line, for messages."""
        return shlex.join(self.argv)

    def command(self, options: Sequence[str]) -> list[str]:
        """Return the words of a ``posvec verify`` with these options that runs this program."""
        words = ["posvec", "verify", *options]
        if self.per_case:
            words += ["--per-case", *(("--output", self.output) if self.output != "text" else ())]
        return [*words, "--exec", *self.argv]

    def files(self) -> list[Path]:
        """Return the program, and those of its arguments that may be files, such as a script."""
        return [Path(self.path), *map(Path, self.argv[1:])]

    def check_fits(self, suite: Suite) -> None:
        """Check that this program can be asked the cases of ``suite``.

        Raises:
            InvalidArgument: With ``per_case``: an argument is an array, or has no place in the command line.

        """
        if not self.per_case:
            return
        if any(parameter.kind == "array" for parameter in suite.parameters):
            raise InvalidArgument("--per-case", suite.name, "given for a suite without arrays", hint="use --exec alone")
        names = [f"{{{parameter.name}}}" for parameter in suite.parameters]
        missing = [name for name in names if not any(name in word for word in self.argv[1:])]
        if missing:
            raise InvalidArgument(
                "--per-case",
                self.text,
                f"given with a program whose arguments hold {' '.join(missing)}",
                hint="the words in braces are replaced by each case's arguments",
            )

    def words(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the program's command line for one case; each ``{name}`` is replaced, once."""
        replaced = list(self.argv)
        for i, word in enumerate(replaced[1:], start=1):
            for name, value in arguments.items():
                word = word.replace("{" + name + "}", str(value))
            replaced[i] = word
        return replaced


def find_program(argv: Sequence[str], *, per_case: bool = False, output: PerCaseOutput = "text") -> Program:
    """Return the program that ``argv`` names, found as a shell finds it.

    Raises:
        InvalidArgument: ``argv`` is empty.
        TargetUnavailable: There is no such program, or it cannot be run.

    """
    if not argv or not argv[0].strip():
        raise InvalidArgument("--exec", " ".join(argv), "followed by a program and its arguments")
    if any("\0" in word for word in argv):
        raise InvalidArgument("--exec", shlex.join(argv), "a command without NUL characters")
    path = _find(argv[0], shlex.join(argv))
    return Program(argv=tuple(argv), path=path, per_case=per_case, output=output)


def _find(name: str, text: str) -> str:
    if os.sep not in name and (os.altsep is None or os.altsep not in name):
        found = shutil.which(name)
        if found is None:
            raise TargetUnavailable(text, f"there is no program {name!r} on PATH", remedy=_near(name))
        return os.path.abspath(found)  # noqa: PTH100 - a symbolic link keeps its name: busybox and others look at it
    path = Path(name)
    if path.is_dir():
        raise TargetUnavailable(text, f"{name} is a directory", remedy="name the program in it")
    if not path.exists():
        raise TargetUnavailable(text, f"there is no file {name}", remedy="check the path; is it built?")
    if not os.access(path, os.X_OK):
        raise TargetUnavailable(text, f"{name} is not executable", remedy=_how_to_run(path))
    return os.path.abspath(path)  # noqa: PTH100


def _near(name: str) -> str:
    if Path(name).is_file():
        return _how_to_run(Path(name)) if not os.access(name, os.X_OK) else f"write ./{name}"
    known = {
        entry
        for folder in os.get_exec_path()
        if Path(folder).is_dir()
        for entry in os.listdir(folder)  # noqa: PTH208 - thousands of names, no need for paths
    }
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else "install it, or give its path"


def _how_to_run(path: Path) -> str:
    if path.suffix in _INTERPRETERS:
        return f"write --exec {_INTERPRETERS[path.suffix]} {path}"
    if path.suffix in _SOURCES:
        return f"it is source code: build it with {_SOURCES[path.suffix]} and name what that makes"
    return f"chmod +x {path}, if it is a program"
