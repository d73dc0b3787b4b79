"""The clients that may be in an area, by the places that a broker knows, whatever filter schemes run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bypass.errors import InvalidArea
from bypass.places.areas import Area
from bypass.places.areas.shapes import rectangle_distance
from bypass.places.region import Region

FASTEST = 60.0
"""Metres per second: nobody is taken to have gone further than this since the last report of a place."""

Located = Callable[[int], "tuple[float, float, float] | None"]
"""Gives x, y and the time of a client's last report, if there was one."""


class AreaPresence:
    """Tells which clients may be in an area: those who could have got there since they said where they are,
    and those of whom nobody knows. They test it themselves; clients that `knows_areas` denies are left out
    unless they said last that they are there. `now` is the time of reports.
    """

    def __init__(self, now: Callable[[], float], knows_areas: Callable[[int], bool]) -> None:
        self.now = now
        self._knows_areas = knows_areas

    def among(self, area: Area, clients: Sequence[int], place: Located) -> list[int]:
        """Positions of those clients who may be in an area; `place` says where they were last."""
        now, bounds = self.now(), area.bounds
        found = []
        for position, client in enumerate(clients):
            known = place(client)
            if not self._knows_areas(client):
                if known is not None and area.contains(known[0], known[1]):
                    found.append(position)
                continue
            if known is None:
                found.append(position)
                continue
            x, y, at = known
            gone = FASTEST * max(0.0, now - at)
            if rectangle_distance(x, y, bounds) <= gone and area.touches_circle(x, y, gone):
                found.append(position)
        return found


def resolved(area: Area, region: Region) -> Area:
    """The shape of a named place, with the altitudes of `area`. Raises InvalidArea for a name that is
    none."""
    for place in region.places:
        if place.name == area.place:
            shape = place.as_area()
            return Area(shape.shape, None, area.altitude or shape.altitude)
    known = ", ".join(repr(place.name) for place in region.places) or "none"
    raise InvalidArea(f"area of place {area.place!r}: expected one of the region's: {known}")
