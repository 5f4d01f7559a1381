"""Says in one sentence why this Python cannot make posvec's virtual environment, if it cannot. Runs on any Python."""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "posvec: Python %d.%d is too old: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python"
        % sys.version_info[:2]
    )
try:
    import ensurepip  # noqa: F401
    import venv  # noqa: F401
except ImportError:
    sys.exit(
        "posvec: %s cannot make virtual environments: install its venv package (Debian, Ubuntu: "
        "apt install python%d.%d-venv)" % ((sys.executable,) + sys.version_info[:2])
    )
