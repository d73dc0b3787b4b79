"""The port through which a node's store keeps what must outlive it, and its form in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from bypass.objects.metadata import Metadata, ObjectKey, StoredObject, Tombstone


class HeldObject(NamedTuple):
    """An object in a store: `secret` opens its commitment, None for one of somebody else."""

    metadata: Metadata
    secret: bytes | None


class Persistence(Protocol):
    """Keeps objects and tombstones. Each call is done, as a whole, when it returns: a process that is killed
    then has lost nothing of it."""

    def load(self) -> tuple[Sequence[HeldObject], Sequence[Tombstone]]:
        """All objects and tombstones, in the order in which they came."""
        ...

    def data(self, key: ObjectKey) -> bytes | None:
        """The bytes of an object; None if it is not here."""
        ...

    def add(self, stored: StoredObject, secret: bytes | None, evicted: Sequence[ObjectKey]) -> None:
        """Keep an object, instead of one with the same key, and forget those that are evicted for it."""
        ...

    def bury(self, tombstone: Tombstone, forgotten: Sequence[Tombstone], drops: bool) -> None:
        """Keep a tombstone, forget those that had to go for it, and with `drops` the object that it names."""
        ...

    def release(self, key: ObjectKey) -> None:
        """Forget an object, without a tombstone."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class MemoryPersistence:
    """Keeps everything as long as this object lives: a simulated node has it through its OFF times."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, tuple[StoredObject, bytes | None]] = {}
        self._tombstones: dict[Tombstone, None] = {}

    def load(self) -> tuple[Sequence[HeldObject], Sequence[Tombstone]]:
        """All objects and tombstones, in the order in which they came."""
        held = [HeldObject(stored.metadata, secret) for stored, secret in self._objects.values()]
        return held, list(self._tombstones)

    def data(self, key: ObjectKey) -> bytes | None:
        """The bytes of an object; None if it is not here."""
        found = self._objects.get(key)
        return None if found is None else found[0].data

    def add(self, stored: StoredObject, secret: bytes | None, evicted: Sequence[ObjectKey]) -> None:
        """Keep an object, instead of one with the same key, and forget those that are evicted for it."""
        for key in (stored.key, *evicted):
            self._objects.pop(key, None)
        self._objects[stored.key] = (stored, secret)

    def bury(self, tombstone: Tombstone, forgotten: Sequence[Tombstone], drops: bool) -> None:
        """Keep a tombstone, forget those that had to go for it, and with `drops` the object that it names."""
        for each in forgotten:
            self._tombstones.pop(each, None)
        self._tombstones[tombstone] = None
        if drops:
            self._objects.pop(tombstone.key, None)

    def release(self, key: ObjectKey) -> None:
        """Forget an object, without a tombstone."""
        self._objects.pop(key, None)

    def close(self) -> None:
        """Do nothing: there are no files."""
