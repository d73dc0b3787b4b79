"""A client that finds out itself when it passes a border, from its own fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Any

from bypass.places.borders import BorderEvent, BorderOptions, BorderTracker, PathPoint, Why
from bypass.places.sensor import Fix, LocationRequest

if TYPE_CHECKING:
    from bypass.places.areas import Area
    from bypass.ports.host import Host

STILL_S = 10.0
"""A sensor that has said nothing for so long after something was due stands where it was last."""

Found = list[tuple[int, BorderEvent]]
"""Border events, with the numbers of their watches."""


@dataclass(slots=True, eq=False)
class _Tracked:
    """One watch. `begun`: the client's place was known in it."""

    options: BorderOptions
    areas: dict[str, Area]
    tracker: BorderTracker
    begun: bool = False


class OwnFixes:
    """Finds passages for any number of watches, and calls `found` with border events if there are any.

    It listens to the host's sensor while there are watches.
    """

    def __init__(self, host: Host, found: Callable[[Found], None]) -> None:
        self.last: PathPoint | None = None
        self._host = host
        self._found = found
        self._watches: dict[int, _Tracked] = {}
        self._interval: float | None = None
        self._timed = inf

    def __contains__(self, number: int) -> bool:
        return number in self._watches

    def put(
        self,
        number: int,
        options: BorderOptions,
        areas: Mapping[str, Area],
        states: Mapping[str, Sequence[Any]] | None = None,
        why: Why | None = "removed",
    ) -> None:
        """Begin a watch, with `states` that somebody else had for the point `last` (None: nobody had), or
        give it other areas. Those that have gone are left, for a reason; None: somebody else has told
        that."""
        if self.last is None and (fix := self._host.location.current()) is not None:
            self.last = point_of(fix)
        known = self._watches.get(number)
        tracker = BorderTracker(options, self._host.id)
        tracked = self._watches[number] = _Tracked(options, dict(areas), tracker)
        self._listen()
        if known is not None:
            before = known.areas
            tracker.states, tracked.begun = known.tracker.states, known.begun
            if why is None:
                before = {key: area for key, area in before.items() if key in areas}
                tracker.states = {key: each for key, each in tracker.states.items() if key in areas}
            if tracked.begun:
                self._tell(number, tracker.change(before, areas, self.last, why or "removed"))
        elif states is not None:
            tracker.load({key: each for key, each in states.items() if key in areas})
            tracked.begun = True
            self._wait()
        elif self.last is not None:
            self._tell(number, self._begin(tracked, self.last))

    def drop(self, number: int, why: Why | None = None) -> None:
        """A watch is over; with a reason, it is told that the client leaves what it is in."""
        tracked = self._watches.pop(number, None)
        if tracked is not None:
            self._listen()
            if why is not None:
                self._tell(number, tracked.tracker.end(self.last, why))

    def moved(self, point: PathPoint) -> None:
        """The client is somewhere else, at the same time as before or later."""
        start = self.last
        if start is not None and point.at < start.at:
            return
        self.last = point
        found: Found = []
        for number, tracked in self._watches.items():
            if not tracked.begun or start is None:
                events = self._begin(tracked, point)
            else:
                events = tracked.tracker.go(_near(tracked, start, point), start, point)
            found += [(number, event) for event in events]
        self._wait()
        if found:
            self._found(found)

    def states(self) -> dict[int, dict[str, list[Any]]]:
        """The states of all watches that have begun."""
        return {number: each.tracker.dump() for number, each in self._watches.items() if each.begun}

    def moved_to(self, host: Host, found: Callable[[Found], None]) -> OwnFixes:
        """The same watches, of another client in the same place; this one was closed."""
        other = OwnFixes(host, found)
        other.last, other._watches = self.last, self._watches
        other._listen()
        return other

    def forget(self) -> None:
        """Watch nothing any more."""
        self._watches.clear()
        self._listen()

    def close(self) -> None:
        """Listen to nothing any more."""
        if self._interval is not None:
            self._host.location.release(self._fixed)
            self._interval = None

    def _begin(self, tracked: _Tracked, point: PathPoint) -> list[BorderEvent]:
        tracked.begun = True
        return tracked.tracker.begin(tracked.areas.items(), point)

    def _tell(self, number: int, events: list[BorderEvent]) -> None:
        self._wait()
        if events:
            self._found([(number, event) for event in events])

    def _listen(self) -> None:
        interval = min((each.options.interval for each in self._watches.values()), default=None)
        if interval != self._interval:
            if self._interval is not None:
                self._host.location.release(self._fixed)
            self._interval = interval
            if interval is not None:
                self._host.location.request(LocationRequest(interval=interval), self._fixed)

    def _fixed(self, fix: Fix) -> None:
        self.moved(point_of(fix))

    def _wait(self) -> None:
        """Look again when something is due, in case that there are no fixes until then."""
        due = min((each.tracker.due for each in self._watches.values() if each.begun), default=inf)
        if due < self._timed:
            self._timed = due
            self._host.after(max(0.0, due + STILL_S - self._host.now()), self._look)

    def _look(self) -> None:
        due, self._timed = self._timed, inf
        now = self._host.now()
        if self.last is not None and self.last.at + STILL_S <= now and self.last.at <= due:
            self.moved(self.last._replace(at=now))
        else:
            self._wait()


def point_of(fix: Fix) -> PathPoint:
    """The point of the way that a fix is."""
    z = getattr(fix, "z", None)
    return PathPoint(fix.x, fix.y, fix.at, nan if z is None else z)


def _near(tracked: _Tracked, start: PathPoint, end: PathPoint) -> Iterator[tuple[str, Area]]:
    """The areas whose border the way may pass, and those in which something may be due."""
    left, right = min(start.x, end.x), max(start.x, end.x)
    low, high = min(start.y, end.y), max(start.y, end.y)
    states = tracked.tracker.states
    for key, area in tracked.areas.items():
        x0, y0, x1, y1 = area.bounds
        if (x0 <= right and x1 >= left and y0 <= high and y1 >= low) or key in states:
            yield key, area
