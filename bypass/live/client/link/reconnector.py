"""Keeping a client connected: a new link whenever one is lost, for as long as it takes."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import replace

from bypass.live.client.errors import ConnectionRefused, InvalidEndpoint, NotConnected
from bypass.live.client.link.link import Link, Loss
from bypass.live.client.session.session import ClientSession
from bypass.live.keys import ClientKeys
from bypass.protocol.messages import Message
from bypass.protocol.session import Bye, Kept, Ping, Refused, Welcome
from bypass.protocol.wire import encode

log = logging.getLogger(__name__)

ANSWER_WITHIN_S = 5.0
"""A broker that does not answer a greeting within this time is tried again on another connection."""

FIRST_RETRY_S, LATEST_RETRY_S = 0.05, 5.0
"""How long to wait before connecting again: twice as long each time, and less at random, so that not all
clients of a broker come back in the same moment."""

LONGEST_PATIENCE_S = 300.0
"""How long a broker that says so may be tried again before the first connection is given up."""

LONGEST_RETRY_S = 60.0
"""However long the broker says that it is to be left alone."""

FAREWELL_S = 5.0
"""How long leaving waits for what the broker has not answered yet."""


class Reconnector:
    """Connects an exchange with the broker at `endpoint`, from now on until `end`.

    `tell` is called with "connected" and "disconnected". `why` says why there is no connection, `failure` why
    there will be none any more. Belongs to the running loop.
    """

    def __init__(
        self, endpoint: str, keys: ClientKeys | None, exchange: ClientSession, tell: Callable[[str], None]
    ) -> None:
        self.connected = False
        self.why = "no broker has answered"
        self.failure: Exception | None = None
        self.on_later: Callable[[], None] = nothing
        """Called when the broker wants to be asked again later."""
        self._endpoint = endpoint
        self._keys = keys
        self._exchange = exchange
        self._tell_state = tell
        self._link: Link | None = None
        self._welcome: Welcome | None = None  # of this link, as far as it has arrived
        self._kept: list[Kept] = []
        self._malformed = 0  # on links that are lost
        self._not_before = 0.0  # seconds for which the broker wants to be left alone
        self._settled = asyncio.Event()  # connected, or never again
        self._leaving: asyncio.Future[bool] | None = None  # whether the broker has said goodbye, too
        self._task = asyncio.get_running_loop().create_task(self._keep_connected())

    async def open(self, patience: float) -> None:
        """Wait for the first connection, for so many seconds, or longer if a broker says so. Raises
        NotConnected if there is none in time, and `failure`."""
        now = asyncio.get_running_loop().time
        latest = now() + max(patience, LONGEST_PATIENCE_S)
        try:
            async with asyncio.timeout(patience) as limit:
                # A broker that compiles its kernels answers, and is not what patience is lost with.
                self.on_later = lambda: limit.reschedule(min(now() + patience, latest))
                await self.until_connected()
        except BaseException as error:
            self.on_later = nothing
            await self.end()
            if isinstance(error, TimeoutError):
                raise NotConnected(f"{self._endpoint}: {self.why}; gave up after {patience:g} s") from None
            raise
        self.on_later = nothing

    async def until_connected(self) -> None:
        """Wait for a connection. Raises `failure` if there will be none."""
        await self._settled.wait()
        if self.failure is not None:
            raise self.failure

    async def leave(self, forget: bool, done: bool) -> None:
        """Take leave, and end; `done`: the application is done with all that it has taken. Raises
        NotConnected if the broker could not be told to `forget`."""
        told = False
        try:
            if self.connected:
                self._exchange.flush_receipts(done)
                told = await self._say_goodbye(forget)
        finally:
            await self.end()
        if forget and not told:
            raise NotConnected(f"{self._endpoint}: the broker was not reached and has not forgotten anything")

    async def _say_goodbye(self, forget: bool) -> bool:
        """Wait for what the broker has not answered, and take leave: gives whether the broker knows."""
        self._leaving = asyncio.get_running_loop().create_future()
        if self._link is not None:
            self._link.resume()
        try:
            async with asyncio.timeout(FAREWELL_S):
                await self._exchange.all_answered()
                if self._link is not None:
                    self._link.send(encode(Bye(forget)))
                    return await self._leaving
        except TimeoutError:
            log.warning("%s: the broker has not answered everything; left without", self._endpoint)
        return False

    async def end(self) -> None:
        """Have no connection any more."""
        self._task.cancel()
        await asyncio.wait([self._task])
        if self.failure is None:
            self._fail(NotConnected(f"{self._endpoint}: the connection is closed"), ours=True)

    def _fail(self, failure: Exception, ours: bool = False) -> None:
        """There will be no connection any more; `ours`: as the application wished."""
        self.failure = failure
        self._exchange.end(failure, ours)
        if self._link is not None:
            self._link.lose("given up")
        self._settled.set()

    # -- one link after the other -------------------------------------------------------------------------

    async def _keep_connected(self) -> None:
        delay = FIRST_RETRY_S
        while self.failure is None:
            try:
                loss, welcomed = await self._connect_once()
            except InvalidEndpoint as error:
                self._fail(error)
                return
            self.why = loss.reason
            if loss.unwanted and self._exchange.client is None:
                self._fail(ConnectionRefused(f"{self._endpoint}: {loss.reason}"))
                return
            delay = FIRST_RETRY_S if welcomed else min(2.0 * delay, LATEST_RETRY_S)
            pause = self._not_before + delay * random.uniform(0.5, 1.0)
            self._not_before = 0.0
            log.info("%s: %s; tried again in %.2f s", self._endpoint, loss.reason, pause)
            await asyncio.sleep(pause)

    async def _connect_once(self) -> tuple[Loss, bool]:
        """One connection from beginning to end: why it was lost, and whether the broker had answered."""
        loop = asyncio.get_running_loop()
        end: asyncio.Future[tuple[Loss, bool]] = loop.create_future()

        def lost(loss: Loss) -> None:
            if not end.done():  # else the connection is being ended
                end.set_result((loss, self.connected))
            self._disconnected()

        self._welcome = None
        exchange = self._exchange
        link = self._link = Link(
            self._endpoint,
            self._keys,
            self._may_read,
            exchange.read,
            self._receive,
            exchange.unreadable,
            lost,
        )
        link.send(encode(self._exchange.hello()))
        late = loop.call_later(ANSWER_WITHIN_S, self._give_up_waiting, link)
        try:
            return await end
        finally:
            late.cancel()
            link.close()
            self._disconnected()

    def _give_up_waiting(self, link: Link) -> None:
        if not self.connected:
            link.lose(f"the broker has not answered within {ANSWER_WITHIN_S:g} s")

    @property
    def malformed(self) -> int:
        """Messages of the broker that were none, or did not end."""
        return self._malformed + (0 if self._link is None else self._link.malformed)

    def _disconnected(self) -> None:
        self._malformed, self._link = self.malformed, None
        if self.connected:
            self.connected = False
            if self.failure is None:
                self._settled.clear()
            self._exchange.disconnected()
            self._tell("disconnected")
        if self._leaving is not None and not self._leaving.done():
            self._leaving.set_result(False)

    def _may_read(self) -> bool:
        return not self.connected or self._leaving is not None or self._exchange.may_read()

    def _receive(self, message: Message, size: int) -> None:
        link = self._link
        assert link is not None
        if isinstance(message, Refused) and message.id is None and message.handle is None:
            self._refused(link, message)
        elif isinstance(message, Bye):
            if self._leaving is not None and not self._leaving.done():
                self._leaving.set_result(True)
            link.lose("the broker has said goodbye")
        elif isinstance(message, Welcome):
            self._welcome, self._kept = message, []
            self._welcomed_in_full(link)
        elif isinstance(message, Kept):
            self._kept.append(message)
            self._welcomed_in_full(link)
        elif isinstance(message, Ping):
            if message.asks:
                link.send(encode(Ping()))
        elif self.connected:
            self._exchange.receive(message, size)

    def _welcomed_in_full(self, link: Link) -> None:
        """Be welcomed, once all that the welcome has announced is here."""
        welcome = self._welcome
        if not self.connected and welcome is not None and len(self._kept) == welcome.kept_parts:
            kept = tuple(each for part in self._kept for each in part.kept)
            self._welcomed(link, replace(welcome, kept=welcome.kept + kept))

    def _refused(self, link: Link, refusal: Refused) -> None:
        if refusal.retry:
            self._not_before = min(refusal.retry, LONGEST_RETRY_S)
            link.lose(refusal.reason)
            self.on_later()
        else:
            self._fail(ConnectionRefused(f"{self._endpoint}: {refusal.reason}"))

    def _welcomed(self, link: Link, welcome: Welcome) -> None:
        try:
            self._exchange.welcomed(welcome, link.send, link.resume)
        except ConnectionRefused as error:
            self._fail(ConnectionRefused(f"{self._endpoint}: {error}"))
            return
        self.connected = True
        link.keep_alive(welcome.heartbeat)
        self._settled.set()
        self._tell("connected")

    def _tell(self, state: str) -> None:
        try:
            self._tell_state(state)
        except Exception:
            log.exception("what was to be called when %s failed", state)


def nothing() -> None:
    """Nobody wants to know."""
