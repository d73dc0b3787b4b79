"""Areas that something outside says: a file, or a cell of a grid."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from bypass.errors import InvalidArea, MissingExtra, shown
from bypass.places.areas.geojson import read_geojson
from bypass.places.areas.well_known import read_wkb, read_wkt


def read_file(path: str | PathLike[str]) -> tuple[Any, bool]:
    """The rings of a file, not yet checked, and whether its format is one of degrees. Raises InvalidArea."""
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in (".geojson", ".json", ".wkt", ".wkb"):
        raise InvalidArea(f"area file {shown(str(file))}: expected the ending .geojson, .json, .wkt or .wkb")
    try:
        data = file.read_bytes()
        text = "" if ending == ".wkb" else data.decode()
    except (OSError, ValueError) as error:
        raise InvalidArea(
            f"area file {shown(str(file))}: {getattr(error, 'strerror', None) or error}"
        ) from error
    try:
        if ending == ".wkb":
            return read_wkb(data), False
        return (read_wkt(text), False) if ending == ".wkt" else (read_geojson(text), True)
    except InvalidArea as error:
        raise InvalidArea(f"area file {shown(str(file))}: {error}") from error


def h3_ring(cell: str) -> list[tuple[float, float]]:
    """Longitudes and latitudes of the corners of an H3 cell. Raises InvalidArea for what is none, and
    MissingExtra."""
    try:
        import h3
    except ModuleNotFoundError as error:
        raise MissingExtra("h3") from error
    if not (isinstance(cell, str) and h3.is_valid_cell(cell)):
        raise InvalidArea(f"H3 cell {shown(cell)}: expected one such as '8a1fa4ca9b5ffff'")
    return [(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]
