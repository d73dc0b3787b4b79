"""Subscriptions with areas of which a broker knows more than filter schemes: places by name, and areas around
other clients."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bypass.core.areas.presence import AreaPresence, resolved
from bypass.core.plans.isolation import ClientDirectory
from bypass.errors import FollowingRefused, InvalidArea, shown
from bypass.mechanisms.filters.indexes.areas.index import AreaIndex
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.places.area_of_interest import AreaOfInterest, as_seen_from, heading_of, in_any
from bypass.places.areas import Area
from bypass.places.region import Region
from bypass.protocol.messages import AllowFollowing, FollowedPlace, Publish, Subscribe
from bypass.protocol.wire import with_area
from bypass.support.arrays import Ints

log = logging.getLogger(__name__)


class _Follower(NamedTuple):
    """A row with areas around another client, and how far from that they reach (m)."""

    row: int
    areas: tuple[Area, ...]
    reach: float


class BrokerAreas:
    """The rows of a table whose areas have names of places, or are around a client who allows it.

    Clients could not test these, so exactly the rows are found in whose areas an event lies, whichever
    schemes run. Clients are known by what `names` calls them. One that is followed may be away: nothing is
    around it until it says where it is, and whom it allows that. `region` gives the region as it is now,
    `now` the time by which places are reported; `presence` tells who may be in the area of an event.
    """

    def __init__(
        self, names: ClientDirectory, region: Callable[[], Region], now: Callable[[], float]
    ) -> None:
        self.presence = AreaPresence(now, names.knows_areas)
        self._names = names
        self._region = region
        self._table = SubscriptionTable()
        self._named: dict[int, AreaOfInterest] = {}  # with the areas that places have now
        self._index = AreaIndex(self._table, False, self._named)
        self._around: dict[str, set[int]] = {}
        self._followers: dict[str, list[_Follower]] = {}  # of those who allow it
        self._allowed: dict[str, AllowFollowing] = {}
        self._places: dict[str, tuple[float, float, float]] = {}  # x, y and heading

    def resolve(self, publication: Publish) -> None:
        """Give an event for who is at a named place the shape of that place, also in its raw form.

        Raises InvalidArea for a name that no place of the region has.
        """
        area = publication.area
        if area is not None and area.shape is None:
            publication.area = resolved(area, self._region())
            if publication.raw:
                publication.raw = with_area(publication.raw, publication.area)

    def use(self, table: SubscriptionTable) -> None:
        """Keep rows of this table from now on."""
        if table is not self._table:
            self._table = table
            self._named, self._around, self._followers = {}, {}, {}
            self._index = AreaIndex(table, False, self._named)

    # -- subscriptions ------------------------------------------------------------------------------------

    def check(self, message: Subscribe) -> None:
        """Check the areas of a subscription, unless it has them already. Raises InvalidArea for a place that
        the region does not have, and FollowingRefused for what is to be around somebody who does not allow
        that."""
        interest, client = message.interest, message.client
        if interest is None or interest == self._table.interest_of(client, message.handle):
            return
        self._look_up(interest)
        if interest.around and not self.allows(interest.around, client):
            follower = shown(self._names.name(client))
            raise FollowingRefused(
                f"around {shown(interest.around)}: nobody of that name lets {follower} follow: expected a"
                " client who does"
            )

    def insert(self, row: int) -> None:
        """Take a row in that is not for filter schemes. A place that is not known any more has no area."""
        interest = self._table.interests[row]
        if interest.around:
            self._around.setdefault(interest.around, set()).add(row)
            self._admit(interest.around)
            return
        try:
            areas = self._look_up(interest)
        except InvalidArea as error:
            log.warning("client %d: a subscription concerns nothing: %s", self._table.client[row], error)
            areas = ()
        self._named[row] = replace(interest, areas=areas)
        self._index.insert(self._table.one(row))

    def removed(self, rows: Ints) -> None:
        """Take rows out; rows that are not in are left alone."""
        if self._named:
            self._index.removed(rows)
        for row in rows.tolist() if self._named or self._around else ():
            self._named.pop(row, None)
            interest = self._table.interests.get(row)
            if interest is not None and row in self._around.get(interest.around, ()):
                self._around[interest.around].remove(row)
                self._admit(interest.around)

    def moved(self, rows: Ints) -> None:
        """Do nothing: where subscribers are makes no difference."""

    def places_changed(self) -> None:
        """Look all places up anew: the region has others."""
        for row in [*self._named]:
            self.insert(row)

    def match(self, publication: Publish) -> Ints:
        """The rows in whose areas an event lies, in no order."""
        if publication.location is None or not (self._named or self._followers):
            return NO_ROWS
        named = self._index.match(publication) if self._named else None
        if not self._followers:
            return NO_ROWS if named is None else named
        (x, y), z = publication.location, publication.z
        found = [] if named is None else named.tolist()
        for name, followers in self._followers.items():
            place = self._places.get(name)
            if place is not None:
                dx, dy = x - place[0], y - place[1]
                square = dx * dx + dy * dy
                near = [each for each in followers if square <= each.reach * each.reach]
                if near:
                    at = as_seen_from(dx, dy, place[2])
                    found += [each.row for each in near if in_any(each.areas, *at, z)]
        return np.array(found, np.int64)

    def now(self, row: int) -> tuple[Area, ...]:
        """The areas of a row of the table as they are at this moment; none while nobody knows where."""
        table = self._table
        interest = table.interests[row]
        if interest.places:
            named = self._named.get(row)
            return () if named is None else named.areas
        if not interest.relative:
            return interest.areas
        if interest.around:
            allowed = any(each.row == row for each in self._followers.get(interest.around, ()))
            at = self._places.get(interest.around) if allowed else None
        else:
            place = table.whereabouts(int(table.client[row]))
            at = None if place is None else (place[0], place[1], heading_of(place[2], place[3]))
        return () if at is None else tuple([area.placed(*at) for area in interest.areas])

    # -- who is followed ----------------------------------------------------------------------------------

    def allowed(self, message: AllowFollowing) -> None:
        """A client says who may follow it."""
        name = self._names.name(message.client)
        if message.everybody or message.names:
            self._allowed[name] = message
        else:
            self._allowed.pop(name, None)
            self._places.pop(name, None)
        self._admit(name)

    def followed(self, message: FollowedPlace) -> None:
        """A client says where it is; no effect unless it allows somebody to know."""
        name = self._names.name(message.client)
        if name in self._allowed:
            before = self._places.get(name, (0.0, 0.0, 0.0))
            self._places[name] = (*message.location, heading_of(*message.vector, before[2]))

    def left(self, client: int) -> None:
        """A client has left for good: nothing is around it any more."""
        name = self._names.name(client)
        self._places.pop(name, None)
        if self._allowed.pop(name, None) is not None:
            self._admit(name)

    # -- internals ----------------------------------------------------------------------------------------

    def _look_up(self, interest: AreaOfInterest) -> tuple[Area, ...]:
        """The areas, with those of places instead of their names. Raises InvalidArea."""
        if not interest.places:
            return interest.areas
        known = {place.name: place for place in self._region().places}
        for name in interest.places:
            if name not in known:
                expected = ", ".join(known) or "none, the region has no places"
                raise InvalidArea(f"place {shown(name)}: expected one of {expected}")
        return tuple([known[area.place].as_area() if area.place else area for area in interest.areas])

    def allows(self, name: str, client: int) -> bool:
        allowed = self._allowed.get(name)
        if allowed is None:
            return False
        follower = self._names.name(client)
        return allowed.everybody or not {follower, follower.partition("/")[0]}.isdisjoint(allowed.names)

    def _admit(self, name: str) -> None:
        """Note which rows around a client are there by its leave."""
        table = self._table
        rows = [row for row in self._around.get(name, ()) if self.allows(name, int(table.client[row]))]
        if rows:
            interests = [(row, table.interests[row]) for row in rows]
            self._followers[name] = [_Follower(row, each.areas, each.reach) for row, each in interests]
        else:
            self._followers.pop(name, None)
        if not self._around.get(name, True):
            del self._around[name]
