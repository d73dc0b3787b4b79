"""The deletion of objects at an edge, for good: wherever copies are, and whatever is still on its way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.contact import CellContact
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.provisioning import Provisioning
from bypass.mechanisms.storage.infra.edge.retrieval_cycle import RetrievalCycle
from bypass.mechanisms.storage.shared_state import SharedState
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Tombstone
from bypass.objects.node_store import NodeStore
from bypass.protocol.edge import EdgeNotification, Item, ItemKey, StorageChange
from bypass.protocol.storage import NodeState, StateDigest, StorageMessage


class EdgeParts(NamedTuple):
    """The parts of an edge that have items."""

    caches: EdgeCaches
    popularity: PopularityTable
    retrieval: RetrievalCycle
    provisioning: Provisioning
    contact: CellContact


class Unpublications:
    """Deletes objects from all parts of an edge, and keeps their tombstones in its store.

    A tombstone hides what it opens, so that nobody deletes what somebody else owns. Caches and the retrieval
    admit nothing that is hidden; what waits for a cell is emptied of it. Edges that were apart compare
    digests, and send each other the tombstones that one of them lacks.
    """

    def __init__(self, store: NodeStore, parts: EdgeParts) -> None:
        self._store = store
        self._parts = parts
        self._shared = SharedState(ObjectCatalogue(), store.tombstones)

    def take(self, tombstone: Tombstone) -> list[ItemKey] | None:
        """Delete an object. Gives the items that were in caches, None if the tombstone was known: then nobody
        has to be told. Raises InvalidObject for one that cannot be a tombstone."""
        if tombstone in self._store.tombstones:
            return None
        self._store.bury(tombstone)
        parts = self._parts
        removed = parts.caches.remove(self._is_hidden)
        for key in removed:
            parts.popularity.forget(key)
        if removed:
            parts.provisioning.forget(tombstone.key)
        parts.retrieval.discard(self._is_hidden)
        parts.provisioning.discard(self._is_hidden)
        gone = frozenset(removed)
        parts.contact.discard(lambda body: self._rest_of(body, gone))
        return removed

    def digest(self) -> StateDigest:
        """A digest of all tombstones, for an edge that was apart."""
        return self._shared.digest()

    def lacking(self, digest: StateDigest) -> list[NodeState]:
        """The tombstones that an edge with this digest may lack, in messages; none if it has all."""
        differing = self._shared.differing(digest)
        return self._shared.parts(differing) if differing else []

    def take_state(self, state: NodeState) -> list[tuple[Tombstone, list[ItemKey]]]:
        """Take the tombstones of another edge. Gives those that are new here, with the items that were in
        caches."""
        found: Iterable[tuple[Tombstone, list[ItemKey] | None]] = (
            (each, self.take(each)) for each in state.tombstones
        )
        return [(each, removed) for each, removed in found if removed is not None]

    def _is_hidden(self, item: Item) -> bool:
        return self._store.tombstones.hides(item.metadata)

    def _rest_of(self, body: StorageMessage, gone: frozenset[ItemKey]) -> StorageMessage | None:
        """The part of a body that is not about deleted items; None if there is none."""
        if isinstance(body, EdgeNotification):
            items = tuple(each for each in body.items if not self._is_hidden(each))
            return EdgeNotification(items) if items else None
        if isinstance(body, StorageChange):
            keys = tuple(each for each in body.items if each not in gone)
            return StorageChange(keys, body.stored) if keys else None
        return body
