"""The visits of clients to the places of a region, as rules observe them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from bypass.places.areas import Area
from bypass.places.borders import BorderEvent, BorderOptions, BorderTracker, PathPoint
from bypass.places.region import Place

VISITS = {
    "enter": frozenset({"client", "x", "y", "area", "place", "at", "scheme", "members"}),
    "leave": frozenset({"client", "x", "y", "area", "place", "at", "scheme", "members", "seconds"}),
    "dwell": frozenset({"client", "x", "y", "area", "place", "at", "scheme", "members", "seconds", "before"}),
}
"""The facts of the topics about visits.

`enter`, `leave`: a client has passed the border of the area number `area`, named `place`, at (`x`, `y`) at
the time `at` (s), on the straight way from where it was before; `seconds` is how long it was inside. `dwell`:
a client that reports its place has been inside for `seconds`, and was so for `before` seconds when it did so
last. `members` are the clients that are in the area then, and `scheme` serves the client.
"""

OPTIONS = BorderOptions(frozenset(("enter", "exit")), initial=True)


class AreaVisits:
    """Finds the visits in the places that clients report; `observe(topic, client, facts)` is told. Places may
    overlap: a client visits each of them."""

    def __init__(
        self, places: Mapping[int, Place], observe: Callable[[str, Hashable, dict[str, Any]], object]
    ) -> None:
        """`places` are by number."""
        self._names: dict[str, str] = {}
        self._areas: dict[str, Area] = {}
        self._members: dict[str, set[int]] = {}
        self._trackers: dict[int, BorderTracker] = {}
        self._last: dict[int, PathPoint] = {}
        self._observe = observe
        self.places_changed(places)

    def places_changed(self, places: Mapping[int, Place]) -> None:
        """There are these places now: clients leave those that are gone, and enter those that are new."""
        before = self._areas
        self._areas = {
            str(number): place.area or Area.circle((place.x, place.y), place.radius)
            for number, place in places.items()
        }
        self._names |= {str(number): place.name for number, place in places.items()}
        for key in self._areas:
            self._members.setdefault(key, set())
        for client, tracker in self._trackers.items():
            for event in tracker.change(before, self._areas, self._last[client]):
                self._passed(event, "")
        for key in before.keys() - self._areas.keys():
            del self._members[key], self._names[key]

    def located(self, client: int, x: float, y: float, at: float, scheme: str) -> None:
        """A client reported its place."""
        point, before = PathPoint(x, y, at), self._last.get(client)
        tracker = self._trackers.get(client)
        if tracker is None:
            tracker = self._trackers[client] = BorderTracker(OPTIONS, client)
        self._last[client] = point
        if before is None:
            events = tracker.begin(self._areas.items(), point)
        else:
            events = tracker.go(self._areas.items(), before, point)
        for event in events:
            self._passed(event, scheme)
        for key, state in [*tracker.states.items()]:
            seconds = at - state.since
            then = 0.0 if before is None else max(0.0, before.at - state.since)
            facts = self._facts(client, key, point, scheme)
            self._observe("dwell", client, {**facts, "seconds": seconds, "before": then})

    def left(self, client: int, scheme: str) -> None:
        """A client has left for good: it is in no area any more."""
        tracker = self._trackers.pop(client, None)
        point = self._last.pop(client, None)
        if tracker is not None and point is not None:
            for event in tracker.end(point, "left"):
                self._passed(event, scheme)

    def _passed(self, event: BorderEvent, scheme: str) -> None:
        point = PathPoint(event.x, event.y, event.at)
        if event.kind == "enter":
            self._members[event.area].add(event.client)
            self._observe("enter", event.client, self._facts(event.client, event.area, point, scheme))
        else:
            self._members[event.area].discard(event.client)
            facts = self._facts(event.client, event.area, point, scheme)
            self._observe("leave", event.client, {**facts, "seconds": event.at - event.since})

    def _facts(self, client: int, key: str, point: PathPoint, scheme: str) -> dict[str, Any]:
        return {
            "client": client,
            "x": point.x,
            "y": point.y,
            "at": point.at,
            "area": int(key),
            "place": self._names[key],
            "scheme": scheme,
            "members": sorted(self._members[key]),
        }
