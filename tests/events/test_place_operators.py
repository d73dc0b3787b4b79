"""Filters on attributes whose values are places and areas, against shapely."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given

from bypass import Area, Event, PlanarLocation, attr, matches
from bypass.errors import BypassError, InvalidArea, InvalidFilter
from bypass.events.attributes import AREA, PLACE
from bypass.events.filters import Filter, Subscription
from bypass.protocol.messages import Publish, Subscribe
from bypass.protocol.session import AREAS, needed
from bypass.protocol.wire import decode, encode
from bypass.testing.strategies import areas, places

NEAR = 1e-3
ZONE = Area.polygon([(0, 0), (100, 0), (100, 100), (0, 100)], [[(40, 40), (60, 40), (60, 60), (40, 60)]])


def holds(wanted: Filter, **attributes: Any) -> bool:
    return matches(Event(**attributes), Subscription.of(wanted))


def test_places_are_in_areas_or_not() -> None:
    at = attr("at")
    assert holds(at.within(ZONE), at=PlanarLocation(10, 10))
    assert not holds(at.within(ZONE), at=PlanarLocation(50, 50))
    assert not holds(at.within(ZONE), at="here")
    assert not holds(at.within(ZONE), elsewhere=PlanarLocation(10, 10))
    assert holds(at.dwithin(PlanarLocation(0, 0), 5), at=PlanarLocation(3, 4))
    assert not holds(at.dwithin(PlanarLocation(0, 0), 4.9), at=PlanarLocation(3, 4))
    assert holds(at == PlanarLocation(3, 4), at=PlanarLocation(3, 4))
    assert holds(attr("at", PLACE).intersects(ZONE), at=PlanarLocation(10, 10))


def test_areas_are_in_others_meet_them_or_are_near() -> None:
    inside, around = Area.box((5, 5), (20, 20)), Area.box((30, 30), (70, 70))
    zone = attr("zone", AREA)
    assert holds(zone.within(ZONE), zone=inside)
    assert not holds(zone.within(ZONE), zone=around)  # the hole is in it
    assert holds(zone.within(ZONE), zone=Area.polygon(*RINGS))
    assert holds(attr("zone").intersects(ZONE), zone=around)
    assert not holds(attr("zone").intersects(ZONE), zone=Area.circle((50, 50), 9))
    assert holds(zone.dwithin(PlanarLocation(50, 50), 11), zone=ZONE)
    assert not holds(zone.dwithin(PlanarLocation(50, 50), 9), zone=ZONE)


RINGS = [(30, 30), (70, 30), (70, 70), (30, 70)], [[(40, 40), (60, 40), (60, 60), (40, 60)]]


@given(areas(), areas())
def test_areas_compare_as_in_shapely(one: Area, other: Area) -> None:
    a, b = one.geometry(), other.geometry()
    met = holds(attr("zone").intersects(other), zone=one)
    if met:
        assert a.distance(b) <= NEAR
    else:
        assert a.buffer(-NEAR).disjoint(b)
    if holds(attr("zone", AREA).within(other), zone=one):
        assert b.buffer(NEAR).covers(a)
    else:
        assert not b.buffer(-NEAR).covers(a)


@given(places(), areas())
def test_filters_with_areas_survive_the_wire(place: tuple[float, float], area: Area) -> None:
    at = PlanarLocation(*place)
    wanted = attr("at").within(area) & attr("zone").intersects(area) & attr("home").dwithin(at, 7.5)
    message = Subscribe(1, wanted)
    assert decode(encode(message)) == message
    publication = Publish(1, Event(at=at, zone=area))
    assert decode(encode(publication)) == publication
    assert needed(message) == needed(publication) == {AREAS}
    assert pickle.loads(pickle.dumps(wanted)) == wanted
    assert holds(attr("at").within(area), at=at) == area.contains(*place)


@pytest.mark.parametrize("value", ["park", None, Area.of_place("park"), PlanarLocation(1, 2), (1, 2)])
def test_what_is_no_area_is_refused(value: object) -> None:
    for make in (attr("at").within, attr("zone").intersects):
        with pytest.raises(InvalidFilter, match=r"expected an Area in metres$"):
            make(value)  # type: ignore[arg-type]


def test_distances_that_are_none_are_refused() -> None:
    errors: tuple[type[BypassError], ...] = (InvalidArea,)
    for metres in (0, -1, float("nan")):
        with pytest.raises(errors):
            attr("at").dwithin(PlanarLocation(0, 0), metres)
