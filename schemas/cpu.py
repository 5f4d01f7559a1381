"""Which vector instruction sets this machine's CPU has; they decide how compiled code rounds."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

OF_INTEREST = ("sse4_2", "avx", "avx2", "fma", "avx512f")


@cache
def cpu_flags() -> frozenset[str]:
    """Return the CPU's feature flags, lower case, as Linux names them; none on Windows or where they are hidden.

    Sources: ``/proc/cpuinfo`` on Linux, ``sysctl`` on macOS.
    """
    text = ""
    if sys.platform == "darwin":
        names = ("machdep.cpu.features", "machdep.cpu.leaf7_features")
        done = subprocess.run(  # the absolute path: nothing that is first on PATH may say what the CPU is
            ["/usr/sbin/sysctl", "-n", *names], capture_output=True, text=True, check=False
        )
        text = done.stdout.replace("SSE4.2", "SSE4_2").replace("AVX1.0", "AVX")
    else:
        cpuinfo = Path("/proc/cpuinfo")
        if cpuinfo.exists():
            lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
            text = next((line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))), "")
    return frozenset(text.lower().split())
