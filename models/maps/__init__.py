"""Street maps: built in, in files, from OpenStreetMap."""

from bypass.models.maps.builtin.darmstadt import darmstadt
from bypass.models.maps.builtin.mannheim import mannheim
from bypass.models.maps.builtin.street_grid import street_grid
from bypass.models.maps.files import read_map, write_map
from bypass.models.maps.library import MAPS, load_map
from bypass.models.maps.street_map import AttractionPoint, InvalidMap, NoAttractionPoints, StreetMap

__all__ = [
    "MAPS",
    "AttractionPoint",
    "InvalidMap",
    "NoAttractionPoints",
    "StreetMap",
    "darmstadt",
    "load_map",
    "mannheim",
    "read_map",
    "street_grid",
    "write_map",
]
