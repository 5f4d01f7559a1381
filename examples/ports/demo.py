"""Builds each port whose compiler is here, verifies it at the level ``equivalent``, and prints what came out.

Exits 0 if every port that could be tried conforms, and at least one could.
"""

from __future__ import annotations

import importlib.util
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.verifier.scaffolds.languages import Language

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BINS = ("0", "1", "2", "3", "4", "5+")


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port: the name it is shown by, its source, and how it is built and run.

    Attributes:
        label: what the table calls it.
        source: the file.
        language: of a program; None for a Python function, which ``posvec verify`` imports.
        needs: for a Python function, the module without which it is left out.

    """

    label: str
    source: Path
    language: Language | None = None
    needs: str = ""

    def missing(self) -> str:
        """Return what is not installed here and has to be, or an empty text."""
        if self.language is None:
            return "" if importlib.util.find_spec(self.needs) else self.needs
        tool = (self.language.build_words(self.source) or self.language.run_words(self.source))[0]
        return "" if shutil.which(tool) else tool

    def prepare(self, folder: Path) -> list[str]:
        """Build the port in ``folder`` and return the words by which ``posvec verify`` is told of it."""
        if self.language is None:
            return [str(self.source)]
        copy = Path(shutil.copy(self.source, folder))
        words = self.language.build_words(copy)
        if words and subprocess.run(words, check=False).returncode:
            sys.exit(f"{self.label}: {shlex.join(words)} failed.")
        return ["--exec", *self.language.run_words(copy)]


PORTS = (
    Port(label="C", source=HERE / "port.c", language=Language.parse("c")),
    Port(label="Rust", source=HERE / "port.rs", language=Language.parse("rust")),
    Port(label="JavaScript", source=HERE / "port.js", language=Language.parse("javascript")),
    Port(label="NumPy", source=HERE.parent / "numpy_port.py", needs="numpy"),
    Port(label="PyTorch", source=HERE / "torch_port.py", needs="torch"),
)


def verify(port: Port, folder: Path) -> dict[str, Any]:
    """Run ``posvec verify`` on a port and return its report."""
    report = folder / "report.json"
    words = ["verify", "--match", "equivalent", "--report", f"json={report}", *port.prepare(folder)]
    print(f"$ posvec {shlex.join(words)}".replace(f"{folder}/", "./").replace(f"{ROOT}/", ""), flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "posvec", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if not report.exists():
        sys.exit(done.stderr)
    print(done.stdout.split("\n\n")[0] + "\n", flush=True)
    found: dict[str, Any] = json.loads(report.read_text())
    report.unlink()
    return found


def row(label: str, report: dict[str, Any]) -> str:
    """Return a line of the table."""
    level = (report["levels_held"] or ["none"])[0]
    elements = report["elements"]
    shares = [elements["ulp_histogram"][name] / max(1, elements["compared"]) for name in BINS]
    speed = report["counts"]["selected"] / report["seconds"]["cases"]
    return f"{label:<11} {level:<11}" + "".join(f"{share:>8.2%}" for share in shares) + f"{speed:>9,.0f}"


def main() -> int:
    """Verify the ports one after the other; return 0 if all conform."""
    reports: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for port in PORTS:
            if missing := port.missing():
                print(f"{port.label}: {missing} is not installed here, so {port.source.name} is left out.\n")
            else:
                reports[port.label] = verify(port, Path(folder))
    print("Shares of the elements by their distance in ULP from JAX 0.10.2, eager, FMA:\n")
    print(f"{'port':<11} {'level':<11}" + "".join(f"{name:>8}" for name in BINS) + f"{'cases/s':>9}")
    for label, report in reports.items():
        print(row(label, report))
    return 0 if reports and all(report["verdict"]["exit_code"] == 0 for report in reports.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
