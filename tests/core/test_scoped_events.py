"""Events for who is in an area, and events with a lifetime: under every scheme, and nearby."""

from __future__ import annotations

from math import cos, sin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass import Area, Event, GeoLocation, Place, PlanarLocation
from bypass.core.areas.presence import AreaPresence, resolved
from bypass.errors import InvalidArea, InvalidInterval
from bypass.places.region import Region
from bypass.places.sensor import Fix
from bypass.protocol.messages import Publish
from bypass.testing.areas import areas
from tests.conftest import Point, World
from tests.vicinity import MULTI_HOP, Vicinity, row

SCHEMES = ("radial", "ste", "grid", "egrid", "attract", "multi")
places = st.tuples(st.integers(50, 950).map(float), st.integers(50, 950).map(float))


def news(number: int) -> Event:
    return Event(kind="news", number=number)


def told(world: World, event: int) -> list[int]:
    return sorted(client for _, client, _, number in world.deliveries if number == event)


@settings(max_examples=15)
@given(
    st.sampled_from(SCHEMES),
    st.lists(st.tuples(places, st.sampled_from([None, 200])), min_size=2, max_size=6),
    areas(),
    st.sampled_from(SCHEMES),
)
def test_who_is_in_the_area_is_told_and_nobody_else(
    scheme: str, clients: list[tuple[Point, int | None]], area: Area, then: str
) -> None:
    world = World([place for place, _ in clients], scheme=scheme)
    for number, (_, radius) in enumerate(clients):
        world.subscribe(number, radius)
    world.run(3.0)
    there = [n for n, (place, _) in enumerate(clients) if n and area.contains(*place)]
    world.clients[0].publish(news(1), area=area)
    world.run(3.0)
    assert told(world, 1) == there
    world.execute(then)
    world.clients[0].publish(news(2), area=area)
    world.run(3.0)
    assert told(world, 2) == there


def test_a_place_and_an_area_both_restrict_an_event() -> None:
    world = World([(100.0, 100.0), (100.0, 150.0), (100.0, 190.0), (700.0, 700.0)])
    for client in range(4):
        world.subscribe(client, 100)
    world.run(3.0)
    area = Area.box((0, 0), (1000, 160))
    world.clients[3].publish(news(1), PlanarLocation(100, 140), area=area)
    world.run()
    assert told(world, 1) == [0, 1]
    assert world.clients[2].subscriptions.elsewhere <= 1  # the broker knows where it is


def test_who_walks_is_told_where_it_has_got_to() -> None:
    """The broker leaves nobody out who may have come into the area since it was heard of."""
    world = World([(0.0, 500.0), (900.0, 900.0)])
    world.subscribe(0, 100, interval=30.0)
    world.put(0, (0.0, 500.0), (10.0, 0.0))
    world.run(20.0)
    world.clients[1].publish(news(1), area=Area.circle((200, 500), 30))
    world.clients[1].publish(news(2), area=Area.circle((0, 500), 30))
    world.run()
    assert told(world, 1) == [0]
    assert told(world, 2) == []
    assert world.clients[0].subscriptions.elsewhere == 1


def test_a_named_place_is_what_the_broker_says() -> None:
    world = World(
        [(50.0, 50.0), (310.0, 310.0)], attractions=(Place("park", 300.0, 300.0, 100.0),), scheme="grid"
    )
    world.subscribe(1, None)
    world.run()
    world.clients[0].publish(news(1), area=Area.of_place("park"))
    world.run()
    assert told(world, 1) == [1]
    with pytest.raises(InvalidArea, match=r"area of place 'pond': expected one of the region's: 'park'"):
        resolved(Area.of_place("pond"), world.region)
    outline = Area.polygon([(0, 0), (9, 0), (0, 9)], altitude=(0, 5))
    region = Region((0, 0, 9, 9), (Place.of_area("lawn", outline),))
    assert resolved(Area.of_place("lawn"), region) == outline
    assert resolved(Area.of_place("lawn", altitude=(1, 2)), region).altitude == (1, 2)


@given(areas(), st.lists(places, max_size=5), st.floats(0, 30), st.floats(0, 300), st.floats(0, 6.2))
def test_nobody_is_left_out_who_can_have_come_into_the_area(
    area: Area, where: list[Point], age: float, speed: float, direction: float
) -> None:
    presence = AreaPresence(lambda: 100.0, lambda client: client != 3)
    known = {n: (*place, 100.0 - age) for n, place in enumerate(where)}
    found = presence.among(area, [0, 1, 2, 3, 4], known.get)
    for client in (0, 1, 2, 4):
        if client not in known:
            assert client in found
        elif speed <= 60:
            x, y = where[client]
            now = x + cos(direction) * speed * age * 0.999, y + sin(direction) * speed * age * 0.999
            assert client in found or not area.contains(*now)
    assert (3 in found) == (3 in known and area.contains(*where[3]))  # a version that cannot test it itself


def test_altitudes_of_fixes_count() -> None:
    publication = Publish(1, news(1), area=Area.circle((0, 0), 10, altitude=(50, 100)))
    fix = Fix(0.0, 0.0, 0.0, 0.0, 1.0)
    assert publication.is_for(fix)
    assert publication.is_for(fix._replace(z=70.0))
    assert not publication.is_for(fix._replace(z=20.0))


@pytest.mark.parametrize("expires", [0, -1.0, float("nan"), float("inf"), "5", 1e10])
def test_a_lifetime_is_a_number_of_seconds(expires: float) -> None:
    world = World([(0.0, 0.0)])
    with pytest.raises(InvalidInterval, match=r"expires .*: expected seconds from 0 to"):
        world.clients[0].publish(news(1), expires=expires)
    with pytest.raises(InvalidArea, match="area 5: expected an Area"):
        world.clients[0].publish(news(1), area=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArea, match=r"expected planar metres, this client has no projection"):
        world.clients[0].publish(news(1), area=Area.circle(GeoLocation(1, 1), 5))


def test_what_waits_for_who_is_cut_off_expires() -> None:
    world = World([(310.0, 310.0), (320.0, 310.0)], durable=True)
    world.subscribe(1)
    world.run(3.0)
    world.system.cut_off(1)
    world.clients[0].publish_local(news(1), expires=5.0)
    world.clients[0].publish_local(news(2), expires=60.0)
    world.run(10.0)
    world.system.reconnect(1)
    world.run()
    assert told(world, 1) == []
    assert told(world, 2) == [1]
    assert world.system.waiting == 0


# ---- between devices nearby


@pytest.mark.parametrize("mechanism", MULTI_HOP)
def test_the_area_is_the_fence_between_devices_nearby(mechanism: str) -> None:
    world = Vicinity(row(6), {"direct": (mechanism, {"p": 1.0} if mechanism == "gossip" else {})})
    world.subscribe_all(None)
    world.run()
    event = world.clients[0].publish(news(1), area=Area.box((100, 0), (240, 1000)))  # clients 1 to 3
    world.run(2.0)
    assert [client for client, copies in enumerate(world.copies(event)) if copies] == [0, 1, 2, 3, 4]
    assert told(world, 1) == [1, 2, 3]  # the fourth has heard it, and is elsewhere


def test_hyperg_forgets_what_has_expired() -> None:
    """A device that comes into reach later is told of events that have not expired."""
    world = Vicinity([(100.0, 100.0), (900.0, 900.0)], {"direct": ("hyperg", {"keep": 60.0})})
    world.subscribe_all(None)
    world.run()
    world.clients[0].publish(news(1), expires=3.0)
    world.clients[0].publish(news(2), expires=30.0)
    world.run(5.0)
    world.put(1, (110.0, 100.0))
    world.run(3.0)
    assert told(world, 1) == []
    assert told(world, 2) == [1]
