"""Gives the shipped vectors their next version: ``python -m posvec.vectors.vendoring.new_release COPY``.

``COPY`` is what ``posvec vendor`` wrote with the release before; the version follows from what has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click

from posvec.schemas.errors import VectorsError
from posvec.vectors.files import SHIPPED, suites_in
from posvec.vectors.replace import replacing
from posvec.vectors.vendoring.check import Change, check
from posvec.vectors.vendoring.contents import Contents
from posvec.vectors.vendoring.releases import FILE, current, key, releases


def next_version(version: str, changes: Iterable[Change]) -> str:
    """Return the version after ``version`` by the rule of :mod:`posvec.vectors.vendoring.releases`.

    Raises:
        VectorsError: A case has gone, and the format is the same: ids never change.

    """
    found = list(changes)
    major, minor, patch = key(version)
    if any(change.kind == "format" for change in found):
        return f"{major + 1}.0.0"
    for change in found:
        if change.gone or change.kind == "suite":
            raise VectorsError(
                change.name, "lacks cases that were released", remedy="ids never change: bring them back"
            )
    return f"{major}.{minor + 1}.0" if any(change.more for change in found) else f"{major}.{minor}.{patch + 1}"


def shipped_digests() -> dict[str, str]:
    """Return the content digest of every shipped golden file."""
    found = sorted({path for name in suites_in(SHIPPED) for path in Contents(suites=(name,)).sources()})
    return {path.name: json.loads(path.with_suffix(".json").read_text("ascii"))["content_sha256"] for path in found}


@click.command()
@click.argument("copy", type=click.Path(path_type=Path, exists=True, file_okay=False))
def main(copy: Path) -> None:
    """Record the shipped vectors as the next release after the one that COPY holds."""
    checked = check(copy, vectors=SHIPPED)
    if (
        checked.record.vectors != current()
        or checked.faults
        or set(checked.record.golden) != set(releases()[current()])
    ):
        raise click.ClickException(f"{copy} is no whole copy of the vectors {current()}")
    if not checked.changes:
        raise click.ClickException(f"nothing has changed since {current()}")
    version = next_version(current(), checked.changes)
    with replacing(FILE) as temporary:
        temporary.write_text(json.dumps({**releases(), version: shipped_digests()}, indent=1) + "\n", "ascii")
    click.echo(f"{version}: {', '.join(change.name for change in checked.changes)}")


if __name__ == "__main__":
    main()
