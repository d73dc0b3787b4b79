"""GPX 1.1: a track for each client, of places on earth with the times at which it was there.

Degrees are written with nine decimals, a tenth of a millimetre; times with six, in UTC.
"""

from __future__ import annotations

from array import array
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from xml.parsers import expat  # declarations, by which XML does harm, are refused

import numpy as np

from bypass.errors import InvalidLocation
from bypass.models.maps.georeference import Georeference
from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.formats.text import number, refuse, together, written
from bypass.models.waypoints import Waypoints
from bypass.places.geo import GeoLocation, Projection
from bypass.support.arrays import Floats
from bypass.support.durable_files import replacing

SUFFIXES = (".gpx",)
DEGREE_DECIMALS = 9
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""When time 0 is, unless somebody says otherwise."""

_NAMESPACE = "http://www.topografix.com/GPX/1/1"
_AT_A_TIME = 1 << 16


def read(path: Path, origin: GeoLocation | None = None) -> Waypoints:
    """The movement along all tracks, in their order; times count from the earliest one.

    Places are those of the plane around `origin`; without one, those that `read_located` gives. Raises
    InvalidTrace.
    """
    if origin is None:
        return read_located(path)[0]
    reader = _read(path)
    return reader.movement(*_planar(reader, origin))


def read_located(path: Path) -> tuple[Waypoints, Georeference]:
    """The movement as `read` gives it, in a world that is as small as can be, and where on earth that is.

    It is part of the plane around the middle of all places. Raises InvalidTrace.
    """
    reader = _read(path)
    lat, lon = np.array(reader.lat), np.array(reader.lon)
    if (span := float(np.ptp(lon))) > 180:
        raise InvalidTrace(
            f"{path}: longitudes span {span:g} degrees: expected at most 180, nothing across the date line"
        )
    middle = GeoLocation((lat.min() + lat.max()) / 2, (lon.min() + lon.max()) / 2)
    x, y = _planar(reader, middle)
    corner = Georeference(lat=middle.lat, lon=middle.lon, x=x.min(), y=y.min())
    return reader.movement(x - corner.x, y - corner.y), corner


def write(
    waypoints: Waypoints, path: Path, *, origin: GeoLocation | Georeference, epoch: datetime = EPOCH
) -> None:
    """Write a track for each client. The world's (0, 0) is at `origin`, or the world where that says; time 0
    is `epoch`, which has a zone.

    Raises InvalidLocation if somebody is where nothing on earth is.
    """
    world = origin if isinstance(origin, Georeference) else Georeference.at(origin)
    lat, lon = world.to_geo_arrays(waypoints.x, waypoints.y)
    start = np.datetime64(epoch.astimezone(UTC).replace(tzinfo=None), "us")
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write(f'<gpx version="1.1" creator="bypass" xmlns="{_NAMESPACE}">\n')
        for client in range(len(waypoints)):
            own = slice(*waypoints.offsets[client : client + 2])
            times = np.datetime_as_string(start + np.round(waypoints.t[own] * 1e6).astype("timedelta64[us]"))
            file.write(f"<trk><name>{client}</name><trkseg>\n")
            file.writelines(
                f'<trkpt lat="{a}" lon="{o}"><time>{t}Z</time></trkpt>\n'
                for a, o, t in zip(
                    written(lat[own], DEGREE_DECIMALS),
                    written(lon[own], DEGREE_DECIMALS),
                    times.tolist(),
                    strict=True,
                )
            )
            file.write("</trkseg></trk>\n")
        file.write("</gpx>\n")


def _read(path: Path) -> _Reader:
    reader = _Reader(path)
    with path.open("rb") as file:
        reader.read(file)
    return reader


def _planar(reader: _Reader, middle: GeoLocation) -> tuple[Floats, Floats]:
    try:
        return Projection.around(middle).to_planar_arrays(np.array(reader.lat), np.array(reader.lon))
    except InvalidLocation as error:
        raise InvalidTrace(f"{reader.path}: {error}") from error


class _Reader:
    """Collects the points of all tracks, one after the other; track i ends before point ends[i]."""

    def __init__(self, path: Path) -> None:
        self.t, self.lat, self.lon = array("d"), array("d"), array("d")
        self.ends: list[int] = []
        self.path = path
        self._elements: list[str] = []
        self._text: list[str] = []
        self._timed = False
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._declaration
        parser.EntityDeclHandler = self._declaration
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append

    def read(self, file: IO[bytes]) -> None:
        try:
            while part := file.read(_AT_A_TIME):
                self._parser.Parse(part, False)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            refuse(self.path, error.lineno, expat.ErrorString(error.code), "XML")
        if not self.ends:
            raise InvalidTrace(f"{self.path}: found no trk: expected one for each client")

    def movement(self, x: Floats, y: Floats) -> Waypoints:
        """The movement by the times that were read, with these places."""
        t = np.array(self.t)
        t -= t.min()
        first = [0, *self.ends[:-1]]
        return together([(t[a:b], x[a:b], y[a:b]) for a, b in zip(first, self.ends, strict=True)])

    def _declaration(self, name: str, *_: object) -> None:
        self._refuse(f"a declaration of {name}", "none: they can do harm")

    def _refuse(self, found: object, expected: str) -> None:
        refuse(self.path, self._parser.CurrentLineNumber, found, expected)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = name.rpartition(" ")[2]
        if not self._elements and element != "gpx":
            self._refuse(f"<{element}>", "<gpx>")
        self._elements.append(element)
        self._text.clear()
        if element == "trkpt":
            self._timed = False
            self.lat.append(self._degrees(attributes, "lat", 90.0))
            self.lon.append(self._degrees(attributes, "lon", 180.0))

    def _degrees(self, attributes: dict[str, str], name: str, limit: float) -> float:
        text = attributes.get(name, "")
        value = number(self.path, self._parser.CurrentLineNumber, text, f"{name} in degrees")
        if abs(value) > limit:
            self._refuse(text, f"{name} from {-limit:g} to {limit:g} degrees")
        return value

    def _end(self, _name: str) -> None:
        element = self._elements.pop()
        if element == "time" and self._elements[-1] == "trkpt":
            self._time("".join(self._text).strip())
        elif element == "trkpt" and not self._timed:
            self._refuse("a trkpt without time", "a time for each")
        elif element == "trk":
            if len(self.t) == (self.ends[-1] if self.ends else 0):
                self._refuse("a trk without trkpt", "at least one")
            self.ends.append(len(self.t))

    def _time(self, text: str) -> None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self._refuse(text, "a time such as 2000-01-01T00:00:00Z")
            return
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - EPOCH).total_seconds()
        if len(self.t) > (self.ends[-1] if self.ends else 0) and seconds < self.t[-1]:
            self._refuse(text, "times in order")
        if self._timed:
            self._refuse(text, "one time for each trkpt")
        self._timed = True
        self.t.append(seconds)
