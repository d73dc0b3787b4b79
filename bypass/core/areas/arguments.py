"""Checks what applications give for a subscription, before anything is changed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

from bypass.errors import (
    InvalidArea,
    InvalidCallback,
    InvalidInterval,
    InvalidLocation,
    InvalidRadius,
    shown,
)
from bypass.places.area_of_interest import MOST_AREAS, AreaOfInterest
from bypass.places.areas import Area
from bypass.places.geo import Projection
from bypass.places.sensor import LocationRequest, LocationSensor
from bypass.ports.subscriptions import Registered
from bypass.support.callbacks import is_plain_function

LARGEST_RADIUS = 20_000_000  # half the way around the earth
LONGEST_S = 100 * 365 * 86_400.0
"""The longest time (s) for which a subscription is said to go on."""

LONGEST_NAME = 200  # as that of a session

GivenAreas = Area | Iterable[Area]


class SubscriptionScope(NamedTuple):
    """The places that a subscription is about: a `radius` around the client, or areas, `exact` ones if the
    client tests where events are; it ends in `expires` seconds, None: not by itself."""

    radius: int | None
    exact: bool
    interest: AreaOfInterest | None
    expires: float | None


def check_callback(callback: Any) -> None:
    """Raises InvalidCallback for what cannot be called, is asynchronous or a generator."""
    if not is_plain_function(callback):
        raise InvalidCallback(
            f"callback {shown(callback)}: expected a plain function: iterate in order to await"
        )


def check_request(location_request: Any) -> None:
    """Raises InvalidInterval for another class."""
    if location_request is not None and not isinstance(location_request, LocationRequest):
        raise InvalidInterval(f"location_request {shown(location_request)}: expected a LocationRequest")


def scope_of(
    location: LocationSensor,
    projection: Projection | None,
    *,
    radius: Any = None,
    exact: Any = False,
    area: Any = None,
    relative: Any = False,
    around: Any = None,
    expires: Any = None,
) -> SubscriptionScope:
    """The places of a subscription as they travel. Raises InvalidRadius, InvalidArea and InvalidInterval for
    arguments that do not fit, and InvalidLocation where it takes the client's place, which will never be
    known."""
    if not isinstance(exact, bool):
        raise InvalidRadius(f"exact {shown(exact)}: expected True or False")
    if not isinstance(relative, bool):
        raise InvalidArea(f"relative {shown(relative)}: expected True or False")
    if radius is not None:
        radius = whole_metres(radius)
    end = None if expires is None else seconds(expires)
    if area is None and around is None:
        if relative:
            raise InvalidArea("relative True without an area: expected an area around (0, 0)")
        if radius is None and exact:
            raise InvalidRadius("radius None of an exact subscription: expected whole metres")
        if radius is not None:
            _check_sensor(location, f"radius {radius}")
        return SubscriptionScope(radius, exact, None, end)
    interest = interest_of(projection, area, radius, relative, around)
    if interest.is_own:
        _check_sensor(location, "relative True")
    return SubscriptionScope(None, True, interest, end)


def changed(
    before: Registered, projection: Projection | None, now: float, radius: Any, area: Any, expires: Any
) -> tuple[AreaOfInterest | None, float | None]:
    """The areas that a subscription is to have, and when it ends. Raises as `scope_of` does."""
    interest, until = before.interest, before.until if expires is None else now + seconds(expires)
    if radius is None and area is None:
        return interest, until
    if interest is None:
        raise InvalidArea("change of a subscription without areas: expected one that has some")
    if radius is not None:
        radius = whole_metres(radius)
    if area is None and not interest.relative:
        raise InvalidRadius(f"radius {radius}: expected an area, as this subscription stays where it is")
    if area is None:
        return AreaOfInterest((Area.circle((0.0, 0.0), radius),), True, interest.around), until
    return interest_of(projection, area, radius, interest.relative, interest.around or None), until


def interest_of(
    projection: Projection | None, area: Any, radius: int | None, relative: bool, around: Any
) -> AreaOfInterest:
    """The areas of a subscription, in metres. Raises InvalidArea, and InvalidRadius for a radius beside an
    area."""
    if around is not None and (not isinstance(around, str) or not 0 < len(around) <= LONGEST_NAME):
        raise InvalidArea(
            f"around {shown(around)}: expected the name of a client, of 1 to {LONGEST_NAME} characters"
        )
    if area is None:
        if radius is None or around is None:
            raise InvalidArea(f"around {shown(around)} without radius and area: expected one of them")
        return AreaOfInterest((Area.circle((0.0, 0.0), radius),), True, around)
    if radius is not None:
        raise InvalidRadius(f"radius {radius} beside an area: expected one of them")
    areas = _areas(area)
    moves = relative or around is not None
    for each in areas:
        if moves and (each.place or each.degrees):
            what = f"place {shown(each.place)}" if each.place else "an area in degrees"
            raise InvalidArea(f"{what} that moves: expected an area in metres around (0, 0)")
    return AreaOfInterest(tuple([planar_area(each, projection) for each in areas]), moves, around or "")


def _areas(area: Any) -> tuple[Area, ...]:
    given = (area,) if isinstance(area, Area) else tuple(area) if isinstance(area, list | tuple | set) else ()
    for each in given:
        if not isinstance(each, Area):
            raise InvalidArea(f"area {shown(each)}: expected an Area, or several")
    if not 0 < len(given) <= MOST_AREAS:
        found = f"area {shown(area)}" if not given else f"{len(given)} areas"
        raise InvalidArea(f"{found}: expected 1 to {MOST_AREAS} of class Area")
    return given


def planar_area(area: Area, projection: Projection | None) -> Area:
    """The area in metres. Raises InvalidArea for degrees without a projection."""
    if not area.degrees:
        return area
    if projection is None:
        raise InvalidArea("area in degrees: expected planar metres, this client has no projection")
    return area.projected(projection)


def _check_sensor(location: LocationSensor, what: str) -> None:
    if not location.available():
        raise InvalidLocation(f"{what}: nobody says where this client is: expected a client with a location")


def whole_metres(radius: Any) -> int:
    """A radius as a whole number, which 100.0 is too. Raises `InvalidRadius`."""
    number = isinstance(radius, Real) and not isinstance(radius, bool)
    if not number or not 0 < radius <= LARGEST_RADIUS or int(radius) != radius:
        raise InvalidRadius(f"radius {shown(radius)}: expected whole metres from 1 to {LARGEST_RADIUS}")
    return int(radius)


def seconds(expires: Any) -> float:
    """Seconds after which something ends. Raises InvalidInterval."""
    number = isinstance(expires, Real) and not isinstance(expires, bool)
    if not number or not (0 < expires <= LONGEST_S and math.isfinite(expires)):
        raise InvalidInterval(f"expires {shown(expires)}: expected seconds from 0 to {LONGEST_S:g}")
    return float(expires)
