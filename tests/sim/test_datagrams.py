"""Datagrams on the simulated medium: whom they reach, what becomes of lost ones, what is counted."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.mechanisms.transports import RadioTransport
from bypass.models.radio.kernels.state import S
from bypass.models.radio.radio import WIFI, RadioModel
from bypass.ports.datagrams import DatagramLoss
from bypass.protocol.datagrams import Datagram, DatagramScope
from bypass.protocol.wire import datagram_size
from bypass.sim.clock import VirtualClock
from bypass.sim.datagrams import FRAGMENT_HEADER, LONGEST_FRAME, MOST_LONG, longest_frame
from bypass.sim.radios import LocalNetwork
from tests.conftest import Point
from tests.datagram_nodes import Node, datagram
from tests.vicinity import Vicinity, row

LONG = 5000
ROOM = LONGEST_FRAME - WIFI.header


class Neighbours:
    """Clients with their radios on, and a node at each; nobody but nodes sends."""

    def __init__(self, places: list[Point], **begin: str) -> None:
        self.world = Vicinity(places, begin)
        self.network = self.world.system.local
        self.run(0.1)
        self.nodes = [Node(each, self.network.devices[each.host.id]) for each in self.world.clients]

    def run(self, seconds: float = 3.0) -> None:
        self.world.system.run_until(self.world.system.clock.now() + seconds)

    def switch(self, node: int, on: bool) -> None:
        self.network.devices[node].switch("wifi", on)

    def counted(self, column: S) -> list[int]:
        return [int(count) for count in self.network.counter(column)]

    def lost(self, node: int) -> dict[DatagramLoss, int]:
        losses = self.network.datagram_losses
        return {reason: losses[node, reason] for reason in DatagramLoss if losses[node, reason]}


def test_a_broadcast_reaches_everybody_in_reach() -> None:
    three = Neighbours(row(3))
    sent = three.nodes[0].broadcast(1)
    three.run()
    assert [node.calls for node in three.nodes] == [[], [("arrived", 0, 1)], []]
    assert three.nodes[1].arrivals == [sent]
    assert three.counted(S.CONTROL_FRAMES) == [1, 0, 0]
    assert three.counted(S.CONTROL_BYTES) == [datagram_size(sent) + WIFI.header, 0, 0]
    assert three.counted(S.DATAGRAMS_HEARD) == [0, 1, 0]


@pytest.mark.parametrize("size", [1, LONG, 50 * LONG])
def test_a_unicast_reaches_its_neighbour_alone(size: int) -> None:
    three = Neighbours(row(3))
    sent = three.nodes[1].unicast(1, 2, size)
    three.run()
    assert [node.calls for node in three.nodes] == [[], [], [("arrived", 1, 1)]]
    assert three.nodes[2].arrivals == [sent]
    assert three.counted(S.HANDSHAKE_BYTES)[0] == 0


@pytest.mark.parametrize("to", [None, 1])
def test_long_datagrams_go_in_fragments_that_fill_frames(to: int | None) -> None:
    two = Neighbours(row(2))
    node = two.nodes[0]
    sent = node.broadcast(1, LONG) if to is None else node.unicast(1, to, LONG)
    size = datagram_size(sent)
    parts = -(-size // (ROOM - FRAGMENT_HEADER))
    two.run()
    assert two.nodes[1].calls == [("arrived", 0, 1)]
    assert parts == 4
    assert two.counted(S.OWN_FRAMES) == [parts, 0]
    assert two.counted(S.OWN_BYTES) == [size + parts * (FRAGMENT_HEADER + WIFI.header), 0]


@pytest.mark.parametrize("size", [1, LONG])
def test_a_unicast_to_nobody_fails_once(size: int) -> None:
    three = Neighbours(row(3))
    for number, neighbour in enumerate((2, 0, 99, -1)):  # out of reach, itself, nobody
        three.nodes[0].unicast(number, neighbour, size)
    three.run()
    assert sorted(three.nodes[0].calls) == [("failed", 0, number) for number in range(4)]
    assert three.lost(0) == {DatagramLoss.UNACKNOWLEDGED: 2, DatagramLoss.UNKNOWN: 2}
    assert three.counted(S.FAILED)[0] == 2
    assert three.counted(S.RETRIED)[0] == 2 * WIFI.retries
    assert three.counted(S.OWN_FRAMES)[0] == 0  # no RTS was answered


@pytest.mark.parametrize("size", [1, LONG])
def test_what_finds_no_room_fails(size: int) -> None:
    two = Neighbours(row(2))
    many = range(2 * WIFI.queue)
    for number in many:
        two.nodes[0].unicast(number, 1, size)
    two.run(30.0)
    room = WIFI.queue if size == 1 else MOST_LONG
    assert [call[2] for call in two.nodes[1].calls] == list(many[:room])
    assert [call[2] for call in two.nodes[0].calls] == list(many[room:])
    assert two.lost(0) == {DatagramLoss.NO_ROOM: len(many) - room}


@pytest.mark.parametrize("size", [1, LONG])
def test_a_radio_that_is_off_sends_nothing_and_says_so(size: int) -> None:
    two = Neighbours(row(2))
    two.switch(0, False)
    two.nodes[0].unicast(1, 1, size)
    two.nodes[0].broadcast(2, size)
    two.run()
    two.switch(0, True)
    two.run()
    assert two.nodes[0].calls == [("failed", 0, 1)]
    assert two.nodes[1].calls == []
    assert two.lost(0) == {DatagramLoss.SWITCHED_OFF: 2}


def test_what_waits_when_the_radio_is_turned_off_is_lost() -> None:
    two = Neighbours(row(2))
    for number in range(10):
        two.nodes[0].unicast(number, 1, LONG if number % 2 else 1)
    two.run(0.001)
    two.switch(0, False)
    two.switch(0, True)
    two.run()
    told = {call[2] for node in two.nodes for call in node.calls}
    assert told == set(range(10))
    assert sum(two.lost(0).values()) == len(two.nodes[0].calls) == len(set(two.nodes[0].calls)) > 5


def test_without_a_transport_datagrams_are_dropped() -> None:
    two = Neighbours(row(2), transport="nothing")
    two.nodes[0].unicast(1, 1)
    two.nodes[0].broadcast(2)
    two.run()
    assert two.nodes[0].calls == [("failed", 0, 1)]
    assert two.nodes[1].calls == []
    assert two.nodes[0].outlet.dropped == 2


def test_a_client_that_has_left_neither_sends_nor_hears() -> None:
    two = Neighbours(row(2))
    two.world.system.leave(1)
    two.nodes[0].unicast(1, 1)
    two.nodes[1].unicast(2, 0)
    two.run()
    assert two.nodes[0].calls == [("failed", 0, 1)]
    assert two.nodes[1].calls == [("failed", 1, 2)]
    assert two.nodes[1].outlet.dropped == 1


def test_a_broadcast_that_lacks_a_fragment_is_lost() -> None:
    """The receiver is off in the middle of it."""
    three = Neighbours([(0.0, 0.0), (50.0, 0.0), (0.0, 50.0)])
    three.nodes[0].broadcast(1, 50 * LONG)
    three.run(0.05)
    three.switch(1, False)
    three.switch(1, True)
    three.run()
    three.nodes[0].broadcast(2, LONG)
    three.run()
    assert three.nodes[1].calls == [("arrived", 0, 2)]
    assert three.nodes[2].calls == [("arrived", 0, 1), ("arrived", 0, 2)]
    assert three.lost(1) == {DatagramLoss.INCOMPLETE: 1}


class Lora(RadioTransport):
    """Reaches far, and is slow."""

    radio = "lora"
    model = RadioModel(
        reach=800, interference=1000, exponent=3, broadcast_rate=0.05, unicast_rate=0.05, rts=False
    )


def test_slow_radios_send_shorter_frames() -> None:
    """Those of a transport that was brought, too; such a frame would last for longer than positions hold."""
    clock, here = VirtualClock(), np.array([0.0, 300.0])
    network = LocalNetwork(clock, lambda _: (here, here), 2, 1, transports={"lora": Lora})
    arrived: list[Datagram] = []
    network.devices[1].hear_datagrams(SimpleNamespace(arrived=arrived.append))
    for device in network.devices:
        device.switch("lora", True)
    sent = [datagram(0, number, size) for number, size in enumerate([1, 600, 5000])]
    for each in sent:
        assert network.devices[0].transmit_datagram("lora", each, 1, lambda _: None)
    clock.run_until(10_000_000)
    assert arrived == sent
    assert 0 < longest_frame(Lora.model) < 1000


@given(
    st.floats(0.01, 60.0), st.floats(0.01, 60.0), st.integers(1, 100), st.integers(1, 20), st.integers(0, 40)
)
def test_the_longest_frame_is_not_too_long(
    broadcast_rate: float, unicast_rate: float, refresh_ms: int, symbol_us: int, preamble_us: int
) -> None:
    model = WIFI.model_copy(
        update={
            "broadcast_rate": broadcast_rate,
            "unicast_rate": unicast_rate,
            "refresh_ms": refresh_ms,
            "symbol_us": symbol_us,
            "preamble_us": preamble_us,
        }
    )
    size = longest_frame(model)
    assert size <= LONGEST_FRAME
    for rate in (broadcast_rate, unicast_rate):
        assert model.duration_us(size, rate) < 1000 * refresh_ms


def test_traffic_is_counted_by_what_it_is_for() -> None:
    two = Neighbours(row(2))
    two.nodes[0].broadcast(1)
    two.nodes[0].broadcast(2, 10)
    two.nodes[0].outlet.broadcast(datagram(0, 3, 10, origin=1))
    flood = replace(datagram(0, 4, 10, origin=1), scope=DatagramScope.NETWORK)
    two.nodes[1].outlet.broadcast(flood)
    two.run()
    frames = [two.counted(column)[0] for column in (S.CONTROL_FRAMES, S.OWN_FRAMES, S.FORWARDED_FRAMES)]
    assert frames == [1, 1, 1]
    assert two.counted(S.SENT)[0] == 3
    assert (two.counted(S.OWN_FRAMES)[1], two.counted(S.FORWARDED_FRAMES)[1]) == (1, 0)
    counted = [two.counted(column)[0] for column in (S.CONTROL_BYTES, S.OWN_BYTES, S.FORWARDED_BYTES)]
    assert sum(counted) == two.counted(S.BYTES_UP)[0]


def test_events_and_datagrams_share_the_medium() -> None:
    two = Neighbours(row(2), direct="broadcast")
    two.world.subscribe_all(None)
    two.run()
    two.world.clients[0].publish(Event(kind="news", number=1))
    two.nodes[0].unicast(1, 1)
    two.run()
    assert two.nodes[1].calls == [("arrived", 0, 1)]
    assert len(two.world.deliveries) == 1


deeds = st.lists(
    st.tuples(
        st.integers(0, 5),  # who
        st.sampled_from(["unicast", "unicast", "broadcast", "off", "on"]),
        st.integers(0, 5),  # to whom
        st.sampled_from([1, 100, 1400, 3000, 20_000]),
        st.sampled_from([0.0, 0.0, 0.0005, 0.004, 0.1]),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 6), st.sampled_from([5.0, 60.0, 85.0]), deeds)
def test_a_unicast_arrives_at_most_once_and_fails_at_most_once_and_does_one_of_both(
    count: int, apart: float, deeds: list[tuple[int, str, int, int, float]]
) -> None:
    all_of_them = Neighbours(row(count, apart))
    unicasts = []
    sent = {}
    for number, (who, what, whom, size, wait) in enumerate(deeds):
        node, target = all_of_them.nodes[who % count], whom % count
        if what == "unicast":
            sent[number] = node.unicast(number, target, size)
            unicasts.append((node, all_of_them.nodes[target], number))
        elif what == "broadcast":
            sent[number] = node.broadcast(number, size)
        else:
            all_of_them.switch(node.id, what == "on")
        all_of_them.run(wait)
    all_of_them.run(60.0)
    for node in all_of_them.nodes:
        arrived = [call[1:] for call in node.calls if call[0] == "arrived"]
        assert len(set(arrived)) == len(arrived)
        assert all(each == sent[each.id & 0xFFFFFFFF] for each in node.arrivals)
    for node, receiver, number in unicasts:
        assert (arrived_there := receiver.count("arrived", node.id, number)) <= 1
        assert (failed := node.count("failed", node.id, number)) <= 1
        assert arrived_there or failed
