"""Places: planar in metres, geographic in degrees, and the way between the two.

The earth is a sphere here, as the haversine distance wants it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, overload

from bypass.errors import InvalidLocation, MissingExtra, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pyproj import Proj

    from bypass.support.arrays import Floats

EARTH_RADIUS = 6_371_000.0


def within(x: float, y: float, centre_x: float, centre_y: float, radius: float) -> bool:
    """Whether a place is in a circle, to whom its border belongs.

    Kernels multiply and add in this order, too: whoever asks gets the same answer, also at the border.
    """
    dx, dy = x - centre_x, y - centre_y
    return dx * dx + dy * dy <= radius * radius


@overload
def haversine(lat1: float, lon1: float, lat2: float, lon2: float) -> float: ...
@overload
def haversine(lat1: ArrayLike, lon1: ArrayLike, lat2: ArrayLike, lon2: ArrayLike) -> Floats: ...
def haversine(lat1: Any, lon1: Any, lat2: Any, lon2: Any) -> Any:
    """Great-circle distance in metres between places in degrees: numbers give a float, arrays an array."""
    import numpy as np

    scalar = all(isinstance(each, (int, float)) for each in (lat1, lon1, lat2, lon2))
    phi1, phi2 = np.radians(lat1), np.radians(lat2)
    half_phi = (phi2 - phi1) / 2
    half_lambda = (np.radians(lon2) - np.radians(lon1)) / 2
    h = np.sin(half_phi) ** 2 + np.cos(phi1) * np.cos(phi2) * np.sin(half_lambda) ** 2
    # Rounding may lift h above 1 for places that are opposite each other.
    distance = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(h, 1.0)))
    return float(distance) if scalar else distance


@dataclass(frozen=True, slots=True)
class PlanarLocation:
    """A place in a plane, in metres. Its `altitude` in metres goes along, None if it is not known: places are
    equal whatever their altitudes. Raises InvalidLocation unless all are finite numbers."""

    x: float
    y: float
    altitude: float | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_altitude(self)
        object.__setattr__(self, "x", _coordinate("x", self.x, math.inf))
        object.__setattr__(self, "y", _coordinate("y", self.y, math.inf))

    def __iter__(self) -> Iterator[float]:
        """Give x, then y: `x, y = location`."""
        return iter((self.x, self.y))

    def distance_to(self, other: PlanarLocation) -> float:
        """Metres as the crow flies. Raises InvalidLocation for a place that is not planar."""
        if not isinstance(other, PlanarLocation):
            raise InvalidLocation(f"distance to {shown(other)}: expected a PlanarLocation")
        return math.hypot(other.x - self.x, other.y - self.y)


@dataclass(frozen=True, slots=True)
class GeoLocation:
    """A place on earth, in degrees; its `altitude` is as that of a PlanarLocation.

    Raises InvalidLocation unless the latitude is in -90..90 and the longitude in -180..180.
    """

    lat: float
    lon: float
    altitude: float | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_altitude(self)
        object.__setattr__(self, "lat", _coordinate("latitude", self.lat, 90.0))
        object.__setattr__(self, "lon", _coordinate("longitude", self.lon, 180.0))

    def __iter__(self) -> Iterator[float]:
        """Give the latitude, then the longitude: `lat, lon = location`."""
        return iter((self.lat, self.lon))

    def distance_to(self, other: GeoLocation) -> float:
        """Metres along the great circle. Raises InvalidLocation for a place that is not geographic."""
        if not isinstance(other, GeoLocation):
            raise InvalidLocation(f"distance to {shown(other)}: expected a GeoLocation")
        phi, other_phi = math.radians(self.lat), math.radians(other.lat)
        half_lambda = (math.radians(other.lon) - math.radians(self.lon)) / 2
        h = math.sin((other_phi - phi) / 2) ** 2  # as in `haversine`, without numpy
        h += math.cos(phi) * math.cos(other_phi) * math.sin(half_lambda) ** 2
        return 2 * EARTH_RADIUS * math.asin(math.sqrt(min(h, 1.0)))


@dataclass(frozen=True)
class Projection:
    """A plane that touches the earth at `origin`; x grows eastwards, y northwards.

    Distances from the origin are exact. Others, over the width of a city, are off by some parts per million.
    To convert something raises MissingExtra if pyproj is not installed.
    """

    origin: GeoLocation

    @classmethod
    def around(cls, origin: GeoLocation) -> Projection:
        """The plane around `origin`."""
        return cls(origin)

    @cached_property
    def _aeqd(self) -> Proj:
        try:
            from pyproj import Proj  # slow to import, and the simulator is planar all through
        except ModuleNotFoundError as error:
            raise MissingExtra("pyproj") from error
        return Proj(proj="aeqd", lat_0=self.origin.lat, lon_0=self.origin.lon, R=EARTH_RADIUS)

    def to_planar(self, location: GeoLocation) -> PlanarLocation:
        """Where `location` is in the plane."""
        return PlanarLocation(*self._aeqd(location.lon, location.lat), altitude=location.altitude)

    def to_geo(self, location: PlanarLocation) -> GeoLocation:
        """Where `location` is on earth. Raises InvalidLocation if nothing on earth is that far away."""
        lon, lat = self._aeqd(location.x, location.y, inverse=True)
        # PROJ lets longitudes pass 180 degrees by rounding errors.
        lon = 180.0 if lon > 180.0 else -180.0 if lon < -180.0 else lon
        return GeoLocation(lat, lon, altitude=location.altitude)

    def to_planar_arrays(self, lat: ArrayLike, lon: ArrayLike) -> tuple[Floats, Floats]:
        """Arrays x and y for arrays in degrees. Raises InvalidLocation if any of them is no place."""
        import numpy as np

        x, y = self._aeqd(np.asarray(lon, np.float64), np.asarray(lat, np.float64))
        return _all_finite(x, y)

    def to_geo_arrays(self, x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        """Arrays of latitude and longitude for arrays in metres. Raises InvalidLocation as `to_geo` does."""
        import numpy as np

        lon, lat = self._aeqd(np.asarray(x, np.float64), np.asarray(y, np.float64), inverse=True)
        return _all_finite(lat, np.clip(lon, -180.0, 180.0))


def _check_altitude(location: PlanarLocation | GeoLocation) -> None:
    if location.altitude is not None:
        object.__setattr__(location, "altitude", _coordinate("altitude", location.altitude, math.inf))


def _coordinate(name: str, value: Any, limit: float) -> float:
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or abs(number) > limit:
        expected = "a finite number" if limit == math.inf else f"a number in {-limit:g}..{limit:g}"
        raise InvalidLocation(f"{name} {shown(value)}: expected {expected}")
    return number


def _all_finite(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    import numpy as np

    wrong = np.flatnonzero(~(np.isfinite(first) & np.isfinite(second)))
    if wrong.size:
        raise InvalidLocation(f"location at index {wrong[0]}: expected a place on earth")
    return first, second
