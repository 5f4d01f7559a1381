"""Which build is running, and the settings under which it would silently make other vectors.

Importing this module does not import JAX; :func:`prepare` does.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posvec.schemas.build import Build, Stream
from posvec.schemas.cpu import cpu_flags
from posvec.schemas.errors import EnvironmentRefused

STREAM_VARIABLE = "JAX_THREEFRY_PARTITIONABLE"
_STREAM_SETTING = "jax_threefry_partitionable"
_MAX_ISA = "--xla_cpu_max_isa"
_TRUE, _FALSE = {"y", "yes", "t", "true", "on", "1"}, {"n", "no", "f", "false", "off", "0"}

# From the narrowest to the widest; what XLA_FLAGS may name and what a CPU is said to have.
_ISAS = ("SSE4_2", "AVX", "AVX2", "AVX512", "AVX512_VNNI", "AVX512_BF16", "AMX", "AMX_FP16")
_CPU_FLAGS = {
    "AVX512": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"},
    "AVX2": {"avx2", "fma"},
    "AVX": {"avx"},
    "SSE4_2": {"sse4_2"},
}
# XLA flags that only write files or messages: they would make one build look like many.
_SILENT_XLA_FLAGS = ("--xla_dump", "--xla_hlo_profile", "--xla_log", "--xla_vlog")
_MACHINES = {"AMD64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """A ``jax.config`` entry, the value under which vectors are made, and what another would do.

    ``also`` are names that some versions give to the same value.
    """

    name: str
    needed: Any
    why: str
    also: tuple[Any, ...] = ()

    @property
    def variable(self) -> str:
        return self.name.upper()


_SETTINGS = (
    _Setting(name="jax_enable_x64", needed=False, why="with x64 the reference draws float64 from other random bits"),
    _Setting(
        name="jax_default_dtype_bits", needed="64", also=("_default",), why="it changes the dtype of what is drawn"
    ),
    _Setting(name="jax_default_prng_impl", needed="threefry2x32", why="another generator makes every draw another"),
    _Setting(name="jax_random_seed_offset", needed=0, why="it is added to every seed"),
    _Setting(name="jax_disable_jit", needed=False, why="the 'jit' recording would not be compiled as a whole"),
    _Setting(name="jax_accurate_erf_inv", needed=False, why="it is another erf_inv, which rounds differently"),
    _Setting(name="eager_constant_folding", needed=False, why="it folds part of the computation elsewhere"),
    _Setting(
        name="jax_disable_most_optimizations",
        needed=False,
        why="it changes the rounding and no build says so",
    ),
    _Setting(name="jax_optimization_level", needed="UNKNOWN", why="it changes what the compiler may reorder"),
    _Setting(name="jax_exec_time_optimization_effort", needed=0.0, why="it changes what the compiler may reorder"),
)


def prepare(
    *, stream: Stream, any_device: bool = False, environ: Mapping[str, str] = os.environ
) -> tuple[Build, Build]:
    """Import JAX and Flax, set the stream, and return the running build, eager and under ``jit``.

    Call it before anything is traced: the stream is a setting that compiled programs keep.

    Args:
        stream: Which integers a seed shall give.
        any_device: Accept a default device that is not a CPU.
        environ: The environment variables to judge.

    Raises:
        EnvironmentRefused: JAX or Flax is missing or unusable, or a setting changes draws, dtype or mode.

    """
    _require_stream(stream, environ)
    jax = _import_jax()
    for setting in _SETTINGS:
        _require_setting(jax, setting, environ)
    _require_flax()
    _require_known_xla_flags(environ)
    backend = _backend(jax, any_device=any_device)
    jax.config.update(_STREAM_SETTING, stream == "partitionable")
    # A compiled program from a cache may have been compiled for another machine that shares the folder.
    jax.config.update("jax_enable_compilation_cache", False)
    eager = describe(environ=environ, backend=backend)
    return eager, replace(eager, mode="jit")


def describe(*, environ: Mapping[str, str] = os.environ, backend: str = "cpu") -> Build:
    """Return the running build in eager mode, from package metadata and the environment; imports no JAX.

    Raises:
        EnvironmentRefused: A package is missing or ``XLA_FLAGS`` names an instruction set XLA does not know.

    """
    try:
        versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "flax")}
    except importlib.metadata.PackageNotFoundError as error:
        raise _not_installed(error.name or "jax") from error
    cpu_isa = cpu_instruction_set()
    isa, other_flags = parse_xla_flags(environ.get("XLA_FLAGS", ""))
    if isa != "native" and (cpu_isa == "generic" or _ISAS.index(isa) > _ISAS.index(cpu_isa)):
        # AVX512_VNNI and wider stay as they are on a CPU with AVX-512: cpu_isa is no finer than that.
        isa = isa if cpu_isa == "AVX512" else "native"
    return Build(
        jax=versions["jax"],
        jaxlib=versions["jaxlib"],
        flax=versions["flax"],
        mode="eager",
        platform=sys.platform,
        machine=_MACHINES.get(platform.machine(), platform.machine()),
        backend=backend,
        isa=isa,
        cpu_isa=cpu_isa,
        xla_flags=" ".join(other_flags),
    )


def parse_xla_flags(text: str) -> tuple[str, list[str]]:
    """Return the instruction set that ``XLA_FLAGS`` allows (``native``: all) and its other flags, sorted.

    As XLA reads it: of a flag given twice the last counts, and text that does not begin with ``-`` names a
    file of flags. Flags that only dump or log are left out.

    Raises:
        EnvironmentRefused: The instruction set is not one of XLA's for x86-64, or the file cannot be read.

    """
    if text.strip() and not text.strip().startswith("-"):
        try:
            text = Path(text.strip()).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise EnvironmentRefused(
                "XLA_FLAGS",
                repr(text),
                needed="give flags that begin with --",
                why="no such file can be read",
            ) from error
    flags: dict[str, str] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        flags[name] = value
    isa = flags.pop(_MAX_ISA, "").upper() or "native"
    if isa != "native" and isa not in _ISAS:
        raise EnvironmentRefused(
            "XLA_FLAGS",
            f"{_MAX_ISA}={isa}",
            needed=f"use one of {', '.join(_ISAS)}, or unset it",
            why="XLA ignores an instruction set that it does not know",
        )
    kept = [
        name + (f"={value}" if value else "") for name, value in flags.items() if not name.startswith(_SILENT_XLA_FLAGS)
    ]
    return isa, sorted(kept)


def cpu_instruction_set() -> str:
    """Return the widest instruction set of this CPU.

    One of ``AVX512``, ``AVX2``, ``AVX``, ``SSE4_2`` and ``generic``, which is also the answer off x86-64
    and on Windows. Sources: ``/proc/cpuinfo`` on Linux, ``sysctl`` on macOS.
    """
    has = cpu_flags()
    return next((isa for isa, flags in _CPU_FLAGS.items() if flags <= has), "generic")


def _require_known_xla_flags(environ: Mapping[str, str]) -> None:
    """Start JAX in another process first: XLA ends its process, without an exception, at a flag it does not know."""
    flags = environ.get("XLA_FLAGS", "").strip()
    if not flags:
        return
    probe = [sys.executable, "-c", "import jax; jax.devices()"]
    done = subprocess.run(probe, env=dict(environ), capture_output=True, text=True, check=False)
    if done.returncode:
        unknown = [line for line in done.stderr.splitlines() if "Unknown flag" in line]
        raise EnvironmentRefused(
            "XLA_FLAGS",
            repr(flags),
            needed="leave out what this version does not know, or unset it",
            why="JAX does not start with it" + (f" ({unknown[0].rpartition('] ')[2]})" if unknown else ""),
        )


def _not_installed(package: str) -> EnvironmentRefused:
    return EnvironmentRefused(
        "JAX" if package != "flax" else "Flax",
        "not installed",
        needed="pip install 'posvec[jax]'",
        why="the reference is a Flax module",
    )


def _import_jax() -> Any:
    try:
        return importlib.import_module("jax")
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise _unusable(error) from error
        raise _not_installed("jax") from error
    except Exception as error:  # a broken JAX may raise anything
        raise _unusable(error) from error


def _unusable(error: Exception) -> EnvironmentRefused:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return EnvironmentRefused(
        "JAX",
        "unusable here",
        needed="pip install --force-reinstall 'posvec[jax]' or mend the variable it names",
        why=f"its import says {lines[0]!r}",
    )


def _require_stream(stream: Stream, environ: Mapping[str, str]) -> None:
    asked = environ.get(STREAM_VARIABLE, "").strip()
    if not asked:
        return
    needed = stream == "partitionable"
    if asked.lower() not in (_TRUE if needed else _FALSE):
        raise EnvironmentRefused(
            STREAM_VARIABLE,
            repr(asked),
            needed=f"unset it, or ask for --stream {'original' if needed else 'partitionable'}",
            why=f"the stream asked for is {stream!r}",
        )


def _require_setting(jax: Any, setting: _Setting, environ: Mapping[str, str]) -> None:
    # Some are no attributes but only entries of ``values``; not all exist in every version.
    got = getattr(jax.config, setting.name, jax.config.values.get(setting.name, setting.needed))
    # JAX gives some settings as enum members whose name is the value to write.
    if got in (setting.needed, *setting.also) or getattr(got, "name", got) == setting.needed:
        return
    if setting.variable in environ:
        raise EnvironmentRefused(
            setting.variable,
            repr(environ[setting.variable]),
            needed=f"unset {setting.variable}",
            why=setting.why,
        )
    raise EnvironmentRefused(
        setting.name,
        repr(got),
        needed=f"jax.config.update({setting.name!r}, {setting.needed!r})",
        why=setting.why,
    )


def _require_flax() -> None:
    try:
        flax = importlib.import_module("flax")
    except ModuleNotFoundError as error:
        if error.name != "flax":
            raise _unusable(error) from error
        raise _not_installed("flax") from error
    except Exception as error:  # Flax made for another JAX raises AttributeError and others on import
        raise EnvironmentRefused(
            "Flax",
            "unusable here",
            needed="pip install a Flax that fits this JAX",
            why=f"its import says {(str(error) or type(error).__name__).splitlines()[0]!r}",
        ) from error
    if getattr(flax.config, "flax_fix_rng_separator", False):
        raise EnvironmentRefused(
            "FLAX_FIX_RNG_SEPARATOR",
            "on",
            needed="unset FLAX_FIX_RNG_SEPARATOR",
            why="it folds other data into the parameter's key",
        )


def _backend(jax: Any, *, any_device: bool) -> str:
    try:
        backend = str(next(iter(jax.numpy.zeros(()).devices())).platform)
    except Exception as error:  # each backend that cannot start raises an error of its own
        raise EnvironmentRefused(
            "JAX's default device",
            "unusable",
            needed="set JAX_PLATFORMS=cpu",
            why=f"it says {(str(error) or type(error).__name__).splitlines()[0]!r}",
        ) from error
    if backend != "cpu" and not any_device:
        raise EnvironmentRefused(
            "JAX's default device",
            backend,
            needed="set JAX_PLATFORMS=cpu, or pass --any-device to record it as a build of its own",
            why="the vectors are those of a CPU",
        )
    return backend
