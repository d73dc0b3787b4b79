"""The state of one cell at one of the nodes that keep it: metadata, conjunctions, keys of objects."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from bypass.mechanisms.storage.cells.state.entries import (
    bytes_entry,
    fold,
    metadata_entry,
    query_entry,
    tombstone_entry,
)
from bypass.mechanisms.storage.cells.state.replica_list import united
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Metadata, ObjectKey, Tombstone
from bypass.objects.query import ObjectQuery
from bypass.protocol.storage import QueryRecord

QueryKey = tuple[int, int]
"""A query's number, and that of one of its conjunctions."""

EntryKey = ObjectKey | QueryKey | Tombstone

MOST_TOMBSTONES, MOST_TOMBSTONES_PER_OWNER = 4096, 512
"""Tombstones that a cell keeps; the oldest go first."""

_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class StateBounds:
    """How much a cell keeps: in all, and of what one node can make grow."""

    objects: int
    per_owner: int
    queries: int
    per_subscriber: int
    replicas: int


class CellState:
    """The keys of one cell. `refused` counts what was not kept because of its bounds.

    What this node was the first of its cell to receive is remembered with the time (seconds): what another
    node received at about the same time may not have been matched with it.
    """

    def __init__(self, cell: int) -> None:
        self.cell = cell
        self.refused = 0
        self.catalogue = ObjectCatalogue()
        self.records: dict[QueryKey, QueryRecord] = {}
        self.held: dict[ObjectKey, Metadata] = {}  # objects whose bytes this cell keeps
        self._entries: dict[int, EntryKey] = {}
        self._tombstones: dict[int, dict[int, Tombstone]] = {}  # by owner and entry
        self._fold = fold(cell, ())
        self._by_tag: defaultdict[str, set[QueryKey]] = defaultdict(set)
        self._owners: Counter[int] = Counter()
        self._subscribers: Counter[int] = Counter()
        self._first: dict[ObjectKey | QueryKey, float] = {}
        self._ends_us = inf  # no window of a query ends earlier

    def __len__(self) -> int:
        """The number of its entries."""
        return len(self._entries)

    @property
    def fold(self) -> int:
        """One number that is equal for equal states."""
        return self._fold

    @property
    def entries(self) -> dict[int, EntryKey]:
        """The hashes of all entries, and what each stands for."""
        return self._entries

    # -- objects ------------------------------------------------------------------------------------------

    def add(self, metadata: Metadata, bounds: StateBounds) -> bool | None:
        """Keep metadata. Whether it is new; None if it is refused: beyond the bounds, or another object of
        the same key is here. The copies that it names are added to those that are known."""
        known = self.catalogue.get(metadata.key)
        if known is not None:
            if known.commitment != metadata.commitment:
                self.refused += 1
                return None
            self.catalogue.add(united(known, metadata, bounds.replicas))
            return False
        owner = metadata.key.owner
        if len(self.catalogue) >= bounds.objects or self._owners[owner] >= bounds.per_owner:
            self.refused += 1
            return None
        self.catalogue.add(metadata)
        self._owners[owner] += 1
        self._enter(metadata_entry(metadata), metadata.key)
        return True

    def update(self, metadata: Metadata) -> None:
        """Put other copies into the metadata of an object that is here."""
        self.catalogue.add(metadata)

    def remove(self, key: ObjectKey) -> None:
        """Forget an object, its metadata and that its bytes are kept."""
        metadata = self.catalogue.remove(key)
        if metadata is not None:
            self._leave(metadata_entry(metadata))
            self._uncount(self._owners, key.owner)
            self._first.pop(key, None)
        self.release(key)

    def entomb(self, tombstone: Tombstone) -> None:
        """Keep the mark that an object of this cell was deleted, for those who may still have it."""
        entry = tombstone_entry(tombstone)
        if entry in self._entries:
            return
        marks = self._tombstones.setdefault(tombstone.key.owner, {})
        marks[entry] = tombstone
        self._enter(entry, tombstone)
        if len(marks) > MOST_TOMBSTONES_PER_OWNER:
            self._drop_tombstone(tombstone.key.owner)
        elif sum(map(len, self._tombstones.values())) > MOST_TOMBSTONES:
            self._drop_tombstone(next(iter(self._tombstones)))

    @property
    def tombstones(self) -> list[Tombstone]:
        """The marks of deleted objects."""
        return [each for marks in self._tombstones.values() for each in marks.values()]

    def _drop_tombstone(self, owner: int) -> None:
        marks = self._tombstones[owner]
        entry = next(iter(marks))
        del marks[entry]
        self._leave(entry)
        if not marks:
            del self._tombstones[owner]

    def hold(self, metadata: Metadata) -> None:
        """Note that this cell keeps an object's bytes."""
        if metadata.key not in self.held:
            self.held[metadata.key] = metadata
            self._enter(bytes_entry(metadata), metadata.key)

    def release(self, key: ObjectKey) -> None:
        """Note that this cell does not keep an object's bytes."""
        metadata = self.held.pop(key, None)
        if metadata is not None:
            self._leave(bytes_entry(metadata))

    # -- queries ------------------------------------------------------------------------------------------

    def register(self, record: QueryRecord, bounds: StateBounds) -> bool | None:
        """Keep a conjunction, and where its subscriber is. Whether it is new; None if it is refused."""
        key = (record.query.id, record.conjunction or 0)
        known = self.records.get(key)
        if known is not None:
            if record.at_us > known.at_us:
                self._replace(key, known, record)
            return False
        conjunctions = record.query.formula.conjunctions()
        subscriber = record.query.subscriber
        if (
            len(conjunctions) != 1
            or not conjunctions[0].positive
            or len(self.records) >= bounds.queries
            or self._subscribers[subscriber] >= bounds.per_subscriber
        ):
            self.refused += 1
            return None
        self.records[key] = record
        self._ends_us = min(self._ends_us, _end_of(record))
        self._subscribers[subscriber] += 1
        self._by_tag[_key_tag(record.query)].add(key)
        self._enter(query_entry(*key, record.at_us), key)
        return True

    def withdraw(self, query: int) -> list[QueryRecord]:
        """Forget all conjunctions of a query, and give them."""
        gone = [key for key in self.records if key[0] == query]
        return [self._unregister(key) for key in gone]

    def move(self, query: int, cell: int | None, at_us: int) -> None:
        """Note where a query's subscriber is, unless something later is known."""
        for key, known in [(key, record) for key, record in self.records.items() if key[0] == query]:
            if at_us > known.at_us:
                self._replace(key, known, known._replace(cell=cell, at_us=at_us))

    def expire(self, before_us: int) -> list[QueryRecord]:
        """Forget the conjunctions whose windows end at `before_us` or earlier, and give them."""
        if before_us < self._ends_us:
            return []
        gone = [key for key, record in self.records.items() if record.query.window.ended(before_us)]
        expired = [self._unregister(key) for key in gone]
        self._ends_us = min(map(_end_of, self.records.values()), default=inf)
        return expired

    def has_queries_of(self, subscriber: int) -> bool:
        """Whether one of its queries is here."""
        return subscriber in self._subscribers

    def concerned(self, metadata: Metadata) -> list[QueryRecord]:
        """The conjunctions that an object matches, in a fixed order."""
        keys = {key for tag in metadata.tags for key in self._by_tag.get(tag, ())}
        found = [self.records[key] for key in sorted(keys)]
        return [record for record in found if record.query.matches(metadata)]

    # -- who came first -----------------------------------------------------------------------------------

    def note_first(self, key: ObjectKey | QueryKey, now: float) -> None:
        """This node has received an object or a conjunction before the others of its cell."""
        self._first.pop(key, None)  # the latest is the last
        self._first[key] = now

    def first_since(self, key: ObjectKey | QueryKey, since: float) -> bool:
        """Whether this node received it first, at `since` or later."""
        return self._first.get(key, _NEVER) >= since

    def recent_objects(self, since: float) -> Iterator[Metadata]:
        """The objects that this node was the first to receive, at `since` or later."""
        for key, at in reversed(self._first.items()):
            if at < since:
                return
            if isinstance(key, ObjectKey) and (metadata := self.catalogue.get(key)) is not None:
                yield metadata

    def _unregister(self, key: QueryKey) -> QueryRecord:
        record = self.records.pop(key)
        self._leave(query_entry(*key, record.at_us))
        tag = _key_tag(record.query)
        self._by_tag[tag].discard(key)
        if not self._by_tag[tag]:
            del self._by_tag[tag]
        self._uncount(self._subscribers, record.query.subscriber)
        self._first.pop(key, None)
        return record

    def _replace(self, key: QueryKey, known: QueryRecord, record: QueryRecord) -> None:
        self._leave(query_entry(*key, known.at_us))
        self._enter(query_entry(*key, record.at_us), key)
        self.records[key] = known._replace(cell=record.cell, at_us=record.at_us)

    def _enter(self, entry: int, key: EntryKey) -> None:
        self._entries[entry] = key
        self._fold ^= entry

    def _leave(self, entry: int) -> None:
        del self._entries[entry]
        self._fold ^= entry

    @staticmethod
    def _uncount(counter: Counter[int], node: int) -> None:
        counter[node] -= 1
        if not counter[node]:
            del counter[node]


def _end_of(record: QueryRecord) -> float:
    """The end of a query's window (µs)."""
    end_us = record.query.window.end_us
    return inf if end_us is None else end_us


def _key_tag(query: ObjectQuery) -> str:
    """The tag under which a conjunction is found."""
    return query.formula.conjunctions()[0].key_candidates[0]
