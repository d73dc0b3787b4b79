"""A live client: `connect` to a broker, or to neighbours alone, subscribe and publish, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from bypass.core.areas.arguments import GivenAreas
from bypass.errors import shown
from bypass.events.filters import Filter, Subscription
from bypass.live.adhoc.neighbours import Neighbours
from bypass.live.client.arguments import (
    check_endpoint,
    check_kept,
    check_mechanisms,
    check_name,
    check_neighbours,
    check_no_broker,
    check_truth,
    interval_of,
    patience_of,
    with_edges,
)
from bypass.live.client.errors import InvalidArgument, NotConnected
from bypass.live.client.link.clock import AsyncClock
from bypass.live.client.link.reconnector import Reconnector
from bypass.live.client.link.standalone import Standalone
from bypass.live.client.live_node import LiveNode
from bypass.live.client.node_calls import NodeCalls
from bypass.live.client.objects.object_calls import ObjectCalls, object_secret
from bypass.live.client.publish_calls import PublishCalls
from bypass.live.client.session.figures import SessionFigures
from bypass.live.client.session.session import ClientSession
from bypass.live.client.sources.sensor import ClientPlace, LiveSensor, Source, check_source
from bypass.live.client.subscription import LiveSubscription
from bypass.live.client.watches import WatchCalls
from bypass.live.keys import ClientKeys, InvalidKeys, load_client_keys
from bypass.mechanisms import Registry
from bypass.places.sensor import LocationRequest
from bypass.ports.subscriptions import Callback, SubHandle
from bypass.protocol.wire import CODEC, Codec

if TYPE_CHECKING:
    from bypass.live.client.objects.live_objects import LiveObjects


def connect(
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
) -> Connection:
    """A connection to the broker at `endpoint`, to be opened by `async with` or `await connection.open()`.

    `keys` is the client's key file. Without one, `open=True` says that the broker may be anybody and
    everybody may listen. `name` tells several sessions of one key apart; without keys it is the session's.
    `location` says where the client is: a function or an asynchronous iterable of places; without one,
    `Connection.moved` does. Every `interval` seconds the place is asked for and reported to the broker, as
    often as its filter scheme wants it, while there is a subscription with a radius. A `durable` session is
    kept by the broker, with all that arrives for it, while nobody is connected. `patience` is how many
    seconds the first connection may take; a broker that says when to come again, as it does while it
    compiles, is waited for, for five minutes at most. `neighbours` are devices nearby, reached without the
    broker, and `edges` the `.pub` files of edges that are believed among them. What an earlier life has
    subscribed is `kept` until it is subscribed again or withdrawn; with "drop" it is withdrawn, with all that
    waits for it, as soon as there is a connection. `mechanisms` are those of others that the client has
    besides the built-in ones: classes, or references to them, `module:Class` or `file.py:Class`. `codec` has
    the types of values in events and filters.

    With `endpoint` None there is no broker: a node of the group of `neighbours`, known there by its `name`,
    stores objects with them by the mechanism `storage` ("local"), over `routing` (one that fits), with
    parameters `set` as far as either has them, and hears their events. Its own objects are in the file
    `store`, or end with the process. A `visiting` node, which is soon gone, keeps nothing for others. With
    storage "infra" it is aided by `edges`, and goes on with "cells" while none is in reach.

    What cannot be right is refused here, before anything is opened. Raises InvalidEndpoint, InvalidKeys if
    the keys, or those of edges, cannot be used, or if there are none and `open` does not say so,
    InvalidLocation for a `location` that is no source of places, InvalidInterval, UnusableMechanism, and
    InvalidArgument for all else.
    """
    check_truth("open", open)
    check_truth("durable", durable)
    check_kept(kept)
    check_neighbours(neighbours)
    neighbours = with_edges(neighbours, edges)
    check_source(location)
    check_mechanisms(mechanisms)
    registry = Registry(mechanisms, codec=codec)
    options: dict[str, Any] = {
        "storage": storage, "routing": routing, "set": set, "store": store, "visiting": visiting,
    }  # fmt: skip
    own_keys, node = None, None
    if endpoint is None and neighbours is not None:
        check_no_broker(keys, open, durable, kept)
        check_name(name, needed=True)
        node = LiveNode(neighbours, name, registry, **options)
    else:
        check_endpoint(endpoint)
        for what, value in options.items():
            if value:
                raise InvalidArgument(f"{what} {shown(value)}: expected none: a broker's plans decide")
        if (keys is None) != open:
            found = f"{keys} and open=True" if open else "no keys"
            raise InvalidKeys(f"{endpoint}: {found}: expected either a key file or open=True")
        check_name(name, needed=open)
        own_keys = None if keys is None else load_client_keys(keys)
    return Connection(
        endpoint or "",
        own_keys,
        name,
        location,
        interval_of(interval),
        durable,
        patience_of(patience),
        neighbours,
        kept == "drop",
        registry,
        node,
    )


class Connection(PublishCalls, ObjectCalls, NodeCalls, WatchCalls, SessionFigures):
    """One application's session with a live broker. Made by `connect`; belongs to the loop it is opened in.

    A connection that is lost is made again, for as long as it takes: what is published and subscribed
    meanwhile reaches the broker then. Within one life of the process every event is handed over once.
    `on_state` is called with "connected" and "disconnected". Without a broker, that is said of other nodes
    and edges in reach, and events and objects go to these.
    """

    def __init__(
        self,
        endpoint: str,
        keys: ClientKeys | None,
        name: str,
        location: Source | None,
        interval: float,
        durable: bool,
        patience: float,
        neighbours: Neighbours | None,
        drop_kept: bool,
        registry: Registry,
        node: LiveNode | None = None,
    ) -> None:
        self.on_state: Callable[[str], None] = lambda _state: None
        self._endpoint = endpoint
        self._keys = keys
        self._name = name
        self._location = location
        self._request = LocationRequest(interval=interval)
        self._durable = durable
        self._patience = patience
        self._neighbours = neighbours
        self._drop_kept = drop_kept
        self._registry = registry
        self._node = node
        self._opened: tuple[ClientSession, Reconnector | Standalone] | None = None

    # -- opening and closing ------------------------------------------------------------------------------

    async def open(self) -> Self:
        """Connect; no effect if it is open. Raises NotConnected if no broker answers in time,
        ConnectionRefused if it does not want this client, and InvalidEndpoint for an address that this system
        does not know. Without a broker nobody is waited for: raises InvalidInterface, DatabaseUnavailable if
        the store cannot be used, and TransitionError for parameters that mechanisms do not take."""
        if self._opened is None:
            clock, node = AsyncClock(), self._node
            exchange = ClientSession(
                self._name,
                self._durable,
                clock,
                LiveSensor(clock, self._location, visiting=node is not None and node.visiting),
                self._neighbours,
                self._drop_kept,
                self._registry,
                object_secret(self._keys, self._name),
                node,
            )

            def tell(state: str) -> None:
                self.on_state(state)

            if node is None:
                self._opened = exchange, Reconnector(self._endpoint, self._keys, exchange, tell)
            else:
                self._opened = exchange, Standalone(node, exchange, tell)
        await self._keeper.open(self._patience)
        return self

    async def close(self, *, forget: bool = False) -> None:
        """Leave, when what was asked for has been answered, or after some seconds.

        A durable session is kept by the broker unless it is to `forget` it. What the application has not
        taken yet comes again in its next life. Raises NotConnected if the broker could not be told to forget.
        """
        await self._keeper.leave(forget, done=True)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What a consumer was busy with when it failed is not done: it comes again in the next life.
        await self._keeper.leave(forget=False, done=error is None)

    # -- what applications do -----------------------------------------------------------------------------

    async def subscribe(
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
    ) -> LiveSubscription:
        """Ask for events by their attributes and, with a `radius` in metres, near the client as it moves, or
        with an `area`, or several, in one of them.

        An `exact` one is not told of events further away than the radius from where the client is when they
        arrive, which the broker's filter scheme may send; areas always are. `location_request` says how often
        the place is to be known, instead of the connection's `interval`. `relative` areas, drawn around
        (0, 0) with north up, move and turn with the client. Around the session of that name (`around`), if
        its client allows that, a radius or area moves with it. The subscription ends in `expires` seconds.

        Returns when the broker has it safe. `callback(event, handle)` is called for each event, which then
        counts as received; without one, iterate over what this gives. A subscription that equals a `kept`
        one takes its place, and gets what has arrived meanwhile; a broker that refuses it for the moment
        is asked again.

        All subscriptions of a connection share what may be on its way: who does not iterate over one stops
        the others once 1,000 events of it wait, or 1 MiB of them. That is logged and counted (`held_up`).

        Raises as `Client.subscribe` does, SubscriptionRefused, Unsupported if the broker's version does not
        know what the subscription asks for, and ConnectionRefused or NotConnected if the connection has
        ended.
        """
        wanted, answer = self._exchange.subscribe(
            subscription,
            radius,
            location_request or self._request,
            callback,
            exact,
            area=area,
            relative=relative,
            around=around,
            expires=expires,
        )
        try:
            await answer
        except asyncio.CancelledError:
            wanted.close()
            raise
        return wanted

    async def unsubscribe(self, subscription: LiveSubscription | SubHandle) -> None:
        """Withdraw a subscription, or one of the `kept`; returns when the broker has forgotten it.

        No event of it is handed over any more, from the call on. A broker that refuses it for the moment is
        asked again. Raises UnknownHandle, and SubscriptionRefused if the broker did not listen.
        """
        handle = subscription.handle if isinstance(subscription, LiveSubscription) else subscription
        await self._exchange.unsubscribe(handle)

    def allow_following(
        self,
        names: Collection[str] = (),
        *,
        everybody: bool = False,
        location_request: LocationRequest | None = None,
    ) -> None:
        """Let sessions, or all of keys, with these names, or `everybody`, subscribe around this one, instead
        of those before. The broker is told where it is meanwhile, as often as `location_request` says. Raises
        InvalidArea for what are no names, InvalidLocation, Unsupported, and as `publish` after the end."""
        self._exchange.allow_following(names, everybody, location_request or self._request)

    def moved(self, place: ClientPlace) -> None:
        """The client is at this place now, whatever its `location` has said before.

        The broker is told as often as `interval` and its filter scheme want it. Raises InvalidLocation for
        what is no place, and ConnectionRefused or NotConnected if there is no connection any more.
        """
        self._exchange.usable()
        self._exchange.sensor.push(place)

    @property
    def number(self) -> int:
        """The client's number at the broker. Raises NotConnected before the first connection."""
        return self._exchange.usable().host.id

    @property
    def mechanisms(self) -> dict[str, str]:
        """Give the mechanisms behind the proxies. Raises NotConnected before the first connection."""
        client = self._exchange.usable()
        return {proxy: client.engine.active(proxy).name for proxy in client.engine.catalogue()}

    @property
    def malformed(self) -> int:
        """Messages of the broker that were none, or did not end: each was logged and dropped."""
        return self._keeper.malformed

    @property
    def kept(self) -> tuple[SubHandle, ...]:
        """Subscriptions of earlier lives that were neither subscribed again nor withdrawn.

        What arrives for them waits at the broker, which withdraws them itself if nobody claims them.
        """
        return tuple(self._exchange.usable().subscriptions.kept.values())

    async def until_connected(self) -> None:
        """Wait for a connection; without a broker, for another node in reach. Raises ConnectionRefused or
        NotConnected if there will be none."""
        await self._keeper.until_connected()

    @property
    def connected(self) -> bool:
        """Say whether there is a connection at the moment."""
        return self._opened is not None and self._keeper.connected

    @property
    def _objects(self) -> LiveObjects:
        return self._exchange.objects.load()

    @property
    def _exchange(self) -> ClientSession:
        return self._parts()[0]

    @property
    def _keeper(self) -> Reconnector | Standalone:
        return self._parts()[1]

    def _parts(self) -> tuple[ClientSession, Reconnector | Standalone]:
        if self._opened is None:
            raise NotConnected(f"{self._endpoint or self._name}: the connection was not opened")
        return self._opened
