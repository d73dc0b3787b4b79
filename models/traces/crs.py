"""Coordinates of rows brought into metres: degrees, and those of any reference system that PROJ knows."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bypass.errors import InvalidLocation, MissingExtra, shown
from bypass.models.traces.errors import InvalidTrace
from bypass.places.geo import GeoLocation, Projection
from bypass.support.arrays import Floats

if TYPE_CHECKING:
    from pyproj import Transformer


def check_crs(crs: str) -> None:
    """Raise InvalidTrace unless PROJ knows how to get degrees from coordinates of this system."""
    _to_degrees(crs)


def degrees(crs: str, x: Floats, y: Floats, path: str) -> tuple[Floats, Floats]:
    """Latitudes and longitudes of places, the easting or longitude of which is in `x`.

    Raises InvalidTrace, which names the file, for a place that the system does not have.
    """
    lon, lat = _to_degrees(crs).transform(x, y)
    wrong = np.flatnonzero(~(np.isfinite(lat) & np.isfinite(lon)))
    if wrong.size:
        at = x[wrong[0]], y[wrong[0]]
        raise InvalidTrace(f"{path}: ({at[0]}, {at[1]}) is no place of {crs}: expected its coordinates")
    return lat, lon


def check_degrees(lat: Floats, lon: Floats, path: str) -> None:
    """Raise InvalidTrace, which names the file, for a latitude or a longitude that there is not."""
    for name, values, limit in (("lat", lat, 90.0), ("lon", lon, 180.0)):
        wrong = np.flatnonzero(np.abs(values) > limit)
        if wrong.size:
            hint = ", and lat before lon" if name == "lat" else ""
            raise InvalidTrace(
                f"{path}: {name} is {values[wrong[0]]}: expected degrees in {-limit:g}..{limit:g}{hint}"
            )


def planar(middle: GeoLocation, lat: Floats, lon: Floats, path: str) -> tuple[Floats, Floats]:
    """x and y (m) in the plane around a place. Raises InvalidTrace, which names the file."""
    try:
        return Projection.around(middle).to_planar_arrays(lat, lon)
    except InvalidLocation as error:
        raise InvalidTrace(f"{path}: {error}") from error


@lru_cache(maxsize=8)
def _to_degrees(crs: str) -> Transformer:
    try:
        from pyproj import Transformer
        from pyproj.exceptions import ProjError
    except ModuleNotFoundError as error:
        raise MissingExtra("pyproj") from error
    try:
        return Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
    except ProjError as error:
        reason = str(error).splitlines()[0]
        raise InvalidTrace(f"crs {shown(crs)}: {reason}: expected a system such as EPSG:25832") from None
