"""Runs a command of this folder that is started with ``python -m``, and exits with its status."""

from __future__ import annotations

import sys
from typing import Any

import click

from posvec.schemas.errors import PosvecError


def run(command: click.Command) -> None:
    """Run ``command`` and exit; an error raised on purpose is one sentence on stderr and its own status."""
    try:
        status: Any = command.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PosvecError as error:
        click.echo(f"posvec: {error}", err=True)
        sys.exit(error.exit_code)
    sys.exit(status if isinstance(status, int) else 0)
