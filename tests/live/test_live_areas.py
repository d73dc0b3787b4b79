"""Subscriptions with areas at a live broker: what it stores, charges and refuses, and who is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bypass import Area, Event, PlanarLocation, attr, connect_blocking
from bypass.errors import InvalidArea
from bypass.live import Unsupported
from bypass.live.broker.service import Service
from bypass.live.client.errors import SubscriptionRefused
from bypass.places.area_of_interest import AreaOfInterest
from bypass.protocol.messages import AllowFollowing, ContextUpdate, FollowedPlace, Notify, Subscribe
from bypass.protocol.session import CAPABILITIES, Ack, Kept, Refused
from tests.live.brokers import ANYTHING, Peer, config, in_loop, killed, peers, running, until
from tests.live.scripted import Script, connected, leave, on_loop, turns

Make = Callable[..., Peer]

ZONE, OTHER = Area.box((0, 0), (50, 50)), Area.box((40, 0), (90, 50))
NEWS = attr("kind") == "x"


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as made:
        yield made


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(
        config(tmp_path, region={"places": [{"name": "park", "x": 300, "y": 300, "radius": 50}]})
    ) as it:
        yield it


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def zone(area: Area = ZONE, handle: int = 1, **more: float) -> Subscribe:
    return Subscribe(handle, ANYTHING, interest=AreaOfInterest((area,)), **more)  # type: ignore[arg-type]


def subscribed(peer: Peer, message: Subscribe) -> None:
    peer.send(message)
    assert message.handle in peer.get(Ack).handles


def told(peer: Peer, publisher: Peer, *places: tuple[float, float]) -> list[tuple[float, float]]:
    """The places of events that a peer is told of, of those at some places."""
    for place in places:
        publisher.publish(place)
    found = [message.publication for message in peer.settle() if isinstance(message, Notify)]
    peer.send(Ack(tuple(each.id for each in found)))
    return [each.location for each in found if each.location is not None]


def rows(service: Service) -> int:
    return int(in_loop(service, lambda: len(service.server.broker.table)))


def test_areas_outlive_a_killed_broker_as_they_were_last(
    service: Service, make: Make, tmp_path: Path
) -> None:
    me, publisher = (make(endpoint(service), name, capabilities=CAPABILITIES) for name in ("me", "publisher"))
    subscribed(me, zone())
    subscribed(me, zone(OTHER))
    subscribed(me, zone(Area.circle((500, 500), 10), 2))
    assert told(me, publisher, (20, 20), (60, 20), (500, 505)) == [(60, 20), (500, 505)]
    settings = killed(service, tmp_path / "after")
    for peer in (me, publisher):
        peer.close()
    with running(settings) as after:
        late = make(endpoint(after), "publisher", 2, capabilities=CAPABILITIES)
        for place in ((20.0, 20.0), (60.0, 20.0)):
            late.publish(place)
        again = make(endpoint(after), "me", 2, capabilities=CAPABILITIES)
        kept = {each.handle: each for each in again.get(Kept).kept}
        assert kept[1].interest == AreaOfInterest((OTHER,))
        assert kept[1].until is None
        subscribed(again, zone(OTHER))
        assert again.get(Notify).publication.location == (60, 20)


def test_subscriptions_end_also_while_nobody_is_there(service: Service, make: Make, tmp_path: Path) -> None:
    me = make(endpoint(service), "me", capabilities=CAPABILITIES)
    subscribed(me, zone(expires=0.5))
    subscribed(me, zone(handle=2, expires=3600.0))
    subscribed(me, zone(handle=3, expires=1.5))
    me.close()
    settings = killed(service, tmp_path / "after")
    until(lambda: rows(service) == 2)
    with running(settings) as after:
        until(lambda: rows(after) == 1)
        session = after.server.sessions.by_name["me"]
        assert list(session.handles) == [2]
        assert session.account.subscription_bytes == session.sizes[2]


def test_the_bytes_of_areas_are_charged_and_released(make: Make, tmp_path: Path) -> None:
    limits = {"subscription_bytes": 1000, "session_bytes": 1600}
    large = Area.polygon(
        [(n * 10 + (n % 2) * 3.123, 100 + n * n % 7) for n in range(150)] + [(1490, 0), (0, 0)]
    )
    larger = Area.corridor([(n * 7.123, n * n % 701) for n in range(400)], 2)
    with running(config(tmp_path, limits=limits)) as service:
        me = make(endpoint(service), "me", capabilities=CAPABILITIES)
        subscribed(me, zone())
        account = service.server.sessions.by_name["me"].account
        small = account.subscription_bytes
        subscribed(me, zone(large))
        assert account.subscription_bytes > small + 300
        me.send(zone(larger))
        assert "expected at most 1000" in me.get(Refused).reason
        subscribed(me, zone(large, 2))
        me.send(zone(large, 3))
        assert "expected at most 1600 of one client" in me.get(Refused).reason
        subscribed(me, zone(handle=2))
        subscribed(me, zone())
        assert account.subscription_bytes == 2 * small
        assert account.filters == 2


def test_what_cannot_be_is_refused_and_changes_nothing(service: Service, make: Make) -> None:
    me, publisher = (make(endpoint(service), name, capabilities=CAPABILITIES) for name in ("me", "publisher"))
    subscribed(me, zone())
    bad = [
        (zone(Area.of_place("sea")), "place 'sea': expected one of park"),
        (
            Subscribe(4, ANYTHING, interest=AreaOfInterest((ZONE,), True, "bus")),
            "around 'bus': nobody of that name lets 'me' follow",
        ),
        (Subscribe(1, ANYTHING, 100, ContextUpdate((1.0, 1.0))), "handle 1: it is subscribed with"),
    ]
    for message, reason in bad:
        me.send(message)
        assert me.get(Refused).reason.startswith(reason)
    assert rows(service) == 1
    assert told(me, publisher, (20, 20), (60, 20)) == [(20, 20)]
    assert service.server.counters["malformed"] == 0


def test_areas_of_places_and_around_others(service: Service, make: Make) -> None:
    me, bus, publisher = (
        make(endpoint(service), name, capabilities=CAPABILITIES) for name in ("me", "bus", "publisher")
    )
    bus.send(AllowFollowing(("me",)))
    bus.send(FollowedPlace((100.0, 100.0), (0.0, -5.0)))
    bus.settle()
    subscribed(me, zone(Area.of_place("park")))
    ahead = Area.sector((0, 0), 50, 0, 90)
    subscribed(me, Subscribe(2, ANYTHING, interest=AreaOfInterest((ahead,), True, "bus")))
    places = [(300.0, 340.0), (300.0, 360.0), (100.0, 60.0), (100.0, 140.0)]
    assert told(me, publisher, *places) == [(300, 340), (100, 60)]
    bus.send(FollowedPlace((500.0, 100.0)))  # it stands, and looks where it went
    bus.settle()
    assert told(me, publisher, (500.0, 60.0), (100.0, 60.0)) == [(500, 60)]
    bus.send(AllowFollowing())
    bus.settle()
    assert told(me, publisher, (500.0, 60.0)) == []


def test_programs_without_asyncio_have_areas_too(service: Service) -> None:
    with (
        connect_blocking(endpoint(service), open=True, name="bus", location=lambda: (100.0, 100.0)) as bus,
        connect_blocking(endpoint(service), open=True, name="me") as me,
    ):
        bus.allow_following(everybody=True)
        bus.publish(Event(kind="none"))
        fence = me.subscribe(NEWS, area=ZONE, expires=3600)
        near = me.subscribe(NEWS, radius=50, around="bus")
        bus.publish(Event(kind="x", n=1), PlanarLocation(20, 20))
        assert fence.get(20)["n"] == 1
        fence.change(area=OTHER)
        bus.publish(Event(kind="x", n=2), PlanarLocation(20, 20))
        bus.publish(Event(kind="x", n=3), PlanarLocation(80, 20))
        bus.publish(Event(kind="x", n=4), PlanarLocation(100, 140))
        assert fence.get(20)["n"] == 3
        assert near.get(20)["n"] == 4
        near.change(radius=10)
        bus.publish(Event(kind="x", n=5), PlanarLocation(100, 140))
        bus.publish(Event(kind="x", n=6), PlanarLocation(100, 105))
        assert near.get(20)["n"] == 6
        with pytest.raises(SubscriptionRefused, match="place 'sea': expected one of park"):
            fence.change(area=Area.of_place("sea"))
        with pytest.raises(InvalidArea):
            fence.change(area=[])
        bus.publish(Event(kind="x", n=7), PlanarLocation(80, 20))
        assert fence.get(20)["n"] == 7  # it goes on as it was
        short = me.subscribe(NEWS, area=ZONE, expires=0.3)
        assert [*short] == []
        until(lambda: rows(service) == 2)


@on_loop
async def test_a_broker_that_knows_no_areas_is_not_told_of_them() -> None:
    script = Script()
    script.welcome.capabilities = tuple(set(CAPABILITIES) - {"areas"})
    me = await connected(script)
    me.moved((1.0, 1.0))
    for where in ({"area": ZONE}, {"radius": 10, "around": "bus"}, {"expires": 5.0}):
        with pytest.raises(Unsupported, match="the broker's version does not know areas"):
            await me.subscribe(NEWS, **where)
    with pytest.raises(Unsupported, match="the broker's version does not know areas"):
        me.allow_following(everybody=True)
    await turns()
    assert not script.arrived
    await leave(me, script)


@on_loop
async def test_a_broker_that_has_become_older_ends_areas() -> None:
    script = Script()
    script.welcome.capabilities = CAPABILITIES
    me = await connected(script)
    me.moved((1.0, 1.0))
    me.allow_following(["you"])
    assert (await script.expect(AllowFollowing)).names == ("you",)
    asking = asyncio.ensure_future(me.subscribe(NEWS, area=ZONE))
    handle = (await script.expect(Subscribe)).handle
    script.send(Ack((), (handle,)))
    fence = await asking
    changing = asyncio.ensure_future(fence.change(area=OTHER))
    assert (await script.expect(Subscribe)).interest == AreaOfInterest((OTHER,))
    await script.restart()
    await script.greet(capabilities=())
    with pytest.raises(SubscriptionRefused, match="does not know areas"):
        await changing
    with pytest.raises(SubscriptionRefused, match="does not know areas"):
        await anext(fence)
    me.moved((2.0, 2.0))
    await turns()
    assert not [
        each for each in script.arrived if isinstance(each, Subscribe | AllowFollowing | FollowedPlace)
    ]
    await leave(me, script)


@on_loop
async def test_a_change_goes_on_on_the_next_connection_and_only_one_at_a_time() -> None:
    script = Script()
    script.welcome.capabilities = CAPABILITIES
    me = await connected(script)
    asking = asyncio.ensure_future(me.subscribe(NEWS, area=ZONE))
    await turns()
    changes = [
        asyncio.ensure_future((await started(asking, script)).change(area=area)) for area in (OTHER, ZONE)
    ]
    first = await script.expect(Subscribe)
    assert first.interest == AreaOfInterest((OTHER,))
    await turns()
    assert not script.arrived
    await script.restart()
    await script.greet(capabilities=CAPABILITIES)
    again = await script.expect(Subscribe)
    assert (again.handle, again.interest) == (first.handle, first.interest)
    script.send(Refused("busy", handle=again.handle, retry=0.01))
    third = await script.expect(Subscribe)
    assert third.interest == first.interest
    script.send(Ack((), (first.handle,)))
    await changes[0]
    assert (await script.expect(Subscribe)).interest == AreaOfInterest((ZONE,))
    script.send(Refused("too much", handle=first.handle))
    with pytest.raises(SubscriptionRefused, match="too much"):
        await changes[1]
    registered = next(iter(me._exchange.usable().subscriptions))
    assert registered.interest == AreaOfInterest((OTHER,))
    await leave(me, script)


async def started(asking: asyncio.Future, script: Script):  # type: ignore[no-untyped-def, type-arg]
    if not asking.done():
        script.send(Ack((), ((await script.expect(Subscribe)).handle,)))
    return await asking
