"""An index of your own, in a scheme that is otherwise as RADIAL: it looks at every subscription."""

import numpy as np
from numpy.typing import NDArray

from bypass import FilterScheme, Publish
from bypass.mechanisms.filters import Radial
from bypass.mechanisms.filters.indexes.index import Index

Rows = NDArray[np.int64]


class AllRows(Index):
    """Keeps the rows of the table that are in, and measures the distance to each."""

    rows: frozenset[int] = frozenset()

    def insert(self, rows: Rows) -> None:
        self.rows |= frozenset(rows.tolist())

    def removed(self, rows: Rows) -> None:
        self.rows -= frozenset(rows.tolist())

    def moved(self, rows: Rows) -> None:
        pass  # the table knows where its owner is

    def members(self) -> Rows:
        return np.array(sorted(self.rows), np.int64)

    def match(self, publication: Publish) -> Rows | None:
        if publication.location is None:
            return None
        (x, y), rows, table = publication.location, self.members(), self.table
        return rows[np.hypot(table.x[rows] - x, table.y[rows] - y) <= table.radius[rows]]


class Plain(FilterScheme):
    class Client(Radial.Client):
        pass

    class Broker(FilterScheme.Broker):
        def make_index(self) -> AllRows:
            return AllRows(self.table, self.resolver)
