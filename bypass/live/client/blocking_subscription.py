"""A subscription for programs without asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, Protocol, TypeVar

from bypass.core.areas.arguments import GivenAreas
from bypass.events.event import Event
from bypass.live.client.errors import NotConnected
from bypass.live.client.subscription import LiveSubscription
from bypass.ports.subscriptions import SubHandle

T = TypeVar("T")


class Runner(Protocol):
    """Runs what is asynchronous to its end."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Give its result. Raises what it raises."""


class BlockingSubscription:
    """A subscription to iterate over: `for event in it` ends when it is withdrawn or the connection closed.

    An event counts as received when the next one is asked for.
    """

    def __init__(self, connection: Runner, subscription: LiveSubscription) -> None:
        self._connection = connection
        self._subscription = subscription

    @property
    def handle(self) -> SubHandle:
        """The handle that callbacks get."""
        return self._subscription.handle

    @property
    def error(self) -> Exception | None:
        """As `LiveSubscription.error`."""
        return self._subscription.error

    def get(self, timeout: float | None = None) -> Event:
        """The next event. Raises TimeoutError if none comes within `timeout` seconds, and NotConnected if
        none will come any more."""
        try:
            return self._connection.run(_next(self._subscription, timeout))
        except StopAsyncIteration:
            raise NotConnected(f"{self._subscription}: it is over, no more events will come") from None

    def __iter__(self) -> Iterator[Event]:
        return self.events()

    def events(self, timeout: float | None = None) -> Iterator[Event]:
        """Events as they come, until none has come for `timeout` seconds."""
        while True:
            try:
                event = self._connection.run(_next(self._subscription, timeout))
            except (StopAsyncIteration, TimeoutError):
                return
            yield event

    def change(
        self, *, radius: int | None = None, area: GivenAreas | None = None, expires: float | None = None
    ) -> None:
        """As `LiveSubscription.change`."""
        self._connection.run(self._subscription.change(radius=radius, area=area, expires=expires))


async def _next(subscription: LiveSubscription, timeout: float | None) -> Event:
    async with asyncio.timeout(timeout):
        return await anext(aiter(subscription))
