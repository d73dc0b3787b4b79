"""The objects of a live client: operations of the core as coroutines, over whatever connection there is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from bypass.core.client import Client
from bypass.errors import BypassError, NotOwner, OperationFailed, QuotaExceeded, UnknownObject
from bypass.live.client.errors import Unsupported
from bypass.live.client.objects.object_uplink import INLINE_BYTES, ObjectUplink
from bypass.mechanisms.families import STORAGE_PROXY
from bypass.objects.metadata import HASH_BYTES, Metadata, ObjectKey, check_given
from bypass.protocol.messages import Message
from bypass.protocol.session import OBJECTS
from bypass.protocol.storage import Delete, OperationStatus, Retrieve, StorageMessage

if TYPE_CHECKING:
    from bypass.core.objects.access import ObjectAccess
    from bypass.core.objects.operations import OperationResult
    from bypass.core.objects.own_queries import OwnQuery
    from bypass.live.client.objects.matches import ObjectMatches

STORAGE = "broker"
"""The mechanism behind the proxy `storage` of a client whose broker stores objects."""

MOST_INSERTING, MOST_UPLOADING = 256, 2
"""Insertions of one client, and those of them that go in parts, that are not acknowledged at a time."""

MOST_RETRIEVING, MOST_PAGES = 8, 8
"""Objects, and pages of the past, that one client asks for at a time. All else waits its turn."""

_ERRORS: dict[OperationStatus, type[BypassError]] = {
    OperationStatus.NOT_FOUND: UnknownObject,
    OperationStatus.NOT_OWNER: NotOwner,
    OperationStatus.QUOTA: QuotaExceeded,
    OperationStatus.TOO_LARGE: QuotaExceeded,
}


class LiveObjects:
    """The objects of one session. `usable` gives its client, or raises why there is none; `send` is its way
    to the broker, `capabilities` gives those of the broker that answered last. `secret` is what only those
    with the client's key know: deletions are proved by it, in later lives of the process, too.
    """

    def __init__(
        self,
        usable: Callable[[], Client],
        send: Callable[[Message], None],
        capabilities: Callable[[], frozenset[str]],
        secret: bytes,
    ) -> None:
        self._usable = usable
        self._capabilities = capabilities
        self._secret = secret
        self._uplink = ObjectUplink(send, self._hand_over, self._reached)
        self._matches: dict[int, ObjectMatches] = {}
        self._answers: set[asyncio.Future[OperationResult]] = set()
        self._inserting = asyncio.Semaphore(MOST_INSERTING)
        self._uploading = asyncio.Semaphore(MOST_UPLOADING)
        self._retrieving = asyncio.Semaphore(MOST_RETRIEVING)
        self._paging = asyncio.Semaphore(MOST_PAGES)
        self._switching = asyncio.Lock()

    # -- for the session ----------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Operations that the broker has not answered yet."""
        return len(self._answers)

    def send(self, message: StorageMessage) -> None:
        """Send a message of the client's. Raises MalformedMessage."""
        self._uplink.send(message)

    def received(self, message: StorageMessage) -> None:
        """Take a message of the broker's."""
        self._uplink.received(message)

    def connected(self, client: Client, renewed: bool) -> None:
        """Go on over another connection; `renewed`: to a broker that has forgotten the client."""
        if renewed:
            self._uplink.forget()
            why = OperationFailed("the broker has forgotten this client: expected to be asked again")
            self.end(why, ours=False)
        self._uplink.connected()
        if self._matches or self.waiting:
            client.objects.operations.try_again()

    def end(self, why: Exception, ours: bool) -> None:
        """End all queries and operations that wait, with an error. `ours`: as the application wished; then
        iterations over matches end without one."""
        matches, self._matches = self._matches, {}
        for each in matches.values():
            each.end(None if ours and each.opened else why)
        for answer in self._answers:
            if not answer.done():
                answer.set_exception(why)

    # -- for the application ------------------------------------------------------------------------------

    async def insert(self, data: bytes, tags: Iterable[str], **more: Any) -> Metadata:
        """Store an object; see `Connection.insert`."""
        check_given(data, tags)
        async with self._uploading if len(data) > INLINE_BYTES else self._inserting:
            access = await self._access()
            name = more.pop("name", "") or access.new_name()
            key = ObjectKey(access.node, name)
            secret = self._opening(key)
            inserted: list[Metadata] = []

            def begin(ended: Callable[[OperationResult], None]) -> None:
                def stored(result: OperationResult) -> None:
                    if result.ok and self._usable().engine.active(STORAGE_PROXY).name == STORAGE:
                        access.store.release(key)  # the broker keeps it
                    ended(result)

                inserted.append(access.insert(data, tags, name=name, secret=secret, ended=stored, **more))

            await self._done(begin)
            return inserted[0]

    async def delete(self, key: ObjectKey) -> None:
        """Delete an object; see `Connection.delete`."""
        access = await self._access()
        if access.store.metadata(key) is not None:
            await self._done(lambda ended: access.delete(key, ended))
        else:  # of an earlier life, or another session of the same key
            message = partial(Delete, key=key, opening=self._opening(key))
            await self._done(lambda ended: access.operations.begin(lambda op: self.send(message(op)), ended))

    async def retrieve(self, wanted: Metadata | ObjectKey) -> bytes:
        """Fetch the bytes of an object; those of one of which only the key is known are not checked."""
        async with self._retrieving:
            access = await self._access()

            def begin(ended: Callable[[OperationResult], None]) -> None:
                if isinstance(wanted, Metadata):
                    access.retrieve(wanted, ended)
                else:
                    access.operations.begin(lambda op: self.send(Retrieve(op, wanted)), ended)

            return (await self._done(begin)).data or b""

    def query(self, formula: Any, **more: Any) -> ObjectMatches:
        """Ask for objects; see `Connection.query`."""
        from bypass.live.client.objects.matches import ObjectMatches

        async def begin(matches: ObjectMatches) -> OwnQuery:
            async with self._paging:
                access = await self._access()

                def ended(result: OperationResult) -> None:
                    error = _error(result)
                    if error is not None:
                        self._matches.pop(own.query.id, None)
                    matches.begun(error)

                own = access.query(formula, matches.matched, ended=ended, **more)
                self._matches[own.query.id] = matches
                try:
                    await matches.wait_until_opened()
                except asyncio.CancelledError:
                    withdraw(own)
                    raise
                return own

        async def page(own: OwnQuery) -> None:
            async with self._paging:
                access = await self._access()
                await self._done(lambda ended: access.more(own, ended=ended))

        def withdraw(own: OwnQuery) -> None:
            """Withdraw a query, whenever the broker hears of it; one of an earlier client is gone."""
            known = self._matches.pop(own.query.id, None)
            if known is not None:
                self._usable().objects.withdraw(own)

        now_us = self._usable().objects.now_us
        return ObjectMatches(begin, page, withdraw, self.retrieve, self._uplink.confirm, now_us)

    # -- parts --------------------------------------------------------------------------------------------

    async def _access(self) -> ObjectAccess:
        """The access to objects, with the mechanism that goes to the broker behind it."""
        client = self._usable()
        if OBJECTS not in self._capabilities():
            raise Unsupported("the broker's version does not know objects: expected one that stores them")
        access = client.objects
        async with self._switching:
            if not client.node.running():
                client.engine.transition(STORAGE_PROXY, STORAGE)
                begun = asyncio.Event()
                client.host.after(0.0, begun.set)  # after a switch queries ask again: there are none yet
                await begun.wait()
        return access

    async def _done(self, begin: Callable[[Callable[[OperationResult], None]], Any]) -> OperationResult:
        """Wait for the end of an operation. Raises what it has ended with."""
        answer: asyncio.Future[OperationResult] = asyncio.get_running_loop().create_future()

        def ended(result: OperationResult) -> None:
            if not answer.done():
                answer.set_result(result)

        begin(ended)
        self._answers.add(answer)
        try:
            result = await answer
        finally:
            self._answers.discard(answer)
        error = _error(result)
        if error is not None:
            raise error
        return result

    def _hand_over(self, message: StorageMessage) -> None:
        client = self._usable()
        client.node.from_broker(message)

    def _reached(self, query: int, arrival: int) -> None:
        matches = self._matches.get(query)
        if matches is not None:
            matches.reached(arrival)

    def _opening(self, key: ObjectKey) -> bytes:
        """The secret to which an object of this client's key is committed."""
        return blake2b(str(key).encode(), digest_size=HASH_BYTES, key=self._secret).digest()


def _error(result: OperationResult) -> BypassError | None:
    if result.ok:
        return None
    kind = _ERRORS.get(result.status, OperationFailed)
    return kind(result.detail or f"operation {result.op}: {result.status.name}")
