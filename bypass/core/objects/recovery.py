"""The return of a node's objects and queries into indexes, after its storage was exchanged or a time away.

Holders announce what they have, and subscribers ask again, because a mechanism may not send before it is
switched to. Objects whose owner does not answer are adopted by the holder with the smallest number.
"""

from __future__ import annotations

from collections import deque

from bypass.core.objects.access import ObjectAccess
from bypass.core.objects.operations import OperationResult
from bypass.core.objects.own_queries import MARGIN_US
from bypass.objects.metadata import ObjectKey
from bypass.ports.host import Host
from bypass.ports.routing import Routing
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import MOST_NAMED, MoveNode, Remove

TOGETHER = 8
"""Objects that are announced at a time."""

CLAIM_AFTER_S = (1.0, 2.0)
"""A holder of objects of others says so after a random time between these."""

ADOPT_AFTER_S = 4.0
"""Objects that neither their owner nor a holder with a smaller number has claimed for so long are adopted."""

MOST_REMOVED = 64
"""Tombstones that are sent in answer to one claim."""


class ObjectRecovery:
    """Brings a node's objects and queries back into the indexes of the storage mechanism that runs now."""

    def __init__(self, host: Host, access: ObjectAccess, routing: Routing) -> None:
        self.adopted = 0  # objects of others that this node has announced as if they were its own
        self._host = host
        self._access = access
        self._routing = routing
        self._round = 0
        self._waiting: deque[ObjectKey] = deque()
        self._unclaimed: set[ObjectKey] = set()

    def begin(self, since_us: int) -> None:
        """Announce, ask again for what was published at `since_us` or later, and look for orphans.

        Queries whose windows had ended then, or half a minute ago if `since_us` is 0, are over.

        A round that is under way ends: what it has not done belongs to this one.
        """
        self._round += 1
        access = self._access
        access.rebuilding()
        access.operations.try_again()
        # It is 0, not known, where a neighbour had to tell of a decision.
        ended_us = since_us or access.now_us() - MARGIN_US
        for own in access.queries:
            if not own.query.window.ended(ended_us):
                # Older objects come with later pages; the rest may not have been there when pages were told.
                access.recover(own, max(since_us, access.queries.told_since_us(own.query.id)))
        access.delete_again()
        self._announce([metadata.key for metadata in access.store.own])
        self._unclaimed = {metadata.key for metadata in access.store.replicas}
        if self._unclaimed:
            least, most = CLAIM_AFTER_S
            delay = least + (most - least) * self._host.random("claims").random()
            self._host.after(delay, self._claim, self._round)

    def end(self) -> None:
        """End the round that is under way: the client is gone."""
        self._round += 1
        self._waiting.clear()

    # -- own objects --------------------------------------------------------------------------------------

    def _announce(self, keys: list[ObjectKey]) -> None:
        idle = not self._waiting
        self._waiting = deque(keys)
        if idle:
            for _ in range(TOGETHER):
                self._announce_next(None)

    def _announce_next(self, _: OperationResult | None) -> None:
        while self._waiting:
            stored = self._access.store.get(self._waiting.popleft())
            if stored is not None:
                self._access.announce(stored, self._announce_next)
                return

    # -- objects of others --------------------------------------------------------------------------------

    def _claim(self, number: int) -> None:
        if number != self._round:
            return
        keys = sorted(self._unclaimed)
        for first in range(0, len(keys), MOST_NAMED):
            self._routing.flood(self._holding(keys[first : first + MOST_NAMED]))
        self._host.after(ADOPT_AFTER_S, self._adopt, number)

    def _holding(self, keys: list[ObjectKey]) -> MoveNode:
        return MoveNode(
            self._host.id, self._routing.own_cell(), keys=tuple(keys), at_us=self._access.now_us()
        )

    def claimed(self, claim: MoveNode, origin: NodeAddress) -> None:
        """Another node says which objects it holds: its own are not orphans, nor are those of others that it
        will adopt because its number is smaller. It is told if an owner is here, and what was deleted."""
        store = self._access.store
        own = [key for key in claim.keys if key.owner == self._host.id and key in store]
        if own and claim.node != self._host.id:
            self._routing.send(self._holding(own), (origin,))
        removed = 0
        for key in claim.keys:
            if key.owner == claim.node or claim.node < self._host.id:
                self._unclaimed.discard(key)
            for tombstone in store.tombstones.of(key):
                if removed < MOST_REMOVED:
                    removed += 1
                    self._routing.send(Remove(key, tombstone.opening), (origin,))

    def _adopt(self, number: int) -> None:
        if number != self._round:
            return
        for key in sorted(self._unclaimed):
            stored = self._access.store.get(key)
            if stored is not None:
                self.adopted += 1
                self._access.announce(stored)
        self._unclaimed.clear()
