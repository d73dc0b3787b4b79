"""Matching one distinct subscription after the other."""

from __future__ import annotations

import numpy as np

from bypass.events.event import Event
from bypass.events.filters import Subscription
from bypass.events.matching import matches
from bypass.mechanisms.matching.base import AttributeMatching
from bypass.support.arrays import Ints


class Linear(AttributeMatching):
    """Tries every distinct subscription, or those of the rows in question: nothing to keep, and right for a
    few."""

    def clear(self) -> None:
        """Do nothing: the subscriptions themselves are all that is asked."""

    def added(self, group: int, subscription: Subscription) -> None:
        """Do nothing."""

    def withdrawn(self, group: int, subscription: Subscription) -> None:
        """Do nothing."""

    def accepting(self, event: Event) -> Ints:
        return np.array([group for group, each in self.groups.items() if matches(event, each)], np.int64)

    def accepted(self, event: Event, rows: Ints, group_of: Ints) -> Ints:
        groups = group_of[rows]
        refused = [group for group in np.unique(groups).tolist() if not matches(event, self.groups[group])]
        return rows[~np.isin(groups, refused)] if refused else rows
