"""Recognises the format of a trace."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from bypass.models.maps.georeference import Georeference
from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.formats import bonnmotion, gpx, ns2, one
from bypass.models.traces.formats.text import NO_TEXT, Size, bounding_size, open_text
from bypass.models.traces.manifest import ACCURACY, MANIFEST
from bypass.models.waypoints import Waypoints

_SUFFIXES = {".parquet": "parquet"} | {
    suffix: module.__name__.rpartition(".")[2]
    for module in (bonnmotion, ns2, one, gpx)
    for suffix in module.SUFFIXES
}
_LOOKED_AT = 1000


class Format(StrEnum):
    """How a trace is kept: TRACE is our folder, finished or not, PARQUET any other Parquet."""

    TRACE = "trace"
    PARQUET = "parquet"
    BONNMOTION = "bonnmotion"
    NS2 = "ns2"
    ONE = "one"
    GPX = "gpx"


def recognise(path: Path) -> Format:
    """The format of a trace, by the end of its name or by what it begins with. Raises InvalidTrace."""
    if not path.exists():
        raise InvalidTrace(f"{path} does not exist: expected a trace")
    if path.is_dir():
        return Format.TRACE if (path / MANIFEST).exists() or any(path.glob("slab=*")) else Format.PARQUET
    for suffix, name in _SUFFIXES.items():
        if path.name.endswith(suffix):
            return Format(name)
    if (found := _by_content(path)) is None:
        raise InvalidTrace(f"{path} is in no known format: expected one of {', '.join(Format)}")
    return found


def read_waypoints(path: Path) -> tuple[Waypoints, Size, Georeference | None]:
    """The movement in a file that is text; the size (m) of its world, as stated, or as small as can be; and
    where on earth that is, which GPX alone says.

    Raises InvalidTrace, also if somebody is outside the world that is stated.
    """
    georeference = None
    match recognise(path):
        case Format.BONNMOTION:
            waypoints, stated = bonnmotion.read(path), bonnmotion.world(path)
        case Format.NS2:
            waypoints, stated = ns2.read(path), ns2.world(path)
        case Format.ONE:
            waypoints, stated = one.read(path), one.world(path)
        case Format.GPX:
            (waypoints, georeference), stated = gpx.read_located(path), None
        case found:
            raise InvalidTrace(f"{path} is {found}: expected a format that is text")
    needed = bounding_size(path, waypoints)
    if stated is None:
        return waypoints, needed, georeference
    for axis, column, side in zip("xy", (waypoints.x, waypoints.y), stated, strict=True):
        reach = float(column.max())
        if side <= 0 or reach > side + ACCURACY:
            raise InvalidTrace(
                f"{path}: {axis} reaches {reach} m, and the world {side} m: expected a world above 0 m with"
                " all places in it"
            )
    return waypoints, stated, georeference


def _by_content(path: Path) -> Format | None:
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return Format.PARQUET
    try:
        with open_text(path) as file:
            lines = file.read(_LOOKED_AT).splitlines()
    except NO_TEXT:
        return None
    lines = [line.strip() for line in lines if line.strip()]
    if lines and lines[0].startswith(("<?xml", "<gpx")):
        return Format.GPX
    if any("$node_(" in line for line in lines):
        return Format.NS2
    counts = [len(line.split()) for line in lines if not line.startswith("#")]
    # A line of BonnMotion's may have six numbers too, but then the next one does not have four.
    if counts[:2] in ([6, 4], [8, 4]):
        return Format.ONE
    return Format.BONNMOTION if counts and counts[0] % 3 == 0 else None
