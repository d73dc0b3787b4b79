"""Maps in files.

A map file is a JSON object: `format` is 1; `name`; `width` and `height` of the world (m); `origin` says where
on earth the world's corner (0, 0) is, {"lat": …, "lon": …} in degrees, or is null; `nodes` is a list of
[x, y] (m); `edges` is a list of [node, node], which are indices of `nodes`; `attractions` is a list of
{"name", "x", "y", "radius", "weight"}. Places whose shape is known have `polygons`, the coordinates of a
GeoJSON MultiPolygon (m); `buildings` is such a list, too, and may be missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bypass.models.maps.street_map import AttractionPoint, InvalidMap, Polygon, StreetMap
from bypass.places.geo import GeoLocation, Projection
from bypass.support.durable_files import replace_file
from bypass.transitions.validation import first_problem


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Origin(_Strict):
    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)


class _MapFile(_Strict):
    format: Literal[1]
    name: str
    width: float
    height: float
    origin: _Origin | None
    nodes: list[tuple[float, float]]
    edges: list[tuple[Annotated[int, Field(ge=0, lt=2**31)], Annotated[int, Field(ge=0, lt=2**31)]]]
    attractions: list[AttractionPoint]
    buildings: tuple[Polygon, ...] = ()


def write_map(street_map: StreetMap, path: Path | str) -> None:
    """Write a map file, all of it or, after an OSError, nothing."""
    plane = street_map.projection
    content = _MapFile(
        format=1,
        name=street_map.name,
        width=street_map.width,
        height=street_map.height,
        origin=None if plane is None else _Origin(lat=plane.origin.lat, lon=plane.origin.lon),
        nodes=[(x, y) for x, y in street_map.nodes.tolist()],
        edges=[(a, b) for a, b in street_map.edges.tolist()],
        attractions=list(street_map.attractions),
        buildings=street_map.buildings,
    )
    text = content.model_dump_json(exclude=None if content.buildings else {"buildings"})
    replace_file(Path(path), text, synced=False)


def read_map(path: Path | str) -> StreetMap:
    """The map in a map file. Raises InvalidMap, which names the file and says what is wrong with it."""
    try:
        content = _MapFile.model_validate_json(Path(path).read_bytes())
        origin = content.origin
        return StreetMap(
            name=content.name,
            width=content.width,
            height=content.height,
            nodes=np.array(content.nodes, np.float64).reshape(-1, 2),
            edges=np.array(content.edges, np.int64).reshape(-1, 2),
            attractions=tuple(content.attractions),
            projection=None if origin is None else Projection.around(GeoLocation(origin.lat, origin.lon)),
            buildings=content.buildings,
        )
    except OSError as error:
        raise InvalidMap(f"{path}: {error.strerror}: expected a map file") from None
    except ValidationError as error:
        problem = first_problem(error)
        where = f"{problem.key}: " if problem.path else ""
        raise InvalidMap(f"{path} is no map file: {where}{problem.message}") from None
    except InvalidMap as error:
        raise InvalidMap(f"{path}: {error}") from None
