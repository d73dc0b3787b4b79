"""The objects of a live client: operations of the core as coroutines, whoever stores them."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bypass.core.client import Client
from bypass.errors import BypassError, NotOwner, OperationFailed, QuotaExceeded, UnknownObject
from bypass.live.client.objects.object_uplink import INLINE_BYTES
from bypass.objects.metadata import Metadata, ObjectKey, check_given, check_key
from bypass.protocol.storage import OperationStatus, StorageMessage

if TYPE_CHECKING:
    from bypass.core.objects.access import ObjectAccess
    from bypass.core.objects.operations import Ended, OperationResult
    from bypass.core.objects.own_queries import OwnQuery
    from bypass.live.client.objects.matches import ObjectMatches
    from bypass.protocol.datagrams import WorldMap

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


class LiveObjects(ABC):
    """The objects of one session. `usable` gives its client, or raises why there is none."""

    def __init__(self, usable: Callable[[], Client]) -> None:
        self._usable = usable
        self._matches: dict[int, ObjectMatches] = {}
        self._answers: set[asyncio.Future[OperationResult]] = set()
        self._inserting = asyncio.Semaphore(MOST_INSERTING)
        self._uploading = asyncio.Semaphore(MOST_UPLOADING)
        self._retrieving = asyncio.Semaphore(MOST_RETRIEVING)
        self._paging = asyncio.Semaphore(MOST_PAGES)

    # -- for the session ----------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Operations that were not answered yet."""
        return len(self._answers)

    @abstractmethod
    def send(self, message: StorageMessage) -> None:
        """Send a message of the client's to the broker. Raises MalformedMessage."""

    @abstractmethod
    def received(self, message: StorageMessage) -> None:
        """Take a message of the broker's."""

    @abstractmethod
    def connected(self, client: Client, renewed: bool) -> None:
        """There is another connection; `renewed`: to a broker that has forgotten the client."""

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
            secret = self._secret_of(ObjectKey(access.node, name))
            inserted: list[Metadata] = []

            def begin(ended: Callable[[OperationResult], None]) -> None:
                def stored(result: OperationResult) -> None:
                    if result.ok:
                        self._stored(access, inserted[0])
                    ended(result)

                inserted.append(access.insert(data, tags, name=name, secret=secret, ended=stored, **more))

            await self._done(begin)
            return inserted[0]

    async def delete(self, key: ObjectKey) -> None:
        """Delete an object; see `Connection.delete`."""
        check_key(key)
        access = await self._access()
        here = access.store.metadata(key) is not None
        await self._done(partial(access.delete if here else partial(self._delete_elsewhere, access), key))

    async def retrieve(self, wanted: Metadata | ObjectKey) -> bytes:
        """Fetch the bytes of an object; those of one of which only the key is known are not checked."""
        if not isinstance(wanted, Metadata):
            check_key(wanted)
        async with self._retrieving:
            access = await self._access()

            def begin(ended: Callable[[OperationResult], None]) -> None:
                if isinstance(wanted, Metadata):
                    access.retrieve(wanted, ended)
                else:
                    self._retrieve_by_key(access, wanted, ended)

            return (await self._done(begin)).data or b""

    async def kept_by_others(self, key: ObjectKey) -> bool:
        """Whether somebody else has the bytes of an own object; see `Connection.kept_by_others`."""
        check_key(key)
        return await self._kept_by_others(key)

    @abstractmethod
    async def _kept_by_others(self, key: ObjectKey) -> bool:
        """Whether somebody else has them."""

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
                        if not own.withdrawn:  # it would go on being tried
                            access.withdraw(own)
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
            """Withdraw a query, whenever others hear of it; one of an earlier client is gone."""
            known = self._matches.pop(own.query.id, None)
            if known is not None:
                self._usable().objects.withdraw(own)

        now_us = self._usable().objects.now_us
        return ObjectMatches(begin, page, withdraw, self.retrieve, self._confirm, now_us)

    def worlds(self) -> Sequence[WorldMap]:
        """The worlds that are known; see `Connection.worlds`."""
        return self._usable().node.worlds.known()

    async def create_world(self, name: str) -> WorldMap:
        """Make a world; see `Connection.create_world`."""
        await self._access()
        made: list[WorldMap] = []

        def begin(ended: Callable[[OperationResult], None]) -> None:
            def created(result: OperationResult, world: WorldMap | None) -> None:
                made.extend(() if world is None else (world,))
                ended(result)

            self._usable().node.worlds.create(name, created)

        await self._done(begin)
        return made[0]

    async def enter_world(self, world: str) -> None:
        """Enter a world; see `Connection.enter_world`."""
        await self._access()
        self._usable().node.worlds.enter(world)

    # -- parts --------------------------------------------------------------------------------------------

    @abstractmethod
    async def _access(self) -> ObjectAccess:
        """The access to objects, with a mechanism behind it that stores them."""

    @abstractmethod
    def _secret_of(self, key: ObjectKey) -> bytes | None:
        """The secret to which an object of this client is committed; None: a random one."""

    @abstractmethod
    def _stored(self, access: ObjectAccess, metadata: Metadata) -> None:
        """An object was acknowledged."""

    @abstractmethod
    def _delete_elsewhere(self, access: ObjectAccess, key: ObjectKey, ended: Ended) -> object:
        """Begin to delete an object that is not in the client's own store."""

    @abstractmethod
    def _retrieve_by_key(self, access: ObjectAccess, key: ObjectKey, ended: Ended) -> None:
        """Begin to fetch an object of which only the key is known."""

    @abstractmethod
    def _confirm(self, query: int, arrival: int) -> None:
        """The application has taken all that was told up to a number."""

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


def _error(result: OperationResult) -> BypassError | None:
    if result.ok:
        return None
    kind = _ERRORS.get(result.status, OperationFailed)
    return kind(result.detail or f"operation {result.op}: {result.status.name}")
