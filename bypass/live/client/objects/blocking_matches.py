"""The matches of a query for programs without asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

from bypass.live.client.errors import NotConnected
from bypass.live.client.objects.matches import ObjectMatch, ObjectMatches
from bypass.objects.metadata import Metadata

RunOnLoop = Callable[..., Any]
"""Does something on the connection's loop, and waits for it."""


class BlockingMatch:
    """An object that a query has found; see `ObjectMatch`."""

    def __init__(self, run: RunOnLoop, match: ObjectMatch) -> None:
        self._run = run
        self._match = match
        self.metadata: Metadata = match.metadata
        self.key = match.key
        self.tags = match.tags
        self.summary = match.summary
        self.published = match.published
        self.place = match.place
        self.attributes = match.attributes

    def __repr__(self) -> str:
        return repr(self._match)

    def retrieve(self) -> bytes:
        """As `ObjectMatch.retrieve`."""
        data: bytes = self._run(self._match.retrieve())
        return data


class BlockingMatches:
    """The matches of one query, to be used as `with` and iterated over; see `ObjectMatches`."""

    def __init__(self, run: RunOnLoop, matches: ObjectMatches) -> None:
        self._run = run
        self._matches = matches

    def __enter__(self) -> Self:
        """Place the query. Raises as `ObjectMatches.__aenter__` does."""
        self._run(self._matches.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._matches.__aexit__(kind, error, trace))

    @property
    def more_past(self) -> bool:
        """As `ObjectMatches.more_past`."""
        return self._matches.more_past

    def get(self, timeout: float | None = None) -> BlockingMatch:
        """The next match. Raises TimeoutError if none comes within `timeout` seconds, and NotConnected if
        none will come any more."""
        match = self._next(timeout)
        if match is None:
            raise NotConnected("the query is over, no more matches will come")
        return match

    def __iter__(self) -> Iterator[BlockingMatch]:
        while (match := self._next(None)) is not None:
            yield match

    def _next(self, timeout: float | None) -> BlockingMatch | None:
        match: ObjectMatch | None = self._run(_take(self._matches, timeout))
        return None if match is None else BlockingMatch(self._run, match)


async def _take(matches: ObjectMatches, timeout: float | None) -> ObjectMatch | None:
    async with asyncio.timeout(timeout):
        return await anext(matches, None)
