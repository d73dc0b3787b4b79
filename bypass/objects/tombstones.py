"""Tombstones: the marks of deleted objects, so that no copy that comes later brings one back."""

from __future__ import annotations

from collections.abc import Iterator

from bypass.objects.metadata import Metadata, ObjectKey, Tombstone, check_key, check_opening, content_hash

MOST_PER_OWNER = 4096
MOST_OWNERS = 1024


class Tombstones:
    """The tombstones that a node knows: at most MOST_PER_OWNER of an owner, the oldest go first; of at most
    MOST_OWNERS, the one of whom none came for the longest time goes first.

    A tombstone hides the metadata whose commitment it opens, and no other: nobody can delete what somebody
    else owns. `changes` counts how often they have become others.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._by_owner: dict[int, dict[tuple[ObjectKey, bytes], Tombstone]] = {}
        self._by_key: dict[ObjectKey, list[Tombstone]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_owner.values()))

    def __iter__(self) -> Iterator[Tombstone]:
        for marks in self._by_owner.values():
            yield from marks.values()

    def __contains__(self, tombstone: object) -> bool:
        return isinstance(tombstone, Tombstone) and _mark(tombstone) in self._by_owner.get(
            tombstone.key.owner, ()
        )

    def hides(self, metadata: Metadata) -> bool:
        """Whether the object was deleted by its owner."""
        return (metadata.key, metadata.commitment) in self._by_owner.get(metadata.key.owner, ())

    def names(self, key: ObjectKey) -> bool:
        """Whether there is a tombstone for this key, whatever it opens."""
        return key in self._by_key

    def of(self, key: ObjectKey) -> list[Tombstone]:
        """The tombstones for this key, whatever they open."""
        return list(self._by_key.get(key, ()))

    def has_room(self, tombstone: Tombstone) -> bool:
        """Whether none has to go for a tombstone."""
        marks = self._by_owner.get(tombstone.key.owner)
        return len(self._by_owner) < MOST_OWNERS if marks is None else len(marks) < MOST_PER_OWNER

    def displaced_by(self, tombstone: Tombstone) -> tuple[Tombstone, ...] | None:
        """Those that have to go for a tombstone; None if it is here. Raises InvalidObject."""
        check_key(tombstone.key)
        check_opening(tombstone.opening)
        marks = self._by_owner.get(tombstone.key.owner)
        if marks is None:
            full = len(self._by_owner) >= MOST_OWNERS
            return tuple(next(iter(self._by_owner.values())).values()) if full else ()
        if _mark(tombstone) in marks:
            return None
        return (next(iter(marks.values())),) if len(marks) >= MOST_PER_OWNER else ()

    def add(self, tombstone: Tombstone) -> bool:
        """Add a tombstone. Whether it is new. Raises InvalidObject."""
        displaced = self.displaced_by(tombstone)
        if displaced is None:
            return False
        self.changes += 1
        for each in displaced:
            marks = self._by_owner[each.key.owner]
            del marks[_mark(each)]
            if not marks:
                del self._by_owner[each.key.owner]
            of_key = self._by_key[each.key]
            of_key.remove(each)
            if not of_key:
                del self._by_key[each.key]
        marks = self._by_owner.pop(tombstone.key.owner, {})
        marks[_mark(tombstone)] = tombstone
        self._by_key.setdefault(tombstone.key, []).append(tombstone)
        self._by_owner[tombstone.key.owner] = marks  # the last one now
        return True


def _mark(tombstone: Tombstone) -> tuple[ObjectKey, bytes]:
    return tombstone.key, content_hash(tombstone.opening)
