"""Shapes of points that applications give: each is checked, rounded, and put into the plane that suits it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import degrees, inf, isfinite, isnan
from numbers import Real
from typing import Any

from bypass.errors import InvalidArea, shown
from bypass.places.areas.corridors import CorridorShape
from bypass.places.areas.planes import DegreePlane, LocalPlane, Plane
from bypass.places.areas.polygons import PolygonShape
from bypass.places.areas.rings import (
    DEGREES,
    LARGEST,
    METRES,
    MOST_PARTS,
    MOST_VERTICES,
    TURN,
    Whole,
    angle,
    as_numbers,
    check_polygon,
    length,
    whole,
    whole_line,
    whole_ring,
)
from bypass.places.areas.sectors import SectorShape
from bypass.places.areas.shapes import AreaShape, BoxShape, DiscShape
from bypass.places.geo import EARTH_RADIUS, GeoLocation, PlanarLocation

Position = tuple[float, float] | PlanarLocation | GeoLocation
"""A point: x and y in metres, or a place in degrees."""

Altitude = tuple[float, float] | None
Made = tuple[AreaShape, Plane | None]
"""A shape and the plane that it is in, None for that of metres."""

LARGEST_REACH = 5_000_000.0
"""Metres: of circles, corridors and sectors in degrees."""


def make_circle(centre: Position, radius: float) -> Made:
    in_degrees, point = _position("circle: centre", centre)
    if in_degrees:
        return _around(point, DiscShape(0.0, 0.0, length("circle: radius", radius, LARGEST_REACH)))
    return DiscShape(*_metres(point), length("circle: radius", radius)), None


def make_box(corner: Position, opposite: Position) -> Made:
    in_degrees, (ax, ay) = _position("box: vertex 0", corner)
    _same("box: vertex 1", in_degrees, _in_degrees("box: vertex 1", opposite))
    _, (bx, by) = _position("box: vertex 1", opposite)
    if in_degrees:
        bx -= TURN * round((bx - ax) / TURN)
    if ax == bx or ay == by:
        raise InvalidArea("box of size 0: expected corners that differ in both coordinates")
    x0, y0, x1, y1 = min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)
    if in_degrees:
        return _of_rings([[[(x0, y0), (x1, y0), (x1, y1), (x0, y1)]]], True)
    return BoxShape(*_metres((x0, y0)), *_metres((x1, y1))), None


def make_polygons(parts: Iterable[tuple[Iterable[Position], Iterable[Iterable[Position]]]]) -> Made:
    rings = [[list(ring) for ring in (outer, *holes)] for outer, holes in parts]
    first: bool | None = None
    for names, part in zip(_names([len(part) for part in rings]), rings, strict=True):
        for name, ring in zip(names, part, strict=True):
            first = _all_alike(name, ring, first)
    if first:
        rings = [[[_plain(point) for point in ring] for ring in part] for part in rings]
    return of_coordinates(rings, bool(first))


def make_corridor(line: Iterable[Position], width: float) -> Made:
    points = list(line)
    in_degrees = bool(_all_alike("corridor", points, None))
    vertices = whole_line("corridor", [_plain(point) for point in points], in_degrees)
    wide = length("corridor: width", width, LARGEST_REACH)
    if not in_degrees:
        return CorridorShape(as_numbers(vertices, False), wide), None
    xs, ys = [x for x, _ in vertices], [y for _, y in vertices]
    origin = ((min(xs) + max(xs)) // 2, (min(ys) + max(ys)) // 2)
    plane = _local(origin)
    there = [plane.to_plane(x / DEGREES, y / DEGREES) for x, y in vertices]
    return _around(origin, CorridorShape.of_points(there, wide))


def make_sector(centre: Position, reach: float, bearing: float, opening: float) -> Made:
    in_degrees, point = _position("sector: centre", centre)
    far = length("sector: reach", reach, LARGEST_REACH if in_degrees else LARGEST)
    turn = angle("sector: bearing", bearing, -360.0, 360.0) % 360.0
    wide = angle("sector: opening", opening, 1e-6, 360.0)
    if in_degrees:
        return _around(point, SectorShape(0.0, 0.0, far, turn, wide))
    return SectorShape(*_metres(point), far, turn, wide), None


def of_coordinates(parts: Sequence[Sequence[Iterable[Any]]], in_degrees: bool) -> Made:
    """Make the union of polygons, each a list of rings of pairs: x and y, or longitude and latitude."""
    if not 0 < len(parts) <= MOST_PARTS:
        raise InvalidArea(f"area of {len(parts)} polygons: expected from 1 to {MOST_PARTS}")
    names = _names([len(part) for part in parts])
    rings = [
        [whole_ring(name, ring, in_degrees) for name, ring in zip(each, part, strict=True)]
        for each, part in zip(names, parts, strict=True)
    ]
    count = sum(len(ring) for part in rings for ring in part)
    if count > MOST_VERTICES:
        raise InvalidArea(f"area of {count} vertices: expected at most {MOST_VERTICES}")
    return _of_rings(rings, in_degrees)


def band(altitude: Any) -> Altitude:
    """A band of altitudes, to whole millimetres; None for one without ends. Raises InvalidArea for others."""
    if altitude is None:
        return None
    try:
        low, high = altitude
        real = isinstance(low, Real) and isinstance(high, Real)
    except (TypeError, ValueError):
        real = False
    if not real or isnan(low) or isnan(high):
        raise InvalidArea(f"altitude {shown(altitude)}: expected the lowest and the highest in metres")
    if low > high or low == inf or high == -inf:
        raise InvalidArea(f"altitude {shown(altitude)}: expected the lowest first")
    if low == -inf and high == inf:
        return None
    return _rounded(float(low)), _rounded(float(high))


def place_name(name: Any) -> str:
    """A name of a place. Raises InvalidArea for what is none."""
    if not isinstance(name, str) or not 0 < len(name) <= 255:
        raise InvalidArea(f"place {shown(name)}: expected a name of 1 to 255 characters")
    return name


def _of_rings(rings: list[list[list[Whole]]], in_degrees: bool) -> Made:
    if in_degrees:
        rings = _side_by_side(rings)
    for names, part in zip(_names([len(part) for part in rings]), rings, strict=True):
        check_polygon(names[0], names, part, in_degrees)
    shape = PolygonShape(tuple([tuple([as_numbers(ring, in_degrees) for ring in part]) for part in rings]))
    return shape, DegreePlane((shape.bounds[0] + shape.bounds[2]) / 2) if in_degrees else None


def _around(origin: Whole, shape: AreaShape) -> Made:
    """Check a shape in metres around a place in degrees."""
    plane = _local(origin)
    if shape.reach > LARGEST_REACH:
        raise InvalidArea(
            f"area that reaches {shape.reach:.0f} m: expected at most {LARGEST_REACH:.0f} in degrees"
        )
    if abs(plane.lat) + degrees(shape.reach / EARTH_RADIUS) >= 90.0:
        where = f"({plane.lon}, {plane.lat})"
        raise InvalidArea(
            f"area that reaches {shape.reach:.0f} m around {where}: expected one without a pole"
        )
    return shape, plane


def _position(what: str, point: Any) -> tuple[bool, Whole]:
    in_degrees = _in_degrees(what, point)
    return in_degrees, whole(what, _plain(point), in_degrees)


def _in_degrees(what: str, point: Any) -> bool:
    """Whether a point is in degrees."""
    if isinstance(point, GeoLocation):
        return True
    if isinstance(point, (PlanarLocation, Sequence)) and not isinstance(point, (str, bytes)):
        return False
    raise InvalidArea(f"{what} {shown(point)}: expected (x, y), PlanarLocation or GeoLocation")


def _all_alike(what: str, points: list[Any], first: bool | None) -> bool | None:
    """Whether points are in degrees; None if there are none. Raises InvalidArea if some are and some are
    not."""
    kinds = {*map(type, points)}
    if not first and kinds <= {tuple, list, PlanarLocation}:
        return False if kinds else first
    for number, point in enumerate(points):
        name = f"{what}: vertex {number}"
        kind = _in_degrees(name, point)
        first = kind if first is None else first
        _same(name, first, kind)
    return first


def _plain(point: Position) -> Any:
    return (point.lon, point.lat) if isinstance(point, GeoLocation) else point


def _same(what: str, in_degrees: bool, kind: bool) -> None:
    if kind != in_degrees:
        found, expected = ("degrees", "metres") if kind else ("metres", "degrees")
        raise InvalidArea(f"{what} in {found}: expected {expected} as before")


def _metres(point: Whole) -> tuple[float, float]:
    return point[0] / METRES, point[1] / METRES


def _local(origin: Whole) -> LocalPlane:
    lon = origin[0] / DEGREES
    return LocalPlane(lon - 360.0 * round(lon / 360.0) if abs(lon) > 180.0 else lon, origin[1] / DEGREES)


def _names(rings: Sequence[int]) -> list[list[str]]:
    """Names of rings, by the polygons that they belong to."""
    heads = ["polygon"] if len(rings) == 1 else [f"polygon {number}" for number in range(len(rings))]
    return [
        [head, *[f"{head}, hole {hole}" for hole in range(count - 1)]]
        for head, count in zip(heads, rings, strict=True)
    ]


def _side_by_side(parts: list[list[list[Whole]]]) -> list[list[list[Whole]]]:
    """Rings in degrees, each moved by whole turns to be near the first one, which is around -180 to 180."""
    found: list[list[list[Whole]]] = []
    near = 0
    for part in parts:
        moved = []
        for ring in part:
            xs = [x for x, _ in ring]
            if max(xs) - min(xs) >= TURN:
                raise InvalidArea("polygon around the whole earth: expected one of fewer than 360 degrees")
            turns = round(((min(xs) + max(xs)) / 2 - near) / TURN)
            moved.append([(x - TURN * turns, y) for x, y in ring] if turns else ring)
            if not found and len(moved) == 1:
                near = (min(xs) + max(xs)) // 2 - TURN * turns
        found.append(moved)
    return found


def _rounded(metres: float) -> float:
    if not isfinite(metres):
        return metres
    if abs(metres) > 1e8:
        raise InvalidArea(f"altitude {metres}: expected metres from -1e+08 to 1e+08")
    return round(metres * METRES) / METRES
