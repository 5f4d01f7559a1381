"""Hard-links the source files into a real package tree for mypy and import-linter, which follow no import hooks."""

import os
import shutil
import sys
import tomllib
from pathlib import Path

root, tree = Path(__file__).resolve().parent.parent, Path(sys.argv[1])
mapping = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]
shutil.rmtree(tree, ignore_errors=True)
for package, folder in mapping.items():
    for source in sorted((root / folder).rglob("*")):
        # A folder without __init__.py is no package: it holds targets, which are run by their paths.
        if source.suffix in (".py", ".typed", ".json") and (source.parent / "__init__.py").exists():
            link = tree.joinpath(*package.split("."), source.relative_to(root / folder))
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(source, link)
