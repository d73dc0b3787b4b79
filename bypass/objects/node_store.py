"""The store of one node: its own objects, copies of those of others, and tombstones."""

from __future__ import annotations

import logging
from collections.abc import Callable

from bypass.errors import InvalidObject, NotOwner, UnknownObject
from bypass.objects.metadata import Metadata, ObjectKey, StoredObject, Tombstone, content_hash
from bypass.objects.persistence import HeldObject, Persistence
from bypass.objects.tombstones import Tombstones
from bypass.support.database import DatabaseUnavailable

_log = logging.getLogger(__name__)

MOST_REPLICA_BYTES = 64 << 20


class NodeStore:
    """The objects that the node `owner` has published, and copies of others up to `most_replica_bytes`.

    Of copies the one that came first goes first; own objects never go. A deleted object never comes back.
    While the file cannot be written, changes of own objects raise DatabaseUnavailable; no copies are kept,
    and others' tombstones in memory alone.
    """

    def __init__(
        self, owner: int, persistence: Persistence, most_replica_bytes: int = MOST_REPLICA_BYTES
    ) -> None:
        self.owner = owner
        self.tombstones = Tombstones()
        self.replica_bytes = 0
        self._persistence = persistence
        self._most_replica_bytes = most_replica_bytes
        self._writable = True  # the file, when something of others was last written
        self._own: dict[ObjectKey, HeldObject] = {}
        self._replicas: dict[ObjectKey, Metadata] = {}  # in the order in which they came
        held, tombstones = persistence.load()
        for tombstone in tombstones:
            self.tombstones.add(tombstone)
        for each in held:
            self._note(each)

    def __contains__(self, key: object) -> bool:
        return key in self._own or key in self._replicas

    @property
    def own(self) -> list[Metadata]:
        """The metadata of the objects that this node has published, in the order of their coming."""
        return [each.metadata for each in self._own.values()]

    @property
    def replicas(self) -> list[Metadata]:
        """The metadata of copies, in the order of their coming."""
        return list(self._replicas.values())

    @property
    def room(self) -> int:
        """The bytes that are free for copies; a larger copy evicts earlier ones."""
        return self._most_replica_bytes - self.replica_bytes

    def metadata(self, key: ObjectKey) -> Metadata | None:
        """The metadata of an object that is here; None if it is not."""
        own = self._own.get(key)
        return self._replicas.get(key) if own is None else own.metadata

    def get(self, key: ObjectKey) -> StoredObject | None:
        """An object, own or copied; None if it is not here."""
        metadata = self.metadata(key)
        data = None if metadata is None else self._persistence.data(key)
        return None if metadata is None or data is None else StoredObject(metadata, data)

    def publish(self, stored: StoredObject, secret: bytes) -> bool:
        """Keep an object of this node; `secret` opens its commitment. Whether it is new.

        Raises NotOwner for one of somebody else, InvalidObject if its key stands, or stood, for another
        object or the secret does not open its commitment. Then nothing has changed.
        """
        key = stored.key
        if key.owner != self.owner:
            raise NotOwner(f"object {key}: expected one of {self.owner}")
        if not stored.metadata.opened_by(secret):
            raise InvalidObject(f"object {key}: expected the secret that it is committed to")
        known = self._own.get(key)
        if known is not None:
            if known.metadata.digest == stored.metadata.digest and known.secret == secret:
                return False
            raise InvalidObject(f"object {key} exists: expected a name that is new")
        if self.tombstones.names(key):
            raise InvalidObject(f"object {key} was deleted: expected a name that is new")
        self._persistence.add(stored, secret, ())
        self._note(HeldObject(stored.metadata, secret))
        return True

    def copy(self, stored: StoredObject) -> bool:
        """Keep a copy of an object of somebody else, instead of an earlier one. Whether it is kept: not one
        that was deleted, is this node's own, or is larger than all copies may be together, and none while
        the file cannot be written."""
        size = len(stored.data)
        if (
            stored.key.owner == self.owner
            or size > self._most_replica_bytes
            or self.tombstones.hides(stored.metadata)
        ):
            return False
        known = self._replicas.get(stored.key)
        room = self._most_replica_bytes - self.replica_bytes + (0 if known is None else known.size)
        evicted: list[ObjectKey] = []
        for key, each in self._replicas.items():
            if room >= size:
                break
            if key != stored.key:
                evicted.append(key)
                room += each.size
        if not self._written(lambda: self._persistence.add(stored, None, evicted)):
            return False
        for key in (stored.key, *evicted):
            self._forget(key)
        self._note(HeldObject(stored.metadata, None))
        return True

    def secret(self, key: ObjectKey) -> bytes:
        """The secret that deletes an object of this node. Raises NotOwner for one of somebody else,
        UnknownObject if there is none of that key."""
        if key.owner != self.owner:
            raise NotOwner(f"object {key}: expected one of {self.owner}")
        held = self._own.get(key)
        if held is None or held.secret is None:
            raise UnknownObject(f"object {key}: expected one that is stored here")
        return held.secret

    def bury(self, tombstone: Tombstone) -> bool:
        """Keep a tombstone, and delete the object whose commitment it opens. Whether there was one. Raises
        InvalidObject, and DatabaseUnavailable if an own object cannot be deleted in the file."""
        metadata = self.metadata(tombstone.key)
        drops = metadata is not None and content_hash(tombstone.opening) == metadata.commitment
        displaced = self.tombstones.displaced_by(tombstone)
        if drops and tombstone.key in self._own:
            self._persistence.bury(tombstone, displaced or (), drops)
        elif displaced is not None or drops:
            self._written(lambda: self._persistence.bury(tombstone, displaced or (), drops))
        self.tombstones.add(tombstone)
        if drops:
            self._own.pop(tombstone.key, None)
            self._forget(tombstone.key)
        return drops

    def release(self, key: ObjectKey) -> None:
        """Drop an own object, without a tombstone: somebody else keeps it from now on."""
        if self._own.pop(key, None) is not None:
            self._persistence.release(key)

    def close(self) -> None:
        """Close the files. The store cannot be used afterwards."""
        self._persistence.close()

    def _written(self, write: Callable[[], None]) -> bool:
        """Write something of others. Whether that was possible; a warning says when it begins not to be."""
        try:
            write()
        except DatabaseUnavailable as error:
            if self._writable:
                _log.warning("nothing of other nodes is written: %s", error)
            self._writable = False
            return False
        self._writable = True
        return True

    def _note(self, held: HeldObject) -> None:
        if held.secret is not None:
            self._own[held.metadata.key] = held
        else:
            self._replicas[held.metadata.key] = held.metadata
            self.replica_bytes += held.metadata.size

    def _forget(self, key: ObjectKey) -> None:
        known = self._replicas.pop(key, None)
        if known is not None:
            self.replica_bytes -= known.size
