"""Movement from a trace that was recorded or computed before."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
from pydantic import field_validator

from bypass.models.maps import AttractionPoint
from bypass.models.maps.georeference import Georeference
from bypass.models.mobility.base.model import MobilityModel
from bypass.models.request import InvalidRequest
from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.formats.bonnmotion import params_file
from bypass.models.traces.formats.detection import Format, read_waypoints, recognise
from bypass.models.traces.trace import Trace
from bypass.models.waypoints import Waypoints

_reading = Lock()


class Playback(MobilityModel):
    """The clients are where they are in the trace at `path`: a folder of ours, or a file of another tool.

    The seed does not matter. There are no more clients and no more time than the trace has: InvalidRequest.
    What cannot be read raises InvalidTrace.
    """

    path: Path

    @field_validator("path")
    @classmethod
    def _can_be_played(cls, path: Path) -> Path:
        if recognise(path) is Format.PARQUET:
            raise InvalidTrace(
                f"{path} is Parquet of some layout: expected a trace (`bypass traces` makes one)"
            )
        return path

    @property
    def size(self) -> tuple[float, float]:
        return self._played.size

    @property
    def attractions(self) -> tuple[AttractionPoint, ...]:
        return self._played.attractions

    @property
    def georeference(self) -> Georeference | None:
        return self._played.georeference

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.path, params) if (params := params_file(self.path)).is_file() else (self.path,)

    @property
    def clients(self) -> int:
        """How many clients the trace has."""
        return self._played.clients

    @property
    def duration(self) -> float:
        """How long it lasts (s): all clients are known up to then."""
        return self._played.duration

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:  # noqa: ARG002
        self.check(last, duration)
        return _cut(self._played.movement(first, last), duration)

    def check(self, clients: int, duration: float) -> None:
        """Raise InvalidRequest unless the trace has so many clients and lasts so long."""
        played, path = self._played, self.path
        if clients > played.clients:
            raise InvalidRequest(
                f"clients is {clients}: expected at most {played.clients}, as many as {path} has"
            )
        if duration > (most := played.duration):
            raise InvalidRequest(
                f"duration is {duration} s: expected at most {most} s, as long as {path} lasts"
            )

    @property
    def _played(self) -> _Played:
        status = self.path.stat()
        with _reading:  # who comes second would read it all over again
            return _play(self.path, status.st_mtime_ns, status.st_size)


class _Played:
    """A trace that is in memory, or a folder, of which only what is asked for is read."""

    def __init__(self, path: Path) -> None:
        self.attractions: tuple[AttractionPoint, ...] = ()
        self.georeference: Georeference | None = None
        self._trace = Trace.open(path) if recognise(path) is Format.TRACE else None
        if self._trace is not None:
            self.size = self._trace.size
            self.attractions = self._trace.attractions
            self.georeference = self._trace.georeference
            self.clients = self._trace.clients
            self.duration = float(self._trace.times(0, self._trace.samples)[-1])
        else:
            self._waypoints, self.size, self.georeference = read_waypoints(path)
            self.clients = len(self._waypoints)
            self.duration = self._waypoints.duration

    def movement(self, first: int, last: int) -> Waypoints:
        """The movement of clients `first` to `last` - 1."""
        if self._trace is not None:
            return self._trace.waypoints(first, last)
        whole = self._waypoints
        own = slice(whole.offsets[first], whole.offsets[last])
        offsets = whole.offsets[first : last + 1] - whole.offsets[first]
        return Waypoints(offsets, whole.t[own], whole.x[own], whole.y[own])


@lru_cache(maxsize=2)
def _play(path: Path, _changed: int, _size: int) -> _Played:
    """The trace at `path`, read again if it has changed."""
    return _Played(path)


def _cut(waypoints: Waypoints, duration: float) -> Waypoints:
    """The movement from time 0 to exactly the duration: each client has a waypoint at either."""
    inside = (waypoints.t > 0) & (waypoints.t < duration)
    client = np.repeat(np.arange(len(waypoints)), np.diff(waypoints.offsets))[inside]
    kept = np.arange(len(client)) + 2 * client + 1  # each client before has two more, this one has one more
    offsets = np.zeros(len(waypoints) + 1, np.int64)
    np.cumsum(np.bincount(client, minlength=len(waypoints)) + 2, out=offsets[1:])
    starts, ends = (0.0, *waypoints.positions(0.0)), (duration, *waypoints.positions(duration))
    columns = []
    for column, start, end in zip((waypoints.t, waypoints.x, waypoints.y), starts, ends, strict=True):
        cut = np.empty(offsets[-1])
        cut[kept], cut[offsets[:-1]], cut[offsets[1:] - 1] = column[inside], start, end
        columns.append(cut)
    return Waypoints(offsets, *columns)
