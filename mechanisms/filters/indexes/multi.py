"""Rows by circle and rows by place, side by side (MULTI): an event meets both."""

from __future__ import annotations

import numpy as np

from bypass.mechanisms.filters.indexes.circles import CircleIndex
from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex
from bypass.mechanisms.filters.indexes.index import Index
from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints


class MultiIndex(Index):
    """Rows by circle if their owner is in one, by place otherwise; an event meets both kinds."""

    def __init__(self, circles: CircleIndex, elsewhere: EnvelopeIndex) -> None:
        super().__init__(circles.table, circles.resolver)
        self.circles = circles
        self.elsewhere = elsewhere

    def insert(self, rows: Ints) -> None:
        inside = self.circles.hold(rows)
        self.elsewhere.removed(rows[inside])
        self.circles.insert(rows[inside])
        self.circles.removed(rows[~inside])
        self.elsewhere.insert(rows[~inside])

    def removed(self, rows: Ints) -> None:
        self.circles.removed(rows)
        self.elsewhere.removed(rows)

    def moved(self, rows: Ints) -> None:
        self.elsewhere.moved(rows)

    def members(self) -> Ints:
        return np.union1d(self.circles.members(), self.elsewhere.members())

    def match(self, publication: Publish) -> Ints | None:
        inside = self.circles.match(publication)
        outside = self.elsewhere.match(publication)
        found = [rows for rows in (inside, outside) if rows is not None]
        if not found:
            return None
        rows = np.concatenate(found)
        rows.sort()
        return rows
