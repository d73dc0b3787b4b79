"""Reads OpenStreetMap's tags: where people may walk, and which places attract them."""

from __future__ import annotations

from typing import Protocol


class Tags(Protocol):
    """Values by key."""

    def get(self, key: str, /) -> str | None:
        """The value of a key, None if there is none."""


KEYS = ("highway", "leisure", "place", "amenity", "tourism", "building")
"""Objects with none of these keys are skipped."""

_STREETS = ("living_street", "residential", "service", "unclassified", "road", "track")
_ROADS = ("primary", "primary_link", "secondary", "secondary_link", "tertiary", "tertiary_link")
_PATHS = ("pedestrian", "footway", "path", "steps", "corridor", "bridleway")
_FOR_EVERYBODY = frozenset((*_STREETS, *_ROADS, *_PATHS))
# On these one may walk only where it says so.
_FOR_OTHERS = frozenset(("motorway", "motorway_link", "trunk", "trunk_link", "cycleway", "busway"))
_OPEN = frozenset(("yes", "designated", "permissive", "official", "destination", "customers"))
_CLOSED = frozenset(("no", "private", "military", "delivery", "agricultural", "forestry"))

_OPEN_BUILDINGS = frozenset(("no", "roof", "carport", "canopy", "ruins", "construction"))

_ATTRACTIVE = {
    "leisure": frozenset(("park", "garden", "playground", "common")),
    "place": frozenset(("square",)),
    "amenity": frozenset(("marketplace",)),
    "tourism": frozenset(("attraction",)),
}


def walkable(tags: Tags) -> bool:
    """Whether people may walk along a way."""
    highway, foot = tags.get("highway"), tags.get("foot")
    if highway in _FOR_OTHERS:
        return foot in _OPEN
    if highway not in _FOR_EVERYBODY or foot in _CLOSED:
        return False
    return foot in _OPEN or tags.get("access") not in _CLOSED


def building(tags: Tags) -> bool:
    """Whether an area is a building with walls."""
    kind, location = tags.get("building"), tags.get("location")
    return kind is not None and kind not in _OPEN_BUILDINGS and location != "underground"


def attraction(tags: Tags, *, is_area: bool) -> str | None:
    """The kind of a place that people go to; None for other places, and for those that are not open to
    everybody.

    `is_area` tells a square for pedestrians from a street for them.
    """
    if tags.get("access") in _CLOSED:
        return None
    for key, kinds in _ATTRACTIVE.items():
        if (kind := tags.get(key)) in kinds:
            return kind
    return "pedestrian area" if is_area and tags.get("highway") == "pedestrian" else None
