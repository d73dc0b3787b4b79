"""Where a live client is: the location sensor over whatever source of places the application has.

A source is a function that says where the client is now, or an asynchronous iterable of places as they
become known: `bypass.live.client.gps` has receivers, `bypass.live.client.gpx` recorded tracks. A place is a
`PlanarLocation`, a `GeoLocation`, a pair (x, y) in metres, or None if it is not known.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Callable
from typing import TypeAlias

from bypass.errors import BypassError, InvalidLocation, shown
from bypass.geo import GeoLocation, PlanarLocation, Projection
from bypass.live.host import Clock
from bypass.location import Fix, Listener, LocationRequest

log = logging.getLogger(__name__)

Place: TypeAlias = PlanarLocation | GeoLocation | tuple[float, float] | None
Source: TypeAlias = Callable[[], Place] | AsyncIterable[Place]

FRESH_S = 0.05
"""So old a fix is still taken for the present one: speeds over less time would be noise."""

STILL_MOVING_S = 60.0
"""Two places that are further apart in time do not say how fast the client is."""


class LiveSensor:
    """The location sensor of a live client; without a source it knows nothing.

    `projection` turns latitudes and longitudes into metres; as long as there is none they are no places.
    Velocities are those between one fix and the next. A source that fails is logged, and what was known last
    stays known. Belongs to the running loop.
    """

    def __init__(self, clock: Clock, source: Source | None) -> None:
        """Raises InvalidLocation for what is no source."""
        self.projection: Projection | None = None
        self._clock = clock
        self._ask: Callable[[], Place] | None = None
        self._listeners: dict[Listener, float] = {}
        self._last: Fix | None = None
        self._told_at = float("-inf")  # when the fix was made that listeners were told last
        self._round = 0
        self._complained = False
        self._task: asyncio.Task[None] | None = None
        if isinstance(source, AsyncIterable):
            self._task = asyncio.get_running_loop().create_task(self._follow(source))
        elif callable(source):
            self._ask = source
        elif source is not None:
            raise InvalidLocation(
                f"location {shown(source)}: expected a function or an asynchronous iterable of places"
            )

    def close(self) -> None:
        """Ask the source no more, and tell nobody."""
        self._listeners.clear()
        self._round += 1
        self._ask = None
        if self._task is not None:
            self._task.cancel()

    # -- what mechanisms ask ------------------------------------------------------------------------------

    def request(self, request: LocationRequest, listener: Listener) -> None:
        self._listeners[listener] = request.interval
        self._plan_next()

    def release(self, listener: Listener) -> None:
        if self._listeners.pop(listener, None) is not None:
            self._plan_next()

    def last(self) -> Fix | None:
        return self._last

    def current(self) -> Fix | None:
        if self._ask is not None and (self._last is None or self._clock.now() - self._last.at >= FRESH_S):
            try:
                place = self._ask()
            except Exception:
                log.exception("the function that gives the location failed; what was known stays known")
            else:
                self._note(place)
        return self._last

    def place(self) -> tuple[float, float] | None:
        fix = self.current()
        return None if fix is None else (fix.x, fix.y)

    # -- fixes --------------------------------------------------------------------------------------------

    def _note(self, place: Place) -> None:
        planar = self._planar(place)
        if planar is None:
            return
        now, before = self._clock.now(), self._last
        vx = vy = 0.0
        if before is not None:
            elapsed = now - before.at
            if elapsed < FRESH_S:
                vx, vy = before.vx, before.vy
            elif elapsed <= STILL_MOVING_S:
                vx, vy = (planar.x - before.x) / elapsed, (planar.y - before.y) / elapsed
        self._last = Fix(planar.x, planar.y, vx, vy, now)

    def _planar(self, place: Place) -> PlanarLocation | None:
        try:
            if isinstance(place, GeoLocation):
                if self.projection is None:
                    raise InvalidLocation(
                        f"{place}: expected planar metres, the broker's region has no origin on earth"
                    )
                return self.projection.to_planar(place)
            if place is None or isinstance(place, PlanarLocation):
                return place
            if not isinstance(place, tuple) or len(place) != 2:
                raise InvalidLocation(f"location {shown(place)}: expected a place or (x, y)")
            return PlanarLocation(*place)
        except BypassError as error:
            if not self._complained:
                self._complained = True
                log.error("%s; further ones are not reported", error)
            return None

    async def _follow(self, source: AsyncIterable[Place]) -> None:
        try:
            async for place in source:
                self._note(place)
                if self._told_at == float("-inf"):
                    self._tell()  # somebody may have waited for the first one
        except Exception:
            log.exception("the source of locations failed; what was known stays known")

    def _plan_next(self) -> None:
        """Tell listeners again when the shortest interval is over; what was planned before is void."""
        self._round += 1
        if self._listeners:
            self._clock.after(min(self._listeners.values()), self._tick, self._round)

    def _tick(self, planned_in: int) -> None:
        if planned_in == self._round:
            self.current()
            self._tell()
            if planned_in == self._round:
                self._plan_next()

    def _tell(self) -> None:
        """Tell all listeners the latest fix, unless they know it."""
        fix = self._last
        if fix is None or fix.at <= self._told_at or not self._listeners:
            return
        self._told_at = fix.at
        for listener in tuple(self._listeners):
            if listener in self._listeners:  # else another one has released it
                listener(fix)
