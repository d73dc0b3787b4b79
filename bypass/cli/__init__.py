"""The command `bypass`: says in one line what is wrong with a request."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

# A module of commands adds them to the group.
from bypass.cli import (  # noqa: F401
    evaluate,
    ingest,
    objects,
    operate,
    places,
    run,
    sweep,
    timeliness,
    traces,
)
from bypass.cli import map as _map  # noqa: F401
from bypass.cli.group import INTERRUPTED, commands, explained
from bypass.cli.live import broker, edge, keygen, warm_up  # noqa: F401


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 if all is well, 1 if what was measured is not what it should be, 2
    after an error, which takes one line."""
    try:
        sys.exit(commands.main(args, prog_name="bypass", standalone_mode=False))
    except click.Abort:
        click.echo("bypass: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        explanation = explained(error)
        if explanation is None:
            raise
        click.echo(f"bypass: error: {' '.join(explanation.split())}", err=True)
        sys.exit(2)
