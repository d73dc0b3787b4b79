"""A live client for programs without asyncio: the same connection, on a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from bypass.core.areas.arguments import GivenAreas
from bypass.core.borders.client.arguments import WatchAreas
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription
from bypass.live.adhoc.neighbours import Neighbours
from bypass.live.client.blocking_figures import BlockingFigures
from bypass.live.client.blocking_subscription import BlockingSubscription as BlockingSubscription
from bypass.live.client.blocking_watch import BlockingWatch
from bypass.live.client.connection import Connection, connect
from bypass.live.client.errors import NotConnected
from bypass.live.client.objects.blocking_matches import BlockingMatches
from bypass.live.client.objects.matches import ObjectMatches
from bypass.live.client.sources.sensor import ClientPlace, Source
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.objects.tags import TagFormula
from bypass.places.geo import GeoLocation, PlanarLocation
from bypass.places.sensor import LocationRequest
from bypass.ports.subscriptions import Callback, SubHandle
from bypass.protocol.datagrams import WorldMap
from bypass.protocol.wire import CODEC, Codec
from bypass.transitions import Outcome, Plan

if TYPE_CHECKING:
    from bypass.places.areas import Area

T = TypeVar("T")


def connect_blocking(
    endpoint: str | None,
    *,
    keys: str | Path | None = None,
    open: bool = False,  # noqa: A002 - as the broker's configuration calls it
    name: str = "",
    location: Source | None = None,
    interval: float = 5.0,
    durable: bool = True,
    patience: float = 10.0,
    neighbours: Neighbours | None = None,
    edges: Sequence[str | Path] = (),
    kept: Literal["keep", "drop"] = "keep",
    mechanisms: Sequence[str | type] = (),
    codec: Codec = CODEC,
    storage: str = "",
    routing: str = "",
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the word that plans use
    store: str | Path | None = None,
    visiting: bool = False,
) -> BlockingConnection:
    """Connect as `connect` does, and return when connected. `location` is asked in another thread.

    Raises as `connect` and `Connection.open` do.
    """
    connection = connect(
        endpoint,
        keys=keys,
        open=open,
        name=name,
        location=location,
        interval=interval,
        durable=durable,
        patience=patience,
        neighbours=neighbours,
        edges=edges,
        kept=kept,
        mechanisms=mechanisms,
        codec=codec,
        storage=storage,
        routing=routing,
        set=set,
        store=store,
        visiting=visiting,
    )
    return BlockingConnection(connection)


class BlockingConnection(BlockingFigures):
    """A `Connection` whose methods return when it is done; they may be called from any thread.

    Callbacks run in the connection's own thread, where nothing of this can be called: it would wait for
    itself.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bypass connection", daemon=True)
        self._thread.start()
        try:
            self.run(connection.open())
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._loop.is_closed():
                self.run(self._connection.__aexit__(kind, error, trace))
        finally:
            self._stop()

    def close(self, *, forget: bool = False) -> None:
        """As `Connection.close`."""
        try:
            if not self._loop.is_closed():
                self.run(self._connection.close(forget=forget))
        finally:
            self._stop()

    def subscribe(
        self,
        subscription: Subscription | Filter,
        *,
        radius: int | None = None,
        exact: bool = False,
        location_request: LocationRequest | None = None,
        callback: Callback | None = None,
        area: GivenAreas | None = None,
        relative: bool = False,
        around: str | None = None,
        expires: float | None = None,
    ) -> BlockingSubscription:
        """As `Connection.subscribe`."""
        asked = self._connection.subscribe(
            subscription,
            radius=radius,
            exact=exact,
            location_request=location_request,
            callback=callback,
            area=area,
            relative=relative,
            around=around,
            expires=expires,
        )
        return BlockingSubscription(self, self.run(asked))

    def unsubscribe(self, subscription: BlockingSubscription | SubHandle) -> None:
        """As `Connection.unsubscribe`."""
        handle = subscription.handle if isinstance(subscription, BlockingSubscription) else subscription
        self.run(self._connection.unsubscribe(handle))

    def watch(self, areas: WatchAreas, **options: Any) -> BlockingWatch:
        """As `Connection.watch`; to be used as `with`, and iterated over."""
        return BlockingWatch(self, self._connection.watch(areas, **options))

    def allow_following(
        self,
        names: Collection[str] = (),
        *,
        everybody: bool = False,
        location_request: LocationRequest | None = None,
    ) -> None:
        """As `Connection.allow_following`."""

        async def allow() -> None:
            self._connection.allow_following(names, everybody=everybody, location_request=location_request)

        self.run(allow())

    def publish(
        self,
        event: Event,
        location: PlanarLocation | GeoLocation | None = None,
        *,
        area: Area | None = None,
        expires: float | None = None,
    ) -> int:
        """As `Connection.publish`."""
        return self.run(self._connection.publish(event, location, area=area, expires=expires))

    def publish_local(self, event: Event, *, area: Area | None = None, expires: float | None = None) -> int:
        """As `Connection.publish_local`."""
        return self.run(self._connection.publish_local(event, area=area, expires=expires))

    def insert(
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
        """As `Connection.insert`."""
        inserted = self._connection.insert(
            data,
            tags,
            summary=summary,
            name=name,
            place=place,
            attributes=attributes,
            namespace=namespace,
            active=active,
        )
        return self.run(inserted)

    def query(
        self,
        formula: TagFormula | str,
        *,
        since: str | float | datetime | None = None,
        until: str | float | datetime | None = None,
        near: tuple[float, float, float] | None = None,
        where: Subscription | Filter | None = None,
        namespace: str | None = None,
    ) -> BlockingMatches:
        """As `Connection.query`; to be used as `with`, and iterated over."""

        async def made() -> ObjectMatches:  # in the loop to which it belongs
            return self._connection.query(
                formula, since=since, until=until, near=near, where=where, namespace=namespace
            )

        return BlockingMatches(self.run, self.run(made()))

    def delete(self, key: ObjectKey) -> None:
        """As `Connection.delete`."""
        self.run(self._connection.delete(key))

    def retrieve(self, wanted: Metadata | ObjectKey) -> bytes:
        """As `Connection.retrieve`."""
        return self.run(self._connection.retrieve(wanted))

    def kept_by_others(self, key: ObjectKey) -> bool:
        """As `Connection.kept_by_others`."""
        return self.run(self._connection.kept_by_others(key))

    def worlds(self) -> Sequence[WorldMap]:
        """As `Connection.worlds`."""

        async def worlds() -> Sequence[WorldMap]:
            return self._connection.worlds()

        return self.run(worlds())

    def create_world(self, name: str) -> WorldMap:
        """As `Connection.create_world`."""
        return self.run(self._connection.create_world(name))

    def enter_world(self, world: str) -> None:
        """As `Connection.enter_world`."""
        self.run(self._connection.enter_world(world))

    def decide(self, plan: Plan) -> Outcome:
        """As `Connection.decide`."""

        async def decide() -> Outcome:
            return self._connection.decide(plan)

        return self.run(decide())

    def until_connected(self, timeout: float | None = None) -> None:
        """As `Connection.until_connected`. Raises TimeoutError after `timeout` seconds."""

        async def connected() -> None:
            async with asyncio.timeout(timeout):
                await self._connection.until_connected()

        self.run(connected())

    def prefer(self, preference: Literal["auto", "edges", "peers"]) -> None:
        """As `Connection.prefer`."""

        async def prefer() -> None:
            self._connection.prefer(preference)

        self.run(prefer())

    def moved(self, place: ClientPlace) -> None:
        """As `Connection.moved`."""

        async def move() -> None:
            self._connection.moved(place)

        self.run(move())

    @property
    def connected(self) -> bool:
        """Say whether there is a connection at the moment."""
        return self._connection.connected

    @property
    def number(self) -> int:
        """As `Connection.number`."""
        return self._connection.number

    @property
    def malformed(self) -> int:
        """As `Connection.malformed`."""
        return self._connection.malformed

    @property
    def kept(self) -> tuple[SubHandle, ...]:
        """As `Connection.kept`."""
        return self._connection.kept

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the connection's loop, and wait for it."""
        if self._loop.is_closed() or threading.current_thread() is self._thread:
            work.close()
            where = "in its own thread" if not self._loop.is_closed() else "after it was closed"
            raise NotConnected(f"the connection was used {where}: expected neither")
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result()
        except BaseException:
            done.cancel()  # whoever waits was interrupted
            raise

    def _stop(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
