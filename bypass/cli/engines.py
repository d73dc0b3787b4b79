"""Where the work of a command is done, as its options say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bypass.models.compute.engines import ComputeEngine

LARGEST_LOCAL = 50_000_000
"""Up to so many rows or events this process is faster than Spark, which takes ten seconds to begin."""


@contextmanager
def chosen_engine(wish: str | None, master: str | None, size: int, unit: str) -> Iterator[ComputeEngine]:
    """The engine that was asked for, or the one for work of this size; says which and why."""
    from bypass.models.compute.engines import LocalEngine, spark_engine

    if wish is None:
        large = size > LARGEST_LOCAL
        wish = "spark" if large or master is not None else "local"
        why = (
            "a master is given"
            if master
            else f"{size:,} {unit}, {'over' if large else 'up to'} {LARGEST_LOCAL:,}"
        )
        click.echo(f"engine: {wish} ({why})")
    elif wish == "local" and master is not None:
        raise click.UsageError(f"--master {master}: expected --engine spark with it")
    if wish == "local":
        yield LocalEngine()
    else:
        with spark_engine("bypass", master) as engine:
            yield engine


def engine_options(command: Any) -> Any:
    """`--engine` and `--master`."""
    command = click.option(
        "--master",
        metavar="URL",
        help="The Spark cluster to run on, such as spark://host:7077.  [default: this machine's cores]",
    )(command)
    return click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        help="Where the work is done; the figures are the same.  [default: by size]",
    )(command)
