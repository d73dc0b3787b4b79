"""Every byte that a whole system sends, against the encoding of each single message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bypass.core.downlink import Delivery
from bypass.protocol.messages import Message, Notify, Publish, Subscribe
from bypass.protocol.wire import decode, encode
from bypass.sim.cellular import COUNTED_AS, Traffic

if TYPE_CHECKING:
    from tests.conftest import World

HEADER = 28


class Scales:
    """Weighs all that comes and goes, by really encoding it, and passes it on decoded again."""

    def __init__(self, world: World) -> None:
        self.cellular, self.receive = world.system.cellular, world.broker.receive
        self.up = np.zeros_like(self.cellular.up)
        self.down = np.zeros_like(self.cellular.down)
        world.broker.downlink = self
        self.cellular.attach_broker(self.arrived)

    def arrived(self, message: Message) -> None:
        size = len(encode(message))
        copy = decode(encode(message))
        if isinstance(message, Publish | Subscribe) and message.piggyback is not None:
            message.piggyback = None
            self.up[Traffic.CONTEXT, message.client] += size - len(encode(message))
            size = len(encode(message))
        self.up[COUNTED_AS[type(message)], message.client] += size + HEADER
        self.receive(copy)

    def send(self, client: int, message: Message) -> None:
        self.down[COUNTED_AS[type(message)], client] += len(encode(message)) + HEADER
        self.cellular.send(client, decode(encode(message)))

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        deliveries = [*deliveries]
        for publication, gateways, groups, _ in deliveries:
            if gateways is not None:
                for client, own, others in zip(*gateways, strict=True):
                    self._count(Notify(publication, own, False, True, others, client=client))
            for clients, handles, unfiltered in groups:
                for client, own in zip(clients.tolist(), handles, strict=True):
                    self._count(Notify(publication, own, unfiltered, client=client))
        self.cellular.notify(deliveries)

    def _count(self, message: Notify) -> None:
        self.down[Traffic.EVENTS, message.client] += len(encode(message)) + HEADER


@pytest.mark.parametrize("missing", ["ignore", "unfiltered"])
def test_bytes_are_those_of_the_messages(new_world: type[World], missing: str) -> None:
    """Through all schemes, with several subscriptions a client, over what a real network would carry."""
    world = new_world(
        [(50.0 * i, 300.0) for i in range(12)], set={"missing_context": missing, "enable_updates": True}
    )
    scales = Scales(world)
    for client in range(12):
        world.put(client, world.place(client), (3.0 * (client % 3), 1.0))
        for radius in (120, None, 60)[: 1 + client % 3]:
            world.subscribe(client, radius)
    for scheme in ("ste", "grid", "egrid", "attract", "multi", "radial"):
        for client in range(12):
            world.publish_local(client, note="x" * client)
            world.publish(client, (200.0, 300.0), level=client)
            world.publish(client)
            world.run(0.2)
        members = None if scheme != "attract" else range(6)
        assert world.execute(to=scheme, members=members).outcome == "done"
        world.run(2.0)
    for phone in world.clients:
        for registered in list(phone.subscriptions):
            phone.unsubscribe(registered.handle)
    world.run(2.0)
    assert np.array_equal(world.system.cellular.up, scales.up)
    assert np.array_equal(world.system.cellular.down, scales.down)
    assert (scales.up.sum(axis=1) > 0).all()
    assert (scales.down.sum(axis=1) > 0).tolist() == [True, False, True, True]
    assert len(world.deliveries) > 1000
