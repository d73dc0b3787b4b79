"""Areas: one type for everything that has a shape on the ground."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import hypot, isfinite, isnan, nextafter
from os import PathLike
from typing import TYPE_CHECKING, Any

from bypass.errors import InvalidArea
from bypass.places.areas.making import (
    Altitude,
    Position,
    band,
    make_box,
    make_circle,
    make_corridor,
    make_polygons,
    make_sector,
    of_coordinates,
    place_name,
)
from bypass.places.areas.planes import DegreePlane, Plane
from bypass.places.areas.shapes import AreaShape, Bounds, Motion
from bypass.places.geo import Projection

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

_MICROMETRE = 1e-6
_RIGHT_AFTER = nextafter(0.0, 1.0)


@dataclass(frozen=True, slots=True, repr=False)
class Area:
    """A part of the ground with its border, in metres of a plane or in degrees, maybe within a band of
    altitudes.

        Area.polygon([(0, 0), (400, 0), (400, 300)])
        Area.circle(GeoLocation(49.873, 8.651), 300, altitude=(0, 120))
        Area.corridor(route, width=50)
        Area.from_file("zone.geojson")

    Never changes; equal areas have equal shapes, given in the same way. Metres are rounded to millimetres,
    degrees to billionths. In degrees, edges are straight in longitude and latitude; that of two whose
    longitudes differ by more than 180 crosses the antimeridian.

    Every way to make one takes `altitude`: the lowest and the highest, in metres, either of which may be
    infinite. Every one raises InvalidArea, which names the vertex: for coordinates that are no place, too few
    or too many vertices, one that repeats, edges that cross, holes that are outside, no size, and poles.
    """

    shape: AreaShape | None
    plane: Plane | None = None
    altitude: Altitude = None
    place: str | None = None

    # ---- ways to make one

    @classmethod
    def circle(cls, centre: Position, radius: float, *, altitude: Altitude = None) -> Area:
        """All within `radius` metres of a place."""
        return cls(*make_circle(centre, radius), band(altitude))

    @classmethod
    def box(cls, corner: Position, opposite: Position, *, altitude: Altitude = None) -> Area:
        """The rectangle along the axes between two corners."""
        return cls(*make_box(corner, opposite), band(altitude))

    @classmethod
    def polygon(
        cls, ring: Iterable[Position], holes: Iterable[Iterable[Position]] = (), *, altitude: Altitude = None
    ) -> Area:
        """All inside a ring and outside its holes. The first vertex may be there again at the end."""
        return cls.polygons([(ring, holes)], altitude=altitude)

    @classmethod
    def polygons(
        cls,
        parts: Iterable[tuple[Iterable[Position], Iterable[Iterable[Position]]]],
        *,
        altitude: Altitude = None,
    ) -> Area:
        """The union of polygons, each a ring and its holes."""
        return cls(*make_polygons(parts), band(altitude))

    @classmethod
    def corridor(cls, line: Iterable[Position], width: float, *, altitude: Altitude = None) -> Area:
        """All within half a `width` in metres of a line; its ends are round."""
        return cls(*make_corridor(line, width), band(altitude))

    @classmethod
    def sector(
        cls, centre: Position, reach: float, bearing: float, opening: float, *, altitude: Altitude = None
    ) -> Area:
        """The part of the circle of radius `reach` whose direction from `centre` is within half an `opening`
        of `bearing`, both in degrees; bearings are clockwise from north, which is +y."""
        return cls(*make_sector(centre, reach, bearing, opening), band(altitude))

    @classmethod
    def of_place(cls, name: str, *, altitude: Altitude = None) -> Area:
        """A named place of the broker's region: its shape is known there."""
        return cls(None, None, band(altitude), place_name(name))

    @classmethod
    def from_geojson(
        cls, source: str | bytes | Mapping[str, Any], *, degrees: bool = True, altitude: Altitude = None
    ) -> Area:
        """The polygons of a geometry, a feature or a collection of features."""
        from bypass.places.areas.geojson import read_geojson

        return cls(*of_coordinates(read_geojson(source), degrees), band(altitude))

    @classmethod
    def from_wkt(cls, text: str, *, degrees: bool = False, altitude: Altitude = None) -> Area:
        """A POLYGON or MULTIPOLYGON in well-known text; of degrees, the longitude comes first."""
        from bypass.places.areas.well_known import read_wkt

        return cls(*of_coordinates(read_wkt(text), degrees), band(altitude))

    @classmethod
    def from_wkb(cls, data: bytes, *, degrees: bool = False, altitude: Altitude = None) -> Area:
        """A Polygon or MultiPolygon in well-known bytes; of degrees, the longitude comes first."""
        from bypass.places.areas.well_known import read_wkb

        return cls(*of_coordinates(read_wkb(data), degrees), band(altitude))

    @classmethod
    def from_file(
        cls, path: str | PathLike[str], *, degrees: bool | None = None, altitude: Altitude = None
    ) -> Area:
        """An area of a file of GeoJSON (.geojson, .json), well-known text (.wkt) or well-known bytes (.wkb).

        Without `degrees`, GeoJSON is in degrees and the others in metres. Raises InvalidArea for another
        ending, or a file that cannot be read.
        """
        from bypass.places.areas.files import read_file

        parts, in_degrees = read_file(path)
        return cls(*of_coordinates(parts, in_degrees if degrees is None else degrees), band(altitude))

    @classmethod
    def from_h3(cls, cell: str, *, altitude: Altitude = None) -> Area:
        """A cell of the hexagonal grid H3, in degrees. Raises MissingExtra if the package h3 is not
        installed."""
        from bypass.places.areas.files import h3_ring

        return cls(*of_coordinates([[h3_ring(cell)]], True), band(altitude))

    # ---- what it is

    @property
    def degrees(self) -> bool:
        """Whether its coordinates are longitudes and latitudes."""
        return self.plane is not None

    @property
    def vertices(self) -> int:
        """The number of points by which it is given."""
        return 0 if self.shape is None else self.shape.vertices

    @property
    def bounds(self) -> Bounds:
        """The smallest rectangle around it; of circles, corridors and sectors in degrees a rectangle around
        it."""
        shape = self.known()
        return shape.bounds if self.plane is None else self.plane.bounds(shape)

    @property
    def size(self) -> float:
        """Square metres. A part that several of its polygons have in common counts for each of them."""
        shape = self.known()
        return shape.size if self.plane is None else self.plane.size(shape)

    @property
    def reach(self) -> float:
        """The largest distance of a point of it from (0, 0), in metres."""
        return self._in_metres("reach").reach

    def contains(self, x: float, y: float, z: float | None = None) -> bool:
        """Whether a point, in metres or as longitude and latitude, belongs to it, as its border does.

        A point whose altitude is not known, None or NaN, is within any band.
        """
        if self.altitude is not None and z is not None and not isnan(z):
            low, high = self.altitude
            if not low <= z <= high:
                return False
        shape = self.known()
        if self.plane is not None:
            x, y = self.plane.to_plane(x, y)
        x0, y0, x1, y1 = shape.bounds
        return x0 <= x <= x1 and y0 <= y <= y1 and shape.contains(x, y)

    def touches(self, rect: Bounds) -> bool:
        """False only if no point of it is in the rectangle (x0, y0, x1, y1), which may be infinite; altitudes
        do not count. In degrees, a rectangle may go on beyond 180."""
        shape = self.known()
        if self.plane is None:
            return _touches(shape, rect)
        x0, y0, x1, y1 = self.plane.bounds(shape)
        turns = range(-2, 3)
        if isinstance(self.plane, DegreePlane):
            return any(
                _touches(shape, (rect[0] + 360 * t, rect[1], rect[2] + 360 * t, rect[3])) for t in turns
            )
        return (
            y0 <= rect[3]
            and rect[1] <= y1
            and any(x0 <= rect[2] + 360 * t and rect[0] + 360 * t <= x1 for t in turns)
        )

    def touches_circle(self, x: float, y: float, radius: float) -> bool:
        """False only if no point of it is in the circle; altitudes do not count. Raises InvalidArea in
        degrees."""
        return self._in_metres("touches_circle").touches_circle(x, y, radius)

    def crossings(self, x0: float, y0: float, x1: float, y1: float) -> list[float]:
        """Parts t of the straight way between two points, in (0, 1] and ascending, at which it passes between
        inside and outside. Altitudes do not count.

        Their number is odd if one of the two points belongs to the area and the other does not. A way that
        leaves from the border has its first right after 0, one that enters with its last point its last at 1.
        A visit along less than a micrometre is not seen.
        """
        shape = self.known()
        if self.plane is not None:
            x0, y0 = self.plane.to_plane(x0, y0)
            x1, y1 = self.plane.to_plane(x1, y1)
            if isinstance(self.plane, DegreePlane):
                x1 -= 360.0 * round((x1 - x0) / 360.0)
        return _crossings(shape, x0, y0, x1, y1)

    def __repr__(self) -> str:
        if self.shape is None:
            return f"Area.of_place({self.place!r})"
        kind = type(self.shape).__name__.removesuffix("Shape").lower()
        band = f", altitude {self.altitude[0]:g} to {self.altitude[1]:g}" if self.altitude else ""
        bounds = ", ".join(f"{each:.10g}" for each in self.bounds)
        return f"<Area: {kind}, {self.vertices} vertices in ({bounds}){' degrees' * self.degrees}{band}>"

    # ---- others made of it

    def placed(self, x: float, y: float, heading: float = 0.0) -> Area:
        """The area, which is relative to (0, 0), turned by `heading` degrees clockwise and put at a place.

        Coordinates are not rounded. Raises InvalidArea in degrees.
        """
        if not (isfinite(x) and isfinite(y) and isfinite(heading)):
            raise InvalidArea(f"area placed at ({x}, {y}), heading {heading}: expected finite numbers")
        return replace(self, shape=self._in_metres("placed").placed(Motion(x, y, heading)))

    def projected(self, projection: Projection) -> Area:
        """The area in metres of a plane; itself if it is in metres. Its vertices are projected, and its edges
        are straight again. Raises InvalidArea for one that is not on the same half of the earth as the
        plane's origin, or that has no size left, and MissingExtra without pyproj."""
        from bypass.places.areas.projecting import project

        return self if self.plane is None else project(self, projection)

    def buffer(self, metres: float) -> Area:
        """The area and all that is within so many metres of it; with a negative number, all that is so deep
        inside. Raises InvalidArea in degrees, or if nothing is left, and MissingExtra without shapely."""
        from bypass.places.areas.geometry import buffered

        self._in_metres("buffer")
        return buffered(self, metres)

    def geometry(self) -> BaseGeometry:
        """The area for shapely; arcs become chords. Raises MissingExtra without shapely."""
        from bypass.places.areas.geometry import to_shapely

        return to_shapely(self.known())

    def to_geojson(self, projection: Projection | None = None) -> dict[str, Any]:
        """A geometry of GeoJSON; arcs become chords of at most six degrees. With a projection, an area in
        metres is in degrees there. Altitudes are not in it."""
        from bypass.places.areas.geojson import geojson_of

        return geojson_of(self, projection)

    def known(self) -> AreaShape:
        """Its shape, in metres or in the plane of `plane`. Raises InvalidArea for a named place."""
        if self.shape is None:
            raise InvalidArea(f"area of place {self.place!r}: expected the broker to say its shape")
        return self.shape

    def _in_metres(self, what: str) -> AreaShape:
        if self.plane is not None:
            raise InvalidArea(f"{what} of an area in degrees: expected one in metres, as `projected` gives")
        return self.known()


def _touches(shape: AreaShape, rect: Bounds) -> bool:
    bounds = shape.bounds
    x0, y0 = max(rect[0], bounds[0]), max(rect[1], bounds[1])
    x1, y1 = min(rect[2], bounds[2]), min(rect[3], bounds[3])
    return x0 <= x1 and y0 <= y1 and shape.touches((x0, y0, x1, y1))


def _crossings(shape: AreaShape, x0: float, y0: float, x1: float, y1: float) -> list[float]:
    left, bottom, right, top = shape.bounds
    if max(x0, x1) < left or min(x0, x1) > right or max(y0, y1) < bottom or min(y0, y1) > top:
        return []

    def inside(x: float, y: float) -> bool:
        return left <= x <= right and bottom <= y <= top and shape.contains(x, y)

    distance = hypot(x1 - x0, y1 - y0)
    apart = _MICROMETRE / distance if distance else 1.0
    places = [0.0]
    for part in sorted(shape.borders(x0, y0, x1, y1)):
        if places[-1] + apart < part < 1.0 - apart:
            places.append(part)
    found = []
    now = inside(x0, y0)
    for part, following in zip(places, (*places[1:], 1.0), strict=True):
        middle = (part + following) / 2
        then = inside(x0 + (x1 - x0) * middle, y0 + (y1 - y0) * middle)
        if then != now:
            found.append(part or _RIGHT_AFTER)
            now = then
    if inside(x1, y1) != now:
        found.append(1.0)
    return found
