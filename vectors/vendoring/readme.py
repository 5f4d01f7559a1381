"""The README of a copy: what it is, how to read it with NumPy and h5py alone, how to check and update it."""

from __future__ import annotations

from collections.abc import Sequence

from posvec.vectors.case_golden import CaseGolden
from posvec.vectors.files import DEFAULT_SUITE, file_name
from posvec.vectors.golden import Golden

_HEAD = """\
# Golden vectors

Expected values of {what}, from posvec, {version}. Any implementation can be
held against them. They are in the public domain (CC0 1.0, see `LICENSE`).

This folder was written by one command{where}:

    {command}

Nothing in it is meant to be edited; `VERSION` has the digest of every file.

| file | function | cases |
|---|---|---|
{rows}
"""

_TABLE = """
## Reading a table without posvec

```python
import h5py

with h5py.File("{file}") as file:
    row = list(file["axes/seed"]).index({seed})
    table = file["d_model={d_model}/expected"][row]  # float32, shape ({rows}, {d_model})
expected = table.reshape(-1)[: {T} * {d_model}]  # seed {seed}, T = {T}, d_model = {d_model}
```

The expected array of a case is the first `T * d_model` elements of the table of its seed and `d_model`.
"""

_CASES = """
## Reading a list of cases without posvec

```python
import json

import h5py

with h5py.File("{file}") as file:
    case = json.loads(file["manifest"][()])["cases"][{number}]  # id, args, shape, must_raise
    group = file["cases/{number:04d}"]
    arrays = {{name: group["args"][name][()] for name in case["args"] if f"args/{{name}}" in group}}
    expected = group["expected"][()]
```

`case["args"]` has the integers and floats, and of arrays the shapes. A case that must raise has no `expected`.
"""

_TAIL = """
## Verifying, checking, updating

```sh
# Is an implementation right?
posvec verify --vectors .{words} path/to/code.py
# Is this folder unchanged, damaged, edited or outdated?
posvec vendor --check .
# Unchanged? Without posvec; on macOS: shasum -a 256 -c
sha256sum -c SHA256SUMS
# Update, with a newer posvec:
{command}
```

Vectors have a version of their own: the first number changes with the format, the second when cases are added, the
third when something is corrected. The id of a case never changes. `.gitattributes` keeps git from changing line ends.
{draws}"""

_DRAWS = "\n`draws.h5` is the draw table: the value of every one of the 2**23 draws in every recorded arithmetic.\n"


def readme(copies: Sequence[Golden | CaseGolden], *, vectors: str, command: str, draws: bool) -> str:
    """Return the text for a copy of these golden files, in which each is opened where it lies in the copy."""
    tables = [golden for golden in copies if isinstance(golden, Golden)]
    lists = [golden for golden in copies if isinstance(golden, CaseGolden)]
    text = _HEAD.format(
        what="one function" if len({g.suite.name for g in copies}) == 1 else "functions that add positions",
        version="a sweep of its own" if vectors == "own" else f"vectors {vectors}",
        command=command,
        where="" if vectors == "own" else ", run in it",
        rows="\n".join(_row(golden) for golden in copies),
    )
    for table in tables[:1]:
        text += _table(table)
    if lists:
        text += _cases(lists)
    words = " ".join(["", *choosing([golden.path.name for golden in copies])])
    return text + _TAIL.format(command=command, words=words, draws=_DRAWS if draws else "")


def choosing(names: Sequence[str]) -> list[str]:
    """Return the options with which `posvec verify` finds one of these golden files in a folder."""
    default = file_name(DEFAULT_SUITE.name, "partitionable")
    if default in names:
        return []
    suite, _, rest = names[0].partition(".")
    found = [] if suite == DEFAULT_SUITE.name else ["--suite", suite]
    return found if rest == "h5" else [*found, "--stream", rest.removesuffix(".h5")]


def _row(golden: Golden | CaseGolden) -> str:
    arguments = ", ".join(parameter.name for parameter in golden.suite.parameters)
    count = len(golden.manifest.cases) if isinstance(golden, CaseGolden) else golden.manifest.cases
    stream = f", stream {golden.stream}" if golden.stream == "original" else ""
    return f"| `{golden.path.name}` | `{golden.suite.function}({arguments})`{stream} | {count:,} |"


def _cases(lists: Sequence[CaseGolden]) -> str:
    """Show a case that has elements and, if there is one, an argument that is an array."""
    arrays = [golden for golden in lists if any(p.kind == "array" for p in golden.suite.parameters)]
    golden = (arrays or lists)[0]
    entries = golden.manifest.cases
    number = max(range(len(entries)), key=lambda i: (bool(entries[i].shape) and 0 not in (entries[i].shape or ()), -i))
    return _CASES.format(file=golden.path.name, number=number)


def _table(golden: Golden) -> str:
    """Show a case that has elements: of seed 42, d_model 4 and T 3 where they are there."""
    cases = golden.cases()
    wanted = (42, 4, 3)
    case = max(
        cases,
        key=lambda case: (
            case.args["T"] > 0,
            *(case.args[name] == value for name, value in zip(("seed", "d_model", "T"), wanted, strict=True)),
        ),
    )
    return _TABLE.format(file=golden.path.name, rows=golden.manifest.rows, **case.args)
