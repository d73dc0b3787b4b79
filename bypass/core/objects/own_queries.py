"""A client's own queries: what each has been told, how far its pages of the past have come.

Objects reach a query in pages, from several nodes, and one by one as they come; each object is told once,
whichever way it comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from bypass.objects.metadata import Metadata, ObjectKey
from bypass.objects.query import ObjectQuery, PageCursor, position
from bypass.protocol.storage import FoundObjects
from bypass.support.units import MICROSECONDS

SEEN_OBJECTS = 10_000
"""So many objects at least, and twice as many at most, are remembered as told, for each query. One that was
told before the last so many, and is announced again, is told again."""

MOST_IN_PAGE = 4096
"""Objects that are kept while answers to one page come in; more are left to later pages."""

LATE_PAGES = 16
"""Pages of a query that have ended and whose late answers are still understood."""

MARGIN_US = 30 * MICROSECONDS
"""After a switch, queries ask for what was published so long before it or later: others may have switched
earlier, and what they published then found nobody."""

MatchCallback: TypeAlias = Callable[[Metadata, "OwnQuery"], None]


class _OpenPage:
    """A page of which answers come in. Without a `limit` all that comes is told at once."""

    __slots__ = ("found", "limit", "more")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.found: dict[ObjectKey, Metadata] = {}
        self.more: PageCursor | None = None  # the first position behind which somebody has more


class OwnQuery:
    """A query of the application, as it stands. `told` counts the objects that it was told.

    `more_past` says whether there may be older matches than the pages so far have had. Calls of `callback`
    are not made any more once it is withdrawn.
    """

    __slots__ = ("_before", "_late", "_pages", "_seen", "callback", "cursor", "duplicates", "more_past",
                 "placed_us", "query", "told", "withdrawn")  # fmt: skip

    def __init__(self, query: ObjectQuery, callback: MatchCallback, placed_us: int) -> None:
        self.query = query
        self.callback = callback
        self.placed_us = placed_us
        self.cursor: PageCursor | None = None
        self.more_past = query.window.reaches_past(placed_us)
        self.withdrawn = False
        self.told = 0
        self.duplicates = 0  # announcements of what had been told
        self._seen: dict[ObjectKey, None] = {}
        self._before: dict[ObjectKey, None] = {}
        self._pages: dict[int, _OpenPage] = {}  # by the number of the operation
        self._late: dict[int, None] = {}  # operations of pages that have ended

    @property
    def told_since_us(self) -> int:
        """The time of publication down to which pages have told the past; 0: all of it."""
        if not self.more_past:
            return 0
        return self.placed_us if self.cursor is None else self.cursor.published_us

    @property
    def is_crowded(self) -> bool:
        """Whether pages are full of objects that were published since the query was placed: others of that
        time, which no page should have to be asked for, may have found no room."""
        return self.more_past and self.cursor is not None and self.cursor.published_us >= self.placed_us

    def open_page(self, op: int, limit: int | None) -> None:
        """Expect a page of so many objects by an operation; None: all that it brings is told at once."""
        self._pages.setdefault(op, _OpenPage(limit))

    def matched(self, found: FoundObjects) -> None:
        """Take what a node has found: tell it, or keep it until its page is complete."""
        page = self._pages.get(found.op)
        if page is None and found.op in self._late:
            self._take_late(found)
            return
        if page is None or page.limit is None:
            for metadata in found.items:
                self._tell(metadata)
        else:
            for metadata in found.items:
                if len(page.found) < MOST_IN_PAGE:
                    page.found.setdefault(metadata.key, metadata)
        if page is not None and found.more and (found.next or found.items):
            last = found.next or position(found.items[-1])
            page.more = last if page.more is None else max(page.more, last)

    def close_page(self, op: int, complete: bool) -> PageCursor | None:
        """End a page: tell its first objects, in the order of pages.

        Gives where to go on, None if nobody has more. An incomplete page moves the cursor no further: what
        silent nodes have would be left out.
        """
        page = self._pages.pop(op, None)
        if page is None:
            return None
        self._late[op] = None
        if len(self._late) > LATE_PAGES:
            del self._late[next(iter(self._late))]
        if page.limit is None:
            return page.more
        items = sorted(page.found.values(), key=position, reverse=True)
        more = page.more is not None or len(items) > page.limit or not complete
        if page.more is not None:  # who gave less than it has may have others between those that are older
            items = [each for each in items if position(each) >= page.more]
        for metadata in items[: page.limit]:
            self._tell(metadata)
        if complete and items and page.limit:
            self.cursor = position(items[: page.limit][-1])
        if page.limit:
            self.more_past = more
        return self.cursor if more else None

    def _take_late(self, found: FoundObjects) -> None:
        """Tell what belongs to pages that were told already; the rest comes with the pages after them, if
        the application was told that there are some."""
        for metadata in found.items:
            if self.cursor is None or not self.more_past or position(metadata) >= self.cursor:
                self._tell(metadata)
        self.more_past = self.more_past or found.more

    def _tell(self, metadata: Metadata) -> None:
        key = metadata.key
        if self.withdrawn or not self.query.matches(metadata):
            return
        if key in self._seen or key in self._before:
            self.duplicates += 1
            return
        self._seen[key] = None
        if len(self._seen) >= SEEN_OBJECTS:
            self._seen, self._before = {}, self._seen
        self.told += 1
        self.callback(metadata, self)


class QueryTable:
    """All queries of one client that are not withdrawn, by number. `now_us` is the clock.

    Those of an earlier client of the same node are taken over; numbers go on after `placed` earlier ones.
    """

    def __init__(self, now_us: Callable[[], int], earlier: Iterable[OwnQuery] = (), placed: int = 0) -> None:
        self.placed = placed
        self._now_us = now_us
        self._queries = {own.query.id: own for own in earlier}

    def add(self, own: OwnQuery) -> None:
        """Know a query from now on."""
        self._queries[own.query.id] = own

    def get(self, number: int) -> OwnQuery | None:
        """The query with a number, if there is one."""
        return self._queries.get(number)

    def remove(self, number: int) -> OwnQuery | None:
        """Forget a query; gives it, if it was known."""
        own = self._queries.pop(number, None)
        if own is not None:
            own.withdrawn = True
        return own

    def live(self) -> Iterator[ObjectQuery]:
        """Give the queries that are neither withdrawn nor over."""
        now_us = self._now_us()
        return (own.query for own in list(self._queries.values()) if not own.query.window.ended(now_us))

    def told_since_us(self, number: int) -> int:
        """The time of publication from which on a query is told of objects that no page is asked for, less a
        margin: what is asked for again begins there."""
        own = self._queries.get(number)
        return 0 if own is None else max(own.told_since_us - MARGIN_US, 0)

    def __iter__(self) -> Iterator[OwnQuery]:
        return iter(list(self._queries.values()))

    def __len__(self) -> int:
        return len(self._queries)
