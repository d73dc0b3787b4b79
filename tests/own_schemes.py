"""Filter schemes as others write them: without kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
from pydantic import Field

from bypass.mechanisms.filters import FilterScheme, Radial
from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.mechanisms.filters.radial import ReportingClient
from bypass.protocol.messages import ContextMessage, Publish
from bypass.support.arrays import Ints
from bypass.transitions import MechanismState

Concerns = Callable[[int, float, float], bool]


class Scan(Index):
    """All rows, of which an event concerns those that a rule says."""

    def __init__(self, table: SubscriptionTable, concerns: Concerns) -> None:
        super().__init__(table, resolver=True)
        self._inside: set[int] = set()
        self._concerns = concerns

    def insert(self, rows: Ints) -> None:
        self._inside.update(rows.tolist())

    def removed(self, rows: Ints) -> None:
        self._inside.difference_update(rows.tolist())

    def moved(self, rows: Ints) -> None:
        """Nothing: places are looked up."""

    def members(self) -> Ints:
        return np.array(sorted(self._inside), np.int64)

    def match(self, publication: Publish) -> Ints | None:
        if publication.location is None:
            return None
        x, y = publication.location
        return np.array([row for row in sorted(self._inside) if self._concerns(row, x, y)], np.int64)


class Strips(FilterScheme):
    """An event concerns those who have reported to be no more than `width` m east or west of it."""

    memory: ClassVar[float | None] = 0.0

    Client: TypeAlias = ReportingClient

    class Broker(FilterScheme.Broker):
        width: Annotated[float, MechanismState("width"), Field(gt=0)] = 50.0

        def make_index(self) -> Index:
            return Scan(self.table, lambda row, x, _: bool(abs(self.table.x[row] - x) <= self.width))


class Twice(FilterScheme):
    """An event concerns those who are near to it by one of their last two reports."""

    memory: ClassVar[float | None] = 5.0  # clients have a fix at least as often

    Client: TypeAlias = ReportingClient

    class Broker(FilterScheme.Broker):
        def start(self) -> None:
            self.before: dict[int, tuple[float, float, float]] = {}
            super().start()

        def make_index(self) -> Index:
            return Scan(self.table, self._is_near)

        def context_arrived(self, client: int, message: ContextMessage) -> None:
            place = self.table.place(client)
            if place is not None:
                self.before[client] = place
            super().context_arrived(client, message)

        def _is_near(self, row: int, x: float, y: float) -> bool:
            client, radius = int(self.table.client[row]), self.table.radius[row]
            places = [self.table.place(client), self.before.get(client)]
            return any(p is not None and np.hypot(p[0] - x, p[1] - y) <= radius for p in places)


class Lazy(Radial):
    """RADIAL with clients that report less often. Neither its memory nor its kernels are RADIAL's."""

    class Client(ReportingClient):
        """Reports the client's place when it has gone 15 m."""

        updates = "distance"
        threshold = 15.0
