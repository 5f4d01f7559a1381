"""What the target runs on."""

from __future__ import annotations

import builtins
import os
import sys

from .describe import has_base, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Functions below look names up here, not in the builtins that a target can replace.
globals()["__builtins__"] = dict(vars(builtins))

MAX_VALUE = 2000

_modules = sys.modules


def environment(with_device: bool) -> dict[str, Any]:
    """Return what the target runs on. Libraries are named only if the target has loaded them.

    The device is asked for only where calls were made already: asking starts JAX's backend, after which a
    target can no longer choose one.
    """
    found: dict[str, Any] = {
        "python": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "platform": sys.platform,
        "executable": sys.executable,
    }
    try:
        found["machine"] = os.uname().machine
    except AttributeError:
        found["machine"] = os.environ.get("PROCESSOR_ARCHITECTURE", "")
    for name in ("jax", "jaxlib", "flax", "numpy", "torch"):
        version = getattr(_modules.get(name), "__version__", None)
        if has_base(type(version), str):
            found[name] = str.__str__(version)
    for name in sorted(os.environ):
        if name == "XLA_FLAGS" or name.startswith("JAX_"):
            found[name] = os.environ[name][:MAX_VALUE]
    jax = _modules.get("jax")
    config = getattr(jax, "config", None)
    for name in (
        "jax_enable_x64",
        "jax_threefry_partitionable",
        "jax_default_prng_impl",
        "jax_random_seed_offset",
        "jax_default_matmul_precision",
        "jax_disable_jit",
        "jax_numpy_dtype_promotion",
    ):
        value = getattr(config, name, None)
        if type(value) is bool or type(value) is str:
            found[name] = value
        elif type(value) is int:
            found[name] = str(value)
    if jax is not None and with_device:
        found["jax_backend"] = str(jax.default_backend())
        found["jax_device"] = str(getattr(jax.devices()[0], "device_kind", ""))
    return found


def safe_environment(with_device: bool) -> dict[str, Any]:
    """Return the environment, or why it could not be told: a target may have replaced anything."""
    try:
        return environment(with_device)
    except BaseException as error:
        return {"problem": type_name(type(error))}
