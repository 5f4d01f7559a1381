"""How a target is run: times, processes, memory."""

from __future__ import annotations

from dataclasses import dataclass

from posvec.schemas.errors import InvalidArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a target is run.

    Attributes:
        python: The interpreter that runs it; None: the one that runs posvec.
        timeout: Seconds for one case, counted from when the target is ready for it.
        start_timeout: Seconds for starting and importing the target.
        jobs: Number of processes.
        memory: Largest resident size in bytes of a process that runs the target; None: no limit.
        growth: A process that has grown by so many bytes since it was ready is replaced between two cases.
            The default leaves a quarter of 1 GiB to what is under way when that is noticed.
        fresh: Whether each case gets a process of its own.
        folder: The current directory of the processes; None: that of posvec.
        variables: Environment variables that they get beside those of posvec.

    Raises:
        InvalidArgument: A value is outside what is allowed; it names the command's option.

    """

    python: str | None = None
    timeout: float = 10.0
    start_timeout: float = 60.0
    jobs: int = 1
    memory: int | None = None
    growth: int = 768 * 2**20
    fresh: bool = False
    folder: str | None = None
    variables: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("--timeout", self.timeout), ("--start-timeout", self.start_timeout)):
            if not 0 < value < 1e9:
                raise InvalidArgument(name, value, "a number of seconds above 0 and below 1e9")
        if not 1 <= self.jobs <= 1024:
            raise InvalidArgument("--jobs", self.jobs, "a number of processes from 1 to 1024")
        for name, size in (("--memory", self.memory), ("growth", self.growth)):
            if size is not None and size <= 0:
                raise InvalidArgument(name, size, "above 0")
