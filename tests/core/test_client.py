"""What an application sees of a client."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bypass.errors import (
    EmptySubscription,
    InvalidCallback,
    InvalidEvent,
    InvalidInterval,
    InvalidLocation,
    InvalidRadius,
    UnknownHandle,
)
from bypass.events.event import Event, Publisher
from bypass.events.filters import Subscription, attr
from bypass.places.geo import GeoLocation, PlanarLocation
from bypass.places.sensor import NoSensor
from bypass.ports.subscriptions import SubHandle
from bypass.protocol.messages import Publish
from bypass.sim.host import SimHost

if TYPE_CHECKING:
    from tests.conftest import World

HERE = (500.0, 500.0)
NEWS = attr("kind") == "news"


def nothing(event: Event, handle: SubHandle) -> None:
    """The callback of an application that does not care."""


@pytest.mark.parametrize(
    "radius", [0, -1, 1.5, 20_000_001, True, "100", float("nan"), float("inf"), (100,), (1.0, 2.0), 100 + 0j]
)
def test_a_radius_is_whole_metres(new_world: type[World], radius: Any) -> None:
    world = new_world([HERE])
    with pytest.raises(InvalidRadius, match="expected whole metres from 1 to 20000000"):
        world.clients[0].subscribe(NEWS, nothing, radius=radius)
    world.run()
    assert list(world.clients[0].subscriptions) == []
    assert world.up == []


@pytest.mark.parametrize("radius", [100.0, np.int64(100), np.float32(100)])
def test_a_radius_may_be_any_whole_number(new_world: type[World], radius: Any) -> None:
    handle = new_world([HERE]).clients[0].subscribe(NEWS, nothing, radius=radius)
    assert handle.radius == 100
    assert type(handle.radius) is int


def test_a_radius_needs_somebody_who_says_where_the_client_is(new_world: type[World]) -> None:
    client = new_world([HERE]).clients[0]
    assert isinstance(client.host, SimHost)
    client.host.location = NoSensor()
    with pytest.raises(InvalidLocation, match="radius 100: nobody says where this client is"):
        client.subscribe(NEWS, nothing, radius=100)
    assert list(client.subscriptions) == []
    client.subscribe(NEWS, nothing)


class Asynchronous:
    async def __call__(self, event: Event, handle: SubHandle) -> None: ...


async def later(event: Event, handle: SubHandle) -> None: ...


def one_by_one(event: Event, handle: SubHandle) -> Iterator[None]:
    yield


@pytest.mark.parametrize(
    ("arguments", "raised", "message"),
    [
        ({"location_request": 5}, InvalidInterval, "location_request 5: expected a LocationRequest"),
        ({"location_request": 1.5}, InvalidInterval, "location_request 1.5: expected a LocationRequest"),
        ({"radius": 5, "exact": "yes"}, InvalidRadius, "exact 'yes': expected True or False"),
        ({"radius": 5, "exact": 1}, InvalidRadius, "exact 1: expected True or False"),
    ],
)
def test_what_a_subscription_cannot_be_made_with_is_named(
    new_world: type[World], arguments: dict[str, Any], raised: type[Exception], message: str
) -> None:
    client = new_world([HERE]).clients[0]
    with pytest.raises(raised) as refused:
        client.subscribe(attr("kind") == "news", print, **arguments)
    assert str(refused.value) == message
    assert not list(client.subscriptions)


@pytest.mark.parametrize("handle", ["x", 1, None])
def test_what_is_no_subscription_cannot_be_withdrawn(new_world: type[World], handle: Any) -> None:
    client = new_world([HERE]).clients[0]
    with pytest.raises(UnknownHandle, match=r"^subscription .*: expected one that is subscribed, or its han"):
        client.unsubscribe(handle)


@pytest.mark.parametrize(
    "callback",
    [None, 5, "print", later, Asynchronous(), partial(later), partial(Asynchronous()), one_by_one],
)
def test_a_callback_is_a_plain_function(new_world: type[World], callback: Any) -> None:
    client = new_world([HERE]).clients[0]
    with pytest.raises(InvalidCallback, match="expected a plain function"):
        client.subscribe(NEWS, callback)
    assert list(client.subscriptions) == []


@pytest.mark.parametrize("location", [(49.87, 8.65), [1.0, 2.0], 5, "here", Event(x=1)])
def test_an_event_is_placed_by_a_place(new_world: type[World], location: Any) -> None:
    world = new_world([HERE])
    with pytest.raises(InvalidLocation, match="expected PlanarLocation"):
        world.clients[0].publish(Event(kind="news"), location)
    world.run()
    assert world.up == []


def test_a_subscription_has_filters(new_world: type[World]) -> None:
    world = new_world([HERE])
    with pytest.raises(EmptySubscription):
        world.clients[0].subscribe([], nothing)  # type: ignore[arg-type]
    world.run()
    assert world.up == []


def test_handles_end_once(new_world: type[World]) -> None:
    world = new_world([HERE, HERE])
    client = world.clients[0]
    first, second = client.subscribe(NEWS, nothing), client.subscribe(NEWS, nothing)
    assert first.id != second.id
    client.unsubscribe(first)
    with pytest.raises(UnknownHandle, match=r"handle 1 \(kind = 'news'\) is not subscribed here"):
        client.unsubscribe(first)
    with pytest.raises(UnknownHandle):
        world.clients[1].unsubscribe(second)
    forged = SubHandle(second.id, second.subscription, second.radius)
    with pytest.raises(UnknownHandle):
        client.unsubscribe(forged)
    client.unsubscribe(second)


def test_handles_are_never_used_again(new_world: type[World]) -> None:
    client = new_world([HERE]).clients[0]
    numbers = []
    for _ in range(5):
        handle = client.subscribe(NEWS, nothing)
        numbers.append(handle.id)
        client.unsubscribe(handle)
    assert len(set(numbers)) == 5


def test_a_callback_gets_the_event_and_its_handle(new_world: type[World]) -> None:
    world = new_world([HERE, HERE])
    got: list[tuple[Event, SubHandle]] = []
    handle = world.clients[1].subscribe(NEWS & (attr("level") > 3), lambda e, h: got.append((e, h)), radius=9)
    assert handle.subscription == Subscription.of(NEWS & (attr("level") > 3))
    assert handle.radius == 9
    world.run()
    event = Event(kind="news", level=4, payload=b"body")
    world.clients[0].publish(event, PlanarLocation(501.0, 500.0))
    world.run()
    assert got == [(event, handle)]
    assert got[0][1] is handle


def test_a_callback_that_raises_stops_nobody_else(
    new_world: type[World], caplog: pytest.LogCaptureFixture
) -> None:
    world = new_world([HERE, HERE, HERE])

    def broken(event: Event, handle: SubHandle) -> None:
        raise ZeroDivisionError("a bug of the application")

    world.clients[1].subscribe(NEWS, broken)
    world.subscribe(1, None)
    world.subscribe(2, None)
    world.run()
    event = world.publish(0)
    with caplog.at_level(logging.ERROR):
        world.run()
    assert world.heard(event) == [(1, 2), (2, 1)]
    assert "callback of handle 1 failed" in caplog.text
    again = world.publish(0)
    world.run()
    assert world.heard(again) == [(1, 2), (2, 1)]


def test_a_callback_may_use_the_client(new_world: type[World]) -> None:
    world = new_world([HERE, HERE])
    client = world.clients[1]

    def busy(event: Event, handle: SubHandle) -> None:
        client.unsubscribe(handle)
        client.unsubscribe(doomed)
        world.subscribe(1, 50)
        client.publish(Event(kind="answer", number=event["number"]))

    client.subscribe(NEWS, busy)
    doomed = world.subscribe(1, None)
    world.subscribe(0, None, attr("kind") == "answer")
    world.run()
    event = world.publish(0)
    world.run()
    assert world.heard(event) == [(0, 1)]  # the answer; the second handle was gone when its turn came
    later = world.publish_local(0)
    world.run()
    assert world.heard(later) == [(1, 3)]


def test_events_have_numbers_of_their_own(new_world: type[World]) -> None:
    world = new_world([HERE, HERE])
    numbers = [world.clients[client].publish(Event(kind="x")) for client in (0, 0, 1, 1)]
    assert len(set(numbers)) == 4
    assert all(0 <= number < 2**64 for number in numbers)
    world.run()
    assert sorted(m.id for m in world.up if isinstance(m, Publish)) == sorted(numbers)


def test_what_is_no_event_is_refused(new_world: type[World]) -> None:
    world = new_world([HERE])
    with pytest.raises(InvalidEvent):
        world.clients[0].publish({"kind": "news"})  # type: ignore[arg-type]


def test_degrees_need_a_projection(new_world: type[World]) -> None:
    world = new_world([HERE])
    with pytest.raises(InvalidLocation, match="no projection"):
        world.clients[0].publish(Event(kind="x"), GeoLocation(49.87, 8.65))
    world.run()
    assert world.up == []


def test_publication_time_and_place(new_world: type[World]) -> None:
    world = new_world([HERE])
    world.put(0, HERE, (2.0, 0.0))
    world.run(1.5)
    world.publish_local(0)
    world.run()
    (publish,) = world.up
    assert isinstance(publish, Publish)
    assert publish.at_us == 1_500_000
    assert publish.location == (503.0, 500.0)


def test_a_received_event_says_where_who_and_when(new_world: type[World]) -> None:
    world = new_world([HERE, HERE])
    got: list[Event] = []
    world.clients[1].subscribe(NEWS | (attr("open") == True), lambda e, h: got.append(e))  # noqa: E712
    world.run()
    again = Event(kind="news")
    numbers = [
        world.clients[0].publish(again, PlanarLocation(501.0, 500.0)),
        world.clients[0].publish(again),
        world.clients[0].publish(Event(kind="else", open=True)),
    ]
    world.run()
    assert [event.id for event in got] == numbers
    assert [event.location for event in got] == [PlanarLocation(501.0, 500.0), None, None]
    assert {event.publisher for event in got} == {Publisher(world.clients[0].host.id)}
    assert all(event.at is not None and event.at <= world.clients[0].host.now() for event in got)
    assert got[0] == again
    assert again.id is None
    copy = pickle.loads(pickle.dumps(got[0]))
    assert (copy, copy.id, copy.location) == (got[0], got[0].id, got[0].location)


@pytest.mark.parametrize("scheme", ["grid", "egrid", "attract"])
def test_an_exact_subscription_gets_what_is_within_its_radius(new_world: type[World], scheme: str) -> None:
    world = new_world([HERE, HERE], scheme=scheme)
    got: dict[str, list[int]] = {"exact": [], "rough": []}
    world.clients[1].subscribe(NEWS, lambda e, h: got["exact"].append(e["n"]), radius=20, exact=True)
    world.clients[1].subscribe(NEWS, lambda e, h: got["rough"].append(e["n"]), radius=20)
    world.run()
    for n, x in enumerate((500.0, 519.0, 521.0, 560.0)):
        world.clients[0].publish(Event(kind="news", n=n), PlanarLocation(x, 500.0))
    world.run()
    assert got == {"exact": [0, 1], "rough": [0, 1, 2, 3]}
    assert world.clients[1].subscriptions.beyond == 2
    with pytest.raises(InvalidRadius, match="exact"):
        world.clients[1].subscribe(NEWS, nothing, exact=True)
