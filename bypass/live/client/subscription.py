"""A subscription as a live application holds it: events come to its callback, or wait to be iterated over."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import Any, Protocol, Self

from bypass.core.areas.arguments import GivenAreas
from bypass.errors import InvalidCallback
from bypass.events.event import Event
from bypass.ports.subscriptions import Callback, SubHandle

MOST_WAITING = 1000
"""Events that wait in one subscription before the connection is not read any more."""


class Owner(Protocol):
    """Is told by a subscription what happens to its events."""

    def arrived(self, event: int, handle: SubHandle) -> None:
        """The event with this number begins to wait."""

    def filled(self, subscription: LiveSubscription) -> None:
        """As many events wait as should."""

    def taken(self, subscription: LiveSubscription, events: list[int]) -> None:
        """The application has done with these events, or does not want them."""

    def unsubscribe(self, handle: SubHandle) -> object:
        """The subscription is not wanted any more. Raises UnknownHandle."""

    def change(self, handle: SubHandle, **areas: Any) -> Awaitable[None]:
        """The subscription is wanted elsewhere, or to another end. Raises UnknownHandle."""


class LiveSubscription:
    """A subscription to iterate over: `async for event in it` ends when it is withdrawn or the connection
    closed; it raises why, if that was not the application's wish.

    An event counts as received when the next one is asked for: what a consumer was busy with when its process
    died comes again. There is one consumer at a time. With a callback there is nothing to iterate over.
    """

    handle: SubHandle

    def __init__(self, owner: Owner, callback: Callback | None) -> None:
        self._owner = owner
        self._iterable = callback is None
        self.callback: Callback = self._arrived if callback is None else callback
        self._waiting: deque[tuple[Event, int]] = deque()
        self._current: list[int] = []  # what the consumer is busy with
        self._more: asyncio.Future[None] | None = None
        self._over = False
        self._why: Exception | None = None

    def __repr__(self) -> str:
        where = f"radius={self.handle.radius}" if self.handle.interest is None else f"{self.handle.interest}"
        return f"LiveSubscription({self.handle.subscription}, {where})"

    def __len__(self) -> int:
        """Give the number of events that wait."""
        return len(self._waiting)

    def __bool__(self) -> bool:
        return True

    @property
    def error(self) -> Exception | None:
        """Why it has ended, if that was not the application's wish; None while it has not."""
        return self._why

    @property
    def has_room(self) -> bool:
        """Whether, after it was filled, more events may come again."""
        return len(self._waiting) <= MOST_WAITING // 2

    def __aiter__(self) -> Self:
        if not self._iterable:
            raise InvalidCallback(f"{self!r} has a callback: expected none, to iterate over it")
        return self

    async def __anext__(self) -> Event:
        self.done()
        while not self._waiting:
            if self._why is not None:
                raise self._why
            if self._over:
                raise StopAsyncIteration
            self._more = asyncio.get_running_loop().create_future()
            await self._more
        event, number = self._waiting.popleft()
        self._current.append(number)
        return event

    async def take(self, most: int) -> list[Event]:
        """Take what waits, up to `most` events; waits for the first. They count as received when more are
        asked for. Raises StopAsyncIteration when there will be none, and why, as iterating does."""
        events = [await anext(self)]
        while self._waiting and len(events) < most:
            event, number = self._waiting.popleft()
            self._current.append(number)
            events.append(event)
        return events

    async def change(
        self, *, radius: int | None = None, area: GivenAreas | None = None, expires: float | None = None
    ) -> None:
        """Have other areas, or a circle of another radius, which move as those before do; and another end, if
        `expires` says so. Returns when the broker has that safe.

        What lies in both is not missed meanwhile, and no event comes twice. Raises UnknownHandle if it is
        withdrawn, InvalidArea, InvalidRadius, InvalidInterval, SubscriptionRefused, and NotConnected or
        ConnectionRefused if the connection has ended: but for the last two, it goes on as it was.
        """
        await self._owner.change(self.handle, radius=radius, area=area, expires=expires)

    def close(self) -> None:
        """Withdraw the subscription, without waiting until the broker knows. No effect if it is withdrawn."""
        if not self._over:
            self._owner.unsubscribe(self.handle)

    # -- for its owner ------------------------------------------------------------------------------------

    def done(self) -> None:
        """The consumer has done with what it took."""
        if self._current:
            done, self._current = self._current, []
            self._owner.taken(self, done)

    def end(self, why: Exception | None = None) -> list[int]:
        """No more events; gives those that were not received."""
        self._over = True
        self._why = why
        left = [*self._current, *(number for _, number in self._waiting)]
        self._current.clear()
        self._waiting.clear()
        self._wake()
        return left

    def _arrived(self, event: Event, handle: SubHandle) -> None:
        number = event.id
        assert number is not None  # as with all that was received
        self._owner.arrived(number, handle)
        self._waiting.append((event, number))
        if len(self._waiting) == MOST_WAITING:
            self._owner.filled(self)
        self._wake()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)
