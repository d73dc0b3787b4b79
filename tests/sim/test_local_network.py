"""Devices nearby in virtual time: ports, what they count and remember, and several radios at a time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.models.radio.kernels.state import S
from bypass.ports.local_access import DIRECT_PORT, GATEWAY_PORT, PORTS, NoSuchRadio, Tuning
from bypass.protocol.messages import Kind, Publish
from bypass.sim.clock import VirtualClock
from bypass.sim.radios import LEAST_EVENTS, LocalNetwork
from tests.conftest import Point
from tests.vicinity import MECHANISMS, REACH, Vicinity, row


def news(number: int) -> Event:
    return Event(kind="news", number=number)


# -- devices ----------------------------------------------------------------------------------------------


def test_addresses_differ_and_are_never_none() -> None:
    world = Vicinity(row(4))
    addresses = [device.address for device in world.system.local.devices]
    assert len(set(addresses)) == 4
    assert min(addresses) >= 1


def test_there_are_no_other_radios() -> None:
    world = Vicinity(row(1))
    with pytest.raises(NoSuchRadio, match="radio 'infrared': expected one of wifi, bluetooth"):
        world.system.local.devices[0].switch("infrared", True)


def test_a_port_that_nothing_listens_at_hears_nothing() -> None:
    world = Vicinity(row(2, 5.0), {"direct": "broadcast"})
    world.subscribe_all(None)
    world.run()
    port = world.system.local.devices[1].port(DIRECT_PORT)
    port.tune(Tuning())
    event = world.clients[0].publish(news(1))
    world.run()
    assert world.deliveries == []
    assert world.copies(event) == [1, 0]
    assert world.system.local.counter(S.STRANGE).tolist() == [0, 1]


def test_ports_are_apart() -> None:
    """A frame for one port is not heard at the other."""
    world = Vicinity(row(3, 5.0), {"direct": "flooding"})
    world.change(1, "direct", "nothing")
    world.change(1, "gateway", "flooding")
    world.subscribe_all(None)
    world.run()
    event = world.publish(0)
    world.run()
    assert world.receivers(event) == [2]
    publication = Publish(99, news(77), Kind.PLAIN, client=1)
    world.clients[1].nearby.gateway.disseminate_locally(publication)
    world.run()
    assert world.receivers(77) == []
    world.change(2, "gateway", "flooding")
    world.clients[1].nearby.gateway.disseminate_locally(Publish(100, news(78), Kind.PLAIN, client=1))
    world.run()
    assert world.receivers(78) == [2]
    assert len({DIRECT_PORT, GATEWAY_PORT}) == PORTS


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=2, max_size=7),
    st.lists(st.integers(0, 6), max_size=8),
)
def test_copies_are_counted(where: list[tuple[int, int]], senders: list[int]) -> None:
    """All broadcast the same event, one after the other: who is in reach has one more copy each time."""
    places: list[Point] = [(float(x), float(y)) for x, y in where]
    world = Vicinity(places, {"direct": "broadcast"})
    world.subscribe_all(None)
    world.run()
    publication = Publish(99, news(1), Kind.PLAIN, client=0)
    expected = [0] * len(places)
    for sender in senders:
        sender %= len(places)
        world.clients[sender].nearby.direct.disseminate_locally(publication)
        world.run(0.02)
        expected[sender] = max(expected[sender], 1)  # who sends an event has a copy of it
        for n, place in enumerate(places):
            if n != sender and math.dist(place, places[sender]) <= REACH:
                expected[n] += 1
    assert world.copies(99) == expected
    assert len(world.receivers(1)) == len(set(world.receivers(1)))


def test_ports_remember_many_events_and_the_client_all_of_them() -> None:
    """After more events than ports remember, an old one is new to ports, not to applications."""
    world = Vicinity(row(2, 5.0), {"direct": "broadcast"})
    world.subscribe_all(None)
    world.run()
    publications = [Publish(1 + n, news(n), Kind.PLAIN, client=0) for n in range(LEAST_EVENTS + 10)]
    send = world.clients[0].nearby.direct.disseminate_locally
    for publication in publications:
        send(publication)
        world.run(0.001)
    world.run()
    assert len(world.deliveries) == len(publications)
    assert world.copies(1) == [0, 0]
    assert world.copies(len(publications)) == [1, 1]
    send(publications[0])
    world.run()
    assert world.copies(1) == [1, 1]
    assert len(world.deliveries) == len(publications)


def test_events_that_are_on_their_way_are_not_forgotten() -> None:
    """The place of an event whose frame waits is not given to another one."""
    world = Vicinity(row(2, 5.0), {"direct": "broadcast"})
    world.subscribe_all(None)
    world.run()
    port = world.system.local.devices[0].port(DIRECT_PORT)
    port.broadcast(Publish(1, news(-1), Kind.PLAIN, client=0), 30.0)
    for n in range(LEAST_EVENTS + 10):
        port.broadcast(Publish(2 + n, news(n), Kind.PLAIN, client=0))
        world.run(0.001)
    world.run(40.0)
    assert world.receivers(-1) == [1]


# -- who follows another decision -------------------------------------------------------------------------


@pytest.mark.parametrize("late", [1, 2, 3, 4, 5])
def test_a_digest_may_find_some_who_answer_and_some_who_have_to_follow(late: int) -> None:
    """Those who know more than the digest says send it at once; one is a decision behind, and knows less."""
    world = Vicinity(row(6, 4.0), {"direct": ("hyperg", {"hello": 1000.0})})
    world.subscribe_all(None)
    world.run()
    world.change(late, "transport", "nothing")
    events = [world.clients[late % 5 + 1].publish(news(n)) for n in range(3)]
    world.run()
    world.change(late, "transport", "wifi")
    world.run()
    before = [sum(world.copies(event)) for event in events]
    for client in range(6):
        if client != late:
            world.carry_out(client, world.plan("direct", "hyperg", decision=3))
    world.system.local.devices[0].port(DIRECT_PORT).digest(())
    world.run()
    assert [stamp.counter for stamp in world.stamps()] == [3] * 6
    assert all(sum(world.copies(event)) > known for event, known in zip(events, before, strict=True))
    assert len(world.deliveries) == 15


# -- several media ----------------------------------------------------------------------------------------


def test_radios_do_not_disturb_each_other() -> None:
    """The same run, whether or not others talk by another radio at the same time."""

    def deliveries(others: bool) -> list[tuple[float, int, int, int]]:
        world = Vicinity([*row(4, 15.0), *row(4, 15.0)], {"direct": "flooding"})
        for client in range(4, 8):
            world.change(client, "transport", "bluetooth")
        world.subscribe_all(None)
        world.run()
        for n in range(10):
            world.clients[n % 4].publish(news(n))
            if others:
                world.clients[4 + n % 4].publish(news(100 + n))
            world.run(0.003)
        world.run()
        return [each for each in world.deliveries if each[1] < 4]

    assert deliveries(True) == deliveries(False) != []


# -- determinism ------------------------------------------------------------------------------------------


class Curious:
    """Hears of everything, as an analyzer."""

    def __init__(self) -> None:
        self.heard = 0

    def notified(self, client: int, publication: Publish) -> None:
        self.heard += 1

    def assigned(self, publication: Publish, gateways: object) -> None:
        self.heard += 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_same_seed_gives_the_same_run(mechanism: str) -> None:
    """With or without analyzers, also if mechanisms are exchanged; another seed gives another."""

    def story(seed: int, curious: bool) -> tuple[list[tuple[float, int, int, int]], list[int], object]:
        world = Vicinity(
            row(7, 40.0),
            {"direct": mechanism, "mode": "gateway", "gateway": mechanism, "gateway_logic": "relay"},
            seed=seed,
        )
        analyzer = Curious()
        if curious:
            world.system.monitor.register(analyzer)
        world.broker.engine.transition("gateway-selection", "dkc-leach")
        world.subscribe_all(150)
        world.run()
        for n in range(12):
            world.publish_local(n % 7)
            world.run(0.05)
            if n == 6:
                world.broker.execute(world.plan("direct", MECHANISMS[MECHANISMS.index(mechanism) - 1]))
        world.run()
        assert bool(analyzer.heard) == curious
        return world.deliveries, world.frames(), world.system.cellular.down.tolist()

    first = story(5, False)
    assert first == story(5, False) == story(5, True)
    assert first != story(6, False)


def test_a_network_begins_silent() -> None:
    network = LocalNetwork(VirtualClock(), lambda _: ([], []), 0, 1)  # type: ignore[arg-type,return-value]
    assert network.counter(S.SENT).tolist() == []


def test_more_events_on_their_way_than_ports_remember_at_a_time() -> None:
    """Frames that wait keep their events' places: there are more places then, and nothing is mistaken."""
    world = Vicinity(row(2, 5.0), {"direct": "broadcast"})
    world.subscribe_all(None)
    world.run()
    for number in range(LEAST_EVENTS + 300):
        world.clients[0].publish(news(number))
    world.run(5.0)
    heard = [number for _, client, _, number in world.deliveries if client == 1]
    assert heard == list(range(world.system.local.counter(S.SENT)[0]))
    assert len(heard) + world.system.local.counter(S.DROPPED)[0] == LEAST_EVENTS + 300
