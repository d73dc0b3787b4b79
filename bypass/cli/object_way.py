"""The way of `bypass objects` to whoever stores: a broker, or neighbours without one."""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bypass.cli.group import parse_change
from bypass.cli.operate import DEFAULT_BROKER

if TYPE_CHECKING:
    from bypass.live.client.blocking import BlockingConnection

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_KEYS, DEFAULT_GROUP = Path("keys/me.key"), Path("keys/group.key")
SESSION = "objects"
"""The name of the session that these commands share, beside those of a key's applications."""

MEETING_S = 10.0
"""How long a command waits for another node in reach."""

SHARING = ("cells", "server", "infra")
"""The designs in which an object stays when its owner goes."""

PLACED = ("cells", "infra")
"""The designs of nodes that have to know where they are; of `infra` while no edge is in reach."""

_OPTIONS = (
    click.option("--broker", default=DEFAULT_BROKER, show_default=True, metavar="ADDRESS"),
    click.option(
        "--keys",
        type=click.Path(path_type=Path),
        default=DEFAULT_KEYS,
        show_default=True,
        help="A client's key: `bypass keygen me` makes one.",
    ),
    click.option("--open", "is_open", is_flag=True, help="The broker is open: no keys."),
    click.option(
        "--neighbours",
        multiple=True,
        metavar="ADDRESS/PREFIX",
        help="No broker: this machine in a network whose nodes store, such as 192.168.1.5/24; repeatable.",
    ),
    click.option(
        "--group",
        type=click.Path(path_type=Path),
        default=DEFAULT_GROUP,
        show_default=True,
        help="The neighbours' key: `bypass keygen --group` makes one.",
    ),
    click.option(
        "--edges",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE",
        help="The .pub file of an edge that is believed; repeatable. `bypass keygen NAME --edge` makes one.",
    ),
    click.option("--port", type=click.IntRange(1, 65_535), default=7701, show_default=True),
    click.option("--node", default=socket.gethostname(), help="This node's name; the host's if not given."),
    click.option("--storage", default="cells", show_default=True, help="Until the others say otherwise."),
    click.option("--routing", default="", help="One that fits the storage if not given."),
    click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable."),
    click.option("--at", nargs=2, type=float, metavar="X Y", help="Where this node is, in metres."),
    click.option(
        "--store",
        type=click.Path(path_type=Path),
        help="The file in which this node keeps its objects, and what deletes them.",
    ),
)


@dataclass(frozen=True)
class ObjectWay:
    """The options by which a command reaches those who store."""

    broker: str
    keys: Path
    is_open: bool
    neighbours: tuple[str, ...]
    group: Path
    edges: tuple[Path, ...]
    port: int
    node: str
    storage: str
    routing: str
    changes: tuple[str, ...]
    at: tuple[float, float] | None
    store: Path | None

    @property
    def is_direct(self) -> bool:
        """Whether there is no broker."""
        return bool(self.neighbours)

    def connect(self, *, visiting: bool) -> BlockingConnection:
        """A connection to the broker; without one a node, which a `visiting` command is only for a while.

        Raises as `connect_blocking` does.
        """
        from bypass.live.client.blocking import connect_blocking

        if not self.is_direct:
            if self.is_open:
                return connect_blocking(self.broker, open=True, name=SESSION)
            return connect_blocking(self.broker, keys=self.keys, name=SESSION)
        from bypass.live.adhoc.neighbours import Neighbours
        from bypass.live.keys import load_group_key

        if self.storage in PLACED and not self.at:
            raise click.UsageError(f"--storage {self.storage} without --at: expected where this node is")
        place = self.at or None
        neighbours = Neighbours(load_group_key(self.group), self.neighbours, self.port)
        parameters = dict(map(parse_change, self.changes))
        if self.storage == "server" and not visiting:  # who else
            parameters.setdefault("server", neighbours.number_of(self.node))
        return connect_blocking(
            None,
            neighbours=neighbours,
            edges=self.edges,
            name=self.node,
            location=None if place is None else lambda: place,
            storage=self.storage,
            routing=self.routing,
            set=parameters,
            store=self.store,
            visiting=visiting,
        )

    def visit(self) -> BlockingConnection:
        """A connection for one command: without a broker, with another node in reach.

        Raises as `connect` does, and NotConnected if there is no other node.
        """
        from bypass.live.client.errors import NotConnected

        connection = self.connect(visiting=True)
        if self.is_direct:
            try:
                connection.until_connected(MEETING_S)
            except TimeoutError:
                connection.close()
                raise NotConnected(
                    f"node {self.node}: no other node in reach for {MEETING_S:g} s: expected one with the key"
                    f" {self.group}, port {self.port} and another name"
                ) from None
        return connection

    def check_owner(self) -> None:
        """Refuse what would be lost with the process: an object of a node that ends, and what deletes it."""
        if self.is_direct and self.storage not in SHARING:
            raise click.UsageError(
                f"--storage {self.storage}: objects stay with this command, which ends: expected"
                f" {' or '.join(SHARING)}, or a program that goes on"
            )
        if self.is_direct and self.store is None:
            raise click.UsageError(
                "--neighbours without --store: expected the file of what deletes the object"
            )


def way_options(command: F) -> F:
    """Give a command the options of `ObjectWay`, and hand them over as `way`."""

    @functools.wraps(command)
    def with_way(*args: Any, **values: Any) -> Any:
        own = {field.name: values.pop(field.name) for field in fields(ObjectWay)}
        return command(*args, way=ObjectWay(**own), **values)

    wrapped: Any = with_way
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    given: F = wrapped
    return given
