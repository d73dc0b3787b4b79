"""Local transports: which radio is on, how far it reaches, and changing it at run time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.dissemination import Disseminator
from bypass.models.radio.radio import BLUETOOTH, WIFI
from bypass.ports.proxies import EventListener
from bypass.protocol.messages import Publish
from tests.conftest import Point
from tests.vicinity import BLUETOOTH_REACH, REACH, Vicinity, row

RADIOS = {"wifi": REACH, "bluetooth": BLUETOOTH_REACH}
metres = st.integers(0, 120).map(float)


class Heard:
    """Listens to a dissemination mechanism."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def event_arrived(self, publication: Publish) -> None:
        self.numbers.append(int(publication.event["number"]))


def test_reaches_are_those_of_the_models() -> None:
    assert (WIFI.reach, BLUETOOTH.reach) == (REACH, BLUETOOTH_REACH)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(metres, metres), min_size=2, max_size=8), st.sampled_from([*RADIOS]))
def test_a_radio_reaches_so_far(where: list[Point], radio: str) -> None:
    world = Vicinity(where, {"transport": radio, "direct": "broadcast"})
    world.subscribe_all(None)
    world.run()
    event = world.publish(0)
    world.run()
    expected = [n for n in range(1, len(where)) if math.dist(where[0], where[n]) <= RADIOS[radio]]
    assert world.receivers(event) == expected


def test_only_the_same_radio_is_heard() -> None:
    world = Vicinity(row(3, 5.0), {"transport": "wifi", "direct": "broadcast"})
    world.subscribe_all(None)
    world.change(2, "transport", "bluetooth")
    world.run()
    assert world.receivers(_publish(world, 0)) == [1]
    assert world.receivers(_publish(world, 2)) == []
    for client in (0, 1):
        world.change(client, "transport", "bluetooth")
    world.run()
    assert world.receivers(_publish(world, 0)) == [1, 2]
    assert world.receivers(_publish(world, 2)) == [0, 1]


def _publish(world: Vicinity, client: int) -> int:
    event = world.publish(client)
    world.run()
    return event


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["wifi", "bluetooth", "nothing"])), max_size=4),
        min_size=1,
        max_size=5,
    )
)
def test_however_often_it_was_changed_the_active_one_is_on(rounds: list[list[tuple[int, str]]]) -> None:
    """Also if a radio is turned off and on again within one instant."""
    world = Vicinity(row(3, 8.0), {"direct": "broadcast"})
    world.subscribe_all(None)
    world.run()
    for changes in rounds:
        for client, to in changes:
            world.change(client, "transport", to)
        world.run(0.1)
        radios = world.active("transport")
        for client in range(3):
            expected = [n for n in range(3) if n != client and radios[n] == radios[client] != "nothing"]
            assert world.receivers(_publish(world, client)) == expected


@pytest.mark.parametrize("proxy", ["transport", "direct"])
def test_who_is_off_neither_hears_nor_sends(proxy: str) -> None:
    world = Vicinity(row(3, 5.0), {"direct": "flooding"})
    world.subscribe_all(None)
    world.change(1, proxy, "nothing")
    world.run()
    assert world.receivers(_publish(world, 0)) == [2]
    assert world.receivers(_publish(world, 1)) == []
    assert world.frames() == [1, 0, 1]


def test_what_waits_when_a_radio_is_turned_off_is_lost() -> None:
    world = Vicinity(row(2, 5.0), {"direct": "broadcast"})
    world.subscribe_all(None)
    world.run()
    events = [world.publish(0) for _ in range(5)]
    world.run(0.0001)  # the first one is on the air
    world.change(0, "transport", "nothing")
    world.change(0, "transport", "wifi")
    world.run()
    assert [world.receivers(event) for event in events[1:]] == [[]] * 4
    assert world.frames()[0] == 1
    assert world.receivers(_publish(world, 0)) == [1]


def test_what_was_to_be_sent_is_sent_though_its_mechanism_is_stopped() -> None:
    world = Vicinity(row(3), {"direct": ("flooding", {"jitter": 1.0})})
    world.subscribe_all(None)
    world.run()
    event = world.publish(0)
    world.run(0.002)
    assert world.receivers(event) == [1]
    world.change(1, "direct", "broadcast")
    world.run(2.0)
    assert world.frames()[1] == 1


def told(world: Vicinity) -> list[EventListener]:
    """The listeners that client 1 tells of events from nearby, taken from the state of its mechanism."""
    active = world.clients[1].engine.active("direct")
    assert isinstance(active, Disseminator)
    return active.listeners


@pytest.mark.parametrize("between", ["nothing", "gossip", "hyperg"])
@pytest.mark.parametrize("mechanism", ["broadcast", "plan-b"])
def test_listeners_survive(mechanism: str, between: str) -> None:
    """After any mechanism in between, listeners and the client itself hear each later event once."""
    world = Vicinity(row(2, 5.0), {"direct": mechanism})
    world.subscribe_all(None)
    heard = Heard()
    told(world).append(heard)
    world.run()
    assert world.receivers(_publish(world, 0)) == [1]
    for to in (between, mechanism):
        world.change(1, "direct", to)
    assert world.receivers(_publish(world, 0)) == [1]
    assert heard.numbers == [1, 2]
    told(world).remove(heard)
    assert world.receivers(_publish(world, 0)) == [1]
    assert heard.numbers == [1, 2]


def test_the_broker_knows_who_can_be_reached_by_radio() -> None:
    world = Vicinity(row(3, 5.0), {"mode": "cloud", "direct": "broadcast"})
    world.change(2, "transport", "nothing")
    world.subscribe_all()
    world.run()
    assert world.broker.addresses == {0: 1, 1: 2}
    world.change(1, "transport", "nothing")
    world.change(2, "transport", "bluetooth")
    world.run(3.0)
    assert world.broker.addresses == {0: 1, 2: 3}
