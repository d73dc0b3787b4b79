"""The catalogue: metadata in memory with an index by tag, pages of the past, and queries by tag."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import merge

from bypass.objects.metadata import Metadata, ObjectKey
from bypass.objects.query import PAGE_BYTES, ObjectQuery, Page, PageCursor, position
from bypass.objects.query_index import QueryIndex
from bypass.objects.tags import Conjunction

_Word = tuple[str, str]  # a namespace, and a tag in it


class ObjectCatalogue:
    """Metadata by key and by tag, and the queries that wait for more. Used by every design of a store.

    Its callers decide before whether an object may be added: by tombstones, quotas and ownership.
    """

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, Metadata] = {}
        self._by_tag: defaultdict[_Word, list[PageCursor]] = defaultdict(list)  # ascending
        self._all: defaultdict[str, list[PageCursor]] = defaultdict(list)  # by namespace
        self._queries = QueryIndex()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Metadata]:
        return iter(self._objects.values())

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def get(self, key: ObjectKey) -> Metadata | None:
        """The metadata of an object; None if it is not here."""
        return self._objects.get(key)

    def add(self, metadata: Metadata) -> bool:
        """Add an object, or replace what is known of it. Whether its key was not here before."""
        known = self._objects.get(metadata.key)
        if known is not None:
            if _is_indexed_alike(known, metadata):
                self._objects[metadata.key] = metadata
                return False
            self.remove(metadata.key)
        self._objects[metadata.key] = metadata
        at = position(metadata)
        for positions in self._positions(metadata):
            insort(positions, at)
        return known is None

    def remove(self, key: ObjectKey) -> Metadata | None:
        """Remove an object. Its metadata, None if it was not here."""
        metadata = self._objects.pop(key, None)
        if metadata is None:
            return None
        at = position(metadata)
        for positions in self._positions(metadata):
            del positions[bisect_left(positions, at)]
        for tag in metadata.tags:
            if not self._by_tag[metadata.namespace, tag]:
                del self._by_tag[metadata.namespace, tag]
        if not self._all[metadata.namespace]:
            del self._all[metadata.namespace]
        return metadata

    def page(
        self, query: ObjectQuery, after: PageCursor | None, limit: int, since_us: int | None = None
    ) -> Page:
        """The matches of a query that come after a position, the latest first, at most `limit` (above 0), and
        fewer if they have more than PAGE_BYTES.

        `since_us` leaves out what was published before. The time that this takes depends on how many objects
        have the rarest positive tag of each conjunction; on all objects, if one has negations alone.
        """
        items: list[Metadata] = []
        size, more = 0, False
        for metadata in self._matches(query, after, since_us):
            size += metadata.told_bytes
            if len(items) == limit or (items and size > PAGE_BYTES):
                more = True
                break
            items.append(metadata)
        return Page(tuple(items), position(items[-1]) if items else after, more)

    def add_query(self, query: ObjectQuery) -> bool:
        """Keep a query, or replace the one of the same number. Whether it is new."""
        return self._queries.add(query)

    def remove_query(self, number: int) -> ObjectQuery | None:
        """Forget a query. It, None if it was not here."""
        return self._queries.remove(number)

    def query(self, number: int) -> ObjectQuery | None:
        """The query of that number; None if it is not here."""
        return self._queries.get(number)

    def queries(self) -> list[ObjectQuery]:
        """All queries that are kept."""
        return list(self._queries)

    def concerned(self, metadata: Metadata) -> list[ObjectQuery]:
        """The queries that an object matches."""
        return self._queries.concerned(metadata)

    def expire(self, before_us: int) -> list[ObjectQuery]:
        """Forget the queries whose windows end at `before_us` or earlier, and give them."""
        return self._queries.expire(before_us)

    def _positions(self, metadata: Metadata) -> Iterator[list[PageCursor]]:
        yield self._all[metadata.namespace]
        for tag in metadata.tags:
            yield self._by_tag[metadata.namespace, tag]

    def _matches(
        self, query: ObjectQuery, after: PageCursor | None, since_us: int | None
    ) -> Iterator[Metadata]:
        """The matches after a position, in the order of pages."""
        starts = [at for at in (query.window.start_us, since_us) if at is not None]
        first = _before(max(starts)) if starts else None
        ends = [after] if after is not None else []
        if query.window.end_us is not None:
            ends.append(_before(query.window.end_us))
        end = min(ends) if ends else None
        chosen = [self._candidates(query.namespace, each) for each in query.formula.conjunctions()]
        sources = {id(each): each for each in chosen}.values()
        last: PageCursor | None = None
        for at in merge(*[_descending(each, first, end) for each in sources], reverse=True):
            if at == last:
                continue
            last = at
            metadata = self._objects[at.key]
            if query.matches(metadata):
                yield metadata

    def _candidates(self, namespace: str, conjunction: Conjunction) -> Sequence[PageCursor]:
        """The positions among which all matches of a conjunction are."""
        if not conjunction.positive:
            return self._all.get(namespace, ())
        return min((self._by_tag.get((namespace, tag), ()) for tag in conjunction.positive), key=len)


def _is_indexed_alike(one: Metadata, other: Metadata) -> bool:
    """Whether two metadata of one key have the same places in the index."""
    same_time = one.published_us == other.published_us
    return same_time and one.namespace == other.namespace and one.tags == other.tags


def _before(at_us: int) -> PageCursor:
    """The position that is larger than all of earlier objects and smaller than all others."""
    return PageCursor(at_us, ObjectKey(-1, ""))


def _descending(
    positions: Sequence[PageCursor], first: PageCursor | None, end: PageCursor | None
) -> Iterator[PageCursor]:
    """The positions from `first` up to, and without, `end`, the largest first."""
    low = 0 if first is None else bisect_left(positions, first)
    high = len(positions) if end is None else bisect_left(positions, end)
    return (positions[i] for i in range(high - 1, low - 1, -1))
