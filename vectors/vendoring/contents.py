"""What a copy holds, written into an empty folder: golden files, schema, licence, what reads them, and ``VERSION``."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from posvec import __version__
from posvec.schemas import validate
from posvec.schemas.errors import VectorsError
from posvec.vectors.case_golden import CaseGolden, open_golden
from posvec.vectors.content_digest import file_sha256
from posvec.vectors.draws import DEFAULT_PATH
from posvec.vectors.files import SHIPPED, file_name, locate, suites_in
from posvec.vectors.golden import Golden
from posvec.vectors.vendoring.readme import readme
from posvec.vectors.vendoring.record import OWN, SUMS, Record, VendoredFile
from posvec.vectors.vendoring.releases import current
from posvec.vectors.vendoring.subset import write_quick

ATTRIBUTES = ".gitattributes"
LICENCE = "LICENSE"
DRAWS = "draws.h5"
_LICENCE_TEXT = Path(__file__).with_name("CC0-1.0.txt")
_ATTRIBUTES_TEXT = """\
# Every file here stays as it is, byte for byte, whatever core.autocrlf says: their digests are in VERSION.
* -text linguist-vendored
*.h5 binary
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What to copy.

    Attributes:
        suites: Names of suites; all there are if empty.
        vectors: A golden file, or a folder with some, in place of those shipped with posvec.
        subset: ``all`` or ``quick``.
        draws: Whether the draw table comes too.

    """

    suites: tuple[str, ...] = ()
    vectors: Path | None = None
    subset: str = "all"
    draws: bool = False

    @property
    def command(self) -> str:
        """The command that makes the copy, in normal form, from its own folder: the same wherever that is."""
        words = ["posvec", "vendor", "." if self.vectors is None else "DIR"]
        words += [f"--suite={name}" for name in dict.fromkeys(self.suites)]
        if self.vectors is not None:
            words.append(f"--vectors={self.vectors.name if self.vectors.is_absolute() else self.vectors.as_posix()}")
        words += [f"--subset={self.subset}"] if self.subset != "all" else []
        return shlex.join(words + (["--with-draws"] if self.draws else []))

    def sources(self) -> list[Path]:
        """Return the golden files to copy.

        Raises:
            VectorsError: One that is asked for is missing.

        """
        if self.vectors is not None and not self.vectors.is_dir():
            return [self.vectors]
        folder = self.vectors or SHIPPED
        names = list(dict.fromkeys(self.suites)) or suites_in(folder)
        if not names:
            raise VectorsError(folder, "holds no golden files", remedy="`posvec generate -o DIR` makes some")
        return [path for name in names for path in _of_suite(folder, name)]


def write_contents(contents: Contents, folder: Path) -> Record:
    """Write all files of a copy but ``VERSION`` into ``folder``, and return what that is to say.

    Raises:
        VectorsError: A golden file is missing or damaged, or not of the suites asked for.
        OSError: A file could not be written.

    """
    found = golden_files(contents, folder)
    copies = [_copied(golden, folder / name) for name, golden in found.items()]
    digests = {golden.path.name: golden.manifest.content_sha256 for golden in copies}
    if contents.draws:
        shutil.copyfile(DEFAULT_PATH, folder / DRAWS)
    for schema in sorted({golden.manifest.to_dict()["$schema"] for golden in copies}):
        shutil.copyfile(Path(validate.__file__).with_name(schema), folder / schema)
    shutil.copyfile(_LICENCE_TEXT, folder / LICENCE)
    (folder / ATTRIBUTES).write_text(_ATTRIBUTES_TEXT, "ascii", newline="\n")
    vectors = OWN if contents.vectors is not None else current()
    text = readme(copies, vectors=vectors, command=contents.command, draws=contents.draws)
    (folder / "README.md").write_text(text, "utf-8", newline="\n")
    sums = {path.name: file_sha256(path) for path in sorted(folder.iterdir()) if path.name != SUMS}
    listed = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
    (folder / SUMS).write_text(listed, "ascii", newline="\n")
    sums[SUMS] = file_sha256(folder / SUMS)
    return Record(
        vectors=vectors,
        posvec=__version__,
        command=contents.command,
        subset=contents.subset,
        files={name: VendoredFile(sha256=sha, content_sha256=digests.get(name, "")) for name, sha in sums.items()},
    )


def golden_files(contents: Contents, folder: Path) -> dict[str, Golden | CaseGolden]:
    """Return the golden files of a copy, by the names under which posvec finds them.

    Those that are the quick cases of another are written into ``folder``; all others lie where they are.

    Raises:
        VectorsError: One is missing or damaged, or not of the suites asked for.
        OSError: One could not be written.

    """
    found: dict[str, Golden | CaseGolden] = {}
    for path in contents.sources():
        golden = open_golden(path)
        if contents.suites and golden.suite.name not in contents.suites:
            raise VectorsError(path, f"is of the suite {golden.suite.name}", remedy="leave out --suite")
        name = file_name(golden.suite.name, golden.stream or "partitionable")
        if name in found:
            raise VectorsError(path, f"is a second golden file of {golden.name}", remedy="name one of them")
        written = contents.subset == "quick" and write_quick(golden, folder / name)
        found[name] = open_golden(folder / name) if written else golden
    return found


def _copied(golden: Golden | CaseGolden, path: Path) -> Golden | CaseGolden:
    """Copy one golden file and its manifest to ``path``, unless it lies there already."""
    if golden.path != path:
        shutil.copyfile(golden.path, path)
        path.with_suffix(".json").write_text(golden.manifest.to_json(), "ascii", newline="\n")
    return replace(golden, path=path)


def _of_suite(folder: Path, name: str) -> Iterator[Path]:
    """Yield the golden files of a suite: of learned_pos_embed, both streams that are there."""
    original = folder / file_name(name, "original")
    first = folder / file_name(name, "partitionable")
    if first.exists() or not original.exists():
        yield locate(folder, None, suite=name)
    if original.exists():
        yield original
