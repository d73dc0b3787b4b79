"""The place on earth of a map, or of the world of a trace."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from bypass.models.maps.street_map import AttractionPoint
from bypass.places.geo import GeoLocation, PlanarLocation, Projection, haversine
from bypass.support.arrays import Floats


class Georeference(BaseModel):
    """Where on earth a world is: its corner (0, 0) is at (x, y) (m) of the plane around a place."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)
    x: float = 0.0
    y: float = 0.0

    @classmethod
    def at(cls, corner: GeoLocation) -> Georeference:
        """The world whose corner (0, 0) is there."""
        return cls(lat=corner.lat, lon=corner.lon)

    @property
    def plane(self) -> Projection:
        """The plane that touches the earth at the world's corner."""
        around = Projection.around(GeoLocation(self.lat, self.lon))
        return Projection.around(around.to_geo(PlanarLocation(self.x, self.y)))

    def to_geo_arrays(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Latitudes and longitudes of places in the world.

        Raises InvalidLocation for one where nothing on earth is.
        """
        plane = Projection.around(GeoLocation(self.lat, self.lon))
        return plane.to_geo_arrays(x + self.x, y + self.y)


def plane_around(middle: GeoLocation, width: float, height: float) -> Projection:
    """The plane of a world of this size (m) with its middle at this place on earth: (0, 0) is its corner."""
    corner = Projection.around(middle).to_geo(PlanarLocation(-width / 2, -height / 2))
    return Projection.around(corner)


def plane_over(
    min_lon: float, min_lat: float, max_lon: float, max_lat: float, margin: float = 0.0
) -> tuple[Projection, float, float]:
    """The plane of the rectangle around the middle of a box in degrees that is as wide and high (m) as the
    box is there, and a `margin` more on each side; its width and height."""
    middle = GeoLocation((min_lat + max_lat) / 2, (min_lon + max_lon) / 2)
    width = haversine(middle.lat, min_lon, middle.lat, max_lon) + 2 * margin
    height = haversine(min_lat, middle.lon, max_lat, middle.lon) + 2 * margin
    return plane_around(middle, width, height), width, height


def attraction_point(
    plane: Projection, name: str, lat: float, lon: float, radius: float, weight: float
) -> AttractionPoint:
    """An attraction point at a place on earth, in the plane to the metre."""
    at = plane.to_planar(GeoLocation(lat, lon))
    return AttractionPoint(name=name, x=round(at.x), y=round(at.y), radius=radius, weight=weight)
