"""The client: what an application publishes and subscribes with, whatever mechanisms are behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bypass.core.areas.event_scope import area_of_event, lifetime_of, planar
from bypass.core.areas.followed import Followed
from bypass.core.borders.client.watching import BorderWatching
from bypass.core.client_network import ClientNetwork, DeliveryAnalyzer
from bypass.core.nearby import Nearby
from bypass.core.subscribing_client import SubscribingClient
from bypass.errors import InvalidEvent, InvalidLocation, shown
from bypass.events.event import Event
from bypass.mechanisms import Registry
from bypass.mechanisms.families import (
    COMMON_SCHEME,
    FILTER_PROXY,
    PORT_OF,
    ROUTING_PROXY,
    STABILITY_PROXY,
    STORAGE_PROXY,
)
from bypass.mechanisms.filters import FilterClient
from bypass.places.geo import GeoLocation, PlanarLocation, Projection
from bypass.ports.host import Host, Lease
from bypass.ports.local_access import NO_LOCAL_ACCESS, LocalAccess, Tuning
from bypass.ports.proxies import Mode
from bypass.ports.subscriptions import Subscriptions
from bypass.protocol.messages import Kind, Message, OutcomeMessage, PlanMessage, Publish, Unsubscribe
from bypass.transitions import (
    Action,
    Coordinator,
    Engine,
    InvalidPlan,
    Nothing,
    Outcome,
    Plan,
    Record,
    TransitionError,
)

if TYPE_CHECKING:
    from bypass.core.objects.access import KeptObjects, ObjectAccess, ObjectTimes
    from bypass.core.objects.fallback import FallbackSettings
    from bypass.core.objects.node import StorageNode
    from bypass.places.areas import Area

STORE_PROXIES = frozenset((ROUTING_PROXY, STORAGE_PROXY))
"""The proxies that all nodes of a store decide about together."""
NODE_PROXIES = STORE_PROXIES | {STABILITY_PROXY}
"""The proxies that a client has from the moment on when it uses objects."""


class Client(SubscribingClient, BorderWatching):
    """One application's access to publish/subscribe. `uplink` sends to the broker, reliably and in order.

    `set` are parameters, for `scheme` and for all that come after it as far as they have them. `projection`
    turns latitudes and longitudes into the metres of the broker's region. `local` is the way to devices
    nearby, and `begin` what is done first, such as starting a transport and a dissemination mechanism. Who
    was a client before says how many events it has `published`: their numbers are not used again; what the
    client `before` has subscribed and seen is taken over. `registry` is what mechanisms there are, those
    built in if it is not given; the proxies of families that were brought to it are `brought_proxies`, by
    name. Handles and callbacks outlive every transition. A client is not told of its
    own events. `kept` is what the node had of objects before, `times` how long operations on them wait.
    `fallback` is how it goes on without an edge, None: it waits for one.
    """

    def __init__(
        self,
        host: Host,
        uplink: Callable[[Message], None],
        *,
        scheme: str = COMMON_SCHEME,
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the word that plans use
        projection: Projection | None = None,
        local: LocalAccess = NO_LOCAL_ACCESS,
        begin: Iterable[Action] = (),
        published: int = 0,
        before: Client | None = None,
        registry: Registry | None = None,
        kept: KeptObjects | None = None,
        times: ObjectTimes | None = None,
        fallback: FallbackSettings | None = None,
    ) -> None:
        """Raises the error of an action in `begin` that is not possible or fails."""
        self.host = host
        self.registry = registry = registry or Registry()
        self._declared = registry.proxies("client")
        self._local = local
        self._projection = projection
        self.subscriptions: Subscriptions = Subscriptions() if before is None else before.subscriptions
        self.network = ClientNetwork(host.id, uplink, host.after, host.monitor.get(DeliveryAnalyzer))
        if before is not None:
            self.network.remember(before.network)
        self.engine = Engine(
            f"client-{host.id}",
            lease=self._lease,
            clock=host.now,
            defer=partial(host.after, 0.0),
        )
        self.nearby = Nearby(registry, self.engine, host, local, self.subscriptions, self.network.heard)
        self.mode: Mode = registry.create(self.engine, "client", "mode")
        settings = set or {}
        own = registry.find("client", FILTER_PROXY, scheme).parameters()
        self.filter: FilterClient = registry.create(
            self.engine,
            "client",
            FILTER_PROXY,
            scheme,
            set={name: value for name, value in settings.items() if name in own},
            state={"subscriptions": self.subscriptions},
        )
        self.engine.set_defaults(FILTER_PROXY, settings)
        self.brought_proxies = registry.create_brought(self.engine, "client")
        self.coordinator = Coordinator(self.engine)
        self.says_obsolete = True  # the broker knows that outcome
        self.engine.add_listener(self)
        self.network.on_border_task = self.border_task
        self.network.bind(self.filter, self._plan_arrived, self.nearby.gateway_logic)
        self._mark_messages()
        self.followed = Followed(
            host.location, self.network.send, None if before is None else before.followed
        )
        self.subscriptions.on_expired = self.unsubscribe
        if before is not None:
            self.adopt_watches(before)
        self.published = published
        self._kept, self._times, self._fallback = kept, times, fallback
        self._closed = False
        self._node: StorageNode | None = None
        begin = tuple(begin)
        self._prepare(begin)
        for action in begin:
            self.engine.transition(action.proxy, action.to or "", set=action.set)

    # -- the application's interface ----------------------------------------------------------------------

    def publish(
        self,
        event: Event,
        location: PlanarLocation | GeoLocation | None = None,
        *,
        area: Area | None = None,
        expires: float | None = None,
    ) -> int:
        """Publish an event: to whom its attributes concern or, with a location, to whom it concerns there.

        With an `area`, it is for those alone who are there when it arrives. When `expires` seconds have
        passed, it is for nobody any more. Gives the event's number, unique in the system. Raises
        `InvalidEvent` for what is no event, `InvalidInterval` for another `expires`, `InvalidLocation` and
        `InvalidArea` for what is no place or area, or for degrees if the client has no `projection`.
        """
        if location is None:
            return self._publish(event, Kind.PLAIN, None, None, area, expires)
        at = planar(location, self._projection)
        return self._publish(event, Kind.PLACED, (at.x, at.y), at.altitude, area, expires)

    def publish_local(self, event: Event, *, area: Area | None = None, expires: float | None = None) -> int:
        """Publish an event where the client is; `area` and `expires` as in `publish`. Raises
        `InvalidLocation` if the sensor cannot tell."""
        fix = self.host.location.current()
        if fix is None:
            raise InvalidLocation(f"client {self.host.id}: its location is not known yet")
        return self._publish(event, Kind.LOCAL, (fix.x, fix.y), fix.z, area, expires)

    @property
    def objects(self) -> ObjectAccess:
        """The access to objects that stay. What it costs, a client has once it is first asked for."""
        return self.node.access

    @property
    def node(self) -> StorageNode:
        """This client as a node of a store, with its proxies `storage` and `routing`."""
        if self._node is None:
            self._node = self._make_node()
        return self._node

    def kept_objects(self) -> KeptObjects | None:
        """Give what the next client of this node goes on with; None if there is nothing."""
        return self._kept if self._node is None or self._closed else self._node.access.kept()

    def close(self) -> None:
        """Stop all mechanisms: nothing is sent or heard any more, and nobody is told but the edge in whose
        area the client is, if there is one. A second time nothing happens."""
        if self._closed:
            return
        self._closed = True
        self.close_borders()
        self.followed.stop()
        self.network.silent = True
        if self._node is not None:
            self._kept = self._node.close()
        # Routing may say that this node leaves: that takes a transport.
        for proxy in sorted(self._declared, key=lambda each: each not in NODE_PROXIES):
            if self._node is not None or proxy not in NODE_PROXIES:
                self.engine.drop_proxy(proxy)
        for port in PORT_OF.values():
            self._local.port(port).tune(Tuning())

    def _publish(
        self,
        event: Event,
        kind: Kind,
        location: tuple[float, float] | None,
        z: float | None,
        area: Area | None,
        expires: float | None,
    ) -> int:
        if not isinstance(event, Event):
            raise InvalidEvent(f"{shown(event)}: expected an Event")
        now, client = round(self.host.now() * 1e6), self.host.id
        number = client << 32 | self.published + 1
        publication = Publish(number, event, kind, now, location, z=z, client=client)
        if area is not None:
            publication.area = area_of_event(area, self._projection)
        if expires is not None:
            publication.lifetime = lifetime_of(expires)
        self.published += 1
        to_broker = self.mode.to_broker(publication)
        if self.mode.nearby(publication):
            # On its way to the broker a publication is marked with what is no business of clients nearby.
            self.nearby.direct.disseminate_locally(replace(publication) if to_broker else publication)
        if to_broker:
            self.filter.publish(publication)
        return number

    # -- transitions --------------------------------------------------------------------------------------

    def transition_finished(self, record: Record) -> None:
        """The filter scheme may be another now, or the way to others."""
        self._mark_messages()
        if record.proxy == "mode":
            self._connect(self.mode.connected())

    def _mark_messages(self) -> None:
        active = self.engine.active(FILTER_PROXY)
        if isinstance(active, FilterClient):
            self.network.flag = self.registry.flags.of(active.scheme.name)
        reachable = not isinstance(self.engine.active("transport"), Nothing)
        self.network.address = self._local.address if reachable else 0

    def _connect(self, connected: bool) -> None:
        """The broker serves this client, or it does not: it is told, before it is told nothing any more."""
        if connected and self.network.silent:
            self.network.silent = False
            self.followed.tell()
            for registered in self.subscriptions:
                self.filter.subscribe(registered)
        elif not connected and not self.network.silent:
            for registered in self.subscriptions:
                self.network.send(Unsubscribe(registered.handle.id))
            self.network.silent = True

    def carry_out(self, plan: Plan) -> Outcome:
        """Execute a plan, less what is obsolete, and follow its decision.

        Raises like `Engine.execute`, and InvalidPlan if storage and routing would not fit.
        """
        self._prepare(plan.actions)
        outcome = self.coordinator.carry_out(plan, self.nearby.admits)
        if outcome.ok:
            for action, summary in zip(plan.actions, outcome.records, strict=True):
                if summary.outcome != "obsolete":
                    self.nearby.adopt(plan, action)
                    if action.proxy in STORE_PROXIES and plan.decision:
                        self.node.follow_broker(plan.decision)
        return outcome

    def decide(self, plan: Plan) -> Outcome:
        """Carry out a plan about storage and routing, and have all nodes in reach of each other follow it.

        No broker is needed. Nothing changes, here or elsewhere, if it fails here: raises InvalidPlan, and as
        `Registry.check` does.
        """
        if not all(action.proxy in STORE_PROXIES for action in plan.actions):
            raise InvalidPlan(
                f"plan {plan.plan!r}: expected actions of {' and '.join(sorted(STORE_PROXIES))}"
            )
        self.registry.check(plan, ("client",))
        self._prepare(plan.actions)
        foreseen = plan.dry_run(self.engine)
        for record in foreseen:
            if record.outcome == "failed":
                raise InvalidPlan(f"plan {plan.plan!r}: {record.proxy} to {record.target!r}: {record.error}")
        outcome = self.coordinator.carry_out(plan)
        if outcome.ok:
            self.node.decided()
        return outcome

    def _prepare(self, actions: Sequence[Action]) -> None:
        """Know the mechanisms that actions name, if they were found after this client began; and have the
        proxies of a node if they are named. Raises InvalidPlan if storage and routing would not fit."""
        if any(action.proxy in NODE_PROXIES for action in actions):
            _ = self.node
        self.registry.prepare(self.engine, "client", actions)
        self.nearby.learn()
        if self._node is not None:
            from bypass.core.objects.compatibility import check_fit

            check_fit(self.registry, self.engine, actions, not self.network.silent)

    def _make_node(self) -> StorageNode:
        from bypass.core.objects.access import ObjectTimes  # a client without objects does not load them
        from bypass.core.objects.node import StorageNode, kept_in_memory

        return StorageNode(
            self.registry,
            self.engine,
            self.host,
            self._local,
            self.nearby.transport,
            self.network.send,
            self._kept or kept_in_memory(self.host.id),
            self._times or ObjectTimes(),
            self._follow,
            self._fallback,
        )

    def _follow(self, plan: Plan) -> None:
        """Carry out a neighbour's plan, every time that it comes. Raises TransitionError if it fails."""
        self._prepare(plan.actions)
        for record in self.engine.execute(plan.model_copy(update={"id": ""})):
            if record.outcome == "failed":
                raise TransitionError(f"{record.proxy} to {record.target!r}: {record.error}")

    def _plan_arrived(self, message: PlanMessage) -> None:
        plan = Plan.from_bytes(message.plan)
        try:
            outcome = self.carry_out(plan)
        except InvalidPlan as error:
            outcome = Outcome.refused(plan, self.engine.host, error)
        if outcome.ok:
            self.network.epoch = message.epoch
        if not self.says_obsolete:
            outcome = outcome.for_strangers_to_obsolete()
        self.network.send(OutcomeMessage(outcome.to_bytes()))

    def _lease(self, proxy: str) -> Lease:
        declared = self._declared[proxy]
        link: Any = self.network
        if declared.link == "radios":
            link = self._local.radios
        elif declared.port is not None:
            link = self._local.port(declared.port)
        elif declared.link == "gateway":
            link = self.nearby.gateway
        elif declared.link == "datagrams":
            link = self.node.port
        elif declared.link == "storage":
            link = self.node.link
        return Lease(self.host, f"client {self.host.id}'s {proxy}", link)
