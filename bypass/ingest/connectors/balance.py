"""Balance: one connector's subscriptions are kept in step with who lives and how messages are distributed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Set
from typing import Protocol

from bypass.ingest.categories import Node, assign
from bypass.ingest.connectors.membership import Membership
from bypass.mechanisms.distribution import CategoryDistribution
from bypass.mechanisms.registry import Registry
from bypass.transitions import Engine, Plan, Record

log = logging.getLogger(__name__)


class CategorySubscriber(Protocol):
    """A session with a broker that holds subscriptions."""

    async def subscribe(self, filters: frozenset[str]) -> None:
        """Return when the broker has confirmed them. Raises NotConfirmed."""

    async def unsubscribe(self, filters: frozenset[str]) -> None:
        """Return when the broker has confirmed it. Raises NotConfirmed."""


class _Host:
    """The world of a distribution, as the connector saw it last."""

    def __init__(self, membership: Membership) -> None:
        self.filters = membership.filters
        self._node = membership.node
        self.living: tuple[Node, ...] = (membership.node,)

    def open(self) -> None:
        """A distribution was switched to."""

    def close(self) -> None:
        """A distribution was stopped."""

    @property
    def is_alone(self) -> bool:
        return len(self.living) == 1

    def own_categories(self) -> Set[int]:
        owners = assign(self.filters.categories, self.living)
        return {number for number, each in enumerate(owners) if each.primary.name == self._node.name}


class Balance:
    """Subscribes to what the distribution wants, and unsubscribes from the rest once others have it.

    A distribution is exchanged by `execute`, and the next steps bring the subscriptions in line. It belongs
    to one loop, which does not wait for the table of leases.
    """

    def __init__(
        self,
        membership: Membership,
        subscriber: CategorySubscriber,
        registry: Registry | None = None,
        first: str = "synchronised",
    ) -> None:
        """Begin with a distribution by its name. Raises UnknownMechanism."""
        self.lost = 0
        """How often the lease had run out before it was renewed."""
        self._membership = membership
        self._subscriber = subscriber
        self._registry = registry or Registry()
        self._host = _Host(membership)
        self._engine = Engine("connector", lease=lambda _: self._host)
        self._distribution: CategoryDistribution = self._registry.create(
            self._engine, "connector", "distribution", first
        )
        self.held = frozenset[str]()
        """The filters that the broker has confirmed."""
        self._joined = True
        self._remains: frozenset[str] = membership.filters.all
        """Filters that an earlier life may have left in the broker's session."""

    def begin(self, *, session_kept: bool) -> None:
        """Take note that there is a connection. A broker that has not kept the session has no subscriptions
        of it: the next step joins anew."""
        if not session_kept:
            self.held = self._remains = frozenset()
            self._joined = False

    def execute(self, plan: Plan) -> list[Record]:
        """Exchange the distribution. Raises as `Engine.execute` does."""
        self._registry.prepare(self._engine, "connector", plan.actions)
        return self._engine.execute(plan)

    async def step(self) -> bool:
        """Renew the lease, and come closer to what is wanted. Gives whether there is nothing left to do.

        Raises LeasesFailed and NotConfirmed; then the next step goes on.
        """
        if not self._joined:
            await asyncio.to_thread(self._membership.join)
            self._joined = True
        renewal = await asyncio.to_thread(self._membership.renew)
        if renewal.lost and self.held:
            self.lost += 1
            log.warning("%s: its lease had run out: others have taken over", self._membership.node.name)
        self._host.living = renewal.living
        wanted = self._distribution.wanted()
        missing = wanted - self.held
        if missing:
            await self._subscriber.subscribe(missing)
            if not self._joined:  # the session has ended meanwhile
                return False
            self.held |= missing
        if missing or renewal.lost:
            await asyncio.to_thread(self._membership.declare, self.held)
        unwanted = (self.held | self._remains) - wanted
        released = frozenset[str]()
        if unwanted:
            released = await asyncio.to_thread(self._membership.release, self.held, unwanted)
        if not self._joined:
            return False
        if released:
            self.held -= released
            self._remains |= released
            await self._subscriber.unsubscribe(released)
            self._remains -= released
        self._remains -= wanted
        return released == unwanted
