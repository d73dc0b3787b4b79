"""A turn of messages at a broker does what its messages do one by one."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.broker import Broker
from bypass.core.downlink import Delivery
from bypass.errors import BypassError
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.places.region import Place, Region
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.protocol.messages import ContextUpdate, Kind, Message, Publish, Subscribe, Unsubscribe
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.support.units import MICROSECONDS
from bypass.transitions import Action, Plan

CLIENTS = 5
COLUMNS = ("client", "handle", "group", "radius", "x", "y", "vx", "vy", "known")
WANTED = (attr("kind") == "news", attr("level") > 1)


class Site:
    """A broker, and all that it has said, in order. It changes its scheme when somebody comes to a corner."""

    def __init__(self, scheme: str, missing: str, gateways: bool, failing: int = 0) -> None:
        self.said: list[Any] = []
        self.failing = failing  # events whose numbers it divides cannot be delivered
        self.clock = VirtualClock()
        host = SimHost(-1, self.clock, NoSensor(), Monitor(), seed=1)
        region = Region(  # channels are numbered from 1 on
            (0.0, 0.0, 1000.0, 1000.0), (Place("fair", 200.0, 200.0, 150.0),)
        )
        self.broker = Broker(host, self, region=region, scheme=scheme, set={"missing_context": missing})
        self.broker.listeners.append(self)
        if gateways:
            action = Action(proxy="gateway-selection", to="skc-leach")
            assert self.broker.execute(Plan(plan="gateways", actions=(action,)))[0].outcome == "done"

    def send(self, client: int, message: Message) -> None:
        self.said.append((client, deepcopy(message)))

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        for publication, gateways, groups, late in deliveries:
            if self.failing and publication.id % self.failing == 0:
                raise BypassError(f"event {publication.id} cannot be delivered")
            groups_said = [(c.tolist(), handles, unfiltered) for c, handles, unfiltered in groups]
            self.said.append((publication.id, deepcopy(publication), gateways, groups_said, late))

    def client_located(self, client: int, x: float, y: float) -> None:
        if x > 950.0:
            to = "grid" if y > 500.0 else "radial"
            self.broker.execute(
                Plan(plan="corner", actions=(Action(proxy="filter", to=to, members=(client,)),))
            )

    def client_left(self, client: int) -> None:
        """Nobody leaves."""

    def state(self) -> list[Any]:
        """All that a broker knows which a message can change."""
        broker, table = self.broker, self.broker.table
        rows = table.rows()
        schemes = [
            (s.name, s.settings(), sorted(s.clients), s.unplaced, s._missing) for s in broker.filter_schemes
        ]
        columns = {name: repr(np.asarray(getattr(table, name))[rows].tolist()) for name in COLUMNS}
        counts = broker.late_context, broker.late_subscriptions, broker.rollout.epoch, broker.addresses
        return [columns, schemes, counts, broker.rollout.told, broker.rollout.standing.own]


places = st.tuples(st.floats(0.0, 1000.0), st.floats(0.0, 1000.0)).map(
    lambda place: (round(place[0]), round(place[1]))
)
contexts = st.builds(ContextUpdate, places, st.sampled_from([None, (1.0, 0.5)]))
riding = st.none() | contexts
headers = {
    "client": st.integers(0, CLIENTS - 1),
    "scheme": st.sampled_from([1, 1, 1, 2]),
    "address": st.sampled_from([0, 7, 8]),
}
events = st.builds(Event, kind=st.sampled_from(["news", "olds"]), level=st.integers(0, 3))
publications = st.builds(
    Publish, st.integers(1, 2**40), events, st.just(Kind.PLAIN), piggyback=riding, **headers
) | st.builds(
    Publish,
    st.integers(1, 2**40),
    events,
    st.sampled_from([Kind.LOCAL, Kind.PLACED]),
    location=places,
    piggyback=riding,
    **headers,
)
messages = st.one_of(
    publications,
    publications,
    st.builds(
        Subscribe,
        st.integers(1, 3),
        st.sampled_from(WANTED).map(Subscription.of),
        st.sampled_from([None, 100, 400]),
        riding,
        **headers,
    ),
    st.builds(ContextUpdate, places, st.just((1.0, 0.5)), **headers),
    st.builds(Unsubscribe, st.integers(1, 3), **headers),
)


@settings(max_examples=80, deadline=None)
@given(
    scheme=st.sampled_from(["radial", "grid", "multi"]),
    missing=st.sampled_from(["ignore", "unfiltered", "wait"]),
    gateways=st.booleans(),
    turns=st.lists(st.lists(messages, max_size=25), min_size=1, max_size=3),
)
def test_a_turn_is_its_messages(
    scheme: str, missing: str, gateways: bool, turns: list[list[Message]]
) -> None:
    together, single = Site(scheme, missing, gateways), Site(scheme, missing, gateways)
    for number, turn in enumerate(turns, 1):
        together.broker.receive(*deepcopy(turn))
        for message in deepcopy(turn):
            single.broker.receive(message)
        assert together.said == single.said
        assert together.state() == single.state()
        for site in (together, single):
            site.clock.run_until(number * MICROSECONDS)


@settings(max_examples=100, deadline=None)
@given(
    scheme=st.sampled_from(["radial", "grid"]),
    missing=st.sampled_from(["ignore", "unfiltered", "wait"]),
    failing=st.sampled_from([1, 2, 3]),
    turn=st.lists(messages, max_size=40),
)
def test_those_around_a_message_that_fails_are_processed(
    scheme: str, missing: str, failing: int, turn: list[Message]
) -> None:
    together, single = Site(scheme, missing, False, failing), Site(scheme, missing, False, failing)
    errors, expected = [], []
    rest = deepcopy(turn)
    while rest:
        done, error = together.broker.receive_until_error(rest)
        errors += [] if error is None else [(len(turn) - len(rest) + done, str(error))]
        rest = rest[done + 1 :]
    for i, message in enumerate(deepcopy(turn)):
        try:
            single.broker.receive(message)
        except BypassError as error:
            expected.append((i, str(error)))
    assert errors == expected
    assert together.said == single.said
    assert together.state() == single.state()


def test_what_a_scheme_raises_harms_the_event_alone() -> None:
    """A rule of its own is asked for one event after the other."""
    site = Site("radial", "ignore", gateways=False)
    (scheme,) = site.broker.filter_schemes
    own = scheme.match

    class Refusing(type(scheme)):  # type: ignore[misc]
        def match(self, publication: Publish) -> Any:
            if publication.id == 2:
                raise ValueError("two")
            return own(publication)

    scheme.__class__ = Refusing
    site.broker.receive(
        Subscribe(1, Subscription.of(WANTED[0]), 400, ContextUpdate((100.0, 100.0)), client=1, scheme=1)
    )
    events = [
        Publish(n, Event(kind="news"), Kind.PLACED, location=(150.0, 100.0), client=0, scheme=1)
        for n in (1, 2, 3)
    ]
    done, error = site.broker.receive_until_error(events)
    assert (done, str(error)) == (1, "two")
    assert [each[0] for each in site.said if len(each) == 5] == [1]
    assert site.broker.receive_until_error(events[2:]) == (1, None)
    assert [each[0] for each in site.said if len(each) == 5] == [1, 3]


def test_events_in_a_row_go_out_together() -> None:
    site = Site("radial", "ignore", gateways=False)
    calls: list[int] = []
    downlink = site.broker.downlink

    class Counting:
        def send(self, client: int, message: Message) -> None:
            downlink.send(client, message)

        def notify(self, deliveries: Iterable[Delivery]) -> None:
            taken = [*deliveries]
            calls.append(len(taken))
            downlink.notify(taken)

    site.broker.downlink = Counting()
    subscription = Subscription.of(attr("kind") == "news")
    site.broker.receive(Subscribe(1, subscription, client=1, scheme=1))

    def event(number: int, riding: ContextUpdate | None = None) -> Publish:
        return Publish(number, Event(kind="news"), Kind.PLAIN, piggyback=riding, client=0, scheme=1)

    site.broker.receive(event(1), event(2), event(3, ContextUpdate((1.0, 1.0))), event(4))
    assert calls == [2, 2]
