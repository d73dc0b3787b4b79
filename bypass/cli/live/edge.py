"""`bypass edge`: a live edge."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from bypass.cli.group import commands

if TYPE_CHECKING:
    from bypass.live.edge.config import EdgeConfig

log = logging.getLogger(__name__)


@commands.command()
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    required=True,
    help="A YAML file, or one that ends with .properties; keys that are missing have their defaults.",
)
def edge(config: Path) -> None:
    """Run an edge until it is interrupted: a stationary node that keeps what is popular among the clients in
    its networks, and exchanges it with other edges.

    Clients are in the same networks, have the same group key, and know the edge by its public keys; they
    find it by multicast. Edges know each other by their public keys, too. What was deleted, and which worlds
    there are, is kept in the edge's store; what it has cached ends with it. Relative paths in the file are
    relative to its folder.

    \b
    Examples:
      bypass keygen --group && bypass keygen hall --edge && bypass keygen yard --edge
      cat > hall.yaml <<END
      host: 192.168.1.67
      keys: keys/hall.key
      edges: [{host: 192.168.2.67, port: 9501, key: keys/edges/yard.pub}]
      END
      bypass edge --config hall.yaml
      bypass objects query beach --storage infra --neighbours 192.168.1.5/24 \\
          --edges keys/edges/hall.pub --edges keys/edges/yard.pub --at 50 50
    """
    signal.signal(signal.SIGTERM, _not_serving_yet)
    from bypass.live.broker.loop.descriptors import raise_limit
    from bypass.live.broker.operations.logs import configure_logs
    from bypass.live.edge.config_file import load_edge_config

    found = load_edge_config(config)
    raise_limit()
    configure_logs(found.log, "text")
    asyncio.run(_serve(found))


async def _serve(config: EdgeConfig) -> None:
    from bypass.live.edge.process import LiveEdge

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with LiveEdge(config) as running:
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, ended.set)
        click.echo(
            f"bypass edge {running.keys.name}, number {running.number}, serves clients at"
            f" {', '.join(config.networks)} port {config.client_port}, edges at {running.endpoint}"
        )
        sys.stdout.flush()
        await ended.wait()
        if counts := running.counts():
            log.info("dropped: %s", ", ".join(f"{what}: {number}" for what, number in counts.items()))


def _not_serving_yet(*_: object) -> NoReturn:
    """End well after SIGTERM, as an edge that serves does: nothing was begun."""
    sys.exit(0)
