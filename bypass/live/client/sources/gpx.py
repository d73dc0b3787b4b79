"""Recorded tracks, as sources for a connection's `location`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from bypass.errors import InvalidLocation, MissingExtra
from bypass.places.geo import GeoLocation, PlanarLocation, Projection


def gpx(
    path: str | Path, speed: float = 1.0, *, clock: Callable[[], float] = time.monotonic
) -> Callable[[], GeoLocation]:
    """Plays the first track of a GPX file, `speed` times as fast as it was recorded.

    It begins when it is first asked, and stays at the end of the track. Raises InvalidTrace for a file that
    is none, InvalidLocation for a speed that is not above 0, and MissingExtra without what brokers need.
    """
    try:
        import numpy as np

        from bypass.models.traces.formats import gpx as tracks  # brings in numba
    except ModuleNotFoundError as error:
        raise MissingExtra((error.name or "numba").partition(".")[0]) from error
    if not 0.0 < speed < math.inf:
        raise InvalidLocation(f"speed {speed}: expected a number above 0")
    # Straight lines are straight in the plane that touches the earth where the track begins.
    somewhere = Projection.around(GeoLocation(0.0, 0.0))
    anywhere = tracks.read(Path(path), somewhere.origin)
    projection = Projection.around(somewhere.to_geo(PlanarLocation(anywhere.x[0], anywhere.y[0])))
    waypoints = tracks.read(Path(path), projection.origin)
    first = slice(*waypoints.offsets[:2])
    t, x, y = waypoints.t[first], waypoints.x[first], waypoints.y[first]
    began: float | None = None

    def place() -> GeoLocation:
        nonlocal began
        if began is None:
            began = clock()
        at = t[0] + speed * (clock() - began)
        return projection.to_geo(PlanarLocation(float(np.interp(at, t, x)), float(np.interp(at, t, y))))

    return place
