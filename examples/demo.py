"""Generates golden vectors, verifies a right and a wrong implementation against them, and shows each command.

Exits 0 only if the right one conforms and the wrong one does not.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = (
    ("1. Run the Flax reference and write golden vectors", 0, ["generate", "-o", "golden"]),
    (
        "2. Verify the reference itself: it conforms",
        0,
        [
            "verify",
            "generator/references/learned_pos_embed.py:learned_pos_embed_forward",
            "--vectors",
            "golden",
            "--quick",
        ],
    ),
    (
        "3. Verify an implementation that uses the key of the seed unfolded: it does not",
        1,
        ["verify", "examples/unfolded_key.py", "--vectors", "golden", "--quick"],
    ),
)


def main() -> int:
    """Run the steps; return 0 if each ended as it should."""
    for title, expected, arguments in STEPS:
        print(f"\n{title}\n$ posvec {shlex.join(arguments)}\n", flush=True)
        status = subprocess.run([sys.executable, "-m", "posvec", *arguments], cwd=ROOT, check=False).returncode
        if status != expected:
            print(f"\nThis step should have ended with exit status {expected} and ended with {status}.")
            return 1
    print("\nAll three steps ended as they should. Golden vectors are in golden/; try your own implementation:")
    print("$ .venv/bin/posvec verify path/to/your_file.py:learned_pos_embed_forward --vectors golden")
    return 0


if __name__ == "__main__":
    sys.exit(main())
