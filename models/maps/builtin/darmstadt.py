"""A town like the centre of Darmstadt: real places, made-up streets."""

from __future__ import annotations

import numpy as np

from bypass.models.maps.builtin.drafting import along, bent, between_neighbours, draws, oval, scatter
from bypass.models.maps.clipping import cut, largest_part, tidy
from bypass.models.maps.georeference import attraction_point, plane_around
from bypass.models.maps.street_map import StreetMap
from bypass.places.geo import GeoLocation
from bypass.support.arrays import Bools, Floats

SIZE = 1300.0
MIDDLE = GeoLocation(49.8746, 8.6592)

# Name, latitude, longitude, radius (m), weight: squares, a hill and a park where they are, to
# some ten metres. Radii and weights are ours.
_PLACES = (
    ("Herrngarten", 49.8762, 8.6526, 150.0, 4.0),
    ("Luisenplatz", 49.8728, 8.6511, 90.0, 4.0),
    ("Mathildenhöhe", 49.8776, 8.6672, 80.0, 3.0),
    ("Marktplatz", 49.8722, 8.6552, 60.0, 1.5),
    ("Ludwigsplatz", 49.8707, 8.6543, 60.0, 1.5),
    ("Kapellplatz", 49.8703, 8.6587, 60.0, 1.5),
)

# Corners (m) of streets that go through the town, and the squares at which they meet.
_LUISENPLATZ, _MARKET, _LUDWIGSPLATZ = (69.0, 450.0), (363.0, 383.0), (299.0, 216.0)
_KAPELLPLATZ, _HILL = (614.0, 172.0), (1223.0, 984.0)
_THROUGH = (
    ((-120, 452), _LUISENPLATZ, (160, 440), (260, 441), (300, 420), _MARKET),
    (_MARKET, (520, 400), (760, 450), (1080, 490), (1420, 470)),
    ((55, 1420), (32, 1030), (20, 780), (50, 570), _LUISENPLATZ, (80, 260), (55, 50), (40, -120)),
    (_MARKET, (320, 280), _LUDWIGSPLATZ, (260, 80), (300, -120)),
    (_LUDWIGSPLATZ, (450, 190), _KAPELLPLATZ, (840, 120), (1130, 130), (1420, 60)),
    (_LUDWIGSPLATZ, (160, 145), (-120, 110)),
    ((475, 570), (520, 780), (640, 980), (790, 1420)),
    ((490, 640), (720, 720), (960, 850), _HILL, (1420, 1060)),
    ((1010, -120), (990, 130), (960, 470), (1010, 700), (960, 850), (900, 1100), (930, 1420)),
)
# Middle and half axes (m) of what streets lead around.
_PARK, _PALACE = (177.0, 828.0, 125.0, 165.0), (341.0, 530.0, 92.0, 78.0)
_PALACE_GROUNDS = (341.0, 530.0, 70.0, 58.0)
_OLD_TOWN = (290.0, 380.0)

_SEED = np.uint64(1)
_MARGIN = 120.0
_CANDIDATES = 9000
_STEP, _PIECE = 46.0, 24.0


def darmstadt() -> StreetMap:
    """An old town, grown over centuries, of 1,300 × 1,300 m.

    The places are those of Darmstadt, the streets are not: they are drafted by chance, narrow in the middle,
    wide outside, around a park and a palace, with some streets that go through.
    """
    lines = [*(along(corners, _STEP) for corners in _THROUGH), oval(*_PARK, _STEP), oval(*_PALACE, _STEP)]
    main = scatter(np.concatenate(lines), lambda points: np.full(len(points), _STEP / 2))
    candidates = draws(_SEED, 0, _CANDIDATES) * (SIZE + 2 * _MARGIN) - _MARGIN
    crossings = scatter(candidates, _apart, main)
    edges = between_neighbours(crossings, draws(_SEED, 1, len(crossings)))
    edges = edges[~_inside(crossings[edges].mean(axis=1), *_PALACE_GROUNDS)]
    bends = 0.2 * (draws(_SEED, 2, len(edges))[:, 0] - 0.5)
    bends[(edges < len(main)).all(axis=1)] = 0
    # Streets are drafted some way beyond the borders, so that what is cut off looks like more of the same.
    nodes, edges = cut(*bent(crossings, edges, bends, _PIECE), SIZE, SIZE)
    nodes, edges = largest_part(*tidy(np.round(nodes, 2), edges))
    plane = plane_around(MIDDLE, SIZE, SIZE)
    places = tuple(attraction_point(plane, *place) for place in _PLACES)
    return StreetMap("darmstadt", SIZE, SIZE, nodes, edges, places, plane)


def _apart(points: Floats) -> Floats:
    """How far (m) crossings keep from each other."""
    outwards: Floats = np.hypot(*(points - _OLD_TOWN).T)
    distance: Floats = np.interp(outwards, (120, 640), (38, 60))
    distance[_inside(points, *_PARK)] = 62
    distance[_inside(points, *_PALACE)] = np.inf
    return distance


def _inside(points: Floats, x: float, y: float, across: float, up: float) -> Bools:
    inside: Bools = np.hypot((points[:, 0] - x) / across, (points[:, 1] - y) / up) < 1
    return inside
