"""Measurements as located events of a live broker: devices that say where they are become publishers.

Measurements of one device and time are one event, at the place that they name, or else at the latest that the
device has named. The event has the mark of ingestion, so that no connector takes it in again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from bypass.errors import shown
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.ingest.event_mark import MARK
from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.cursor import QueryCursor, RowKey
from bypass.ingest.queries.kept_cursor import KeptCursor
from bypass.ingest.queries.plain_rows import plain_rows
from bypass.ingest.queries.reader import MeasurementReader
from bypass.ingest.queries.selection import DeviceGroup, Selection
from bypass.ingest.queries.subscription import LOOK_S
from bypass.live.client.connection import Connection
from bypass.live.client.errors import ConnectionRefused, NotConnected
from bypass.places.geo import GeoLocation, PlanarLocation
from bypass.root_error import BypassError

AXES: dict[tuple[str, str], type[PlanarLocation] | type[GeoLocation]] = {
    ("x", "y"): PlanarLocation,
    ("lat", "lon"): GeoLocation,
    ("location.x", "location.y"): PlanarLocation,
}
"""Metrics that make a place, and its kind: metres of the broker's region, or degrees."""

TOGETHER = 500
"""Measurements that are read before the events of the first ones are acknowledged."""

MOST_PLACES = 100_000
RETRY_S, LONGEST_RETRY_S = 1.0, 30.0
_OWN = ("device", "time", MARK)
_OVER = (NotConnected, ConnectionRefused)
_POSITIONS = attr("metric").in_([axis for axes in AXES for axis in axes])

log = logging.getLogger(__name__)
DevicePlace = PlanarLocation | GeoLocation


class DeviceReading(NamedTuple):
    """The measurements of a device at one time."""

    device: str
    time: int
    values: list[tuple[str, Any]]


class EventBridge:
    """Publishes the measurements of a selection, each at least once: what was published and not noted when
    the process ended comes again. `left_out` counts what was not published, by reason."""

    def __init__(self, folder: IngestFolder, selection: Selection, name: str) -> None:
        """A bridge of that name goes on where it was; a new one begins with what comes. Raises InvalidCursor
        and InvalidReaderName."""
        self._folder, self._selection = folder, selection
        self._reader = MeasurementReader(folder)
        self._kept = KeptCursor(folder, "events", name)
        self._resume()
        self._places: dict[str, DevicePlace] = {}
        self.published = 0
        self.left_out: Counter[str] = Counter()

    def _resume(self) -> None:
        place = self._kept.load()
        if place is None:
            place = self._reader.end(), 0
            self._kept.keep(*place)
        self._cursor, self._pages = place

    async def run(self, connection: Callable[[], Connection]) -> None:
        """Publish what comes, until the task is cancelled; a connection that ends is made again. Raises
        CursorExpired, InvalidCursor, and FolderInUse if another process has this bridge."""
        with self._kept.alone():
            self._resume()
            await asyncio.to_thread(self._load_places)
            await self._keep_publishing(connection)

    async def _keep_publishing(self, connection: Callable[[], Connection]) -> None:
        pause = RETRY_S
        while True:
            try:
                async with connection() as made:
                    pause = RETRY_S
                    await self._publish_all(made)
            except _OVER as error:
                log.warning("%s; trying again in %g s", error, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_RETRY_S)

    async def _publish_all(self, connection: Connection) -> None:
        group = DeviceGroup(self._folder, self._selection)
        while True:
            page = await asyncio.to_thread(
                self._reader.page, self._selection, self._cursor, TOGETHER, group=group
            )
            if page.is_last:
                await asyncio.sleep(LOOK_S)
                continue
            readings = list(readings_of(page.rows))
            cursor = page.cursor
            if cursor.after is not None and len(readings) > 1:
                # The last reading may go on behind this page: all of it is read again.
                last = readings.pop()
                before = RowKey(last.time, last.device, "", -1, -1, -1)
                cursor = QueryCursor(cursor.table, cursor.version, cursor.in_snapshot, before)
            published = await self._publish(connection, readings)
            await asyncio.to_thread(self._kept.keep, cursor, self._pages + 1)
            self._cursor, self._pages = cursor, self._pages + 1
            self.published += published  # not before: until then they may be published again

    async def _publish(self, connection: Connection, readings: list[DeviceReading]) -> int:
        """Publish readings, wait until the broker has all of them, and give how many it has taken. Raises
        NotConnected and ConnectionRefused."""
        located = [made for reading in readings if (made := self._located(reading)) is not None]
        outcomes = await asyncio.gather(
            *(connection.publish(event, place) for event, place in located), return_exceptions=True
        )
        over = next((each for each in outcomes if isinstance(each, _OVER)), None)
        if over is not None:
            raise over
        published = 0
        for outcome in outcomes:
            if isinstance(outcome, BypassError):
                self._leave_out("refused by the broker", str(outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                published += 1
        return published

    def _located(self, reading: DeviceReading) -> tuple[Event, DevicePlace] | None:
        """The event of a reading, and its place; None if it cannot be published."""
        try:
            place = place_of(reading.values) or self._places.get(reading.device)
            if place is None:
                self._leave_out("no place", f"device {shown(reading.device)}: has not said where it is")
                return None
            self._remember(reading.device, place)
            values = [(name, value) for name, value in reading.values if name not in _OWN]
            own = [("device", reading.device), ("time", reading.time), (MARK, True)]
            return Event([*own, *values]), place
        except BypassError as error:
            self._leave_out("no event", str(error))
            return None

    def _remember(self, device: str, place: DevicePlace) -> None:
        self._places.pop(device, None)
        self._places[device] = place
        if len(self._places) > MOST_PLACES:
            del self._places[next(iter(self._places))]

    def _load_places(self) -> None:
        """Take over where devices were latest."""
        selection = Selection(self._selection.tenant, self._selection.devices, _POSITIONS)
        latest: dict[str, list[tuple[str, Any]]] = {}
        for device, name, value in _values_of(self._reader.latest(selection)):
            latest.setdefault(device[0], []).append((name, value))
        for known, values in latest.items():
            with suppress(BypassError):
                if (place := place_of(values)) is not None:
                    self._remember(known, place)

    def _leave_out(self, reason: str, line: str) -> None:
        if not self.left_out[reason]:
            log.warning("not published: %s", line)
        self.left_out[reason] += 1


def readings_of(rows: pa.Table) -> Iterator[DeviceReading]:
    """The measurements of a page, by device and time, in the order in which they come."""
    for (device, time), values in groupby(_values_of(rows), key=itemgetter(0)):
        yield DeviceReading(device, time, [(name, value) for _, name, value in values])


def place_of(values: list[tuple[str, Any]]) -> DevicePlace | None:
    """The place that measurements name; None for none. Raises InvalidLocation for one that is none."""
    named = dict(values)
    for (first, second), kind in AXES.items():
        if first in named and second in named:
            return kind(named[first], named[second])
    return None


def _values_of(rows: pa.Table) -> Iterator[tuple[tuple[str, int], str, Any]]:
    """For each row its device and time, its metric, and its value as events have it."""
    for row in plain_rows(rows):
        yield (row["device"], row["time"]), row["metric"], row["value"]
