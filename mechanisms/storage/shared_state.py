"""The state that all nodes share: what was deleted, and, in designs without servers, the queries of everybody
and which of them are over."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import blake2b
from operator import xor

from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Tombstone
from bypass.objects.query import ObjectQuery
from bypass.objects.tombstones import Tombstones
from bypass.protocol.storage import MOST_ITEMS, DigestKind, NodeState, QueryRecord, StateDigest
from bypass.transitions.recent import Recent

BUCKETS = 16
"""Parts of the state that are compared one by one."""

MOST_QUERIES_EACH = 1024
"""Queries of one subscriber that a node keeps; more are ignored."""


class WithdrawnQueries(Recent[int, None]):
    """The numbers of queries that were withdrawn lately: they must not come back."""

    LIMIT = 8192


class SharedState:
    """The deleted objects, the queries of a catalogue, and the withdrawn ones, as one node knows them."""

    def __init__(self, catalogue: ObjectCatalogue, tombstones: Tombstones) -> None:
        self.refused = 0  # queries beyond MOST_QUERIES_EACH
        self._catalogue = catalogue
        self._tombstones = tombstones
        self._withdrawn = WithdrawnQueries()
        self._counts: dict[int, int] = {}  # queries by subscriber
        self._asked_us: dict[int, int] = {}  # when each query was asked last, by its number
        self._sums = [0] * BUCKETS  # of queries and withdrawals: digests are compared often
        self._tombstone_sums = [0] * BUCKETS
        self._summed = -1  # the changes of the tombstones that these sums are of
        self._digest: StateDigest | None = None  # of these sums, once it was asked for

    def add(self, query: ObjectQuery, asked_us: int) -> bool:
        """Keep a query that its subscriber asks at a time. Whether that is new: it is not known, or was asked
        before that time only, and is neither withdrawn nor one too many."""
        if query.id in self._withdrawn:
            return False
        known_us = self._asked_us.get(query.id)
        if known_us is not None:
            if asked_us <= known_us:
                return False
            self._asked_us[query.id] = asked_us
            self._toggle(_query_hash(query.id, known_us))
            self._toggle(_query_hash(query.id, asked_us))
            return True
        if self._counts.get(query.subscriber, 0) >= MOST_QUERIES_EACH:
            self.refused += 1
            return False
        self._counts[query.subscriber] = self._counts.get(query.subscriber, 0) + 1
        self._asked_us[query.id] = asked_us
        self._toggle(_query_hash(query.id, asked_us))
        return self._catalogue.add_query(query)

    def asked_us(self, number: int) -> int | None:
        """When a query was asked last, as far as this node knows; None if it knows no such query."""
        return self._asked_us.get(number)

    def withdraw(self, number: int) -> bool:
        """Forget a query for good; whether that is new."""
        if number in self._withdrawn:
            return False
        if len(self._withdrawn) >= self._withdrawn.LIMIT:
            self._toggle(_withdrawn_hash(next(iter(self._withdrawn))))  # it goes now
        self._withdrawn[number] = None
        self._toggle(_withdrawn_hash(number))
        query = self._catalogue.remove_query(number)
        if query is not None:
            self._uncount(query)
        return True

    def is_withdrawn(self, number: int) -> bool:
        """Whether a query was withdrawn lately."""
        return number in self._withdrawn

    def expire(self, before_us: int) -> None:
        """Forget queries whose windows ended at `before_us` or earlier."""
        for query in self._catalogue.expire(before_us):
            self._uncount(query)

    def digest(self) -> StateDigest:
        """A hash of each part of the state."""
        if self._summed != self._tombstones.changes:
            self._summed = self._tombstones.changes
            self._tombstone_sums = [0] * BUCKETS
            for number in map(_tombstone_hash, self._tombstones):
                self._tombstone_sums[number % BUCKETS] ^= number
            self._digest = None
        if self._digest is None:
            entries = tuple(map(xor, self._sums, self._tombstone_sums))
            self._digest = StateDigest(0, entries, DigestKind.SHARED)
        return self._digest

    def differing(self, digest: StateDigest) -> list[int]:
        """The parts in which a neighbour's state differs; all of them if it compares otherwise."""
        mine = self.digest().entries
        if mine == digest.entries:
            return []  # as nearly always
        if len(digest.entries) != BUCKETS:
            return list(range(BUCKETS))
        return [n for n in range(BUCKETS) if mine[n] != digest.entries[n]]

    def parts(
        self, buckets: Iterable[int] = range(BUCKETS), without: Collection[int] = ()
    ) -> list[NodeState]:
        """The given parts of the state, without what has some hashes, as messages; at least one."""
        chosen = set(buckets)

        def is_wanted(number: int) -> bool:
            return number % BUCKETS in chosen and number not in without

        queries = [q for q in self._catalogue.queries() if is_wanted(self._query_hash(q))]
        withdrawn = [n for n in self._withdrawn if is_wanted(_withdrawn_hash(n))]
        tombstones = [t for t in self._tombstones if is_wanted(_tombstone_hash(t))]
        count = max(1, *(-(-len(each) // MOST_ITEMS) for each in (queries, withdrawn, tombstones)))
        return [
            NodeState(
                queries=tuple(
                    QueryRecord(query, at_us=self._asked_us[query.id])
                    for query in queries[first : first + MOST_ITEMS]
                ),
                tombstones=tuple(tombstones[first : first + MOST_ITEMS]),
                withdrawn=tuple(withdrawn[first : first + MOST_ITEMS]),
                part=first // MOST_ITEMS,
                parts=count,
            )
            for first in range(0, count * MOST_ITEMS, MOST_ITEMS)
        ]

    @staticmethod
    def hashes(state: NodeState) -> set[int]:
        """The hashes of all that a message has."""
        return {
            *(_query_hash(record.query.id, record.at_us) for record in state.queries),
            *map(_withdrawn_hash, state.withdrawn),
            *map(_tombstone_hash, state.tombstones),
        }

    def _toggle(self, number: int) -> None:
        """Add a hash to its sum, or take it away."""
        self._sums[number % BUCKETS] ^= number
        self._digest = None

    def _query_hash(self, query: ObjectQuery) -> int:
        return _query_hash(query.id, self._asked_us[query.id])

    def _uncount(self, query: ObjectQuery) -> None:
        asked_us = self._asked_us.pop(query.id, None)
        if asked_us is not None:
            self._toggle(_query_hash(query.id, asked_us))
        left = self._counts.get(query.subscriber, 0) - 1
        if left > 0:
            self._counts[query.subscriber] = left
        else:
            self._counts.pop(query.subscriber, None)


def _hash(kind: bytes, text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8, person=kind).digest())


def _query_hash(number: int, asked_us: int) -> int:
    return _hash(b"query", number.to_bytes(8) + b"%d" % asked_us)


def _withdrawn_hash(number: int) -> int:
    return _hash(b"withdrawn", number.to_bytes(8))


def _tombstone_hash(tombstone: Tombstone) -> int:
    return _hash(b"tombstone", str(tombstone.key).encode() + tombstone.opening)
