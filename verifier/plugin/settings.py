"""What a run of pytest asks posvec for: options of the command line, then settings of the project."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.errors import InvalidArgument
from posvec.verifier.running.program import Program, find_program
from posvec.verifier.running.target import Target, parse_target


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is to be checked, against what, and how; see the options of ``posvec verify`` of the same names."""

    target: str | None
    program: str | None
    match: str | None
    vectors: Path | None
    suite: str | None
    stream: Stream | None
    quick: bool
    known_failing: Path | None

    @classmethod
    def read(cls, config: pytest.Config) -> Settings:
        """Read the options, and where one is not given the setting; paths in settings begin at its file's folder.

        Raises:
            InvalidArgument: There is no such stream.

        """
        folder = config.inipath.parent if config.inipath is not None else config.rootpath

        def text(name: str) -> str | None:
            given = config.getoption(name) or config.getini(name)
            return str(given) if given else None

        def path(name: str) -> Path | None:
            given = config.getoption(name)
            return Path(given) if given else folder / config.getini(name) if config.getini(name) else None

        stream = text("posvec_stream")
        if stream is not None and stream not in STREAMS:
            raise InvalidArgument("--posvec-stream", stream, " or ".join(STREAMS))
        target = config.getoption("posvec")
        # An option takes the place of a setting; two options are an error, and so are two settings.
        program = text("posvec_exec") if not target or config.getoption("posvec_exec") else None
        if not target and not config.getoption("posvec_exec") and config.getini("posvec"):
            target = _from_folder(str(config.getini("posvec")), folder)
        return cls(
            target=target,
            program=program,
            match=text("posvec_match"),
            vectors=path("posvec_vectors"),
            suite=text("posvec_suite"),
            stream=stream,
            quick=bool(config.getoption("posvec_quick") or config.getini("posvec_quick")),
            known_failing=path("posvec_known_failing"),
        )

    def find(self) -> Target | Program:
        """Return the target or the program.

        Raises:
            InvalidArgument: Neither is given, both are, or it cannot be one.
            TargetUnavailable: It is not there.

        """
        if self.program is not None and self.target is not None:
            raise InvalidArgument("--posvec-exec", self.program, "given without a target (--posvec, or a setting)")
        if self.program is not None:
            try:
                words = shlex.split(self.program)
            except ValueError as error:
                allowed = "a command line, quoted as for a shell"
                raise InvalidArgument("--posvec-exec", self.program, allowed, hint=str(error).lower()) from error
            return find_program(words, per_case=False, output="text")
        return parse_target(self.target or "")

    def repeated(self) -> tuple[str, ...]:
        """Return the options with which ``posvec verify`` runs the same."""
        named = (
            ("--match", self.match),
            ("--vectors", self.vectors),
            ("--suite", self.suite),
            ("--stream", self.stream),
        )
        return tuple(word for name, value in named if value is not None for word in (name, str(value)))


def _from_folder(target: str, folder: Path) -> str:
    """Return the target of a setting with its file found from ``folder``; the name of a module stays."""
    where, colon, attribute = target.rpartition(":") if ".py:" in target else (target, "", "")
    if not where.endswith(".py"):
        return target
    path = folder / where
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}{colon}{attribute}"
