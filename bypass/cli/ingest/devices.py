"""`bypass ingest register` and `keys`: the devices that may send, and their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bypass.cli.ingest.group import folder_option, ingest


@ingest.command()
@folder_option
@click.argument("devices", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def register(folder: Path, devices: Path) -> None:
    """Register the devices of a YAML or JSON file: a list, or one. Those that are known are changed."""
    from bypass.ingest.devices.device import InvalidDevice, make_device
    from bypass.ingest.devices.registry import DeviceRegistry
    from bypass.ingest.folder import IngestFolder
    from bypass.transitions.yaml_text import load_yaml

    content: Any = load_yaml(str(devices), devices.read_text(), InvalidDevice)
    made = [make_device(fields) for fields in (content if isinstance(content, list) else [content])]
    with DeviceRegistry(IngestFolder(folder).registry) as registry:
        added, changed = registry.put(*made)
        click.echo(f"{added} registered, {changed} changed; version {registry.version}")
