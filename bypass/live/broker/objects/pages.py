"""Pages of the past out of the store of objects, for any formula over tags.

A conjunction is looked for among the objects that have its rarest tag, or among all if it has none, in the
order of pages; what its other tags say is asked for each of these in the index. Conjunctions are merged.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bypass.live.broker.objects.tag_numbers import Word, count_words
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.objects.query import PAGE_BYTES, ObjectQuery, PageCursor
from bypass.objects.window import FIRST_US, LAST_US

Query = Callable[..., sqlite3.Cursor]

FEWEST_SCANNED, MOST_SCANNED = 128, 2048
"""Objects that are looked at by one statement; twice as many each time."""

_FIRST = PageCursor(LAST_US, ObjectKey(1 << 32, ""))


class FoundPage(NamedTuple):
    """Encoded metadata in the order of pages; the next page begins after `next`, and has matches if there is
    `more`."""

    records: list[bytes]
    next: PageCursor | None
    more: bool


class _Candidate(NamedTuple):
    at: PageCursor
    arrival: int


class _Stream:
    """The objects of a conjunction, in the order of pages, from `at` down to those published at `lowest`."""

    def __init__(
        self,
        driver: int,
        present: Sequence[int],
        absent: Sequence[int],
        at: PageCursor,
        lowest: int,
        newest: int,
    ) -> None:
        self.found: deque[_Candidate] = deque()
        self.exhausted = False
        self._driver = driver
        self._at = at
        self._lowest = lowest
        self._newest = newest
        self._many = FEWEST_SCANNED
        same = "published = d.published AND owner = d.owner AND name = d.name"
        one = "EXISTS (SELECT 1 FROM tagged WHERE word = {:d} AND {})"
        tests = [one.format(word, same) for word in present]
        tests += [f"NOT {one.format(word, same)}" for word in absent]
        self._sql = (
            f"SELECT published, owner, name, arrival, {' AND '.join(tests) or '1'} FROM "  # noqa: S608
            "(SELECT published, owner, name, arrival FROM tagged WHERE word = ? "
            "AND (published, owner, name) < (?, ?, ?) AND published >= ? "
            "ORDER BY published DESC, owner DESC, name DESC LIMIT ?) d"
        )

    def advance(self, query: Query) -> None:
        """Look at some more objects."""
        at = self._at
        rows = query(self._sql, (self._driver, at.published_us, *at.key, self._lowest, self._many)).fetchall()
        self.exhausted = len(rows) < self._many
        self._many = min(2 * self._many, MOST_SCANNED)
        for published, owner, name, arrival, matches in rows:
            if matches and arrival <= self._newest:
                self.found.append(_Candidate(PageCursor(published, ObjectKey(owner, name)), arrival))
        if rows:
            published, owner, name = rows[-1][:3]
            self._at = PageCursor(published, ObjectKey(owner, name))


class PageScan:
    """A search for one page: the first `limit` matches of a query after a position, or fewer if these have
    more than PAGE_BYTES.

    Objects that arrived after the number `newest` are left out: a live query brings them. `advance` does a
    bounded part of the work, so that other reads have their turn in between. An object that is inserted or
    deleted meanwhile may be on the page or not; all others that match are.
    """

    def __init__(
        self,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        decode: Callable[[bytes], Metadata],
        newest: int | None = None,
    ) -> None:
        self._query = query
        self._newest = LAST_US if newest is None else newest
        self._after = after
        self._limit = limit
        self._decode = decode if query.near is not None or query.where is not None else None
        window = query.window
        starts = [at for at in (window.start_us, since_us) if at is not None]
        self._lowest = max(starts, default=FIRST_US)
        ends = [_FIRST] if after is None else [after]
        if window.end_us is not None:
            ends.append(PageCursor(window.end_us, ObjectKey(-1, "")))
        self._begin = min(ends)
        self._streams: list[_Stream] | None = None
        self._records: list[tuple[PageCursor, bytes]] = []

    def advance(self, query: Query) -> FoundPage | None:
        """Do a part of the work. The page when it is complete, else None."""
        if self._streams is None:
            self._streams = self._plan(query)
        wanted = self._limit + 1 - len(self._records)
        chosen: list[_Candidate] = []
        while len(chosen) < wanted:
            waiting = next((each for each in self._streams if not each.found and not each.exhausted), None)
            if waiting is not None:
                if chosen:
                    break
                waiting.advance(query)
                if not waiting.found and not waiting.exhausted:
                    return None
                continue
            heads = [each.found[0] for each in self._streams if each.found]
            if not heads:
                break
            first = max(heads)
            chosen.append(first)
            for each in self._streams:
                if each.found and each.found[0] == first:
                    each.found.popleft()
        self._read(query, chosen)
        ended = all(each.exhausted and not each.found for each in self._streams)
        if len(self._records) <= self._limit and not ended:
            return None
        page: list[bytes] = []
        after, size = self._after, 0
        for at, record in self._records[: self._limit]:
            size += len(record)
            if page and size > PAGE_BYTES:
                break
            page.append(record)
            after = at
        return FoundPage(page, after, len(self._records) > len(page))

    def _plan(self, query: Query) -> list[_Stream]:
        namespace = self._query.namespace
        conjunctions = self._query.formula.conjunctions()
        tags = {tag for each in conjunctions for tag in each.positive | each.negative}
        words = count_words(query, [(namespace, tag) for tag in (*tags, "")])
        streams = []
        for each in conjunctions:
            present: list[Word] = [(namespace, tag) for tag in each.positive or {""}]
            if not words.keys() >= {*present}:
                continue
            ordered = [number for number, _ in sorted((words[word] for word in present), key=_rarity)]
            absent = [words[namespace, tag][0] for tag in each.negative if (namespace, tag) in words]
            streams.append(_Stream(ordered[0], ordered[1:], absent, self._begin, self._lowest, self._newest))
        return streams

    def _read(self, query: Query, chosen: Sequence[_Candidate]) -> None:
        """Read the metadata of candidates. Left out are those that were deleted meanwhile, and those that the
        query's circle or filters exclude."""
        if not chosen:
            return
        marks = ",".join("?" * len(chosen))
        found = dict(
            query(
                f"SELECT arrival, metadata FROM objects WHERE arrival IN ({marks})",  # noqa: S608
                [each.arrival for each in chosen],
            ).fetchall()
        )
        for at, arrival in chosen:
            record = found.get(arrival)
            if record is None or (self._decode is not None and not self._query.matches(self._decode(record))):
                continue
            self._records.append((at, record))


def _rarity(word: tuple[int, int]) -> int:
    return word[1]
