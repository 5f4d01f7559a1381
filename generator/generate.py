"""From axes to a golden file: sweep the running build, check its draws, merge and write; or check a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from posvec.generator.check import Verdict, judge
from posvec.generator.crosscheck import Rounding, check_draws
from posvec.generator.environment import prepare
from posvec.generator.scratch import output_error, remove_leftovers, scratch, writing
from posvec.generator.suites import GeneratedSuite
from posvec.generator.sweep import Advance, Sweep, sweep
from posvec.schemas.axes import Axis
from posvec.schemas.build import Build, Stream
from posvec.schemas.errors import InvalidArgument, PosvecError, ReferenceDisagrees, VectorsError, first_line
from posvec.schemas.manifest import Manifest
from posvec.vectors.assemble import Recorded, write_golden
from posvec.vectors.draws import DrawTable
from posvec.vectors.files import file_name
from posvec.vectors.golden import Golden
from posvec.vectors.suites import MAX_T

OPTIONS = {"seed": "--seeds", "T": "--T", "d_model": "--d-model"}
# Bytes beside the raw tables of both modes: the file and its temporary copy, before compression.
_FILE_SHARE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to generate, and where to.

    Attributes:
        generated: The suite.
        axes: The values of each argument.
        stream: Which integers a seed gives.
        folder: Where the golden file goes.
        force: Replace a file that is damaged or has other axes.
        any_device: Accept a default device that is not a CPU.

    """

    generated: GeneratedSuite
    axes: Mapping[str, Axis]
    stream: Stream
    folder: Path
    force: bool = False
    any_device: bool = False

    @property
    def path(self) -> Path:
        """The golden file."""
        return self.folder / file_name(self.generated.suite.name, self.stream)

    @property
    def command(self) -> str:
        """The command in its normal form: everything that decides the content, nothing that does not."""
        axes = " ".join(f"{OPTIONS[name]}={axis}" for name, axis in self.axes.items())
        return f"posvec generate {axes} --stream={self.stream}"

    @property
    def table_bytes(self) -> int:
        """Size of all tables of one mode."""
        return 4 * MAX_T * len(self.axes["seed"]) * sum(self.axes["d_model"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was written.

    Attributes:
        path: The golden file.
        manifest: Its manifest.
        roundings: How the running build rounds, eager and jit.
        recorded_before: The builds among them that the file held already with these bytes.
        recorded_otherwise: Those it held with other bytes; both recordings are kept.
        not_batched: Widths, by mode, recorded by literal calls because the batch's bytes differed.
        replaced: What ``--force`` replaced, for people; empty if nothing.

    """

    path: Path
    manifest: Manifest
    roundings: Mapping[Build, Rounding]
    recorded_before: tuple[Build, ...]
    recorded_otherwise: tuple[Build, ...]
    not_batched: Mapping[str, Sequence[int]]
    replaced: str


def generate(
    request: Request, *, advance: Advance = lambda _: None, waiting: Callable[[], None] = lambda: None
) -> Outcome:
    """Record the running build, eager and under ``jit``, into the golden file that ``request`` asks for.

    Args:
        request: What to generate.
        advance: Called with the number of tables finished since the last call.
        waiting: Called once if another run is writing into the same folder.

    Raises:
        EnvironmentRefused: JAX is missing or set up so that the vectors would silently differ.
        InvalidArgument: The file exists with other axes and ``force`` is off.
        VectorsError: The file exists, is damaged, and ``force`` is off.
        ReferenceDisagrees: The reference returned what cannot be right.
        OutputError: The file could not be written; what was there is untouched.

    """
    _existing(request)
    builds = prepare(stream=request.stream, any_device=request.any_device)
    table = DrawTable.load()
    with ExitStack() as stack:
        needed = (len(builds) + _FILE_SHARE) * request.table_bytes
        folder = stack.enter_context(scratch(request.folder, needed=needed))
        results = [_sweep(request, build, folder, advance) for build in builds]
        roundings = {
            result.build: check_draws(result, d_models=request.axes["d_model"], stream=request.stream, table=table)
            for result in results
        }
        stack.enter_context(writing(request.folder, waiting=waiting))
        remove_leftovers(request.folder)
        existing, replaced = _existing(request)
        try:
            manifest = write_golden(
                request.path,
                suite=request.generated.suite,
                stream=request.stream,
                axes=request.axes,
                recordings=[Recorded(build=result.build, read=result.read) for result in results],
                existing=existing,
                table=table,
                command=request.command,
            )
        except OSError as error:
            if isinstance(error, VectorsError):
                raise
            raise output_error(request.path, error) from error
    return Outcome(
        path=request.path,
        manifest=manifest,
        roundings=roundings,
        recorded_before=tuple(b for b in builds if _times(existing, b) == _times(manifest, b) == 1),
        recorded_otherwise=tuple(b for b in builds if _times(manifest, b) > 1),
        not_batched={result.build.mode: result.not_batched for result in results if result.not_batched},
        replaced=replaced,
    )


def check(
    golden: Golden, generated: GeneratedSuite, *, any_device: bool = False, advance: Advance = lambda _: None
) -> list[Verdict]:
    """Run the reference over the axes of a golden file and say, for each mode, whether the file holds.

    Raises:
        EnvironmentRefused: JAX is missing or set up so that the vectors would silently differ.
        OutputError: The scratch files could not be written.

    """
    builds = prepare(stream=golden.stream, any_device=any_device)
    table = DrawTable.load()
    axes = golden.manifest.axes
    try:
        with tempfile.TemporaryDirectory(prefix="posvec-check-") as folder:
            return [
                judge(
                    golden,
                    sweep(
                        build=build,
                        reference=generated.reference,
                        seeds=axes["seed"],
                        d_models=axes["d_model"],
                        folder=Path(folder),
                        advance=advance,
                    ),
                    table=table,
                )
                for build in builds
            ]
    except OSError as error:
        if isinstance(error, VectorsError):
            raise
        raise output_error(Path(tempfile.gettempdir()), error) from error


def _sweep(request: Request, build: Build, folder: Path, advance: Advance) -> Sweep:
    try:
        return sweep(
            build=build,
            reference=request.generated.reference,
            seeds=request.axes["seed"],
            d_models=request.axes["d_model"],
            folder=folder,
            advance=advance,
        )
    except PosvecError:
        raise
    except OSError as error:
        raise output_error(request.path, error) from error
    except Exception as error:
        said = first_line(error)
        raise ReferenceDisagrees(
            f"The reference raised {type(error).__name__} under {build.label}: {said}; nothing was written."
        ) from error


def _existing(request: Request) -> tuple[Golden | None, str]:
    """Return the file to merge into, if any, and in words what will be replaced instead."""
    path = request.path
    if not path.exists():
        return None, ""
    try:
        golden = Golden.open(path)
        golden.check_values()
    except VectorsError as error:
        if request.force:
            return None, f"a file that could not be read ({error.problem})"
        raise VectorsError(path, error.problem, remedy="replace it with --force, or choose another -o") from error
    manifest = golden.manifest
    if golden.stream != request.stream or golden.suite.name != request.generated.suite.name:
        if request.force:
            return None, f"the vectors of {golden.name}"
        raise VectorsError(path, f"holds {golden.name}", remedy="replace it with --force, or choose another -o")
    for name, option in OPTIONS.items():
        if str(manifest.axes[name]) != str(request.axes[name]):
            if request.force:
                builds = sum(len(recording.builds) for recording in manifest.recordings)
                return (
                    None,
                    f"{manifest.cases:,} cases recorded from {builds} builds, made by `{manifest.command}`",
                )
            raise InvalidArgument(
                option,
                str(request.axes[name]),
                f"{manifest.axes[name]}, as in {path}",
                hint="add --force to replace that file, or choose another folder with -o",
            )
    return golden, ""


def _times(held: Golden | Manifest | None, build: Build) -> int:
    return 0 if held is None else sum(build in recording.builds for recording in held.recordings)
