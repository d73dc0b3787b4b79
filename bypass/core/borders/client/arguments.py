"""The arguments of a watch, as applications give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from bypass.errors import InvalidArea, InvalidWatch, shown
from bypass.places.areas import Area
from bypass.places.borders import EVERYBODY
from bypass.places.geo import Projection
from bypass.protocol.session import LONGEST_NAME

PLACE = "place:"
PLACES = "places"


OneArea: TypeAlias = Area | str
WatchAreas: TypeAlias = OneArea | Iterable[OneArea] | Mapping[str, OneArea]


def areas_of(areas: Any, projection: Projection | None) -> tuple[tuple[tuple[str, Area], ...], bool]:
    """Areas by name, in metres, and whether all places of the region are meant as well. Raises InvalidWatch
    and InvalidArea."""
    if isinstance(areas, Mapping):
        return tuple((name, _area(area, projection)) for name, area in areas.items()), False
    if isinstance(areas, Area | str):
        areas = (areas,)
    if not isinstance(areas, Iterable):
        raise InvalidWatch(
            f"areas {shown(areas)}: expected an Area, {PLACE}NAME, {PLACES!r}, or several of them"
        )
    named: list[tuple[str, Area]] = []
    every_place = False
    for each in areas:
        if each == PLACES:
            every_place = True
        else:
            area = _area(each, projection)
            named.append((area.place or str(len(named) + 1), area))
    return tuple(named), every_place


def _area(area: Any, projection: Projection | None) -> Area:
    if isinstance(area, str) and area.startswith(PLACE):
        return Area.of_place(area.removeprefix(PLACE))
    if not isinstance(area, Area):
        raise InvalidWatch(f"area {shown(area)}: expected an Area or {PLACE}NAME")
    if area.degrees:
        if projection is None:
            raise InvalidArea(f"{area}: expected planar metres, this client has no projection")
        return area.projected(projection)
    return area


def names_of(whom: Any) -> tuple[str, ...] | None:
    """Names of clients; none: oneself; None: everybody. Raises InvalidWatch."""
    if whom is EVERYBODY:
        return None
    if whom is None:
        return ()
    if isinstance(whom, str) or not isinstance(whom, Iterable):
        raise InvalidWatch(f"whom {shown(whom)}: expected names of clients, EVERYBODY or None")
    names = tuple(sorted({*whom}, key=str))
    if not names:
        raise InvalidWatch("whom []: expected at least one name, or None for oneself")
    for name in names:
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise InvalidWatch(f"whom: name {shown(name)}: expected 1 to {LONGEST_NAME} characters")
    return names
