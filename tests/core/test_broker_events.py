"""Which events reach whom, whatever filter scheme is behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bypass.events.filters import attr
from bypass.protocol.messages import (
    Assignment,
    AssignmentRequest,
    ContextMessage,
    ContextUpdate,
    Publish,
    Subscribe,
    Unsubscribe,
)

if TYPE_CHECKING:
    from tests.conftest import World

SCHEMES = ["radial", "ste", "grid", "egrid", "attract", "multi"]
HERE, NEAR, FAR = (500.0, 500.0), (510.0, 500.0), (850.0, 820.0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_kinds_of_events_and_subscriptions(new_world: type[World], scheme: str) -> None:
    """Attributes always count. The place counts if event and subscription have one."""
    world = new_world([HERE, NEAR, FAR, FAR], scheme=scheme)
    near, far = world.subscribe(1, 50), world.subscribe(2, 50)
    plain = world.subscribe(3, None)
    world.run()
    everybody = [(1, near.id), (2, far.id), (3, plain.id)]
    local, there, anywhere = world.publish_local(0), world.publish(0, FAR), world.publish(0)
    others = [world.publish_local(0, kind="x"), world.publish(0, FAR, kind="x"), world.publish(0, kind="x")]
    world.run()
    assert world.heard(local) == [(1, near.id), (3, plain.id)]
    assert world.heard(there) == [(2, far.id), (3, plain.id)]
    assert world.heard(anywhere) == everybody
    assert [world.heard(event) for event in others] == [[], [], []]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nobody_is_told_of_his_own_events(new_world: type[World], scheme: str) -> None:
    world = new_world([HERE, NEAR], scheme=scheme)
    for client in (0, 1):
        world.subscribe(client, 50)
        world.subscribe(client, None)
    world.run()
    events = [world.publish_local(0), world.publish(0, HERE), world.publish(0)]
    world.run()
    assert [world.heard(event) for event in events] == [[(1, 1), (1, 2)]] * 3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_notification_lists_all_handles(new_world: type[World], scheme: str) -> None:
    world = new_world([HERE, NEAR], scheme=scheme)
    wide, plain = world.subscribe(1, 300), world.subscribe(1, None)
    world.subscribe(1, 50, attr("kind") == "other")
    small = world.subscribe(1, 50)
    world.run()
    event = world.publish_local(0)
    world.run()
    ((_, client, handles),) = world.tap.notifications
    assert client == 1
    assert sorted(handles) == [wide.id, plain.id, small.id]
    assert world.heard(event) == [(1, handle) for handle in sorted(handles)]


def test_equal_subscriptions_of_many_are_asked_once_each(new_world: type[World]) -> None:
    world = new_world([HERE] * 6)
    for client in range(5):
        world.subscribe(client, None, attr("level") >= client % 2)
    world.run()
    assert len(world.broker.table.groups) == 2
    low, high = world.publish(5, level=0), world.publish(5, level=1)
    world.run()
    assert [client for client, _ in world.heard(low)] == [0, 2, 4]
    assert [client for client, _ in world.heard(high)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_after_unsubscribing_nothing_comes(new_world: type[World], scheme: str) -> None:
    world = new_world([HERE, NEAR], scheme=scheme)
    first, second = world.subscribe(1, 50), world.subscribe(1, 60)
    world.run()
    under_way = world.publish_local(0)
    world.clients[1].unsubscribe(first)
    world.run()
    later = world.publish_local(0)
    world.run()
    assert world.heard(under_way) == world.heard(later) == [(1, second.id)]
    assert len(world.broker.table) == 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_who_disconnects_is_forgotten(new_world: type[World], scheme: str) -> None:
    world = new_world([HERE, NEAR, NEAR], scheme=scheme)
    world.subscribe(1, 50)
    world.subscribe(2, 50)
    world.run()
    world.broker.disconnect(1)
    world.broker.disconnect(77)
    assert len(world.broker.table) == 1
    assert world.broker.table.place(1) is None
    (running,) = world.schemes()
    assert running.clients == {2}
    assert running.index.members().tolist() == world.broker.table.rows().tolist()
    event = world.publish_local(0)
    world.run()
    assert world.heard(event) == [(2, 1)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_messages_that_come_twice_change_nothing(new_world: type[World], scheme: str) -> None:
    world = new_world([HERE, NEAR], scheme=scheme)
    world.subscribe(1, 50)
    world.run()
    (subscribe,) = [message for message in world.up if isinstance(message, Subscribe)]
    world.broker.receive(subscribe)
    event = world.publish_local(0)
    world.run()
    (publish,) = [message for message in world.up if isinstance(message, Publish)]
    world.broker.receive(publish)
    world.run()
    assert len(world.broker.table) == 1
    assert world.heard(event) == [(1, 1)]
    assert world.clients[1].network.duplicates == 1
    world.broker.receive(Unsubscribe(1, client=1))
    world.broker.receive(Unsubscribe(1, client=1))
    assert len(world.broker.table) == 0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "message",
    [
        ContextUpdate((1.0, 2.0), client=1, scheme=99),
        AssignmentRequest((1.0, 2.0), client=1, scheme=99),
        Assignment(1, "g1:0:0", client=1, scheme=3),
        ContextMessage(client=1, scheme=3),
        Unsubscribe(44, client=1),
    ],
    ids=lambda message: type(message).__name__,
)
def test_strange_messages_do_no_harm(new_world: type[World], scheme: str, message: ContextMessage) -> None:
    """Those of a client that nobody knows, of a scheme that nobody runs, of a kind that brokers send."""
    world = new_world([HERE, NEAR, NEAR], scheme=scheme)
    world.subscribe(2, 50)
    world.run()
    message.scheme = message.scheme if message.scheme == 99 else world.broker.flag_of(world.schemes()[0])
    world.broker.receive(message)
    event = world.publish_local(0)
    world.run()
    assert world.heard(event) == [(2, 1)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_event_without_the_place_it_should_have_reaches_the_placeless(
    new_world: type[World], scheme: str
) -> None:
    world = new_world([HERE, NEAR, NEAR], scheme=scheme)
    world.subscribe(1, 50)
    plain = world.subscribe(2, None)
    world.run()
    world.publish_local(0)
    world.run()
    (publish,) = [message for message in world.up if isinstance(message, Publish)]
    world.deliveries.clear()
    publish.id, publish.location, publish.channel = 999, None, None
    world.broker.receive(publish)
    world.run()
    assert [(client, handle) for _, client, handle, _ in world.deliveries] == [(2, plain.id)]
    assert sum(scheme.unplaced for scheme in world.schemes()) == 1


class Curious:
    """Wants to know where clients are."""

    def __init__(self) -> None:
        self.told: list[tuple[int, float, float]] = []
        self.left: list[int] = []

    def client_located(self, client: int, x: float, y: float) -> None:
        self.told.append((client, x, y))

    def client_left(self, client: int) -> None:
        self.left.append(client)


def test_those_who_want_to_know_places_are_told(new_world: type[World]) -> None:
    world = new_world([HERE])
    curious = Curious()
    world.broker.listeners.append(curious)
    world.subscribe(0, 50)
    world.run(0.5)
    assert (curious.told, curious.left) == ([(0, *HERE)], [])
    world.broker.disconnect(0)
    assert (curious.told, curious.left) == ([(0, *HERE)], [0])
