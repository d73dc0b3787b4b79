"""The matches of a query at a live client: pages of the past, then what comes, each object once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from bypass.core.objects.own_queries import OwnQuery
from bypass.errors import BypassError, QuotaExceeded
from bypass.objects.metadata import Metadata, ObjectKey

if TYPE_CHECKING:
    from bypass.events.event import Event

LATE_S = 2.0
"""So long after the end of a window objects may still arrive that were published in it."""

MOST_WAITING = 4096
"""Matches that nobody has taken yet. A broker stops long before; nodes tell whatever comes."""


class ObjectMatch:
    """An object that a query has found: its metadata, and the way to its bytes."""

    __slots__ = ("_fetch", "metadata")

    def __init__(self, metadata: Metadata, fetch: Callable[[Metadata], Awaitable[bytes]]) -> None:
        self.metadata = metadata
        self._fetch = fetch

    @property
    def key(self) -> ObjectKey:
        """The object's key."""
        return self.metadata.key

    @property
    def tags(self) -> frozenset[str]:
        """The object's tags."""
        return self.metadata.tags

    @property
    def summary(self) -> bytes:
        """The small description that its owner gave it."""
        return self.metadata.summary

    @property
    def published(self) -> float:
        """When it was published, in seconds since 1970, by its owner's clock."""
        return self.metadata.published_us / 1e6

    @property
    def place(self) -> tuple[float, float] | None:
        """Where it belongs, in metres; None if nowhere."""
        return self.metadata.place

    @property
    def attributes(self) -> Event | None:
        """Its attributes, if it has any."""
        return self.metadata.attributes

    async def retrieve(self) -> bytes:
        """Fetch the bytes, which are checked. Raises UnknownObject if it was deleted, and OperationFailed."""
        return await self._fetch(self.metadata)

    def __repr__(self) -> str:
        return f"<ObjectMatch {self.key} {' '.join(sorted(self.tags))}>"


class ObjectMatches:
    """The matches of one query. `async for` takes pages of the past, the latest first, and what comes.

    Made by `Connection.query`; to be used as `async with`, which withdraws the query at the end. Iterating
    ends when the window is over, or the connection closed. A bounded number of matches waits here to be
    taken, the rest at the broker; without a broker, the query ends with QuotaExceeded if more come.
    """

    def __init__(
        self,
        begin: Callable[[ObjectMatches], Awaitable[OwnQuery]],
        more: Callable[[OwnQuery], Awaitable[None]],
        withdraw: Callable[[OwnQuery], None],
        fetch: Callable[[Metadata], Awaitable[bytes]],
        confirm: Callable[[int, int], None],
        now_us: Callable[[], int],
    ) -> None:
        self._begin = begin
        self._more = more
        self._withdraw = withdraw
        self._fetch = fetch
        self._confirm = confirm
        self._now_us = now_us
        self._own: OwnQuery | None = None
        self._waiting: deque[Metadata | int] = deque()  # a number: all up to that arrival was taken
        self._changed = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None
        self.opened = False
        """The first page has come, or the query was refused."""
        self._error: BaseException | None = None
        self._over = False

    async def __aenter__(self) -> Self:
        """Place the query. Raises what `Connection.query` names, and what the broker has against it."""
        self._own = await self._begin(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._asking is not None:
            self._asking.cancel()
        self._over = True
        if self._own is not None:
            self._withdraw(self._own)

    @property
    def more_past(self) -> bool:
        """Whether there may be older matches than those that were taken."""
        return self._own is not None and self._own.more_past

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ObjectMatch:
        while True:
            while self._waiting:
                first = self._waiting.popleft()
                if not isinstance(first, int):
                    return ObjectMatch(first, self._fetch)
                assert self._own is not None
                self._confirm(self._own.query.id, first)
            if self._error is not None:
                raise self._error
            own = self._own
            if self._over or own is None:
                raise StopAsyncIteration
            if own.more_past:
                if self._asking is None:
                    self._asking = asyncio.get_running_loop().create_task(self._ask_more(own))
                await self._wait(None)
                continue
            end = own.query.window.end_us
            left = None if end is None else (end - self._now_us()) / 1e6 + LATE_S
            if left is not None and (left <= 0 or (end is not None and end <= own.placed_us)):
                raise StopAsyncIteration
            await self._wait(left)

    # -- for who made it ----------------------------------------------------------------------------------

    def matched(self, metadata: Metadata, own: OwnQuery) -> None:
        """Queue an object that matches. A query of which too many wait ends, once those are taken."""
        if len(self._waiting) >= MOST_WAITING:
            why = f"query {own.query.id}: {MOST_WAITING} matches wait: expected that they are taken"
            self.end(QuotaExceeded(why))
            self._withdraw(own)
            return
        self._waiting.append(metadata)
        self._changed.set()

    def reached(self, arrival: int) -> None:
        """Queue the number of arrival that is confirmed once everything before it was taken."""
        self._waiting.append(arrival)
        self._changed.set()

    def begun(self, error: BypassError | None) -> None:
        """Note that the first page is complete, or by which error the query was refused."""
        self.opened, self._error = True, self._error or error
        self._changed.set()

    async def wait_until_opened(self) -> None:
        """Return when the first page is here. Raises what the broker has against the query, or why no answer
        will come."""
        while not self.opened and self._error is None:
            await self._wait(None)
        if self._error is not None:
            raise self._error

    def end(self, error: Exception | None) -> None:
        """End the matches; None: as the application wished."""
        self._over = True
        self._error = self._error or error
        self._changed.set()

    async def _ask_more(self, own: OwnQuery) -> None:
        try:
            await self._more(own)
        except Exception as error:
            self._error = error
        finally:
            self._asking = None
            self._changed.set()

    async def _wait(self, timeout: float | None) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            return
