"""The cellular network: latencies, queues, order, and every byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.protocol.messages import (
    Assignment,
    AssignmentRequest,
    Circle,
    ContextUpdate,
    Kind,
    Message,
    Notify,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.wire import encode
from bypass.sim.cellular import Cellular, CellularModel, Station, Traffic
from bypass.sim.clock import VirtualClock
from bypass.support.units import MICROSECONDS

CLIENTS = 3
LEVELS = Subscription.of(attr("level") >= 3)


class Network:
    """Two-way links whose ends note what arrives, and when (µs)."""

    def __init__(self, seed: int = 1, **model: Any) -> None:
        self.clock = VirtualClock()
        self.model = CellularModel(**model)
        self.cellular = Cellular(self.clock, self.model, CLIENTS, seed)
        self.up: list[tuple[int, Message]] = []
        self.down: list[list[tuple[int, object]]] = [[] for _ in range(CLIENTS)]
        self.cellular.attach_broker(lambda message: self.up.append((self.clock.now_us, message)))
        for client in range(CLIENTS):
            self.cellular.attach_client(self._station(self.down[client]))

    def _station(self, arrived: list[tuple[int, object]]) -> Station:
        def notified(publication: Publish, handles: tuple[int, ...], unfiltered: bool) -> None:
            arrived.append((self.clock.now_us, publication.id))

        def relayed(publication: Publish, handles: tuple[int, ...], targets: tuple[int, ...]) -> None:
            arrived.append((self.clock.now_us, (publication.id, targets)))

        return Station(lambda message: arrived.append((self.clock.now_us, message)), notified, relayed)

    def multicast(self, publication: Publish, *clients: int) -> None:
        self.cellular.multicast(publication, np.array(clients), [(1,)] * len(clients), False)

    def run(self, seconds: float = 100.0) -> None:
        self.clock.run_until(round(seconds * MICROSECONDS))


def event(number: int = 1, size: int = 0, client: int = 0) -> Publish:
    return Publish(
        number, Event(kind="x", payload=bytes(size)), Kind.LOCAL, 5, (1.0, 2.0), client=client, scheme=1
    )


def update(client: int = 0) -> ContextUpdate:
    return ContextUpdate((1.0, 2.0), (3.0, 4.0), client=client, scheme=2, epoch=7)


@pytest.mark.parametrize("way", ["up", "send", "multicast"])
def test_latencies_are_uniform_within_their_bounds(way: str) -> None:
    net = Network(latency=0.1, jitter=0.025, bandwidth=1e12)
    for number in range(400):
        at = number * MICROSECONDS
        if way == "up":
            net.clock.at(at, net.cellular.send_up, update())
        elif way == "send":
            net.clock.at(at, net.cellular.send, 0, update())
        else:
            net.clock.at(at, net.multicast, event(number), 0)
    net.run(500.0)
    times = [time for time, _ in (net.up if way == "up" else net.down[0])]
    delays = [time - number * MICROSECONDS for number, time in enumerate(times)]
    assert len(delays) == 400
    assert min(delays) >= 75_000
    assert max(delays) <= 125_000
    assert np.mean(delays) == pytest.approx(100_000, abs=2_000)
    assert np.std(delays) == pytest.approx(50_000 / 12**0.5, rel=0.1)


sendings = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.sampled_from(["up", "send", "multicast"]),
        st.sampled_from([0, 200, 5000]),
        st.sets(st.integers(0, CLIENTS - 1), min_size=1),
    ),
    max_size=30,
)


@given(sendings)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_links_are_reliable_and_in_order(plan: list[tuple[int, str, int, set[int]]]) -> None:
    net = Network(bandwidth=1e6)
    sent_up: list[list[int]] = [[] for _ in range(CLIENTS)]
    sent_down: list[list[int]] = [[] for _ in range(CLIENTS)]
    for number, (millisecond, way, size, clients) in enumerate(sorted(plan, key=lambda each: each[0])):
        at = millisecond * 1000
        for client in sorted(clients):
            if way == "up":
                net.clock.at(at, net.cellular.send_up, event(number, size, client))
                sent_up[client].append(number)
            elif way == "send":
                net.clock.at(at, net.cellular.send, client, PlanMessage(bytes(size), epoch=number))
                sent_down[client].append(number)
            else:
                sent_down[client].append(number)
        if way == "multicast":
            net.clock.at(at, net.multicast, event(number, size), *sorted(clients))
    net.run()
    for client in range(CLIENTS):
        arrived = [m.id for _, m in net.up if isinstance(m, Publish) and m.client == client]
        assert arrived == sent_up[client]
        numbers = [what.epoch if isinstance(what, Message) else what for _, what in net.down[client]]
        assert numbers == sent_down[client]


@pytest.mark.parametrize("way", ["up", "send", "multicast"])
def test_a_link_sends_one_message_after_the_other(way: str) -> None:
    net = Network(latency=0.1, jitter=0.0, bandwidth=8e4)  # 10 000 bytes a second
    publication = event(size=1000)
    size = len(encode(publication if way == "up" else Notify(publication, (1,)))) + net.model.header
    for _ in range(3):
        if way == "up":
            net.cellular.send_up(publication)
        elif way == "send":
            net.cellular.send(0, PlanMessage(bytes(1000)))
        else:
            net.multicast(publication, 0, 1)
    net.run()
    if way == "send":
        size = int(net.cellular.down[:, 0].sum()) // 3
    times = [time for time, _ in (net.up if way == "up" else net.down[0])]
    assert times == [100_000 + n * size * 100 for n in (1, 2, 3)]
    if way == "multicast":
        assert [time for time, _ in net.down[1]] == times


def test_a_busy_link_delays_its_own_client_only() -> None:
    net = Network(latency=0.1, jitter=0.0, bandwidth=8e4)
    net.cellular.send(0, PlanMessage(bytes(10_000)))
    net.multicast(event(), 0, 1, 2)
    net.run()
    first, second, third = (times[-1][0] for times in net.down)
    assert second == third < 200_000
    assert first > 1_100_000


MESSAGES: list[tuple[Message, Traffic]] = [
    (event(size=128), Traffic.EVENTS),
    (Publish(9, Event([("tag", "a"), ("tag", 2.5)]), epoch=3, scheme=4), Traffic.EVENTS),
    (Publish(9, Event(a=1), Kind.LOCAL, 1, (0.0, 0.0), "g12:3:4", scheme=4, epoch=1), Traffic.EVENTS),
    (Subscribe(3, LEVELS, 125), Traffic.SUBSCRIPTIONS),
    (Subscribe(3, LEVELS), Traffic.SUBSCRIPTIONS),
    (Unsubscribe(3), Traffic.SUBSCRIPTIONS),
    (update(), Traffic.CONTEXT),
    (ContextUpdate((0.0, 0.0)), Traffic.CONTEXT),
    (AssignmentRequest((5.5, -1.0)), Traffic.CONTEXT),
    (OutcomeMessage(b"done"), Traffic.COORDINATION),
]


@pytest.mark.parametrize(("message", "kind"), MESSAGES)
@pytest.mark.parametrize("header", [0, 28])
def test_bytes_up_are_those_of_the_encoding_and_a_header(
    message: Message, kind: Traffic, header: int
) -> None:
    net = Network(header=header)
    message.client = 2
    net.cellular.send_up(message)
    assert net.cellular.up[kind].tolist() == [0, 0, len(encode(message)) + header]
    assert net.cellular.up.sum() == len(encode(message)) + header


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (PlanMessage(b"plan", epoch=3), Traffic.COORDINATION),
        (Assignment(1, "g1:0:0", ("g1:0:0",), (0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 1.0, 1.0)), Traffic.CONTEXT),
        (Assignment(1, "a1:b", ("a1:b",), circles=(Circle("a1:b", 1.0, 2.0, 3.0),)), Traffic.CONTEXT),
    ],
)
def test_bytes_down_are_those_of_the_encoding_and_a_header(message: Message, kind: Traffic) -> None:
    net = Network()
    net.cellular.send(1, message)
    assert net.cellular.down[kind].tolist() == [0, len(encode(message)) + 28, 0]
    assert net.cellular.down.sum() == len(encode(message)) + 28


@pytest.mark.parametrize("carrier", [event(size=20), Subscribe(3, LEVELS, 125)])
@pytest.mark.parametrize("carried", [update(), AssignmentRequest((1.0, 2.0))])
def test_what_rides_on_a_message_counts_as_context(
    carrier: Publish | Subscribe, carried: ContextUpdate | AssignmentRequest
) -> None:
    net = Network()
    carrier.piggyback = None
    alone = len(encode(carrier)) + 28
    carrier.piggyback = carried
    together = len(encode(carrier)) + 28
    net.cellular.send_up(carrier)
    kind = Traffic.EVENTS if isinstance(carrier, Publish) else Traffic.SUBSCRIPTIONS
    assert net.cellular.up[kind, 0] == alone
    assert net.cellular.up[Traffic.CONTEXT, 0] == together - alone > 0
    assert net.cellular.up.sum() == together


@given(
    st.lists(st.integers(1, 3), min_size=CLIENTS, max_size=CLIENTS),
    st.booleans(),
    st.sampled_from([None, "g1:2:3"]),
    st.sampled_from([0, 1, 400_000]),
    st.sampled_from([0, 128]),
    st.sampled_from([1, 2**31]),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_bytes_of_notifications(
    handles: list[int], unfiltered: bool, channel: str | None, epoch: int, size: int, first: int
) -> None:
    net = Network()
    publication = Publish(
        77 << 32, Event(kind="x", payload=bytes(size)), Kind.LOCAL, 10**12, (1.0, 2.0), channel,
        client=1, scheme=3, epoch=epoch,
    )  # fmt: skip
    own = [tuple(range(first, first + count)) for count in handles]
    net.cellular.multicast(publication, np.arange(CLIENTS), own, unfiltered)
    for client in range(CLIENTS):
        message = Notify(publication, own[client], unfiltered, client=client, scheme=4, epoch=epoch)
        assert net.cellular.down[Traffic.EVENTS, client] == len(encode(message)) + 28


def test_more_context_does_not_change_what_events_experience() -> None:
    def arrivals(context: int) -> list[int]:
        net = Network(bandwidth=1e12)
        for second in range(20):
            for number in range(context):
                net.clock.at(second * MICROSECONDS + number + 200_000, net.cellular.send_up, update())
            net.clock.at(second * MICROSECONDS, net.cellular.send_up, event(second))
        net.run()
        return [time for time, message in net.up if isinstance(message, Publish)]

    assert arrivals(0) == arrivals(5)


def test_the_seed_decides() -> None:
    def arrivals(seed: int) -> list[int]:
        net = Network(seed)
        net.cellular.send_up(event())
        net.cellular.send(0, update())
        net.multicast(event(), 0)
        net.run()
        return [time for time, _ in [*net.up, *net.down[0]]]

    assert arrivals(1) == arrivals(1)
    assert arrivals(1) != arrivals(2)


def test_a_message_cannot_arrive_before_it_is_sent() -> None:
    with pytest.raises(ValidationError, match="jitter"):
        CellularModel(latency=0.01, jitter=0.02)
