"""Areas on the wire; as in `bodies`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import inf, isfinite

from bypass.errors import InvalidArea, shown
from bypass.places.areas.area import Area
from bypass.places.areas.corridors import CorridorShape
from bypass.places.areas.polygons import PolygonShape
from bypass.places.areas.sectors import SectorShape
from bypass.places.areas.shapes import AreaShape, BoxShape, DiscShape
from bypass.protocol.wire import bypass_pb2 as pb

_MM = 1_000
_MICRO = 1_000_000
_COUNTS = {pb.Area.CIRCLE: 3, pb.Area.BOX: 4, pb.Area.SECTOR: 5}


def write_area(body: pb.Area, area: Area) -> None:
    """Fill a body. Raises InvalidArea for an area in degrees."""
    if area.degrees:
        raise InvalidArea(f"area {shown(area)}: expected one in metres to send")
    if area.altitude is not None:
        low, high = area.altitude
        if isfinite(low):
            body.lowest = _whole(low)
        if isfinite(high):
            body.highest = _whole(high)
    if area.place is not None:
        body.place = area.place
    if area.shape is not None:
        _write_shape(body, area.shape)
    body.SetInParent()  # a named place may have nothing else


def area_to_bytes(area: Area) -> bytes:
    """An area by itself, as a value. Raises as `write_area` does."""
    body = pb.Area()
    write_area(body, area)
    return body.SerializeToString()


def area_from_bytes(data: bytes) -> Area:
    """Reverse of `area_to_bytes`. Raises as `read_area` does, and ProtobufError for anything else."""
    return read_area(pb.Area.FromString(data))


def _write_shape(body: pb.Area, shape: AreaShape) -> None:
    match shape:
        case DiscShape():
            body.shape = pb.Area.CIRCLE
            body.numbers.extend(map(_whole, (shape.x, shape.y, shape.radius)))
        case BoxShape():
            x0, y0, x1, y1 = map(_whole, shape.bounds)
            body.shape = pb.Area.BOX
            body.numbers.extend((x0, y0, x1 - x0, y1 - y0))
        case SectorShape():
            body.shape = pb.Area.SECTOR
            body.numbers.extend(map(_whole, (shape.x, shape.y, shape.radius)))
            body.numbers.extend((round(shape.bearing * _MICRO), round(shape.opening * _MICRO)))
        case CorridorShape():
            body.shape = pb.Area.CORRIDOR
            body.numbers.append(_whole(shape.width))
            body.numbers.extend(_differences(map(_whole, shape.line)))
        case PolygonShape():
            body.shape = pb.Area.POLYGONS
            rings = [ring for part in shape.parts for ring in part]
            body.numbers.extend(_differences(_whole(each) for ring in rings for each in ring))
            if len(rings) > 1:
                body.rings.extend(len(ring) // 2 for ring in rings)
            if len(shape.parts) > 1:
                body.polygons.extend(map(len, shape.parts))


def read_area(body: pb.Area) -> Area:
    """The area of a body. Raises InvalidArea for one that no constructor of `Area` makes, and ValueError."""
    low = body.lowest / _MM if body.HasField("lowest") else -inf
    high = body.highest / _MM if body.HasField("highest") else inf
    altitude = (low, high)
    numbers = body.numbers
    if (count := _COUNTS.get(body.shape)) is not None and len(numbers) != count:
        raise ValueError(f"area of {len(numbers)} numbers: expected {count}")
    match body.shape:
        case pb.Area.NAMED:
            return Area.of_place(body.place, altitude=altitude)
        case pb.Area.CIRCLE:
            x, y, radius = (each / _MM for each in numbers)
            return Area.circle((x, y), radius, altitude=altitude)
        case pb.Area.BOX:
            x, y, width, height = numbers
            corners = (x / _MM, y / _MM), ((x + width) / _MM, (y + height) / _MM)
            return Area.box(*corners, altitude=altitude)
        case pb.Area.SECTOR:
            x, y, reach = (each / _MM for each in numbers[:3])
            return Area.sector((x, y), reach, numbers[3] / _MICRO, numbers[4] / _MICRO, altitude=altitude)
        case pb.Area.CORRIDOR if numbers:
            return Area.corridor(_points(numbers[1:]), numbers[0] / _MM, altitude=altitude)
        case pb.Area.POLYGONS:
            return Area.polygons(_parts(body), altitude=altitude)
    raise ValueError(f"area of shape {body.shape}: expected one that is known here")


Points = list[tuple[float, float]]


def _parts(body: pb.Area) -> list[tuple[Points, list[Points]]]:
    points = _points(body.numbers)
    lengths = list(body.rings) or [len(points)]
    counts = list(body.polygons) or [len(lengths)]
    if sum(lengths) != len(points) or sum(counts) != len(lengths) or not all(counts):
        raise ValueError(
            f"area of {len(points)} vertices in rings {shown(lengths)} in polygons {shown(counts)}"
        )
    rings = [points[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]
    return [(rings[start], rings[start + 1 : end]) for start, end in pairwise(accumulate(counts, initial=0))]


def _whole(metres: float) -> int:
    return round(metres * _MM)


def _differences(numbers: Iterable[int]) -> list[int]:
    """Of x and y in turn, each less the one before of its kind."""
    before = [0, 0]
    found = []
    for number, value in enumerate(numbers):
        found.append(value - before[number % 2])
        before[number % 2] = value
    return found


def _points(differences: Sequence[int]) -> Points:
    if len(differences) % 2:
        raise ValueError(f"area of {len(differences)} numbers: expected x and y of each vertex")
    x = y = 0
    found = []
    for dx, dy in zip(differences[::2], differences[1::2], strict=True):
        x, y = x + dx, y + dy
        found.append((x / _MM, y / _MM))
    return found
