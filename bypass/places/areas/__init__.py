"""Areas: circles, boxes, polygons, corridors and sectors, in metres or degrees, in plain Python."""

from bypass.places.areas.area import Area

__all__ = ["Area"]
