"""Watches of a live client: border events come to a callback, or wait to be iterated over."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from bypass.core.borders.border_events import border_event
from bypass.core.borders.client.arguments import WatchAreas
from bypass.core.borders.client.watching import BorderCallback, WatchHandle, is_own
from bypass.events.event import Event
from bypass.live.client.errors import NotConnected
from bypass.live.client.session.session import ClientSession
from bypass.live.client.subscription import LiveSubscription
from bypass.places.borders import BorderEvent
from bypass.ports.subscriptions import SubHandle

MOST_WAITING = 10_000
"""Border events of a watch of oneself that wait to be taken; the oldest go."""


class LiveWatch:
    """A watch: `async with` begins and ends it, `async for border_event in it` ends when it is over.

    A border event of others counts as received when the next one is asked for, as events do. Those of oneself
    end with the process; `dropped` counts those for which there was no room.
    """

    def __init__(
        self,
        session: Callable[[], ClientSession],
        areas: WatchAreas,
        callback: BorderCallback | None,
        options: dict[str, Any],
    ) -> None:
        self.dropped = 0
        self._session = session
        self._areas = areas
        self._callback = callback
        self._options = options
        self._handle: WatchHandle | None = None
        self._subscription: LiveSubscription | None = None
        self._waiting: deque[BorderEvent] = deque()
        self._more: asyncio.Event = asyncio.Event()
        self._over = False

    async def open(self) -> Self:
        """Begin to watch; returns when the broker has it safe, if it takes one. No effect if it has begun.

        Raises as `Client.watch` does, SubscriptionRefused, Unsupported, and ConnectionRefused or NotConnected
        if the connection has ended.
        """
        if self._handle is not None:
            return self
        session = self._session()
        client = session.usable()
        terms = client.watch_terms(self._areas, **self._options)
        if is_own(terms):
            self._handle = client.watch_with(terms, self._callback or self._arrived)
            self._handle.on_expired = self._end
            return self
        callback = None if self._callback is None else _carrying(self._callback)
        self._subscription, answer = session.watch(terms, callback)
        self._handle = WatchHandle(terms, self._callback or self._arrived, self._subscription.handle)
        try:
            await answer
        except asyncio.CancelledError:
            self._subscription.close()
            raise
        return self

    async def change(self, areas: WatchAreas) -> None:
        """Watch other areas, without a gap: those of the same name have another shape. Returns when the
        broker has that. Raises as `open` does, and UnknownHandle if the watch is over."""
        handle = self._begun()
        session = self._session()
        client = session.usable()
        if handle.handle is None:
            client.change_watch(handle, areas)
        else:
            terms = client.changed_terms(handle, areas)
            await session.change_watch(handle.handle, terms)
            handle.terms = terms

    async def close(self) -> None:
        """End the watch: nothing more is told. No effect if it is over, or the connection is."""
        if self._over or self._handle is None:
            return
        self._end()
        if self._handle.handle is None:
            self._session().usable().unwatch(self._handle)
        else:
            await self._session().unsubscribe(self._handle.handle)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except NotConnected:
            if error is None:
                raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> BorderEvent:
        self._begun()
        if self._subscription is not None:
            return border_event(await anext(self._subscription))
        while not self._waiting:
            if self._over:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        return self._waiting.popleft()

    def _end(self) -> None:
        self._over = True
        self._more.set()

    def _begun(self) -> WatchHandle:
        if self._handle is None:
            raise NotConnected("the watch was not opened")
        return self._handle

    def _arrived(self, event: BorderEvent) -> None:
        if len(self._waiting) == MOST_WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(event)
        self._more.set()


class WatchCalls(ABC):
    """Watches borders of areas."""

    @property
    @abstractmethod
    def _exchange(self) -> ClientSession:
        """The session. Raises NotConnected before it is opened."""

    def watch(
        self,
        areas: WatchAreas,
        *,
        on: Iterable[str] = ("enter", "exit"),
        dwell: float | None = None,
        debounce: float = 0.0,
        margin: float = 0.0,
        initial: bool = False,
        interval: float = 5.0,
        whom: Any = None,
        expires: float | None = None,
        callback: BorderCallback | None = None,
    ) -> LiveWatch:
        """A watch, to be begun by `async with` or `await watch.open()`: be told when this client, or others,
        pass the border of an area. Arguments are as in `Client.watch`; without a `callback`, iterate over
        what this gives."""
        options = {
            "on": on, "dwell": dwell, "debounce": debounce, "margin": margin, "initial": initial,
            "interval": interval, "whom": whom, "expires": expires,
        }  # fmt: skip
        return LiveWatch(lambda: self._exchange, areas, callback, options)


def _carrying(callback: BorderCallback) -> Callable[[Event, SubHandle], None]:
    def hand_over(event: Event, _: SubHandle) -> None:
        callback(border_event(event))

    return hand_over
