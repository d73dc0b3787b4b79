"""The distinct subscriptions of a table, numbered: what several clients want is kept and asked once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from bypass.events.filters import Subscription


class GroupListener(Protocol):
    """Something that keeps distinct subscriptions and must know when they come and go."""

    def added(self, group: int, subscription: Subscription) -> None:
        """There is a distinct subscription of this number that was not there before."""

    def withdrawn(self, group: int, subscription: Subscription) -> None:
        """Nobody has this subscription any more; its number may be used again for another."""


class SubscriptionGroups:
    """Distinct subscriptions by number. `listeners` are told of each that comes or goes."""

    def __init__(self) -> None:
        self.listeners: tuple[GroupListener, ...] = ()
        self._subscriptions: list[Subscription] = []
        self._numbers: dict[Subscription, int] = {}
        self._uses: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        """One more than the largest number that was ever given."""
        return len(self._subscriptions)

    def __getitem__(self, group: int) -> Subscription:
        """The subscription of a number in use."""
        return self._subscriptions[group]

    def items(self) -> Iterator[tuple[int, Subscription]]:
        """The numbers in use and their subscriptions, in the order in which they came."""
        return ((number, subscription) for subscription, number in self._numbers.items())

    def join(self, subscription: Subscription) -> int:
        """Count one more who has a subscription, and give its number."""
        number = self._numbers.get(subscription)
        if number is None:
            if self._free:
                number = self._free.pop()
                self._subscriptions[number] = subscription
            else:
                number = len(self._subscriptions)
                self._subscriptions.append(subscription)
                self._uses.append(0)
            self._numbers[subscription] = number
            for listener in self.listeners:
                listener.added(number, subscription)
        self._uses[number] += 1
        return number

    def leave(self, group: int) -> None:
        """Count one less who has the subscription of a number in use."""
        self._uses[group] -= 1
        if not self._uses[group]:
            subscription = self._subscriptions[group]
            del self._numbers[subscription]
            self._free.append(group)
            for listener in self.listeners:
                listener.withdrawn(group, subscription)
