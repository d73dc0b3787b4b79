"""`bypass ingest`: the group of its commands, and the option that they share."""

from __future__ import annotations

from pathlib import Path

import click

from bypass.cli.group import commands, need_ingest

folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("ingest"),
    show_default=True,
    help="The folder of the installation: its log, registry, tables and state.",
)


@commands.group()
def ingest() -> None:
    """Take in messages of devices, keep them as measurements, and query them while they flow.

    \b
    Examples:
      bypass ingest register devices.yaml
      bypass ingest start --tcp 127.0.0.1:7791 --http 127.0.0.1:7792
      bypass ingest status --json
      bypass ingest query --tenant fleet --devices "kind = truck" --where "metric = speed" --since -1h
      bypass ingest query --tenant fleet --follow
      bypass ingest token --tenant fleet --allow query --for 1h
    """
    need_ingest()
