"""The calls of a connection that are about stored objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from bypass.live.keys import ClientKeys

if TYPE_CHECKING:
    from datetime import datetime

    from bypass.events.event import Event
    from bypass.events.filters import Filter, Subscription
    from bypass.live.client.objects.live_objects import LiveObjects
    from bypass.live.client.objects.matches import ObjectMatches
    from bypass.objects.metadata import Metadata, ObjectKey
    from bypass.objects.tags import TagFormula
    from bypass.protocol.datagrams import WorldMap


class ObjectCalls(ABC):
    """Stores objects at the broker, or with neighbours, and finds those of others: what was published stays
    until its owner deletes it, and a query reaches into the past as well as into the future."""

    @property
    @abstractmethod
    def _objects(self) -> LiveObjects:
        """The objects of the session."""

    async def insert(
        self,
        data: bytes,
        tags: Iterable[str],
        *,
        summary: bytes = b"",
        name: str = "",
        place: tuple[float, float] | None = None,
        attributes: Event | None = None,
        namespace: str | None = None,
        active: bool | None = None,
    ) -> ObjectKey:
        """Store an object and publish it, in one: gives its key when the broker has it safe.

        `tags` are one or more. Without a `name` it gets one that is new. `summary` is told with the tags to
        whoever finds it, as a thumbnail is; `place` is in metres. `active` says whether other nodes keep
        copies, where designs let nodes choose; None: as the design is set. Large objects go in parts, so that
        events do not wait for them, and go on where they were after a connection is lost.

        Raises InvalidObject, QuotaExceeded if it is too large or there is no room, OperationFailed if the
        broker refuses it, Unsupported, and NotConnected if the connection has ended.
        """
        metadata = await self._objects.insert(
            data,
            tags,
            summary=summary,
            name=name,
            place=place,
            attributes=attributes,
            namespace=namespace,
            active=active,
        )
        return metadata.key

    def query(
        self,
        formula: TagFormula | str,
        *,
        since: str | float | datetime | None = None,
        until: str | float | datetime | None = None,
        near: tuple[float, float, float] | None = None,
        where: Subscription | Filter | None = None,
        namespace: str | None = None,
    ) -> ObjectMatches:
        """Ask for objects by their tags: those of the past in pages, the latest first, then what comes.

            async with me.query("beach & (sunset | ~rain)", since="-1h") as found:
                async for match in found:
                    data = await match.retrieve()

        Tags are joined by `&`, `|`, `~` and `( )`. `since` and `until` bound the time of publication: seconds
        since 1970, texts such as "-1h" or "2026-11-18T10:00Z", None for an open end. `near` is a circle (x,
        y, radius) in metres, `where` filters attributes. Each object is told once, over lost connections and
        restarts of the broker, too.

        Raises InvalidFormula, InvalidWindow, InvalidFilter and InvalidQuery when it is placed, QuotaExceeded,
        Unsupported, and NotConnected if the connection has ended.
        """
        return self._objects.query(
            formula, since=since, until=until, near=near, where=where, namespace=namespace
        )

    async def delete(self, key: ObjectKey) -> None:
        """Delete an object of this client's key, for everybody and for windows in the past, too.

        Raises NotOwner, UnknownObject, Unsupported, and NotConnected if the connection has ended.
        """
        await self._objects.delete(key)

    async def retrieve(self, wanted: Metadata | ObjectKey) -> bytes:
        """Fetch the bytes of an object. With its metadata they are checked; of a key alone, nobody knows
        what they have to be. Raises UnknownObject, and as `delete` does."""
        return await self._objects.retrieve(wanted)

    async def kept_by_others(self, key: ObjectKey) -> bool:
        """Whether somebody else has the bytes of an object of this client, so that it stays when this one is
        gone: the broker has, nodes are asked. Raises UnknownObject, and OperationFailed without storage."""
        return await self._objects.kept_by_others(key)

    def worlds(self) -> Sequence[WorldMap]:
        """The worlds that this node has been told of by an edge: each has an id, `world`, and a `name` for
        people. None without edges."""
        return self._objects.worlds()

    async def create_world(self, name: str) -> WorldMap:
        """Have the edge make a world, which all edges know from then on. Raises InvalidObject for a name that
        it cannot have, and OperationFailed without an edge, or if it makes no more."""
        return await self._objects.create_world(name)

    async def enter_world(self, world: str) -> None:
        """Leave the world that this node is in for another one, by its id; "" is the one without a name. What
        it inserts and asks for from now on is in that world, unless it names a `namespace`."""
        await self._objects.enter_world(world)


def object_secret(keys: ClientKeys | None, name: str) -> bytes:
    """The secret out of which those of a client's objects are made; without keys nothing is secret."""
    known = keys.secret if keys is not None else name.encode()
    return blake2b(known, digest_size=32, person=b"bypass objects").digest()
