"""Street maps by name."""

from collections.abc import Callable

from bypass.models.maps.street_grid import street_grid
from bypass.models.maps.street_map import AttractionPoint, InvalidMap, NoAttractionPoints, StreetMap

MAPS: dict[str, Callable[[], StreetMap]] = {"street-grid": street_grid}

__all__ = ["MAPS", "AttractionPoint", "InvalidMap", "NoAttractionPoints", "StreetMap", "street_grid"]
