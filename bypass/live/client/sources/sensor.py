"""The location sensor of a live client, over the source of places that the application has.

A source is a function that says where the client is now, or an asynchronous iterable of places as they
become known: `gps` has receivers, `gpx` recorded tracks. A place is a `PlanarLocation`,
a `GeoLocation`, either maybe with an altitude, a pair (x, y) in metres, or None if it is not known.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterable, Callable
from typing import TypeAlias

from bypass.errors import BypassError, InvalidLocation, shown
from bypass.live.host import Clock
from bypass.places.geo import GeoLocation, PlanarLocation, Projection
from bypass.places.sensor import Fix, FixListener, LocationRequest
from bypass.support.callbacks import is_plain_function

log = logging.getLogger(__name__)

ClientPlace: TypeAlias = PlanarLocation | GeoLocation | tuple[float, float] | None
Source: TypeAlias = Callable[[], ClientPlace] | AsyncIterable[ClientPlace]

FRESH_S = 0.05
"""So old a fix is still taken for the present one: speeds over less time would be noise."""

MOST_UNKNOWN = 10
"""Intervals without a place, from the first on, after which that is logged."""

VISITING_MPS = 1000.0
"""The speed of a client that does not stay: no mechanism takes it for standing still."""

STILL_MOVING_S = 60.0
"""Two places that are further apart in time do not say how fast the client is."""


def check_source(source: Source | None) -> None:
    """Raises InvalidLocation for what is no source of places."""
    if not (source is None or isinstance(source, AsyncIterable) or is_plain_function(source)):
        raise InvalidLocation(
            f"location {shown(source)}: expected a function or an asynchronous iterable of places"
        )


class LiveSensor:
    """The location sensor of a live client; without a source it knows nothing.

    Latitudes and longitudes wait until the region is known (`enter`); where that has no origin on earth they
    are no places. Velocities are those between one fix and the next. A source that fails is logged, and what
    was known last stays known. What is no place is counted in `refused`, a place further from the region
    than this is wide in `outside`; the first of each is logged. An interval at whose end no place has been
    known yet is counted in `unknown`, and the tenth is logged. A `visiting` client, which does not stay, says
    that it moves, wherever it is. Belongs to the running loop.
    """

    def __init__(self, clock: Clock, source: Source | None, *, visiting: bool = False) -> None:
        """Raises InvalidLocation for what is no source."""
        self.refused = 0
        self.outside = 0
        self.unknown = 0
        self.projection: Projection | None = None
        self._area: tuple[float, float, float, float] | None = None  # None: nobody has said yet
        self._early: GeoLocation | None = None  # the latest place, as long as nobody can say where that is
        self._clock = clock
        self._ask: Callable[[], ClientPlace] | None = None
        self._listeners: dict[FixListener, float] = {}
        self._last: Fix | None = None
        self._visiting = visiting
        self._told_at = float("-inf")  # when the fix was made that listeners were told last
        self._round = 0
        self._task: asyncio.Task[None] | None = None
        check_source(source)
        if isinstance(source, AsyncIterable):
            self._task = asyncio.get_running_loop().create_task(self._follow(source))
        else:
            self._ask = source

    def enter(
        self, area: tuple[float, float, float, float], origin: tuple[float, float] | None
    ) -> Projection | None:
        """The client belongs to this region from now on; gives its plane, if that has an origin on earth."""
        self._area = area
        self.projection = None if origin is None else Projection.around(GeoLocation(*origin))
        early, self._early = self._early, None
        if early is not None:
            self._note(early)
        return self.projection

    def push(self, place: ClientPlace) -> None:
        """The client is there. Listeners are told now or, if they were told something less than the shortest
        interval ago, when that is over. Raises InvalidLocation for what is no place."""
        if place is None:
            raise InvalidLocation("location None: expected a place or (x, y)")
        self._take(place)
        fix = self._last
        if fix is not None and fix.at - self._told_at >= min(self._listeners.values(), default=math.inf):
            self._tell()

    def close(self) -> None:
        """Ask the source no more, and tell nobody."""
        self._listeners.clear()
        self._round += 1
        self._ask = None
        if self._task is not None:
            self._task.cancel()

    # -- what mechanisms ask ------------------------------------------------------------------------------

    def request(self, request: LocationRequest, listener: FixListener) -> None:
        self._listeners[listener] = request.interval
        self._plan_next()

    def release(self, listener: FixListener) -> None:
        if self._listeners.pop(listener, None) is not None:
            self._plan_next()

    def available(self) -> bool:
        known = self._last is not None or self._early is not None
        return known or self._ask is not None or self._task is not None

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

    def _note(self, place: ClientPlace) -> None:
        """As `_take`, for what a source says: it cannot be told that this is no place."""
        if place is not None:
            try:
                self._take(place)
            except BypassError as error:
                self.refused += 1
                if self.refused == 1:
                    log.error("%s; further ones are counted and not reported", error)

    def _take(self, place: PlanarLocation | GeoLocation | tuple[float, float]) -> None:
        """Raises InvalidLocation."""
        if isinstance(place, GeoLocation) and self._area is None:
            self._early = place
            return
        planar = self._planar(place)
        self.check(planar, place)
        now, before = self._clock.now(), self._last
        vx = vy = 0.0
        if self._visiting:
            vx = VISITING_MPS
        elif before is not None:
            elapsed = now - before.at
            if elapsed < FRESH_S:
                vx, vy = before.vx, before.vy
            elif elapsed <= STILL_MOVING_S:
                vx, vy = (planar.x - before.x) / elapsed, (planar.y - before.y) / elapsed
        self._last = Fix(planar.x, planar.y, vx, vy, now, planar.altitude)

    def _planar(self, place: PlanarLocation | GeoLocation | tuple[float, float]) -> PlanarLocation:
        if isinstance(place, GeoLocation):
            if self.projection is None:
                raise InvalidLocation(
                    f"{place}: expected planar metres, the broker's region has no origin on earth"
                )
            return self.projection.to_planar(place)
        if isinstance(place, PlanarLocation):
            return place
        if not isinstance(place, tuple) or len(place) != 2:
            raise InvalidLocation(f"location {shown(place)}: expected a place or (x, y)")
        return PlanarLocation(*place)

    def check(self, planar: PlanarLocation, given: object) -> None:
        """Count a place that is far from the region: it may be right, but coordinates are easily swapped."""
        if self._area is None:
            return
        x0, y0, x1, y1 = self._area
        away = math.hypot(max(x0 - planar.x, 0.0, planar.x - x1), max(y0 - planar.y, 0.0, planar.y - y1))
        if away > math.hypot(x1 - x0, y1 - y0):
            self.outside += 1
            if self.outside == 1:
                log.warning(
                    "%s is %.0f km outside the broker's region: expected latitude before longitude, or "
                    "metres from its origin; further ones are counted and not reported",
                    given,
                    away / 1000.0,
                )

    async def _follow(self, source: AsyncIterable[ClientPlace]) -> None:
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
            if self.current() is None:
                self._count_unknown()
            self._tell()
            if planned_in == self._round:
                self._plan_next()

    def _count_unknown(self) -> None:
        self.unknown += 1
        if self.unknown == MOST_UNKNOWN:
            log.warning(
                "no place of this client was known in %d intervals: events near it are not for it: expected a"
                " location that says where it is; further ones are counted and not reported",
                self.unknown,
            )

    def _tell(self) -> None:
        """Tell all listeners the latest fix, unless they know it."""
        fix = self._last
        if fix is None or fix.at <= self._told_at or not self._listeners:
            return
        self._told_at = fix.at
        for listener in tuple(self._listeners):
            if listener in self._listeners:  # else another one has released it
                listener(fix)
