"""A connection to NATS servers, with a thread of its own. Whatever it is asked for is tried until it is
answered, or for so long that no election of a leader takes it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from ssl import SSLCertVerificationError
from typing import Any, TypeVar

import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import APIError, NoStreamResponseError, ServerError, ServiceUnavailableError

from bypass.ingest.log.jetstream.access import GuardedClient, NatsAccess, UnsafeServer
from bypass.ingest.log.message_log import LogFailed, LogFull

PATIENCE_S = 30.0
"""How long an answer is tried for; servers elect a leader in 4 to 9 s. It is less than the time for which
servers recognise a message that comes again."""

ANSWER_S = 2.0
RETRY_S = 0.2
NO_ROOM = frozenset((10002, 10023, 10047))
STORE_FAILED = 10077
_PASSING = (
    nats.errors.Error,
    NoStreamResponseError,
    ServiceUnavailableError,
    ServerError,
    OSError,
    TimeoutError,
)
_FOR_GOOD = (
    nats.errors.MaxPayloadError,
    nats.errors.AuthorizationError,
    nats.errors.BadSubjectError,
    SSLCertVerificationError,
    UnsafeServer,
)
_REFUSED = "authorization violation"
"""Said by a server to a client whose proof it does not accept; nats-py has no error of its own for it."""

T = TypeVar("T")
NatsCall = Callable[[Client, JetStreamContext], Awaitable[T]]
log = logging.getLogger(__name__)


class NatsConnection:
    """A connection that is made when it is needed first, and again when it has ended. Any thread may call."""

    def __init__(
        self, servers: Sequence[str], access: NatsAccess | None = None, patience_s: float = PATIENCE_S
    ) -> None:
        self._access = access or NatsAccess()
        self.servers = ",".join(servers)
        self._urls = [f"nats://{server}" for server in servers]
        self._patience_s = patience_s
        self._client: Client | None = None
        self._failure: Exception | None = None  # of the latest attempt to connect
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the connection's thread do some work, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._running()).result()

    def call(self, what: str, action: NatsCall[T], patience_s: float | None = None) -> T:
        """Do something until it is answered. Raises LogFull and LogFailed."""
        return self.run(self.persist(what, action, patience_s))

    async def persist(self, what: str, action: NatsCall[T], patience_s: float | None = None) -> T:
        """Do something until it is answered, in the connection's thread. Raises as `call` does."""
        patience_s = self._patience_s if patience_s is None else patience_s
        end = asyncio.get_running_loop().time() + patience_s
        while True:
            try:
                client = await self._connected()
                return await action(client, client.jetstream(timeout=ANSWER_S))
            except _PASSING as error:
                why = str(error) or type(error).__name__
                if isinstance(error, APIError):
                    why = error.description or why
                    if error.err_code in NO_ROOM or (error.err_code == STORE_FAILED and "maximum" in why):
                        raise LogFull(f"{self.servers}: {what}: {why}: expected room") from error
                    if not isinstance(error, (ServiceUnavailableError, ServerError)):
                        raise LogFailed(f"{self.servers}: {what}: {why}: expected it to be done") from error
                if _is_for_good(error):
                    raise LogFailed(f"{self.servers}: {what}: {why}: expected it to be done") from error
                if asyncio.get_running_loop().time() >= end:
                    raise LogFailed(
                        f"{self.servers}: {what}: {why}: expected an answer in {patience_s:g} s"
                    ) from error
            await asyncio.sleep(RETRY_S)

    @property
    def max_payload(self) -> int:
        """The largest message that the servers take. Raises LogFailed."""

        async def ask(client: Client, _: JetStreamContext) -> int:
            return client.max_payload

        return self.call("connect", ask)

    def close(self) -> None:
        """End the connection and its thread."""
        with self._starting:
            loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._disconnect(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop, self._making = asyncio.new_event_loop(), asyncio.Lock()
                self._thread = threading.Thread(target=self._loop.run_forever, name="nats", daemon=True)
                self._thread.start()
            return self._loop

    async def _connected(self) -> Client:
        async with self._making:
            if self._client is None or self._client.is_closed:
                client, self._failure = GuardedClient(self._access), None
                try:
                    async with asyncio.timeout(ANSWER_S):
                        await client.connect(
                            self._urls,
                            error_cb=self._on_error,
                            disconnected_cb=self._on_disconnect,
                            reconnected_cb=self._on_reconnect,
                            connect_timeout=1,
                            reconnect_time_wait=RETRY_S,  # type: ignore[arg-type] # any number will do
                            max_reconnect_attempts=-1,
                            ping_interval=5,
                            max_outstanding_pings=2,
                            **self._access.connect_options(),
                        )
                except BaseException as error:
                    with suppress(Exception):
                        await client.close()
                    if isinstance(error, TimeoutError) and self._failure is not None:
                        raise self._failure from None  # the client tries again instead of saying so
                    raise
                self._client = client
            return self._client

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(nats.errors.Error, OSError):
                await client.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _on_error(self, error: Exception) -> None:
        self._failure = error
        log.debug("%s: %s", self.servers, error)

    async def _on_disconnect(self) -> None:
        if self._loop is not None and self._client is not None:
            log.warning("%s: the connection ended; it is made again", self.servers)

    async def _on_reconnect(self) -> None:
        log.info("%s: there is a connection again", self.servers)


def _is_for_good(error: Exception) -> bool:
    """Whether trying again would change nothing."""
    return isinstance(error, _FOR_GOOD) or _REFUSED in str(error).lower()
