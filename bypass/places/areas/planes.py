"""The planes in which areas in degrees have their shapes: degrees themselves, or metres around a place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import asin, atan2, cos, degrees, hypot, radians, sin

from bypass.places.areas.polygons import edges
from bypass.places.areas.shapes import AreaShape, Bounds
from bypass.places.geo import EARTH_RADIUS


class Plane(ABC):
    """A plane, and the way to it from longitudes and latitudes."""

    __slots__ = ()

    @abstractmethod
    def to_plane(self, lon: float, lat: float) -> tuple[float, float]:
        """Where a place on earth is in the plane."""

    @abstractmethod
    def to_geo(self, x: float, y: float) -> tuple[float, float]:
        """Longitude and latitude of a point of the plane."""

    @abstractmethod
    def bounds(self, shape: AreaShape) -> Bounds:
        """A rectangle in degrees around a shape of the plane; its longitudes may go on beyond 180."""

    @abstractmethod
    def size(self, shape: AreaShape) -> float:
        """Square metres of a shape of the plane."""


@dataclass(frozen=True, slots=True)
class DegreePlane(Plane):
    """The plane whose x is the longitude and whose y is the latitude; its edge is opposite the longitude
    `middle`."""

    middle: float

    def to_plane(self, lon: float, lat: float) -> tuple[float, float]:
        return lon - 360.0 * round((lon - self.middle) / 360.0), lat

    def to_geo(self, x: float, y: float) -> tuple[float, float]:
        return x - 360.0 * round(x / 360.0) if abs(x) > 180.0 else x, y

    def bounds(self, shape: AreaShape) -> Bounds:
        return shape.bounds

    def size(self, shape: AreaShape) -> float:
        polygons = shape.outline()
        return sum(_sphere_size(part[0]) - sum(map(_sphere_size, part[1:])) for part in polygons.parts)


@dataclass(frozen=True, slots=True)
class LocalPlane(Plane):
    """The plane that touches the earth at a place: distances and bearings from there are right."""

    lon: float
    lat: float

    def to_plane(self, lon: float, lat: float) -> tuple[float, float]:
        phi, origin, turn = radians(lat), radians(self.lat), radians(lon - self.lon)
        east = cos(phi) * sin(turn)
        north = cos(origin) * sin(phi) - sin(origin) * cos(phi) * cos(turn)
        aside = hypot(east, north)  # the sine of the angle at the earth's centre
        ahead = sin(origin) * sin(phi) + cos(origin) * cos(phi) * cos(turn)
        factor = EARTH_RADIUS * (atan2(aside, ahead) / aside if aside else 1.0)
        return factor * east, factor * north

    def to_geo(self, x: float, y: float) -> tuple[float, float]:
        distance = hypot(x, y)
        if not distance:
            return self.lon, self.lat
        angle, origin = distance / EARTH_RADIUS, radians(self.lat)
        lat = asin(cos(angle) * sin(origin) + y / distance * sin(angle) * cos(origin))
        east = x / distance * sin(angle)
        north = cos(angle) * cos(origin) - y / distance * sin(angle) * sin(origin)
        lon = self.lon + degrees(atan2(east, north))
        return lon - 360.0 * round(lon / 360.0) if abs(lon) > 180.0 else lon, degrees(lat)

    def bounds(self, shape: AreaShape) -> Bounds:
        """That of a circle around the place."""
        reach = shape.reach / EARTH_RADIUS
        aside = degrees(asin(sin(reach) / cos(radians(self.lat))))
        return (self.lon - aside, self.lat - degrees(reach), self.lon + aside, self.lat + degrees(reach))

    def size(self, shape: AreaShape) -> float:
        return shape.size


def _sphere_size(ring: Sequence[float]) -> float:
    """The size of a ring on the sphere, whose edges are straight in degrees."""
    total = 0.0
    for ax, ay, bx, by in edges(ring):
        low, high = radians(ay), radians(by)
        # The mean of the sine between two latitudes, in a form that holds for equal ones.
        half = (high - low) / 2
        mean = sin((low + high) / 2) * (sin(half) / half if half else 1.0)
        total += radians(bx - ax) * mean
    return abs(total) * EARTH_RADIUS * EARTH_RADIUS
