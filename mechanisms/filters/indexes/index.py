"""The interface of every index over the subscription table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints
from bypass.support.kernel import kernel

if TYPE_CHECKING:
    from bypass.mechanisms.filters.indexes.table import SubscriptionTable


@kernel
def common(some: Ints, others: Ints) -> Ints:
    """The rows that are in both; both ascend."""
    kept = np.empty(min(len(some), len(others)), np.int64)
    n = i = 0
    for row in others:
        while i < len(some) and some[i] < row:
            i += 1
        if i < len(some) and some[i] == row:
            kept[n] = row
            n += 1
    return kept[:n]


class Index(ABC):
    """Finds the rows of the table that an event concerns, by the rule of one filter scheme.

    Holds rows of subscriptions with a radius whose owner's place is known. With `resolver`, the context is
    looked up for every row at each event; without, it is kept materialised so that an event only meets rows
    near it. Both must find the same rows.
    """

    def __init__(self, table: SubscriptionTable, resolver: bool) -> None:
        self.table = table
        self.resolver = resolver

    @abstractmethod
    def insert(self, rows: Ints) -> None:
        """Take rows in, placed by the table's columns; rows that are in already are placed anew."""

    @abstractmethod
    def removed(self, rows: Ints) -> None:
        """Take rows out; rows that are not in are left alone."""

    @abstractmethod
    def moved(self, rows: Ints) -> None:
        """The owner of these rows reported a new place; rows that are not in are left alone."""

    @abstractmethod
    def match(self, publication: Publish) -> Ints | None:
        """The rows concerned, ascending; None if the event does not say what this index needs."""

    def match_many(self, publications: Sequence[Publish]) -> Iterator[Ints | None]:
        """Give for one event after the other what `match` does, when it is asked for.

        An index may look for several at once: nothing changes in it until all have been asked for.
        """
        return map(self.match, publications)

    def among(self, publication: Publish, rows: Ints) -> Ints | None:
        """Those of these ascending rows that are concerned; None if the event does not say what this index
        needs. An index may look at them alone."""
        found = self.match(publication)
        return None if found is None else common(found, rows)

    @abstractmethod
    def members(self) -> Ints:
        """The rows inside, ascending."""
