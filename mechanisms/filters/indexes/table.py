"""The table of subscriptions at a broker, with the places of their owners, in columns.

One row a subscription. Filter schemes share the table and hand it over by reference in a transition:
moving a hundred thousand subscriptions to another scheme copies none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from bypass.events.filters import Subscription
from bypass.mechanisms.filters.indexes.buckets import Buckets
from bypass.mechanisms.filters.indexes.groups import SubscriptionGroups
from bypass.places.area_of_interest import AreaOfInterest
from bypass.support.arrays import Floats, Ints

if TYPE_CHECKING:
    from bypass.places.areas import Area

NO_ROWS: Ints = np.empty(0, np.int64)
_ONE_KEY: Ints = np.array((0, 1), np.int64)
_SINGLE = [(handle,) for handle in range(256)]  # the same object is found equal without a look into it


class RowListener(Protocol):
    """Something that keeps rows of the table and must know when they change."""

    def moved(self, rows: Ints) -> None:
        """The owner of these rows is at another place than before."""

    def removed(self, rows: Ints) -> None:
        """These rows are gone; their numbers may be used again for others."""


class SubscriptionTable:
    """Subscriptions and the context of their owners.

    Columns, by row: `client`, `handle`, `group` (number of the distinct subscription), `radius` (NaN: the
    subscription has no place, or areas), `x`, `y`, `vx`, `vy` (last known place and movement vector of the
    owner), `known` (whether a place was ever reported). A place belongs to a client and is the same in all
    its rows. `interests` are the areas of rows that have some, as their owner wants them.
    """

    none: Ints = NO_ROWS
    """No rows."""

    def __init__(self) -> None:
        self.client: Ints = np.empty(0, np.int64)
        self.handle: Ints = np.empty(0, np.int64)
        self.group: Ints = np.empty(0, np.int64)
        self.radius: Floats = np.empty(0, np.float64)
        self.x: Floats = np.empty(0, np.float64)
        self.y: Floats = np.empty(0, np.float64)
        self.vx: Floats = np.empty(0, np.float64)
        self.vy: Floats = np.empty(0, np.float64)
        self.known: NDArray[np.bool_] = np.empty(0, np.bool_)
        self.handles: list[tuple[int, ...]] = []  # (handle,) by row, ready for a notification
        self.groups = SubscriptionGroups()
        self.interests: dict[int, AreaOfInterest] = {}
        self.listeners: tuple[RowListener, ...] = ()
        self.shared = False  # whether some client has, or had, more than one subscription
        self._rows: dict[int, dict[int, int]] = {}  # by client and handle, in the order of subscribing
        self._radii: dict[int, dict[float, int]] = {}  # by client: how many of its rows have each radius
        self._places: dict[int, tuple[float, float, float, float, float]] = {}
        self._by_group = Buckets(0)
        self._plain: Ints | None = NO_ROWS
        self._free: list[int] = []
        self._used = 0

    def __len__(self) -> int:
        """How many subscriptions there are."""
        return self._used - len(self._free)

    def add(
        self,
        client: int,
        handle: int,
        subscription: Subscription,
        radius: float | None,
        interest: AreaOfInterest | None = None,
    ) -> int:
        """A new row, or the row that this client and handle already have: a repeat changes nothing but its
        areas, if it has some."""
        rows = self._rows.setdefault(client, {})
        if (known := rows.get(handle)) is not None:
            if interest is not None and self.interests.get(known, interest) != interest:
                self._tell_removed(np.array((known,), np.int64))
                self.interests[known] = interest
            return known
        row = self._free.pop() if self._free else self._grow()
        self.client[row] = client
        self.handle[row] = handle
        self.group[row] = group = self.groups.join(subscription)
        self._by_group.make_keys(group + 1)
        self._by_group.insert(np.array((row,)), _ONE_KEY, np.array((group,)))
        self.radius[row] = np.nan if radius is None else radius
        place = self._places.get(client)
        self.known[row] = place is not None
        self.x[row], self.y[row], self.vx[row], self.vy[row] = place[:4] if place else (0.0, 0.0, 0.0, 0.0)
        self.handles[row] = _SINGLE[handle] if handle < len(_SINGLE) else (handle,)
        rows[handle] = row
        if radius is not None:
            radii = self._radii.setdefault(client, {})
            radii[radius] = radii.get(radius, 0) + 1
        if interest is not None:
            self.interests[row] = interest
        self.shared = self.shared or len(rows) > 1
        self._plain = None
        return row

    def remove(self, client: int, handle: int) -> int | None:
        """Forget a subscription; gives its former row, or None if there was none."""
        row = self._rows.get(client, {}).pop(handle, None)
        if row is not None:
            radius = float(self.radius[row])
            if not np.isnan(radius):
                radii = self._radii[client]
                radii[radius] -= 1
                if not radii[radius]:
                    del radii[radius]
            self._drop([row])
        return row

    def remove_client(self, client: int) -> None:
        """Forget a client, its place and all its subscriptions."""
        self._places.pop(client, None)
        self._radii.pop(client, None)
        self._drop([*self._rows.pop(client, {}).values()])

    def locate(
        self, client: int, x: float, y: float, at: float, vector: tuple[float, float] | None = None
    ) -> bool:
        """Note a client's place and, if told, its movement vector. Returns whether it differs from the one
        before.

        Rows and listeners change only if it differs: a client that repeats its place with each of its many
        subscriptions costs no more than one that tells it once.
        """
        vx, vy = vector if vector is not None else (0.0, 0.0)
        before = self._places.get(client)
        self._places[client] = (x, y, vx, vy, at)
        if before is not None and before[:4] == (x, y, vx, vy):
            return False
        rows = self.rows_of(client)
        if len(rows):
            own = rows if len(rows) > 1 else int(rows[0])  # nearly all have one, which is faster so
            self.x[own], self.y[own], self.vx[own], self.vy[own], self.known[own] = x, y, vx, vy, True
            for listener in self.listeners:
                listener.moved(rows)
        return True

    def place(self, client: int) -> tuple[float, float, float] | None:
        """x, y and the time of the last report of a client, if there was one."""
        place = self._places.get(client)
        return None if place is None else (place[0], place[1], place[4])

    def whereabouts(self, client: int) -> tuple[float, float, float, float, float] | None:
        """x, y, vx, vy and the time of the last report of a client, if there was one."""
        return self._places.get(client)

    def subscribes(self, client: int) -> bool:
        """Whether a client has a subscription."""
        return bool(self._rows.get(client))

    def rows_of(self, client: int) -> Ints:
        """The rows of one client, in the order of subscribing."""
        rows = self._rows.get(client)
        return np.fromiter(rows.values(), np.int64, len(rows)) if rows else NO_ROWS

    def located(self, clients: Iterable[int] | None = None) -> Ints:
        """The rows that have a radius, of these clients or of all, ascending."""
        if clients is None:
            rows = self.rows()
            return rows[~np.isnan(self.radius[rows])]
        own = self._rows
        theirs = chain.from_iterable(own[client].values() for client in clients if client in own)
        found = np.fromiter(theirs, np.int64)
        found.sort()
        return found[~np.isnan(self.radius[found])]

    def placed(self, row: int) -> Ints:
        """One row, if it has a radius."""
        return NO_ROWS if np.isnan(self.radius[row]) else np.array((row,), np.int64)

    def interest_of(self, client: int, handle: int) -> AreaOfInterest | None:
        """The areas that a subscription has, if it has some."""
        row = self._rows.get(client, {}).get(handle)
        return None if row is None else self.interests.get(row)

    def areas(self, row: int) -> tuple[Area, ...]:
        """The areas of a row that has some."""
        return self.interests[row].areas

    def with_areas(self, clients: Iterable[int]) -> Ints:
        """The rows of these clients that have areas which are fixed or move with them, ascending: all that
        filter schemes know of."""
        if not self.interests:
            return NO_ROWS
        own = self._rows
        theirs = chain.from_iterable(own[client].values() for client in clients if client in own)
        return np.array(sorted(row for row in theirs if self.is_for_schemes(row)), np.int64)

    def unplaced(self, rows: Ints) -> NDArray[np.bool_]:
        """Whether each of these rows with areas has some that move with its owner, whose place is not
        known."""
        own = np.array([self.interests[row].is_own for row in rows.tolist()], np.bool_)
        unplaced: NDArray[np.bool_] = own & ~self.known[rows]
        return unplaced

    def with_place_unknown(self, clients: Iterable[int]) -> Ints:
        """The rows of these clients that have a radius, or areas that move with them while their place is not
        known, ascending."""
        clients = [*clients]
        rows = self.with_areas(clients)
        return (
            np.union1d(self.located(clients), rows[self.unplaced(rows)])
            if len(rows)
            else self.located(clients)
        )

    def is_for_schemes(self, row: int) -> bool:
        """Whether a row has areas of which filter schemes know all that there is to know."""
        interest = self.interests.get(row)
        return interest is not None and not interest.around and not interest.places

    def one(self, row: int) -> Ints:
        """A row, as rows."""
        return np.array((row,), np.int64)

    def rows(self) -> Ints:
        """All rows in use, ascending."""
        used = np.ones(self._used, np.bool_)
        used[self._free] = False
        return np.flatnonzero(used)

    def plain(self) -> Ints:
        """The rows without radius and areas: subscriptions that no place restricts, ascending."""
        if self._plain is None:
            rows = self.rows()
            plain = rows[np.isnan(self.radius[rows])]
            if self.interests:
                plain = plain[~np.isin(plain, np.fromiter(self.interests, np.int64))]
            self._plain = plain
        return self._plain

    def rows_of_groups(self, groups: Ints) -> Ints:
        """The rows that have one of these distinct subscriptions, ascending."""
        return self._by_group.rows(groups)

    def plain_among(self, rows: Ints) -> Ints:
        """Those of these rows that are plain."""
        plain = rows[np.isnan(self.radius[rows])]
        if self.interests:
            plain = plain[np.array([row not in self.interests for row in plain.tolist()], np.bool_)]
        return plain

    def radii(self, client: int) -> Collection[float]:
        """The distinct radii of the client's subscriptions, in no order."""
        return self._radii.get(client, ())

    def clients(self) -> list[int]:
        """The clients that have a subscription."""
        return [client for client, rows in self._rows.items() if rows]

    def _drop(self, rows: list[int]) -> None:
        if rows:
            gone = np.array(rows, np.int64)
            self._tell_removed(gone)
            if self.interests:
                for row in rows:
                    self.interests.pop(row, None)
            self.known[gone] = False
            self._free.extend(rows)
            self._plain = None
            self._by_group.remove(gone)
            for group in self.group[gone].tolist():
                self.groups.leave(group)

    def _tell_removed(self, rows: Ints) -> None:
        for listener in self.listeners:
            listener.removed(rows)

    def _grow(self) -> int:
        if self._used == len(self.client):
            size = max(64, 2 * self._used)
            for name in ("client", "handle", "group", "radius", "x", "y", "vx", "vy", "known"):
                column = getattr(self, name)
                grown = np.zeros(size, column.dtype)
                grown[: self._used] = column
                setattr(self, name, grown)
        self.handles.append(())
        self._used += 1
        return self._used - 1
