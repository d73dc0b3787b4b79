"""The clients that an application has one after the other, as brokers forget it and get to know it again."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Callable
from typing import Any

from bypass.core.client import Client
from bypass.core.object_times import FOREVER, ObjectTimes
from bypass.errors import BypassError, shown
from bypass.live.adhoc.neighbourhood import Neighbourhood
from bypass.live.adhoc.neighbours import Neighbours
from bypass.live.adhoc.radio import CheckRadio
from bypass.live.client.errors import ConnectionRefused
from bypass.live.client.live_node import LiveNode
from bypass.live.client.sources.sensor import LiveSensor
from bypass.live.host import Clock, LiveHost
from bypass.mechanisms import Registry
from bypass.ports.local_access import NO_LOCAL_ACCESS, LocalAccess
from bypass.ports.monitor import Monitor
from bypass.ports.state_info import VISITING, Reading
from bypass.protocol.messages import Message
from bypass.protocol.session import Welcome

log = logging.getLogger(__name__)

OBJECT_TIMEOUT_S = 10.0
"""An operation on objects that is not answered in this time is asked for again; and on another connection."""


class ClientFactory:
    """Makes clients of a broker's welcomes. `neighbours` is how they reach devices nearby, if they do;
    `registry` is what mechanisms they have. Without a broker, `node` has all that a client begins with."""

    def __init__(
        self,
        clock: Clock,
        sensor: LiveSensor,
        uplink: Callable[[Message], None],
        neighbours: Neighbours | None,
        registry: Registry,
        node: LiveNode | None = None,
    ) -> None:
        self._clock = clock
        self._sensor = sensor
        self._uplink = uplink
        self._neighbours = neighbours
        self._registry = registry
        self._node = node
        self._neighbourhood: Neighbourhood | None = None
        self._opening: asyncio.Task[None] | None = None
        self._origin: tuple[float, float] | None = None

    def is_same(self, client: Client, welcome: Welcome) -> bool:
        """Say whether the broker speaks of this client: it may have told it more meanwhile, but not less."""
        network = client.network
        return (
            welcome.client == client.host.id
            and welcome.origin == self._origin
            and (
                welcome.epoch > network.epoch
                or (welcome.epoch == network.epoch and welcome.scheme == network.flag)
            )
        )

    def begin(self, welcome: Welcome, before: Client | None) -> Client:
        """A client as the broker knows it; the one `before`, which ends, gives it what its application has.

        Raises ConnectionRefused if the broker has a scheme or settings that are not understood here.
        """
        scheme = self._registry.flags.scheme(welcome.scheme)
        if scheme is None:
            raise ConnectionRefused(
                f"the broker has filter scheme {welcome.scheme}: expected one that is known here"
            )
        published = welcome.published
        kept = None
        if before is not None:
            log.warning(
                "the broker has forgotten client %d; it is client %d now", before.host.id, welcome.client
            )
            before.close()
            if before.host.id == welcome.client:
                published = max(published, before.published)
                kept = before.kept_objects()
        self._origin = welcome.origin
        projection = self._sensor.enter(welcome.area, welcome.origin)
        node = self._node
        host = LiveHost(welcome.client, self._clock, self._sensor, Monitor())
        if node is not None and node.visiting:
            host.state_info.provide(VISITING, _visits)
        client = Client(
            host,
            self._uplink,
            scheme=scheme,
            set=_settings(welcome.settings),
            projection=projection,
            local=self._local(host) if node is None else node.local,
            begin=() if node is None else node.begin,
            published=published,
            before=before,
            registry=self._registry,
            kept=kept if node is None else node.kept,
            times=ObjectTimes(OBJECT_TIMEOUT_S, FOREVER) if node is None else ObjectTimes(),
            fallback=None if node is None else node.fallback,
        )
        client.engine.register_transition("transport", CheckRadio())
        if node is not None:
            node.prepare(client)
            if not node.visiting:
                client.node.stays()
        client.network.epoch = welcome.epoch
        if before is None:
            # What still waits at the broker for handles of an earlier life must not find others under them.
            client.subscriptions.last_number = secrets.randbelow(1 << 31)
        return client

    def close(self) -> None:
        """Devices nearby are not heard any more."""
        if self._neighbourhood is not None:
            self._neighbourhood.close()
            self._neighbourhood = None
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None

    def _local(self, host: LiveHost) -> LocalAccess:
        self.close()
        if self._neighbours is None:
            return NO_LOCAL_ACCESS
        loop = asyncio.get_running_loop()
        self._neighbourhood = self._neighbours.of(loop, host.id, self._registry.codec, host.random("link"))
        self._opening = loop.create_task(self._open(self._neighbourhood))
        return self._neighbourhood

    async def _open(self, neighbourhood: Neighbourhood) -> None:
        try:
            await neighbourhood.open()
        except BypassError as error:
            log.error("devices nearby are not heard: %s", error)


def _visits(_: int) -> Reading[bool]:
    return Reading(True, 0.0)


def _settings(data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(data or b"{}")
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ConnectionRefused(f"the broker has settings {shown(data)}: expected names and values")
    return values
