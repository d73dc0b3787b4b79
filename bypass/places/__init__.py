"""Places: coordinates, the region that a broker serves, and the sensor that tells where a client is."""

from typing import TYPE_CHECKING

from bypass.places.region import Place, Region
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.places.areas import Area
    from bypass.places.borders import EVERYBODY, BorderEvent
    from bypass.places.geo import GeoLocation, PlanarLocation, Projection
    from bypass.places.sensor import Fix, LocationRequest
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Area": "bypass.places.areas",
            "BorderEvent": "bypass.places.borders",
            "EVERYBODY": "bypass.places.borders",
            "Fix": "bypass.places.sensor",
            "GeoLocation": "bypass.places.geo",
            "LocationRequest": "bypass.places.sensor",
            "PlanarLocation": "bypass.places.geo",
            "Projection": "bypass.places.geo",
        },
    )

__all__ = [
    "EVERYBODY",
    "Area",
    "BorderEvent",
    "Fix",
    "GeoLocation",
    "LocationRequest",
    "Place",
    "PlanarLocation",
    "Projection",
    "Region",
]
