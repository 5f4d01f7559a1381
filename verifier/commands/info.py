"""``posvec info``: what is in a golden file, after its schema and content digest have been checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from posvec.schemas.build import STREAMS, Stream

if TYPE_CHECKING:
    from posvec.schemas.case_manifest import CaseManifest
    from posvec.schemas.manifest import Manifest


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="[FILE|DIR]")
@click.option("--stream", type=click.Choice(STREAMS), default=None, help="Which golden file of a folder.")
@click.option("--suite", metavar="NAME", help="Which suite's golden file of a folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest.")
def info(file: Path | None, stream: Stream | None, suite: str | None, as_json: bool) -> None:
    """Say what is in a golden file, and check its schema and content digest.

    Without FILE, the golden file shipped with posvec.
    """
    from posvec.schemas.errors import VectorsError, printable
    from posvec.schemas.validate import violation
    from posvec.vectors.case_golden import CaseGolden, open_golden
    from posvec.vectors.files import locate

    path = locate(file, stream, suite=suite)
    golden = open_golden(path)
    manifest = golden.manifest
    document = manifest.to_dict()
    broken = violation(document, document["$schema"])
    if broken is not None:
        raise VectorsError(path, f"its manifest violates {document['$schema']} at {broken}", remedy="make it anew")
    if as_json:
        click.echo(manifest.to_json(), nl=False)
        return
    golden.check_values()
    beside = path.with_suffix(".json")
    if beside.exists() and not _holds(beside, manifest.to_json().encode("ascii")):
        raise VectorsError(
            beside,
            f"is not the manifest of {path.name}",
            remedy="write it anew: posvec info --json FILE > FILE.json",
        )
    click.echo(printable(str(path)))
    about = golden.suite
    arguments = ", ".join(parameter.name for parameter in about.parameters)
    _row("suite", f"{about.function}({arguments}) -> {about.output.dtype} {about.output.shape}")
    if isinstance(golden, CaseGolden):
        _case_rows(golden.manifest)
    else:
        _table_rows(golden.manifest)
    _row("command", manifest.command)
    _row("licence", "CC0-1.0 (this file); posvec itself: Apache-2.0")
    _row("content", f"sha256 {manifest.content_sha256}, as it should be")
    _row(
        "manifest",
        "valid" + (f", the same in {beside.name}" if beside.exists() else ", inside the file only"),
    )
    if isinstance(golden, CaseGolden):
        click.echo("")
        for case in golden.manifest.cases:
            click.echo(f"  {case.id}" + ("  (must raise)" if case.shape is None else ""))
    else:
        _recordings(golden.manifest)


def _case_rows(manifest: CaseManifest) -> None:
    raising = sum(case.shape is None for case in manifest.cases)
    _row("contract", manifest.suite.summary)
    _row("source", manifest.suite.source)
    _row(
        "cases",
        f"{len(manifest.cases):,} ({manifest.elements:,} values)" + (f", {raising} must raise" if raising else ""),
    )
    _row("level", manifest.suite.default_match)


def _table_rows(manifest: Manifest) -> None:
    _row("stream", manifest.stream)
    for name, axis in manifest.axes.items():
        _row(name, f"{axis}" if len(str(axis)) < 64 else f"{str(axis)[:60]}… ({len(axis):,} values)")
    some = "a subset of the axes' combinations: " if manifest.subset else ""
    _row("cases", f"{some}{manifest.cases:,} ({manifest.elements:,} float32 values)")
    _row("expected", f"{manifest.recordings[0].label} ({manifest.expected_source})")
    _row("accept", f"known values of each draw ± {manifest.slack_ulp} ULP")


def _recordings(manifest: Manifest) -> None:
    recorded = [recording for recording in manifest.recordings if recording.builds]
    click.echo(
        f"\n{len(manifest.recordings)} recordings, {len(recorded)} of them from "
        f"{sum(len(recording.builds) for recording in recorded)} builds:"
    )
    for recording in manifest.recordings:
        click.echo(f"  {recording.id}  {recording.label}")
        labels = sorted({build.label for build in recording.builds} - {recording.label}, key=_version_key)
        for label in labels:
            click.echo(f"       {label}")
        if recording.arithmetics and recording.builds:
            click.echo(f"       = {', '.join(recording.arithmetics)} of the draw table")


def _holds(path: Path, content: bytes) -> bool:
    """Whether a file holds just this; a pipe, which might never end, and what cannot be read do not."""
    try:
        return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _row(label: str, text: str) -> None:
    from posvec.verifier.text import row, terminal_width

    for line in row(label, text, terminal_width()):
        click.echo(line)


def _version_key(label: str) -> tuple[list[int], str]:
    version = label.split()[1]
    return [int(part) for part in version.split(".") if part.isdecimal() and len(part) < 9], label
