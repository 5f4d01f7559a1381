"""Starts the child: what the target is to see of the interpreter is noted before anything else is imported."""

from __future__ import annotations

import os
import sys

# The directory of this file is not part of what a target sees.
_HERE = os.path.dirname(os.path.abspath(__file__))
if sys.path and os.path.abspath(sys.path[0] or ".") == _HERE:
    del sys.path[0]
_SEEN_PATH = list(sys.path)
_SEEN_MODULES = set(sys.modules)
# PYTHONPATH may name the target's own directory, with a random.py or json.py in it: those are the target's.
_FOREIGN = {os.path.abspath(_entry) for _entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
sys.path[:] = [_entry for _entry in sys.path if os.path.abspath(_entry or ".") not in _FOREIGN]

from _frozen_importlib import module_from_spec  # noqa: E402
from _frozen_importlib_external import spec_from_file_location  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Import this folder as a package of a name of its own, whatever is called posvec here, and serve."""
    spec: Any = spec_from_file_location("_posvec_child", _HERE + "/__init__.py", submodule_search_locations=[_HERE])
    package = sys.modules["_posvec_child"] = module_from_spec(spec)
    spec.loader.exec_module(package)
    __import__("_posvec_child.serving")
    sys.modules["_posvec_child.serving"].main(_SEEN_PATH, _SEEN_MODULES)


if __name__ == "__main__":
    main()
