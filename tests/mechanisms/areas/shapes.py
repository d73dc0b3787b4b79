"""Areas of every kind for tests of indexes, and places at their borders."""

from __future__ import annotations

import itertools
import math

from hypothesis import strategies as st

from bypass.places import Area
from bypass.places.areas.corridors import CorridorShape
from bypass.places.areas.polygons import PolygonShape, pairs

Point = tuple[float, float]

# Few distinct coordinates: borders meet each other, the borders of cells and the places that are asked for.
coarse = st.integers(-40, 40).map(lambda v: v * 0.25)
lengths = st.sampled_from([0.001, 0.25, 1.0, 3.0, 5.0, 300.0])
corners = st.tuples(coarse, coarse)
bands = st.none() | st.sampled_from([(0.0, 10.0), (5.0, math.inf)])


def around(centre: Point, radii: list[float]) -> list[Point]:
    """A ring whose vertices are seen from a place in turn."""
    step = 2 * math.pi / len(radii)
    return [
        (centre[0] + radius * math.cos(step * k), centre[1] + radius * math.sin(step * k))
        for k, radius in enumerate(radii)
    ]


def with_hole(corner: Point, width: float, height: float) -> Area:
    """A box with a hole in the middle and another box beside it."""
    x, y = corner
    ring = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    hole = [(x + width / 4, y + height / 4), (x + width / 2, y + height / 4), (x + width / 4, y + height / 2)]
    beside = [(x + 2 * width + dx * width / 2, y + dy * height) for dx, dy in ((0, 0), (1, 0), (1, 1))]
    return Area.polygons([(ring, [hole]), (beside, [])])


def moved(area: Area, by: float) -> Area:
    """An area that is far away from others."""
    return area.placed(by, -by)


circles = st.builds(Area.circle, corners, lengths, altitude=bands)
boxes = st.builds(
    lambda a, w, h, z: Area.box(a, (a[0] + w, a[1] + h), altitude=z), corners, lengths, lengths, bands
)
stars = st.builds(
    lambda centre, radii: Area.polygon(around(centre, radii)),
    corners,
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 7.0]), min_size=3, max_size=30),
)
holed = st.builds(with_hole, corners, st.sampled_from([1.0, 4.0, 64.0]), st.sampled_from([1.0, 4.0, 64.0]))
sectors = st.builds(
    Area.sector,
    corners,
    lengths,
    st.sampled_from([0, 45, 90, 200, 359.5]),
    st.sampled_from([1, 60, 180, 270, 360]),
)
corridors = st.builds(
    lambda line, width: Area.corridor([p for k, p in enumerate(line) if k == 0 or p != line[k - 1]], width),
    st.lists(corners, min_size=2, max_size=6, unique=True),
    st.sampled_from([0.5, 2.0, 40.0]),
)
areas = circles | boxes | stars | holed | sectors | corridors
anywhere = areas | st.builds(moved, areas, st.sampled_from([1e7, 2.0**26, 1e11]))


def at_borders(area: Area) -> list[Point]:
    """Places on the border of an area, or as near to it as numbers can be."""
    x0, y0, x1, y1 = area.bounds
    shape = area.shape
    exact = [(x0, y0), (x1, y1), (x0, (y0 + y1) / 2), ((x0 + x1) / 2, y1)]
    if isinstance(shape, PolygonShape):
        for part in shape.parts:
            for ring in part:
                points = [*pairs(ring)]
                exact += points
                exact += [((ax + bx) / 2, (ay + by) / 2) for (ax, ay), (bx, by) in itertools.pairwise(points)]
    if isinstance(shape, CorridorShape):
        exact += [(x + shape.width / 2, y) for x, y in pairs(shape.line)]
    beside = [(math.nextafter(x, math.inf), y) for x, y in exact] + [
        (x, math.nextafter(y, -math.inf)) for x, y in exact
    ]
    return exact + beside
