"""A town like the centre of Mannheim: real places, made-up streets."""

from __future__ import annotations

import numpy as np

from bypass.models.maps.builtin.drafting import bent, crossing
from bypass.models.maps.clipping import StreetNetwork, cut, largest_part, tidy
from bypass.models.maps.georeference import attraction_point, plane_around
from bypass.models.maps.street_map import StreetMap
from bypass.places.geo import GeoLocation
from bypass.support.arrays import Bools, Floats

SIZE = 1300.0
MIDDLE = GeoLocation(49.4879, 8.4686)

# Name, latitude, longitude, radius (m), weight: squares where they are, to some ten metres. Radii and weights
# are ours.
_PLACES = (
    ("Friedrichsplatz", 49.4839, 8.4754, 120.0, 2.0),
    ("Paradeplatz", 49.4875, 8.4662, 90.0, 2.0),
    ("Marktplatz", 49.4893, 8.4672, 80.0, 1.5),
    ("Ehrenhof", 49.4833, 8.4617, 110.0, 1.5),
    ("Neckartor", 49.4925, 8.4707, 70.0, 1.5),
    ("Kapuzinerplanken", 49.4862, 8.4705, 70.0, 1.5),
    ("Schillerplatz", 49.4860, 8.4620, 60.0, 1.0),
    ("Toulonplatz", 49.4886, 8.4620, 60.0, 1.0),
)

# Streets are drafted along the town's own axes, in metres from where its two main streets cross: u along the
# one to Friedrichsplatz, v along the one from the palace to the river. East is turned to u by this angle.
_ORIGIN = (477.0, 606.0)
_TURN = np.radians(-31.0)
_FAR = 1200.0
_U = (85.0, 170.0, 250.0, 330.0, 410.0, 490.0, 570.0, 650.0)
_V = (-385.0, -300.0, -200.0, -100.0, 0.0, 70.0, 140.0, 220.0, 300.0, 380.0, 460.0, 540.0)
_OUTER_U = (-850.0, -650.0, -490.0, -250.0, 0.0, 250.0, 490.0, 650.0, 780.0, 900.0)
_OUTER_V = (-900.0, -780.0, -660.0, -300.0, -100.0, 0.0, 140.0, 300.0, 460.0, 600.0)

# The ring: straight in front of the palace, then half of a superellipse of this exponent.
_FRONT, _BEND = -470.0, -150.0
_RING_U, _RING_V, _EXPONENT = 720.0, 800.0, 2.6
_RIVER = 690.0
_PALACE_U, _PALACE_V = 250.0, -660.0
_COURT = (
    ((-70.0, _FRONT), (-70.0, -620.0)),
    ((0.0, _FRONT), (0.0, -620.0)),
    ((70.0, _FRONT), (70.0, -620.0)),
    ((-70.0, -545.0), (70.0, -545.0)),
    ((-70.0, -620.0), (70.0, -620.0)),
)
_PIECE = 28.0


def mannheim() -> StreetMap:
    """A town of square blocks inside a ring, of 1,300 × 1,300 m.

    The places are those of Mannheim, the streets are not: straight lines at right angles, so that many ways
    are equally long, a ring around them and wider blocks beyond it, a palace and a river without streets.
    """
    nodes, edges = _streets()
    across, up = np.cos(_TURN), np.sin(_TURN)
    nodes = nodes @ np.array([[across, up], [-up, across]]) + _ORIGIN
    nodes, edges = largest_part(*tidy(*cut(nodes, edges, SIZE, SIZE)))
    plane = plane_around(MIDDLE, SIZE, SIZE)
    places = tuple(attraction_point(plane, *place) for place in _PLACES)
    return StreetMap("mannheim", SIZE, SIZE, nodes, edges, places, plane)


def _streets() -> StreetNetwork:
    """Streets on the town's own axes, far beyond its borders."""
    inner, outer = _lines((0.0, *_U, *(-u for u in _U)), _V), _lines(_OUTER_U, _OUTER_V)
    corners = _ring()
    ring = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    nodes, edges, line = crossing(np.concatenate([inner, outer, ring, np.array(_COURT)]))
    middles = nodes[edges].mean(axis=1)
    inside = _inside(middles)
    built = np.where(line < len(inner), inside, ~inside & _outside(middles))
    edges = edges[built | (line >= len(inner) + len(outer))]
    return bent(nodes, edges, np.zeros(len(edges)), _PIECE)


def _lines(us: tuple[float, ...], vs: tuple[float, ...]) -> Floats:
    return np.array([*(((u, -_FAR), (u, _FAR)) for u in us), *(((-_FAR, v), (_FAR, v)) for v in vs)])


def _ring() -> Floats:
    """The corners of the ring, one after the other."""
    angle = np.linspace(0, np.pi, 41)
    along, across = np.cos(angle), np.sin(angle)
    u = _RING_U * np.sign(along) * np.abs(along) ** (2 / _EXPONENT)
    v = _BEND + _RING_V * np.abs(across) ** (2 / _EXPONENT)
    return np.array([(_RING_U, _FRONT), *zip(u, v, strict=True), (-_RING_U, _FRONT)])


def _inside(places: Floats) -> Bools:
    """Whether places are inside the ring."""
    u, v = np.abs(places.T[0]) / _RING_U, np.maximum(places.T[1] - _BEND, 0) / _RING_V
    inside: Bools = (places.T[1] > _FRONT) & (u**_EXPONENT + v**_EXPONENT < 1)
    return inside


def _outside(places: Floats) -> Bools:
    """Whether there may be streets beyond the ring: not in the palace, and one bridge over the river."""
    u, v = places.T
    palace = (np.abs(u) < _PALACE_U) & (v > _PALACE_V) & (v < _FRONT)
    allowed: Bools = ~palace & ((v < _RIVER) | (u == 0))
    return allowed
