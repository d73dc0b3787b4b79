"""The objects of a client whose broker stores them, over whatever connection there is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from bypass.core.client import Client
from bypass.errors import OperationFailed
from bypass.live.client.errors import Unsupported
from bypass.live.client.objects.live_objects import LiveObjects
from bypass.live.client.objects.object_uplink import ObjectUplink
from bypass.mechanisms.families import STORAGE_PROXY
from bypass.objects.metadata import HASH_BYTES, Metadata, ObjectKey
from bypass.protocol.messages import Message
from bypass.protocol.session import OBJECTS
from bypass.protocol.storage import Delete, Retrieve, StorageMessage

if TYPE_CHECKING:
    from bypass.core.objects.access import ObjectAccess
    from bypass.core.objects.operations import Ended

STORAGE = "broker"
"""The mechanism behind the proxy `storage` of a client whose broker stores objects."""


class BrokerObjects(LiveObjects):
    """The objects of a session with a broker. `send` is the way there, `capabilities` gives those of the
    broker that answered last. `secret` is known to those alone who have the client's key: deletions are
    proved by it, in later lives of the process, too.
    """

    def __init__(
        self,
        usable: Callable[[], Client],
        send: Callable[[Message], None],
        capabilities: Callable[[], frozenset[str]],
        secret: bytes,
    ) -> None:
        super().__init__(usable)
        self._capabilities = capabilities
        self._secret = secret
        self._uplink = ObjectUplink(send, self._hand_over, self._reached)
        self._switching = asyncio.Lock()

    def send(self, message: StorageMessage) -> None:
        """Send a message of the client's. Raises MalformedMessage."""
        self._uplink.send(message)

    def received(self, message: StorageMessage) -> None:
        """Take a message of the broker's."""
        self._uplink.received(message)

    def connected(self, client: Client, renewed: bool) -> None:
        """There is another connection; `renewed`: to a broker that has forgotten the client."""
        if renewed:
            self._uplink.forget()
            why = OperationFailed("the broker has forgotten this client: expected to be asked again")
            self.end(why, ours=False)
        self._uplink.connected()
        if self._matches or self.waiting:
            client.objects.operations.try_again()

    async def _kept_by_others(self, key: ObjectKey) -> bool:  # noqa: ARG002 - it was acknowledged
        """True: the broker has what it has acknowledged."""
        return True

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

    def _secret_of(self, key: ObjectKey) -> bytes:
        return blake2b(str(key).encode(), digest_size=HASH_BYTES, key=self._secret).digest()

    def _stored(self, access: ObjectAccess, metadata: Metadata) -> None:
        if self._usable().engine.active(STORAGE_PROXY).name == STORAGE:
            access.store.release(metadata.key)  # the broker keeps it

    def _delete_elsewhere(self, access: ObjectAccess, key: ObjectKey, ended: Ended) -> int:
        """Delete an object of an earlier life, or of another session of the same key."""
        message = partial(Delete, key=key, opening=self._secret_of(key))
        return access.operations.begin(lambda op: self.send(message(op)), ended)

    def _retrieve_by_key(self, access: ObjectAccess, key: ObjectKey, ended: Ended) -> None:
        access.operations.begin(lambda op: self.send(Retrieve(op, key)), ended)

    def _confirm(self, query: int, arrival: int) -> None:
        self._uplink.confirm(query, arrival)

    def _hand_over(self, message: StorageMessage) -> None:
        client = self._usable()
        client.node.from_broker(message)

    def _reached(self, query: int, arrival: int) -> None:
        matches = self._matches.get(query)
        if matches is not None:
            matches.reached(arrival)
