"""The base of attribute matching: mechanisms that find the subscriptions whose filters accept an event."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
from pydantic import Field

from bypass.events.event import Event
from bypass.events.filters import Subscription
from bypass.mechanisms.filters.indexes.groups import SubscriptionGroups
from bypass.support.arrays import Ints
from bypass.transitions import Mechanism, TransferState


class AttributeMatching(Mechanism):
    """Finds the distinct subscriptions that accept an event's attributes, exactly as `matches` decides.

    `groups` are these subscriptions by number; a mechanism listens to them, and hears first of those that are
    there already.
    """

    groups: Annotated[
        SubscriptionGroups,
        TransferState("groups", optional=True),
        Field(default_factory=SubscriptionGroups),
    ]

    def start(self) -> None:
        self.watch(self.groups)

    def stop(self) -> None:
        self._unwatch()

    def watch(self, groups: SubscriptionGroups) -> None:
        """Match these subscriptions from now on, instead of those before."""
        self._unwatch()
        self.groups = groups
        self.clear()
        for number, subscription in groups.items():
            self.added(number, subscription)
        groups.listeners = (*groups.listeners, self)

    @abstractmethod
    def clear(self) -> None:
        """Forget all subscriptions."""

    @abstractmethod
    def added(self, group: int, subscription: Subscription) -> None:
        """There is a distinct subscription of this number that was not there before."""

    @abstractmethod
    def withdrawn(self, group: int, subscription: Subscription) -> None:
        """Nobody has this subscription any more; its number may be used again for another."""

    @abstractmethod
    def accepting(self, event: Event) -> Ints:
        """Find the numbers of all distinct subscriptions that accept an event, each once, in any order."""

    def accepted(self, event: Event, rows: Ints, group_of: Ints) -> Ints:
        """Give those of some rows of a table whose subscription accepts an event, in their order.

        `group_of` is the column with the numbers of subscriptions. A mechanism may try these rows alone where
        that is faster.
        """
        return rows[np.isin(group_of[rows], self.accepting(event))]

    def _unwatch(self) -> None:
        self.groups.listeners = tuple([each for each in self.groups.listeners if each is not self])
