"""Membership: which connectors live, and what each is subscribed to, in a table that all of them see.

A connector lives while its lease lasts. It renews the lease; one that was paused for longer finds that it has
lost it. What a connector declares to hold, it is subscribed to: it declares a filter after the broker has
confirmed it, and takes the declaration back before it unsubscribes. It may take it back only if the living
ones still cover all categories: so there is no moment at which nobody is subscribed, whoever sees what.
A life that has begun later under the same name fences off the earlier one, which can change nothing any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from bypass.ingest.categories import Node
from bypass.ingest.connectors.connector import check_at_least
from bypass.ingest.connectors.filters import ApplicationFilters
from bypass.ingest.log.leases import LeasesFailed, LeaseTable, MemberLease

LEASE_S = 10.0
FORGOTTEN_S = 24 * 3600.0
"""How long after its end a lease is removed from the table."""

T = TypeVar("T")
Leases: TypeAlias = dict[str, MemberLease]


class Renewal(NamedTuple):
    """The answer to a renewed lease: who lives, it among them, and whether its lease had
    run out before."""

    living: tuple[Node, ...]
    lost: bool


class Membership:
    """One connector of an application among the others. `node` has a name that no other connector has."""

    def __init__(
        self,
        table: LeaseTable,
        filters: ApplicationFilters,
        node: Node,
        *,
        lease_s: float = LEASE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Use a table of leases; the connector is no member yet. Raises InvalidConnector."""
        check_at_least("membership", "lease_s", lease_s, 0.001)
        self.node = node
        self.lease_s = lease_s
        self.filters = filters
        self._table = table
        self._clock = clock
        self._life = 1

    def join(self) -> None:
        """Begin to live, with nothing held. An earlier life of the same name ends. Raises LeasesFailed."""

        def change(leases: Leases) -> int:
            own = leases.get(self.node.name)
            life = own.life + 1 if own else 1
            self._extend(leases, life, ())
            return life

        self._life = self._change(change)

    def renew(self) -> Renewal:
        """Live on, and see who does. Raises LeasesFailed, also if another life has the name."""

        def change(leases: Leases) -> Renewal:
            own = self._own(leases)
            lost = own is None or own.deadline < self._clock()
            self._extend(leases, self._life, own.held if own else ())
            living = sorted(self._living(leases).items())
            return Renewal(tuple(Node(name, lease.host) for name, lease in living), lost)

        return self._change(change)

    def declare(self, held: frozenset[str]) -> None:
        """Say what the connector is subscribed to. Raises LeasesFailed."""
        self._change(lambda leases: self._declare(leases, held))

    def release(self, held: frozenset[str], unwanted: frozenset[str]) -> frozenset[str]:
        """Take back the declaration of unwanted filters, as far as the living ones cover all categories
        without them. Gives those that it may unsubscribe from now. Raises LeasesFailed."""
        covers = self.filters.covers

        def change(leases: Leases) -> frozenset[str]:
            living = self._living(leases).items()
            others = [covers(frozenset(lease.held)) for name, lease in living if name != self.node.name]
            covered = frozenset[str]().union(*others)
            released = frozenset[str]()
            for each in sorted(unwanted):
                if covers(frozenset((each,))) <= covered | covers(held - released - {each}):
                    released |= {each}
            self._declare(leases, held - released)
            return released

        return self._change(change)

    def leave(self) -> None:
        """Stop to live, at once. Raises LeasesFailed."""

        def change(leases: Leases) -> None:
            own = self._own(leases)
            if own is not None:  # its life stays there: an earlier one must not come back
                leases[self.node.name] = MemberLease(own.host, self._clock() - 1, (), own.life)

        self._change(change)

    def _change(self, function: Callable[[Leases], T]) -> T:
        return self._table.change(self.filters.application, function)

    def _own(self, leases: Leases) -> MemberLease | None:
        """The own lease; None if there is none. Raises LeasesFailed if another life has it."""
        own = leases.get(self.node.name)
        if own is not None and own.life != self._life:
            raise LeasesFailed(f"{self.node.name}: life {own.life} has the name: expected {self._life}")
        return own

    def _extend(self, leases: Leases, life: int, held: tuple[str, ...]) -> None:
        now = self._clock()
        leases[self.node.name] = MemberLease(self.node.host, now + self.lease_s, held, life)
        for name in [name for name, lease in leases.items() if lease.deadline < now - FORGOTTEN_S]:
            del leases[name]

    def _declare(self, leases: Leases, held: frozenset[str]) -> None:
        """Note what is held; the lease ends when it would have."""
        own = self._own(leases)
        if own is not None:
            leases[self.node.name] = msgspec.structs.replace(own, held=tuple(sorted(held)))

    def _living(self, leases: Leases) -> Leases:
        now = self._clock()
        return {name: lease for name, lease in leases.items() if lease.deadline >= now}
