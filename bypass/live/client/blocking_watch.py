"""A watch for programs without asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from bypass.core.borders.client.arguments import WatchAreas
from bypass.live.client.blocking_subscription import Runner
from bypass.live.client.errors import NotConnected
from bypass.live.client.watches import LiveWatch
from bypass.places.borders import BorderEvent


class BlockingWatch:
    """A watch: `with` begins and ends it, `for border_event in it` ends when it is over."""

    def __init__(self, connection: Runner, watch: LiveWatch) -> None:
        self._connection = connection
        self._watch = watch

    def open(self) -> Self:
        """As `LiveWatch.open`."""
        self._connection.run(self._watch.open())
        return self

    def change(self, areas: WatchAreas) -> None:
        """As `LiveWatch.change`."""
        self._connection.run(self._watch.change(areas))

    def close(self) -> None:
        """As `LiveWatch.close`."""
        self._connection.run(self._watch.close())

    def get(self, timeout: float | None = None) -> BorderEvent:
        """The next border event. Raises TimeoutError if none comes within `timeout` seconds, and NotConnected
        if none will come any more."""
        try:
            return self._connection.run(_next(self._watch, timeout))
        except StopAsyncIteration:
            raise NotConnected("the watch is over, no more border events will come") from None

    def __iter__(self) -> Iterator[BorderEvent]:
        while True:
            try:
                event = self._connection.run(_next(self._watch, None))
            except StopAsyncIteration:
                return
            yield event

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _next(watch: LiveWatch, timeout: float | None) -> BorderEvent:
    async with asyncio.timeout(timeout):
        return await anext(watch)
