"""Where on earth a map is."""

from __future__ import annotations

from bypass.geo import GeoLocation, PlanarLocation, Projection
from bypass.models.maps.street_map import AttractionPoint


def plane_around(middle: GeoLocation, width: float, height: float) -> Projection:
    """The plane of a world of this size (m) with its middle at this place on earth: (0, 0) is its corner."""
    corner = Projection.around(middle).to_geo(PlanarLocation(-width / 2, -height / 2))
    return Projection.around(corner)


def attraction_point(
    plane: Projection, name: str, lat: float, lon: float, radius: float, weight: float
) -> AttractionPoint:
    """An attraction point at a place on earth, in the plane to the metre."""
    at = plane.to_planar(GeoLocation(lat, lon))
    return AttractionPoint(name=name, x=round(at.x), y=round(at.y), radius=radius, weight=weight)
