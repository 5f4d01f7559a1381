"""Fuzzes every target for some seconds with atheris, guided by coverage: `make fuzz SECONDS=60 TARGETS=golden`.

What is found is put into the corpus, where a test replays it until it is mended and ever after.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Longest input, in bytes: a stream of a few frames, a manifest of some builds, a few patches.
LONGEST = {"frames": 4096, "lines": 4096, "printed": 1024, "manifest": 16384, "golden": 512, "cases": 16}
LONGEST["case_manifest"] = LONGEST["manifest"]
_EXECUTED = re.compile(r"number_of_executed_units:\s+(\d+)")
_SLOWEST, _LARGEST_MB = 20, 2048


def fuzz(name: str, seconds: int) -> bool:
    """Fuzz one target in a process of its own and say what was found; return whether that was nothing."""
    with tempfile.TemporaryDirectory(prefix="posvec-fuzz-") as folder:
        found = Path(folder, "found")
        for new in (found, Path(folder, "new")):
            new.mkdir()
        done = subprocess.run(
            [
                *(sys.executable, str(HERE / "run.py"), "--one", name),
                *(str(Path(folder, "new")), str(HERE / "corpus" / name)),
                *(f"-max_total_time={seconds}", f"-timeout={_SLOWEST}", f"-rss_limit_mb={_LARGEST_MB}"),
                *(f"-max_len={LONGEST[name]}", f"-artifact_prefix={found}/", "-print_final_stats=1"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        inputs = _EXECUTED.search(done.stdout)
        tried = f"{int(inputs[1]):,} inputs" if inputs else "an unknown number of inputs"
        inputs_found = sorted(found.iterdir())
        if not inputs_found and done.returncode == 0:
            print(f"{name}: nothing found in {tried}, {seconds} s.")
            return True
        print(done.stdout[-3000:])
        for path in inputs_found:
            kept = HERE / "corpus" / name / path.name
            shutil.copy(path, kept)
            print(f"{name}: FOUND {path.name.partition('-')[0]} in {tried}; kept as {kept}, and a test replays it.")
        if not inputs_found:
            print(f"{name}: the fuzzer itself ended with status {done.returncode}.")
        return False


def one(name: str, arguments: list[str]) -> None:
    """Fuzz one target in this process, with libFuzzer's options."""
    import atheris

    with atheris.instrument_imports(include=["posvec"]):
        import targets

    atheris.Setup([name, *arguments], targets.TARGETS[name])
    atheris.Fuzz()


def main() -> int:
    """Fuzz all targets and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=int, help="how long to fuzz each target")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(LONGEST)}; all, if none is named")
    asked = parser.parse_args()
    found = [name for name in asked.targets or LONGEST if not fuzz(name, asked.seconds)]
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
