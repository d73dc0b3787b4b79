"""An index of queries by tag: it gives the queries that an object may match."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from heapq import heappop, heappush

from bypass.objects.metadata import Metadata
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import Conjunction

_Word = tuple[str, str]  # a namespace, and a tag in it


class QueryIndex:
    """Queries, each under one positive tag of each conjunction: that under which the fewest are.

    A conjunction that has negations alone is with those of its namespace: nearly every object matches it.
    """

    def __init__(self) -> None:
        self._queries: dict[int, ObjectQuery] = {}
        self._by_tag: defaultdict[_Word, set[int]] = defaultdict(set)
        self._negative: defaultdict[str, set[int]] = defaultdict(set)  # by namespace
        self._words: dict[int, set[_Word]] = {}  # where a query is, of those in _by_tag
        self._ends: list[tuple[int, int]] = []  # a heap; queries that are gone may still be in it

    def __len__(self) -> int:
        return len(self._queries)

    def __iter__(self) -> Iterator[ObjectQuery]:
        return iter(self._queries.values())

    def get(self, number: int) -> ObjectQuery | None:
        """The query of that number; None if it is not here."""
        return self._queries.get(number)

    def add(self, query: ObjectQuery) -> bool:
        """Keep a query, or replace the one of the same number. Whether it is new."""
        known = self._queries.get(query.id)
        if known == query:
            return False
        if known is not None:
            self.remove(query.id)
        self._queries[query.id] = query
        words = self._words[query.id] = set()
        for conjunction in query.formula.conjunctions():
            if conjunction.positive:
                words.add(self._word(query.namespace, conjunction))
            else:
                self._negative[query.namespace].add(query.id)
        for word in words:
            self._by_tag[word].add(query.id)
        if query.window.end_us is not None:
            heappush(self._ends, (query.window.end_us, query.id))
            self._tidy()
        return known is None

    def remove(self, number: int) -> ObjectQuery | None:
        """Forget a query. It, None if it was not here."""
        query = self._queries.pop(number, None)
        if query is None:
            return None
        for word in self._words.pop(number):
            self._by_tag[word].discard(number)
            if not self._by_tag[word]:
                del self._by_tag[word]
        if query.namespace in self._negative:
            self._negative[query.namespace].discard(number)
            if not self._negative[query.namespace]:
                del self._negative[query.namespace]
        return query

    def concerned(self, metadata: Metadata) -> list[ObjectQuery]:
        """The queries that an object matches, by their numbers."""
        numbers = set(self._negative.get(metadata.namespace, ()))
        for tag in metadata.tags:
            numbers |= self._by_tag.get((metadata.namespace, tag), set())
        found = [self._queries[number] for number in sorted(numbers)]
        return [query for query in found if query.matches(metadata)]

    def expire(self, before_us: int) -> list[ObjectQuery]:
        """Forget the queries whose windows end at `before_us` or earlier, and give them."""
        found: list[ObjectQuery] = []
        while self._ends and self._ends[0][0] <= before_us:
            end, number = heappop(self._ends)
            query = self._queries.get(number)
            if query is not None and query.window.end_us == end:
                self.remove(number)
                found.append(query)
        return found

    def _word(self, namespace: str, conjunction: Conjunction) -> _Word:
        words = [(namespace, tag) for tag in conjunction.key_candidates]
        return min(words, key=lambda word: len(self._by_tag.get(word, ())))

    def _tidy(self) -> None:
        """Leave out queries that are gone: asking and withdrawing again and again must not fill the heap."""
        if len(self._ends) > 2 * len(self._queries) + 64:
            present = {(each.window.end_us, each.id) for each in self if each.window.end_us is not None}
            self._ends = sorted((end, number) for end, number in present if end is not None)
