"""Whether a copy is as it was written, and what an update of it would change."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from posvec.schemas.errors import VectorsError
from posvec.vectors.case_golden import CaseGolden, open_golden
from posvec.vectors.content_digest import file_sha256
from posvec.vectors.diff import diff
from posvec.vectors.diff_cases import diff_cases
from posvec.vectors.draws import DEFAULT_PATH
from posvec.vectors.files import SHIPPED, suites_in
from posvec.vectors.golden import Golden
from posvec.vectors.vendoring.contents import DRAWS, Contents, golden_files
from posvec.vectors.vendoring.place import STAGING, pending
from posvec.vectors.vendoring.record import FILE, OWN, Record, read_record
from posvec.vectors.vendoring.releases import current, key

Status = Literal["unchanged", "damaged", "edited", "outdated"]
CHANGES = ("suite", "format", "draws", "values", "rounding", "intervals", "coverage", "equal")
"""What an update can change in a golden file, the gravest first; of ``equal`` files only the manifests differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A file that is not as it was written."""

    name: str
    kind: Literal["damaged", "edited"]
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an update would change in one golden file.

    Attributes:
        name: The file.
        kind: The gravest change, one of :data:`CHANGES`.
        what: In how many cases or values, for people.
        more: Whether there are further cases.
        gone: Whether there are cases no more.

    """

    name: str
    kind: str
    what: str
    more: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The state of a copy.

    Attributes:
        status: The gravest that is true of it: damaged, edited, outdated, unchanged.
        record: What its ``VERSION`` says.
        faults: What is not as it was written.
        changes: What an update would change; empty if the copy is up to date or could not be compared.
        command: The command that makes the copy again; if an update was interrupted, the one that finishes it.
        available: Version of the vectors that it was compared with, ``own`` for the user's; empty if with none.

    """

    status: Status
    record: Record
    faults: tuple[Fault, ...]
    changes: tuple[Change, ...]
    command: str
    available: str

    @property
    def gravest(self) -> str:
        """The gravest change of an update."""
        return min((change.kind for change in self.changes), key=CHANGES.index, default="equal")


def check(folder: Path, *, vectors: Path | None) -> Checked:
    """Check the copy in ``folder``.

    Args:
        folder: The copy.
        vectors: What to compare it with, a golden file or a folder; by default, for a copy of shipped vectors,
            those shipped with this posvec.

    Raises:
        VectorsError: There is no copy, or its ``VERSION`` cannot be read.

    """
    record = read_record(folder / FILE)
    faults = tuple(_faults(folder, record))
    available, changes = "", []
    if vectors is not None or record.vectors != OWN:
        available = OWN if vectors is not None else current()
        if vectors is not None or key(available) >= key(record.vectors):
            broken = {fault.name for fault in faults}
            changes = list(_changes(folder, record, vectors, skip=broken))
    status: Status = "outdated" if changes else "unchanged"
    if faults:
        status = "damaged" if any(fault.kind == "damaged" for fault in faults) else "edited"
    command = (pending(folder) or record).command
    return Checked(
        status=status, record=record, faults=faults, changes=tuple(changes), command=command, available=available
    )


def _faults(folder: Path, record: Record) -> Iterator[Fault]:
    if pending(folder) is not None:
        what = "an update was interrupted"
        yield Fault(name=STAGING, kind="damaged", what=what)
    if not record.genuine:
        yield Fault(name=FILE, kind="edited", what="is not as it was written")
    for name, file in record.files.items():
        path = folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            yield Fault(name=name, kind="edited", what="is no regular file")
        elif not path.exists():
            yield Fault(name=name, kind="damaged", what="is missing")
        else:
            try:
                if file_sha256(path) != file.sha256:
                    yield _differing(path, file.content_sha256)
            except OSError as error:
                yield Fault(name=name, kind="damaged", what=f"cannot be read: {error.strerror or error}")
    for entry in sorted(folder.iterdir()):
        if entry.name not in (*record.files, FILE, STAGING):
            yield Fault(name=entry.name, kind="edited", what="is not from posvec")


def _differing(path: Path, content: str) -> Fault:
    """Say whether a file whose bytes differ is broken, or whole and another."""
    if path.suffix == ".h5":
        if path.name == DRAWS or not content:
            return Fault(name=path.name, kind="damaged", what="its bytes are not those that were written")
        try:
            found = open_golden(path).manifest.content_sha256
        except VectorsError as error:
            return Fault(name=path.name, kind="damaged", what=error.problem)
        same = "the same content, stored in another way" if found == content else "a whole golden file, but another one"
        return Fault(name=path.name, kind="edited", what=f"is {same}")
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
        if path.suffix == ".json":
            json.loads(text)
    except (ValueError, RecursionError):
        return Fault(
            name=path.name, kind="damaged", what="is no longer text" if path.suffix != ".json" else "is no JSON"
        )
    if b"\r\n" in data:
        return Fault(name=path.name, kind="edited", what="has other line ends: keep .gitattributes beside it")
    return Fault(name=path.name, kind="edited", what="is not as it was written")


def _changes(folder: Path, record: Record, vectors: Path | None, *, skip: set[str]) -> Iterator[Change]:
    """Compare with what the copy would hold now: golden files that are whole, and those that come or go."""
    table = record.files.get(DRAWS)
    if vectors is None and table is not None and DRAWS not in skip and table.sha256 != file_sha256(DEFAULT_PATH):
        yield Change(name=DRAWS, kind="intervals", what="another draw table")
    names = {name.partition(".")[0] for name in record.golden}
    folder_given = vectors is None or vectors.is_dir()
    there = sorted(names.intersection(suites_in(vectors or SHIPPED))) if folder_given else []
    if folder_given and not there:
        for name in record.golden:
            yield Change(name=name, kind="suite", what="is no longer there", gone=True)
        return
    with tempfile.TemporaryDirectory(prefix="posvec-") as made:
        contents = Contents(suites=tuple(there), vectors=vectors, subset=record.subset)
        fresh = golden_files(contents, Path(made))
        for name in sorted({*record.golden, *fresh}):
            if name not in fresh:
                yield Change(name=name, kind="suite", what="is no longer there", gone=True)
            elif name not in record.files:
                yield Change(name=name, kind="coverage", what="is new", more=True)
            elif name not in skip and record.files[name].content_sha256 != fresh[name].manifest.content_sha256:
                yield _change(folder / name, fresh[name])


def _change(old: Path, second: Golden | CaseGolden) -> Change:
    try:
        first = open_golden(old)
    except VectorsError as error:
        return Change(name=old.name, kind="format", what=error.problem)
    if isinstance(first, CaseGolden) and isinstance(second, CaseGolden):
        return _change_of_cases(old.name, first, second)
    if not (isinstance(first, Golden) and isinstance(second, Golden)):
        return Change(name=old.name, kind="format", what="is stored in another way")
    found = diff(first, second)
    share = f"of {found.elements:,} values in both"
    axes = "; ".join(
        f"{name} {first.manifest.axes[name]} here, {second.manifest.axes[name]} then" for name in found.axes
    )
    if found.subset and not axes:
        axes = f"{first.manifest.cases:,} cases here, {second.manifest.cases:,} then"
    what = {
        "draws": f"other draws in {found.other_draws:,} {share}",
        "rounding": f"same draws, other rounding in {found.other_expected:,} {share}, at most {found.max_ulp} ULP"
        if found.other_expected
        else "same values, but not the same builds' bytes are recorded",
        "intervals": f"same values, other accept intervals in {found.other_intervals:,} {share}",
        "coverage": "same values, other cases",
        "suite": "another suite or layout",
    }.get(found.kind, "the same values, another manifest")
    before, after = ({case.id for case in golden.cases()} if axes else set() for golden in (first, second))
    return Change(
        name=old.name,
        kind=found.kind,
        what=f"{what}: {axes}" if axes else what,
        more=bool(after - before),
        gone=bool(before - after),
    )


def _change_of_cases(name: str, first: CaseGolden, second: CaseGolden) -> Change:
    found = diff_cases(first, second)
    added, gone = len(found.only_second), len(found.only_first)
    cases = ", ".join(f"{count:,} cases {word}" for count, word in ((added, "more"), (gone, "gone")) if count)
    what = {
        "values": f"other arguments or expected values in {len(found.changed):,} of {found.common:,} cases",
        "intervals": f"same values, other accept intervals in {len(found.intervals):,} of {found.common:,} cases",
        "coverage": "same values, other cases",
        "suite": "another suite",
    }.get(found.kind, "the same values, another manifest")
    what = f"{what}: {cases}" if cases else what
    return Change(name=name, kind=found.kind, what=what, more=bool(added), gone=bool(gone))
