"""The languages that there is a scaffold for, and how it comes onto the disk."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from posvec.schemas.errors import InvalidArgument, OutputError

STEM: Final = "posvec_target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language and the commands that build and start a program in it.

    Attributes:
        name: as it is given to ``posvec scaffold``.
        suffix: of its source files, with the dot.
        build: the words that compile ``{source}`` to ``{program}``; empty where nothing is compiled.
        run: the words that start it.

    """

    name: str
    suffix: str
    build: tuple[str, ...] = ()
    run: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Language:
        """Return the language of this name, in whatever case.

        Raises:
            InvalidArgument: there is none; the error tells the nearest name.

        """
        for language in LANGUAGES:
            if language.name == text.lower():
                return language
        names = {word: language.name for language in LANGUAGES for word in (language.name, language.suffix[1:])}
        names["node"] = "javascript"
        near = difflib.get_close_matches(text.lower(), names, n=1)
        hint = f"the nearest is {names[near[0]]}" if near else ""
        raise InvalidArgument("LANG", text, f"one of {', '.join(known.name for known in LANGUAGES)}", hint=hint)

    def source(self) -> bytes:
        """Return the text of the scaffold."""
        return files("posvec.verifier.scaffolds").joinpath(STEM + self.suffix).read_bytes()

    def place(self, output: Path | None) -> Path:
        """Return where the scaffold goes: into the folder ``output``, to the file ``output``, or into this folder.

        Raises:
            InvalidArgument: ``output`` is no folder and has not the language's suffix.

        """
        if output is None or output.is_dir():
            return (output or Path()) / (STEM + self.suffix)
        if output.suffix != self.suffix:
            raise InvalidArgument("--output", str(output), f"a folder or a file named *{self.suffix}")
        return output

    def build_words(self, path: Path) -> list[str]:
        """Return the command that compiles the source at ``path`` to a program beside it; empty if there is none."""
        return self._filled(self.build, path)

    def run_words(self, path: Path) -> list[str]:
        """Return the command that starts the program whose source is at ``path``, once it is built."""
        return self._filled(self.run, path)

    def _filled(self, words: tuple[str, ...], path: Path) -> list[str]:
        # no compiler shall take a name for an option, and a shell looks for a name without a slash along its PATH
        source = f"./{path}" if str(path).startswith("-") else str(path)
        output = source.removesuffix(self.suffix)
        program = output if "/" in output else f"./{output}"
        return [word.format(source=source, output=output, program=program) for word in words]


LANGUAGES: Final = (
    Language(name="python", suffix=".py", run=("python3", "{source}")),
    Language(name="javascript", suffix=".js", run=("node", "{source}")),
    Language(name="c", suffix=".c", build=("cc", "-O2", "-o", "{output}", "{source}", "-lm"), run=("{program}",)),
    Language(name="rust", suffix=".rs", build=("rustc", "-O", "-o", "{output}", "{source}"), run=("{program}",)),
    Language(name="julia", suffix=".jl", run=("julia", "{source}")),
)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet; whatever has the name, even a link to nothing, stays as it is.

    Raises:
        OutputError: there is something of this name, or it cannot be written; then nothing is left of it.

    """
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise OutputError(path, "it is there already", remedy="name another file with --output") from error
    except OSError as error:
        raise OutputError(path, error.strerror or str(error), remedy="name another file with --output") from error
    try:
        with file:
            file.write(content)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            problem = error.strerror or str(error)
            raise OutputError(path, problem, remedy="name another file with --output") from error
        raise
