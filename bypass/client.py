"""The client: what an application publishes and subscribes with, whatever mechanisms are behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bypass.errors import InvalidEvent, InvalidLocation, InvalidRadius, shown
from bypass.events import Event
from bypass.filters import Filter, Subscription
from bypass.geo import GeoLocation, PlanarLocation, Projection
from bypass.host import Host, Lease
from bypass.location import LocationRequest
from bypass.mechanisms import CLIENT_MECHANISMS, find_mechanism
from bypass.mechanisms.filters import FilterClient
from bypass.messages import Kind, Message, OutcomeMessage, PlanMessage, Publish
from bypass.network import ClientNetwork, DeliveryAnalyzer
from bypass.roles import Dissemination, GatewayLogic, LocalTransport
from bypass.subscriptions import Callback, SubHandle, Subscriptions
from bypass.transitions import Coordinator, Engine, Nothing, Outcome, Record

LARGEST_RADIUS = 20_000_000  # half the way around the earth


class Client:
    """One application's access to publish/subscribe. `uplink` sends to the broker, reliably and in order.

    `set` are parameters, for `scheme` and for all that come after it as far as they have them.
    `projection` turns latitudes and longitudes into the metres of the broker's region.
    Handles and callbacks outlive every transition. A client is not told of its own events.
    """

    def __init__(
        self,
        host: Host,
        uplink: Callable[[Message], None],
        *,
        scheme: str = "radial",
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the word that plans use
        projection: Projection | None = None,
    ) -> None:
        self.host = host
        self._projection = projection
        self.subscriptions = Subscriptions()
        self.network = ClientNetwork(host.id, uplink, host.after, host.monitor.get(DeliveryAnalyzer))
        self.engine = Engine(
            f"client-{host.id}",
            lease=self._lease,
            clock=host.now,
            defer=partial(host.after, 0.0),
        )
        self.transport = self.engine.create_proxy("transport", LocalTransport, Nothing)
        self.direct = self.engine.create_proxy("direct", Dissemination, Nothing)
        self.gateway = self.engine.create_proxy("gateway", Dissemination, Nothing)
        self.gateway_logic = self.engine.create_proxy("gateway-logic", GatewayLogic, Nothing)
        settings = set or {}
        first = find_mechanism(CLIENT_MECHANISMS, "filter", scheme)
        self.filter = self.engine.create_proxy(
            "filter",
            FilterClient,
            first,
            mechanisms=CLIENT_MECHANISMS["filter"].values(),
            set={name: value for name, value in settings.items() if name in first.parameters()},
            state={"subscriptions": self.subscriptions},
        )
        self.engine.set_defaults("filter", settings)
        self.coordinator = Coordinator(self.engine)
        self.engine.add_listener(self)
        self.network.bind(self.filter, self._plan_arrived)
        self._mark_messages()
        self._published = 0

    # -- the application's interface ----------------------------------------------------------------------

    def subscribe(
        self,
        subscription: Subscription | Filter,
        callback: Callback,
        *,
        radius: int | None = None,
        location: LocationRequest | None = None,
    ) -> SubHandle:
        """Ask for events by their attributes and, with a `radius` in metres, near the client as it moves.

        `callback(event, handle)` is called for each. `location` says how often the place is to be known.
        Raises `EmptySubscription`, or `InvalidRadius` for a radius that is not a positive whole number.
        """
        if radius is not None and (
            isinstance(radius, bool) or not isinstance(radius, int) or not 0 < radius <= LARGEST_RADIUS
        ):
            raise InvalidRadius(f"radius {radius!r}: expected whole metres from 1 to {LARGEST_RADIUS}")
        registered = self.subscriptions.add(
            Subscription.of(subscription), callback, radius, location or LocationRequest()
        )
        self.filter.subscribe(registered)
        return registered.handle

    def unsubscribe(self, handle: SubHandle) -> None:
        """Withdraw a subscription. Raises `UnknownHandle` if it is not, or no longer, subscribed."""
        self.subscriptions.remove(handle)
        self.filter.unsubscribe(handle.id)

    def publish(self, event: Event, location: PlanarLocation | GeoLocation | None = None) -> int:
        """Publish an event: to whom its attributes concern or, with a location, to whom it concerns there.

        Gives the event's number, unique in the system. Raises `InvalidEvent` for what is no event, and
        `InvalidLocation` for latitude and longitude if the client has no `projection`.
        """
        if location is None:
            return self._publish(event, Kind.PLAIN, None)
        if isinstance(location, GeoLocation):
            if self._projection is None:
                raise InvalidLocation(f"{location}: expected planar metres, this client has no projection")
            location = self._projection.to_planar(location)
        return self._publish(event, Kind.PLACED, (location.x, location.y))

    def publish_local(self, event: Event) -> int:
        """Publish an event where the client is. Raises `InvalidLocation` if the sensor cannot tell."""
        fix = self.host.location.current()
        if fix is None:
            raise InvalidLocation(f"client {self.host.id}: its location is not known yet")
        return self._publish(event, Kind.LOCAL, (fix.x, fix.y))

    def _publish(self, event: Event, kind: Kind, location: tuple[float, float] | None) -> int:
        if not isinstance(event, Event):
            raise InvalidEvent(f"{shown(event)}: expected an Event")
        self._published += 1
        number = self.host.id << 32 | self._published
        self.filter.publish(Publish(number, event, kind, round(self.host.now() * 1e6), location))
        return number

    # -- transitions --------------------------------------------------------------------------------------

    def transition_started(self, record: Record) -> None:
        """Nothing: messages are marked with the new scheme only once it is active."""

    def transition_finished(self, record: Record) -> None:  # noqa: ARG002 - whatever it was
        """The filter scheme may be another now."""
        self._mark_messages()

    def _mark_messages(self) -> None:
        scheme = self.engine.active("filter")
        if isinstance(scheme, FilterClient):
            self.network.flag = scheme.flag

    def _plan_arrived(self, message: PlanMessage) -> None:
        outcome = self.coordinator.receive_plan(message.plan)
        if Outcome.from_bytes(outcome).ok:
            self.network.epoch = message.epoch
        self.network.send(OutcomeMessage(outcome))

    def _lease(self, proxy: str) -> Lease:
        return Lease(self.host, f"client {self.host.id}'s {proxy}", self.network)
