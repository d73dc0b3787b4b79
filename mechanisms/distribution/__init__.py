"""Distribution: which connector is subscribed to what, when several share one stream of messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set
from typing import Protocol

from bypass.transitions import Mechanism


class TopicFilters(Protocol):
    """The topic filters of one application: all that a connector may ever subscribe to."""

    @property
    def whole(self) -> str:
        """The filter that every message matches."""

    @property
    def shared(self) -> str:
        """The filter whose messages the broker divides among its subscribers."""

    def of(self, category: int) -> str:
        """The filter that the messages of one category match."""


class ConnectorHost(Protocol):
    """The world of a distribution: its connector among the others."""

    filters: TopicFilters

    @property
    def is_alone(self) -> bool:
        """Whether no other connector lives."""

    def own_categories(self) -> Set[int]:
        """The categories that this connector is responsible for, among those that live now. No two
        connectors that see the same ones have a category in common, and together they have all."""


class CategoryDistribution(Mechanism, ABC):
    """Says what its connector should be subscribed to. The connector subscribes before it unsubscribes."""

    host: ConnectorHost

    @abstractmethod
    def wanted(self) -> frozenset[str]:
        """The topic filters that the connector should have, now."""


class Synchronised(CategoryDistribution):
    """Each category has one connector, so that a device's messages come to the same one while it lives. One
    that is alone takes the whole stream."""

    def wanted(self) -> frozenset[str]:
        filters = self.host.filters
        if self.host.is_alone:
            return frozenset((filters.whole,))
        return frozenset(filters.of(category) for category in self.host.own_categories())


class Shared(CategoryDistribution):
    """The broker gives each message to one of the connectors, whichever it likes."""

    def wanted(self) -> frozenset[str]:
        return frozenset((self.host.filters.shared,))
