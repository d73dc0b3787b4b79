"""The objects of a node without a broker: it and its neighbours store them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bypass.core.client import Client
from bypass.errors import OperationFailed, UnknownObject
from bypass.live.client.errors import Unsupported
from bypass.live.client.objects.live_objects import LiveObjects
from bypass.mechanisms.families import STORAGE_PROXY
from bypass.objects.metadata import MOST_REPLICAS, Metadata, ObjectKey, Replica
from bypass.protocol.storage import LONGEST_DATA, StorageMessage

if TYPE_CHECKING:
    from bypass.core.objects.access import ObjectAccess
    from bypass.core.objects.operations import Ended


class NodeObjects(LiveObjects):
    """The objects of a node. Those that it has inserted are in its own store, with the secrets that delete
    them; a query has all that it takes to fetch what it finds."""

    def send(self, message: StorageMessage) -> None:
        """Drop a message: there is no broker."""

    def received(self, message: StorageMessage) -> None:
        """Drop a message: nobody but a broker sends it this way."""

    def connected(self, client: Client, renewed: bool) -> None:
        """Do nothing: a node begins once."""

    async def _kept_by_others(self, key: ObjectKey) -> bool:
        """Ask those for the bytes who should have them: the server, or nodes of the own cell; in all other
        designs nobody has."""
        access, client = await self._access(), self._usable()
        metadata = access.store.metadata(key)
        if metadata is None:
            raise UnknownObject(f"object {key}: expected one that is stored here")
        storage, routing = client.engine.active(STORAGE_PROXY), client.node.routing
        if storage.name == "server":
            return storage.settings()["server"] != access.node and metadata.size <= LONGEST_DATA
        cell = routing.own_cell()
        if cell is None:
            return False
        holders: tuple[Replica, ...] = (Replica(None, cell),)
        if routing.serving():  # then this node would be asked
            mates = [each for each in routing.neighbours() if each.cell == cell and not each.moving]
            holders = tuple(Replica(each.node, cell) for each in mates[:MOST_REPLICAS])
        if not holders:
            return False
        asked = replace(metadata, replicas=holders)
        try:
            await self._done(
                lambda ended: access.operations.begin(
                    lambda op: client.node.storage.retrieve(op, asked), ended
                )
            )
        except (UnknownObject, OperationFailed):
            return False
        return True

    async def _access(self) -> ObjectAccess:
        return self._usable().objects

    def _secret_of(self, key: ObjectKey) -> bytes | None:  # noqa: ARG002
        return None

    def _stored(self, access: ObjectAccess, metadata: Metadata) -> None:
        """Keep it: an object stays in the store of its owner."""

    def _confirm(self, query: int, arrival: int) -> None:
        """Do nothing: nobody holds back what is not taken."""

    def _delete_elsewhere(self, access: ObjectAccess, key: ObjectKey, ended: Ended) -> object:
        return access.delete(key, ended)  # raises why not

    def _retrieve_by_key(self, access: ObjectAccess, key: ObjectKey, ended: Ended) -> None:
        metadata = access.store.metadata(key)
        if metadata is None:
            raise Unsupported(f"object {key}: expected its metadata, as a query tells it, without a broker")
        access.retrieve(metadata, ended)
