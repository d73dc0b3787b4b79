"""The borders of places: how far points are from them."""

from __future__ import annotations

import numpy as np

from bypass.places.region import Place
from bypass.support.arrays import Floats


def beyond_border(place: Place, x: Floats, y: Floats) -> Floats:
    """How far (m) points are outside of a place; negative inside."""
    if place.area is None:
        return np.asarray(np.hypot(x - place.x, y - place.y) - place.radius)
    import shapely  # slow to import, and most places are circles

    shape, points = place.area.geometry(), shapely.points(x, y)
    shapely.prepare(shape)
    distance = np.asarray(shapely.distance(shape.boundary, points))
    return np.where(shapely.intersects(shape, points), -distance, distance)
