"""The broker: keeps subscriptions, selects who gets an event, and executes transitions while it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from bypass.core.areas.broker_areas import BrokerAreas
from bypass.core.areas.named_places import NamedPlaces
from bypass.core.areas.subscription_ends import SubscriptionEnds
from bypass.core.borders.making import make_borders
from bypass.core.client_listener import ClientListener
from bypass.core.downlink import Downlink
from bypass.core.plans.fresh_start import StartFromNothing
from bypass.core.plans.isolation import ClientDirectory, Isolation, NumberedClients
from bypass.core.plans.plan_areas import PlanAreas
from bypass.core.plans.rollout import Rollout
from bypass.core.plans.rollout_tracker import RolloutTracker
from bypass.core.plans.standing_plans import StandingPlans
from bypass.core.relaying import GatewayRelay
from bypass.core.selection import EventSelection
from bypass.mechanisms import Registry
from bypass.mechanisms.families import COMMON_SCHEME, FILTER_PROXY, MATCHING_PROXY
from bypass.mechanisms.filters import FilterBroker
from bypass.mechanisms.filters.base.grace import Grace
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.mechanisms.gateways import GatewayChoice
from bypass.places.geo import Projection
from bypass.places.region import Region
from bypass.ports.host import Host, Lease
from bypass.ports.proxies import GatewaySelection, Matching
from bypass.ports.state_info import LOCATION, VELOCITY, Reading, Vector, VelocityFromLocations
from bypass.protocol.messages import (
    AllowFollowing,
    Assignment,
    ContextMessage,
    FollowedPlace,
    Kind,
    Message,
    OutcomeMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.scheme_context import SchemeContext
from bypass.support.arrays import Ints
from bypass.transitions import Action, Engine, Group, InvalidPlan, Outcome, Plan, Record

BORDER = Kind.BORDER  # asked for at every event: looking a member up in its enumeration takes long


class Broker:
    """One broker for one region. Feed it what arrives with `receive`; change it with `execute`.

    `set` are parameters, for `scheme` and for all that come after it as far as they have them. `grace` is how
    long, in seconds, what a transition replaced goes on matching (0: not at all). `state_transfer=False`
    makes every transition start from nothing. `begin` is what clients do first. `registry` has the mechanisms
    that there are, those built in if it is not given. `clients` names clients and knows the schemes that they
    say they have; `pending_changed` is called with a client whose pending plans have changed. Plans about
    areas in degrees take a `projection`.
    """

    def __init__(
        self,
        host: Host,
        downlink: Downlink,
        *,
        region: Region,
        scheme: str = COMMON_SCHEME,
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the word that plans use
        grace: float = 1.5,
        state_transfer: bool = True,
        begin: Iterable[Action] = (),
        registry: Registry | None = None,
        clients: ClientDirectory | None = None,
        pending_changed: Callable[[int], None] = lambda _: None,
        projection: Projection | None = None,
    ) -> None:
        self.host = host
        self.registry = registry = registry or Registry()
        self.downlink = downlink
        self.table = SubscriptionTable()
        self.late_context = 0  # context messages of a scheme that their sender had left at the broker
        self.published = 0  # events, since it began
        self.subscribed = 0  # subscriptions that were placed, or placed again
        self.late_subscriptions = 0  # subscriptions that arrived under a scheme their sender had left
        self.listeners: list[ClientListener] = []
        self.addresses: dict[int, int] = {}  # where clients are reached by devices near them
        self._state_transfer = state_transfer
        self._grace = Grace(grace, host.after)
        lease, defer = lambda proxy: Lease(host, f"broker's {proxy}", self), partial(host.after, 0.0)
        self.engine = Engine("broker", lease=lease, clock=host.now, defer=defer)
        settings = set or {}
        own = registry.find("broker", FILTER_PROXY, scheme).parameters()
        self.schemes: Group = registry.create(
            self.engine,
            "broker",
            FILTER_PROXY,
            scheme,
            set={name: value for name, value in settings.items() if name in own},
            state={"table": self.table, "grace": self._grace, "region": region},
        )
        self.engine.set_defaults(FILTER_PROXY, settings)
        self.selection: GatewaySelection = registry.create(self.engine, "broker", "gateway-selection")
        self.brought_proxies = registry.create_brought(self.engine, "broker")
        names = NumberedClients() if clients is None else clients
        self.areas = BrokerAreas(names, lambda: self.filter_schemes[0].region, host.now)
        relay = GatewayRelay(self.selection, self.addresses, host.monitor)
        matching: Matching = registry.create(self.engine, "broker", MATCHING_PROXY)
        self._events = EventSelection(relay, self.areas, matching)
        self.ends = SubscriptionEnds(host.now, host.after, self.withdraw)
        isolation = Isolation(registry, names, self.scheme_of, self.execute)
        self.rollout = Rollout(
            self.engine,
            registry,
            StandingPlans(registry, scheme, settings, begin),
            lambda client, message: self.downlink.send(client, message),
            lambda: [scheme.clients for scheme in self.filter_schemes],
            lambda rollout: RolloutTracker(rollout, host, names, isolation, pending_changed),
            resubscribe=not state_transfer,
        )
        self.borders = make_borders(self, names)
        self.places = NamedPlaces(self)
        self.plan_areas = PlanAreas(self, projection)
        self.engine.add_listener(self)
        if not state_transfer:
            self.engine.register_transition(FILTER_PROXY, StartFromNothing())
        self.watch_indexes()
        host.state_info.provide(LOCATION, self._place, self._places)
        self._velocities = VelocityFromLocations()
        host.state_info.provide(VELOCITY, self._velocities, self._velocities.many)

    # -- transitions --------------------------------------------------------------------------------------

    def execute(self, plan: Plan) -> list[Record]:
        """Execute a plan here, then at the clients concerned; gives the broker's records.

        Raises the error that `check` finds, or InvalidPlan for members if there is no state transfer, for
        what is no area and for one plan too many, before anything is changed. An action that fails is in the
        records; clients are told what succeeded here. For an area in which nobody is nothing is done.
        """
        self.registry.check(plan)
        plan = self.plan_areas.resolved(plan)
        self.registry.prepare(self.engine, "broker", plan.actions)
        if not self._state_transfer and any(action.members for action in plan.actions):
            raise InvalidPlan(f"plan {plan.plan!r} names members: expected none, without state transfer")
        return self.rollout.execute(plan) if plan.actions else []

    def transition_finished(self, record: Record) -> None:  # noqa: ARG002 - whatever it was
        """The schemes may be others now, or how gateways are chosen."""
        self.watch_indexes()
        active = self.engine.active("gateway-selection")
        self._events.choice = active if isinstance(active, GatewayChoice) else None
        self.borders.schemes_changed()

    def watch_indexes(self) -> None:
        """Have the table tell exactly the indexes in use of changes."""
        schemes = self.filter_schemes
        self.table = schemes[0].table
        self._grace = schemes[0].grace
        self._events.use({scheme: self.flag_of(scheme) for scheme in schemes})
        self.areas.use(self.table)
        indexes = [index for scheme in schemes for index in scheme.indexes]
        self.table.listeners = (*indexes, self.areas, self._grace)

    # -- messages -----------------------------------------------------------------------------------------

    def receive(self, *messages: Message) -> None:
        """Process messages of clients, in order: a turn of them does what they do one by one.

        Raises what one of them raises; those before it have been processed then, and those after it have not.
        """
        if len(messages) == 1:  # as always in a simulation
            (message,) = messages
            self._process(message)
            if isinstance(message, Publish) and message.kind is not BORDER:
                delivery = self._events.select(message)
                if delivery is not None:
                    self.downlink.notify((delivery,))
            return
        _, error = self.receive_until_error(messages)
        if error is not None:
            raise error

    def receive_until_error(self, messages: Sequence[Message]) -> tuple[int, Exception | None]:
        """Process messages of clients, in order, until one raises: give how many were, and the error.

        Events in a row are matched together where that makes no difference.
        """
        done: list[Message] = []
        row: list[Publish] = []
        try:
            for message in messages:
                if row and not (isinstance(message, Publish) and self._events.may_follow(message)):
                    self.downlink.notify(self._events.select_many(row, done))
                    row = []
                self._process(message)
                if isinstance(message, Publish) and message.kind is not BORDER:
                    row.append(message)
                else:
                    done.append(message)
            if row:
                self.downlink.notify(self._events.select_many(row, done))
        except Exception as error:
            return len(done), error
        return len(done), None

    def _process(self, message: Message) -> None:
        """Do all that a message asks for, but for matching an event. Each says where devices nearby reach its
        client."""
        if message.address:
            self.addresses[message.client] = message.address
        elif self.addresses:
            self.addresses.pop(message.client, None)
        if isinstance(message, Publish):
            if message.area is not None:
                self.areas.resolve(message)
            self.published += 1
            if message.piggyback is not None:
                self._context(message.client, message.scheme, message.piggyback)
                message.piggyback = None  # the publisher's place is no business of the subscribers
            if message.kind is BORDER:
                self.borders.reported(message)
        elif isinstance(message, FollowedPlace):
            self.areas.followed(message)
        elif isinstance(message, ContextMessage):
            self._context(message.client, message.scheme, message)
        elif isinstance(message, Subscribe):
            self._subscribe(message)
        elif isinstance(message, Unsubscribe):
            self.withdraw(message.client, message.handle)
        elif isinstance(message, AllowFollowing):
            self.areas.allowed(message)
            self.borders.allowed(message.client)
        elif isinstance(message, OutcomeMessage):
            self.rollout.tracker.answered(message.client, Outcome.from_bytes(message.outcome))

    def withdraw(self, client: int, handle: int) -> None:
        """End a subscription of a client, whoever wants that; no effect if there is none."""
        if self.borders.unwatch(client, handle):
            return
        self.ends.forget(client, handle)
        if self.table.remove(client, handle) is not None:
            self.scheme_of(client).unsubscribed()

    def join(self, client: int, flag: int) -> None:
        """A client with this scheme takes part from now on; one that is new is told what others were told."""
        self._scheme_of_sender(client, flag)

    def reconnect(self, client: int, flag: int, epoch: int) -> None:
        """A client is back, with this scheme and epoch: tell it the plans that it may have missed.

        One that nobody serves yet, or that is as it was left, is told none.
        """
        schemes = [scheme for scheme in self.filter_schemes if client in scheme.clients]
        for scheme in schemes:
            scheme.reconnected(client)
        switch = bool(schemes) and flag != self.flag_of(schemes[0])
        self.rollout.tracker.returned(client, epoch, served=bool(schemes), switch=switch)
        self.borders.returned(client)

    def admit(
        self,
        client: int,
        subscriptions: Iterable[Subscribe],
        place: tuple[float, float, float, float, float] | None,
    ) -> None:
        """Serve a client that a broker before this one served: its subscriptions, and where it was when.

        `place` is x, y, vx, vy and the time.
        """
        scheme = self.scheme_of(client)
        if place is not None:
            x, y, vx, vy, at = place
            self.table.locate(client, x, y, at, (vx, vy))
        for each in subscriptions:
            self._take(scheme, each, client)

    def disconnect(self, client: int) -> None:
        """Forget a client that has left for good, with its subscriptions."""
        scheme = self.scheme_of(client)
        self.table.remove_client(client)
        self.areas.left(client)
        self.ends.forget_all(client)
        scheme.gone(client)
        self.addresses.pop(client, None)
        self._velocities.forget(client)
        self.borders.left(client)
        self.rollout.forget(client)
        for listener in self.listeners:
            listener.client_left(client)

    def scheme_of(self, client: int) -> FilterBroker:
        """The one scheme that serves a client; a client that is new here gets the default one."""
        schemes = self.filter_schemes
        for scheme in schemes:
            if client in scheme.clients:
                return scheme
        schemes[0].connected(client)
        return schemes[0]

    def flag_of(self, scheme: FilterBroker) -> int:
        """The number by which messages name a scheme that runs."""
        return self.registry.flags.of(scheme.scheme.name)

    def _scheme_of_sender(self, client: int, flag: int) -> FilterBroker:
        """The scheme that serves a client; one that is new is told what all others have been told."""
        new = not any(client in scheme.clients for scheme in self.filter_schemes)
        scheme = self.scheme_of(client)
        if new:
            self.borders.returned(client)
            self.rollout.tell_all(client, new=True, switch=flag != self.flag_of(scheme))
        return scheme

    def _subscribe(self, message: Subscribe) -> None:
        client = message.client
        self.check(message)
        self.subscribed += 1
        if message.scheme != self.flag_of(self._scheme_of_sender(client, message.scheme)):
            self.late_subscriptions += 1
        if message.piggyback is not None:
            if message.watch is None:
                self.table.add(client, message.handle, message.subscription, message.radius, message.interest)
            self._context(client, message.scheme, message.piggyback)
        # Asked for again: the place that came along may have moved the client to another scheme.
        self._take(self.scheme_of(client), message, client)

    def check(self, message: Subscribe) -> None:
        """Raises InvalidArea, InvalidWatch and FollowingRefused for what cannot be, and is not there yet."""
        if message.watch is not None:
            self.borders.check(message.client, message.handle, message.watch)
        self.areas.check(message)

    def _take(self, scheme: FilterBroker, message: Subscribe, client: int) -> None:
        """Have a subscription of a scheme's client in the table, and indexed; or a watch."""
        handle = message.handle
        if message.watch is not None:
            self.borders.watch(client, handle, message.watch)
            return
        row = self.table.add(client, handle, message.subscription, message.radius, message.interest)
        self.ends.set(client, handle, message)
        if row in self.table.interests and not self.table.is_for_schemes(row):
            self.areas.insert(row)
        scheme.subscribed(client, row)

    def _context(self, client: int, flag: int, message: ContextMessage) -> None:
        if isinstance(message, Assignment):
            return  # what brokers say to clients
        scheme = self._scheme_of_sender(client, flag)
        place = scheme.place_of(message)
        if flag != self.flag_of(scheme) or place is None:
            self.late_context += 1
            if not self._grace.seconds or place is None:
                return
        scheme.context_arrived(client, message)
        if self._events.choice is not None:
            self._velocities.report(client, Reading(place, self.host.now()))
        for listener in self.listeners:
            listener.client_located(client, *place)
        at = getattr(message, "at", None)
        # A scheme that the sender has left may not say when it was there; such a sender tells borders itself.
        if scheme.reports_places and (at is not None or flag == self.flag_of(scheme)):
            self.borders.located(client, *place, at, getattr(message, "z", None))

    # -- what schemes communicate through -----------------------------------------------------------------

    def deliver(self, publication: Publish, rows: Ints) -> None:
        """Deliver an event that has waited at a scheme to the owners of these rows."""
        delivery = self._events.deliver(publication, rows, late=True)
        if delivery is not None:
            self.downlink.notify((delivery,))

    def send(self, client: int, message: Message, scheme: FilterBroker) -> None:
        """Send a scheme's message to a client."""
        message.client = client
        message.scheme = self.flag_of(scheme)
        if isinstance(message, SchemeContext):
            message.of_scheme = message.scheme
        message.epoch = self.rollout.epoch
        self.downlink.send(client, message)

    # -- internals ----------------------------------------------------------------------------------------

    @property
    def filter_schemes(self) -> tuple[FilterBroker, ...]:
        """The schemes that run, the default one first."""
        return self.schemes.active  # type: ignore[return-value] # the group holds nothing else

    def _place(self, client: int) -> Reading[Vector] | None:
        place = self.table.place(client)
        return None if place is None else Reading((place[0], place[1]), place[2])

    def _places(self, clients: Sequence[int]) -> list[Vector | None]:
        return [None if each is None else (each[0], each[1]) for each in map(self.table.place, clients)]
