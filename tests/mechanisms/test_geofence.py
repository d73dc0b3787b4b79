"""Geofencing: a local event is passed on by those whom it concerns, and gets one hop farther at most."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.places.geo import PlanarLocation
from bypass.protocol.messages import Kind
from tests.conftest import Point
from tests.vicinity import MULTI_HOP, REACH, Choice, Vicinity, row

metres = st.integers(0, 300).map(float)
NEWS = Event(kind="news", number=1)


def silent(mechanism: str, **values: bool) -> Choice:
    """The mechanism, without any frames other than those with events: the first hello is at a random time."""
    return mechanism, {**values, **({"hello": 1e9} if mechanism == "hyperg" else {})}


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(MULTI_HOP),
    st.lists(
        st.tuples(st.tuples(metres, metres), st.sampled_from([None, 40, 100, 200, 1000])),
        min_size=2,
        max_size=10,
    ),
    st.sets(st.integers(1, 9)),
    st.integers(0, 20),
)
def test_nobody_outside_the_fence_passes_a_local_event_on(
    mechanism: str, clients: list[tuple[Point, int | None]], uninterested: set[int], seed: int
) -> None:
    where = [place for place, _ in clients]
    world = Vicinity(where, {"direct": silent(mechanism)}, seed=seed)
    concerned = {0}  # its own event concerns the publisher, or not: it sends it anyway
    for number, (place, radius) in enumerate(clients):
        if number in uninterested:
            world.subscribe(number, radius, attr("kind") == "weather")
        else:
            world.subscribe(number, radius)
            if radius is None or math.dist(where[0], place) <= radius:
                concerned.add(number)
    world.run()
    event = world.clients[0].publish_local(NEWS)
    world.run(2.0)
    senders = {number for number, frames in enumerate(world.frames()) if frames}
    assert 0 in senders
    assert senders <= concerned
    heard = {number for number, copies in enumerate(world.copies(event)) if copies} - senders
    assert all(any(math.dist(where[n], where[s]) <= REACH for s in senders) for n in heard)
    told = {client for _, client, _, _ in world.deliveries}
    assert told <= concerned - {0}


@pytest.mark.parametrize("mechanism", ["flooding", "hyperg"])
@pytest.mark.parametrize("fenced", [True, False])
def test_the_fence_is_the_area_of_interest(mechanism: str, fenced: bool) -> None:
    """Clients at 60, 120, 180, ... m, all interested within 130 m: two of them, and one more hears of it."""
    world = Vicinity(row(8), {"direct": silent(mechanism, geofence=fenced)})
    world.subscribe_all(130)
    world.run()
    event = world.clients[0].publish_local(NEWS)
    world.run()
    reached = [number for number, copies in enumerate(world.copies(event)) if copies]
    senders = [number for number, frames in enumerate(world.frames()) if frames]
    assert reached == ([0, 1, 2, 3] if fenced else list(range(8)))
    assert senders == ([0, 1, 2] if fenced else list(range(8)))
    assert world.receivers(1) == [1, 2]


@pytest.mark.parametrize("kind", [Kind.PLAIN, Kind.PLACED])
def test_other_events_have_no_fence(kind: Kind) -> None:
    world = Vicinity(row(8), {"direct": "flooding"})
    world.subscribe_all(10)
    world.run()
    event = world.clients[0].publish(NEWS, PlanarLocation(*row(1)[0]) if kind is Kind.PLACED else None)
    world.run()
    assert all(world.copies(event))
    assert world.frames() == [1] * 8
    assert world.receivers(1) == ([] if kind is Kind.PLACED else list(range(1, 8)))


def test_the_fence_is_where_a_client_is_now() -> None:
    world = Vicinity(row(3), {"direct": "flooding"})
    world.subscribe_all(70)
    world.run()
    world.clients[0].publish_local(NEWS)
    world.run()
    assert world.frames() == [1, 1, 0]
    world.put(1, (50.0, 575.0))  # 75 m from client 0, still in reach, not concerned any more
    world.run()
    world.clients[0].publish_local(Event(kind="news", number=2))
    world.run()
    assert world.frames() == [2, 1, 0]
    assert world.receivers(2) == []


def test_the_fence_can_be_taken_down_at_run_time() -> None:
    world = Vicinity(row(4), {"direct": "flooding", "mode": "offload"})
    world.subscribe_all(10)
    world.run()
    world.clients[0].publish_local(NEWS)
    world.run()
    assert world.frames() == [1, 0, 0, 0]
    world.broker.execute(world.plan("direct", "flooding", geofence=False))
    world.run()
    world.clients[0].publish_local(Event(kind="news", number=2))
    world.run()
    assert world.frames() == [2, 1, 1, 1]
