"""A build: one environment whose bytes were recorded. Streams and modes are named here too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from posvec.schemas.reading import one_of, read

Mode = Literal["eager", "jit"]
Stream = Literal["partitionable", "original"]
MODES: tuple[Mode, ...] = ("eager", "jit")
STREAMS: tuple[Stream, ...] = ("partitionable", "original")

CANONICAL_LABEL = "JAX 0.10.2 eager, FMA"
"""The build whose bytes are ``expected`` in every golden file, recorded or derived."""

_ISA_WORDS = {"SSE4_2": "no FMA", "AVX": "no FMA", "AVX2": "FMA", "AVX512": "AVX-512"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Build:
    """Versions, machine and flags that decide how the reference rounds.

    Attributes:
        jax: JAX version, e.g. ``0.10.2``.
        jaxlib: jaxlib version.
        flax: Flax version.
        mode: ``eager``, or ``jit`` for the whole function under ``jax.jit``.
        platform: ``linux``, ``darwin`` or ``win32``.
        machine: ``x86_64``, ``aarch64``, …
        backend: JAX's default backend, ``cpu`` unless asked for otherwise.
        isa: The instruction set that ``--xla_cpu_max_isa`` allows, or ``native`` where it is unset.
        cpu_isa: The widest instruction set of the recording CPU: ``AVX512``, ``AVX2``, ``AVX``, ``SSE4_2`` or
            ``generic`` (not x86-64).
        xla_flags: Every other flag of ``XLA_FLAGS``, sorted, joined by single blanks.

    """

    jax: str
    jaxlib: str
    flax: str
    mode: Mode
    platform: str
    machine: str
    backend: str
    isa: str
    cpu_isa: str
    xla_flags: str = ""

    @property
    def id(self) -> str:
        """A name without blanks that tells this build from every other: what ``--build`` accepts."""
        isa = f"native-{self.cpu_isa}" if self.isa == "native" else self.isa
        parts = [f"jax-{self.jax}", self.mode, self.platform, self.machine, isa]
        if self.backend != "cpu":
            parts.append(self.backend)
        if self.jaxlib != self.jax:
            parts.append(f"jaxlib-{self.jaxlib}")
        parts.append(f"flax-{self.flax}")
        parts += self.xla_flags.split()
        return "/".join(parts)

    @property
    def label(self) -> str:
        """A short name for people, e.g. ``JAX 0.10.2 eager, FMA``. Several builds may share it."""
        if self.is_canonical:
            return CANONICAL_LABEL
        effective = self.cpu_isa if self.isa == "native" else self.isa
        words = _ISA_WORDS.get(effective, self.machine)
        if words == "AVX-512":
            words = "FMA" if self.isa != "native" else "FMA, AVX-512 CPU"
        extra = f", {self.xla_flags}" if self.xla_flags else ""
        where = "" if self.backend == "cpu" else f" on {self.backend}"
        return f"JAX {self.jax} {self.mode}{where}, {words}{extra}"

    @property
    def is_canonical(self) -> bool:
        """Whether this is the build whose bytes are ``expected``: JAX 0.10.2, eager, x86-64 CPU with FMA."""
        effective = self.cpu_isa if self.isa == "native" else self.isa
        return (
            self.jax == self.jaxlib == "0.10.2"
            and self.mode == "eager"
            and self.machine == "x86_64"
            and self.backend == "cpu"
            and effective in ("AVX2", "AVX512")
            and not self.xla_flags
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Build:
        """Read what :meth:`to_dict` wrote."""
        fields: dict[str, Any] = {name: read(data, name, str) for name in cls.__slots__}
        one_of(fields["mode"], MODES)
        return cls(**fields)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, with ``id`` and ``label`` for readers."""
        return {"id": self.id, "label": self.label, **asdict(self)}
