"""Mutates the code that judges, one change at a time, and sees whether a test notices: `make mutants`.

Works on a copy in .venv/mutants, never on the tree itself. Exits 0 only if every mutant that no test kills is listed,
with its reason, in tests/mutants.toml. With names of groups as arguments, only those run. On two cores `levels` takes
some 8 minutes, `layout` 5, `evidence` 15 and `diagnosis` 30.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / ".venv" / "mutants"
BIN = Path(sys.executable).parent
LISTED = ROOT / "tests" / "mutants.toml"

UNIT = "tests/verifier"
GROUPS = {
    "levels": (("levels", "match"), (f"{UNIT}/test_levels.py", f"{UNIT}/test_verdict.py")),
    "layout": (("layout",), (f"{UNIT}/test_layout.py",)),
    "evidence": (("mistakes/evidence",), (f"{UNIT}/mistakes/test_evidence.py",)),
    "diagnosis": (("mistakes/diagnose", "mistakes/layout"), (f"{UNIT}/mistakes/test_diagnose.py",)),
}
"""What is mutated, modules of the verifier, and the tests that must notice."""

# Annotations such as `X | None` are never evaluated, and no other code here has a `|` that means "or".
EXCLUDED = ["core/ReplaceBinaryOperator_BitOr_.*"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change, told by its operator and the line that it changes; ``outcome`` is what the tests said."""

    module: str
    change: str
    outcome: str


def copy_tree() -> None:
    """Copy what the tests need into a package tree of its own, which comes before the installed one."""
    shutil.rmtree(COPY, ignore_errors=True)
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    for package, folder in mapping.items():
        shutil.copytree(
            ROOT / folder,
            COPY.joinpath(*package.split(".")),
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )
    shutil.copytree(ROOT / "tests", COPY / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", COPY)


def run_group(name: str) -> list[Mutant]:
    """Mutate the modules of a group; return every mutant and what the tests said."""
    modules, tests = GROUPS[name]
    command = f"{BIN / 'pytest'} -x -q --no-header -p no:cacheprovider {' '.join(tests)}"
    environment = {
        **os.environ,
        "PYTHONPATH": str(COPY),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    subprocess.run(command.split(), cwd=COPY, env=environment, check=True, stdout=subprocess.DEVNULL)
    found: list[Mutant] = []
    for module in modules:
        config, session = COPY / "mutants.toml", COPY / f"{module.replace('/', '-')}.sqlite"
        config.write_text(
            "[cosmic-ray]\n"
            f'module-path = "posvec/verifier/{module}.py"\ntimeout = 120.0\nexcluded-modules = []\n'
            f"test-command = {json.dumps(command)}\n"
            '[cosmic-ray.distributor]\nname = "local"\n'
            f"[cosmic-ray.filters.operators-filter]\nexclude-operators = {json.dumps(EXCLUDED)}\n"
        )
        for step in (
            ["cosmic-ray", "init", str(config), str(session)],
            ["cr-filter-operators", str(session), str(config)],
            ["cosmic-ray", "exec", str(config), str(session)],
        ):
            subprocess.run([BIN / step[0], *step[1:]], cwd=COPY, env=environment, check=True)
        found += list(_mutants(module, session))
    return found


def _mutants(module: str, session: Path) -> Iterator[Mutant]:
    done = subprocess.run([BIN / "cosmic-ray", "dump", session], capture_output=True, text=True, check=True)
    source = (COPY / "posvec" / "verifier" / f"{module}.py").read_text().splitlines()
    for line in done.stdout.splitlines():
        item, result = json.loads(line)
        if result is None or result["worker_outcome"] == "skipped":
            continue
        mutation: dict[str, Any] = item["mutations"][0]
        row = mutation["start_pos"][0] - 1
        operator = mutation["operator_name"].removeprefix("core/")
        yield Mutant(
            module=module,
            change=f"{operator}: {source[row].strip()}",
            outcome=result["test_outcome"] or result["worker_outcome"],
        )


def main(names: list[str]) -> int:
    """Run the groups; return 0 if every survivor is listed."""
    listed = [re.compile(entry["change"]) for entry in tomllib.loads(LISTED.read_text())["survivor"]]
    copy_tree()
    failed = False
    for name in names or GROUPS:
        mutants = run_group(name)
        survivors = [mutant for mutant in mutants if mutant.outcome == "survived"]
        unlisted = [one for one in survivors if not any(rule.search(f"{one.module}: {one.change}") for rule in listed)]
        print(
            f"{name}: {len(mutants)} mutants, {len(mutants) - len(survivors)} killed, "
            f"{len(survivors) - len(unlisted)} survived with a reason, {len(unlisted)} without"
        )
        for mutant in unlisted:
            print(f"  {mutant.module}: {mutant.change}")
        failed |= bool(unlisted)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
