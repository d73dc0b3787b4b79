"""Has a broker adapt by itself: it observes its clients, and rules decide upon that.

Areas are the region's attraction points, numbered from 1 on in their order; 0 is everywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bypass.core.area_visits import VISITS, AreaVisits
from bypass.core.broker import Broker
from bypass.places.region import Place
from bypass.ports.state_info import EXPECTED_DELAY
from bypass.transitions import RuleBook, RuleEngine

TOPICS = {
    "location": frozenset({"client", "x", "y", "scheme", "area", "place", "before", "delay"}),
    "density": frozenset({"area", "place", "radius", "members", "count", "rho", "rho_before"}),
    "workload": frozenset({"clients", "came", "left", "churn", "events", "subscriptions", "ratio"}),
    **VISITS,
}
"""The facts of each topic.

`location`: a client reported that it is at (`x`, `y`), in the area number `area`, named `place`, and was in
the area number `before`; `scheme` serves it, and an event for it waits for `delay` seconds on average, which
is None as long as nobody can tell. `density`: the number of clients in an area has changed to
`count`; `members` are their numbers, and `rho` is how many there would be in a circle of 100 m radius, by the
area's true size.
`workload`: once in half a minute, how many `clients` there are, and in a minute how many `came` and `left`,
the share of all that did either (`churn`), the `events` and the `subscriptions` that were placed; `ratio` is
events per subscription, None without any. `enter`, `leave` and `dwell` are about visits to areas (`VISITS`).
"""

NOWHERE = 0

WINDOW_S = 30.0
"""Seconds over which a workload is counted."""


def density(count: int, place: Place) -> float:
    """Clients at a place, as if it were a circle of 100 m radius: by its area's size or, without one, by its
    circle's."""
    if place.area is not None:
        return count * 10_000.0 * math.pi / place.area.size
    return count * 10_000.0 / place.radius**2


class Adaptation:
    """Has a broker's clients observed, and rules applied to what is observed."""

    def __init__(self, broker: Broker, book: RuleBook, places: Sequence[Place]) -> None:
        """Raises InvalidRule."""
        self.rules = RuleEngine(
            book, broker.execute, broker.host.now, TOPICS, broker.rollout.next_id, broker.rollout.decisions
        )
        self._broker = broker
        self._places = dict(enumerate(places, 1))
        self._last_number = len(self._places)
        self._areas: dict[int, int] = {}  # where each client was when it last said so
        self._members: dict[int, set[int]] = {number: set() for number in range(1, len(places) + 1)}
        self._visits = AreaVisits(self._places, self.rules.observe)
        self._left = 0  # clients, in this window
        self._before = self._counts()
        broker.listeners.append(self)
        broker.places.listeners.append(self.places_changed)
        broker.host.after(WINDOW_S, self._observe_workload)

    def client_located(self, client: int, x: float, y: float) -> None:
        """A client reported its place."""
        area = self._area_of(x, y)
        before = self._areas.get(client, NOWHERE)
        delay = self._broker.host.state_info.get(EXPECTED_DELAY, client)
        facts = {
            "client": client,
            "x": x,
            "y": y,
            "scheme": self._broker.scheme_of(client).name,
            "area": area,
            "place": self._name(area),
            "before": before,
            "delay": None if delay is None else delay.value,
        }
        self.rules.observe("location", client, facts)
        if any(map(self.rules.observes, VISITS)):
            self._visits.located(client, x, y, self._broker.host.now(), str(facts["scheme"]))
        self._enter(client, before, area)

    def client_left(self, client: int) -> None:
        """A client has left for good."""
        self._left += 1
        self._leave(client, self._areas.pop(client, NOWHERE))
        self._visits.left(client, "")
        self.rules.forget("client", client)

    def places_changed(self, places: Sequence[Place]) -> None:
        """The region has these places now: one that stays keeps its number, and numbers are not given
        again."""
        before, self._places = self._places, {}
        numbers = {place.name: number for number, place in before.items()}
        for place in places:
            number = numbers.get(place.name, 0)
            if not number:
                self._last_number += 1
                number = self._last_number
            self._places[number] = place
            self._members.setdefault(number, set())
        self._visits.places_changed(self._places)
        for client, area in [*self._areas.items()]:
            located = self._broker.table.place(client)
            now = NOWHERE if located is None else self._area_of(located[0], located[1])
            self._enter(client, area, now)
        for number in before.keys() - self._places.keys():
            del self._members[number]

    def _enter(self, client: int, before: int, area: int) -> None:
        if area != before:
            self._areas[client] = area
            self._leave(client, before)
            if area != NOWHERE:
                self._members[area].add(client)
                self._observe_density(area, len(self._members[area]) - 1)

    def _leave(self, client: int, area: int) -> None:
        if area != NOWHERE:
            self._members[area].discard(client)
            self._observe_density(area, len(self._members[area]) + 1)

    def _observe_density(self, area: int, before: int) -> None:
        place, members = self._places.get(area), sorted(self._members[area])
        if place is None:  # it is gone, and clients leave it for that
            return
        facts = {
            "area": area,
            "place": place.name,
            "radius": place.radius,
            "members": members,
            "count": len(members),
            "rho": density(len(members), place),
            "rho_before": density(before, place),
        }
        self.rules.observe("density", area, facts)

    def _observe_workload(self) -> None:
        broker, minute = self._broker, 60.0 / WINDOW_S
        broker.host.after(WINDOW_S, self._observe_workload)
        now = self._counts()
        grown, events, subscriptions = (new - old for new, old in zip(now, self._before, strict=True))
        left, self._left, self._before = self._left, 0, now
        came = grown + left
        facts = {
            "clients": now[0],
            "came": minute * came,
            "left": minute * left,
            "churn": minute * (came + left) / max(1, now[0]),
            "events": minute * events,
            "subscriptions": minute * subscriptions,
            "ratio": events / subscriptions if subscriptions else None,
        }
        self.rules.observe("workload", "broker", facts)

    def _counts(self) -> tuple[int, int, int]:
        """The clients that there are, and events and subscriptions so far."""
        clients = sum(len(scheme.clients) for scheme in self._broker.filter_schemes)
        return clients, self._broker.published, self._broker.subscribed

    def _area_of(self, x: float, y: float) -> int:
        """The area that a place lies deepest in, by the share of its circle's radius."""
        depths = [
            (math.hypot(x - place.x, y - place.y) / place.radius, number)
            for number, place in self._places.items()
            if place.contains(x, y)
        ]
        return min(depths, default=(0.0, NOWHERE))[1]

    def _name(self, area: int) -> str | None:
        return None if area == NOWHERE else self._places[area].name
