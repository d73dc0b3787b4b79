"""One broker and its clients with the parts of one filter scheme, between which messages take no time.

What is said in a microsecond arrives at its end: events that nothing rides on first, because what clients say
holds for what comes after that microsecond.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.core.client_network import ClientNetwork
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters import FilterBroker, FilterClient
from bypass.mechanisms.filters.base.grace import Grace
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.mechanisms.filters.kernels.judge import BYTES_DOWN, BYTES_UP, MESSAGES_DOWN, MESSAGES_UP
from bypass.places.region import Region
from bypass.places.sensor import LocationRequest, LocationSensor, NoSensor
from bypass.ports.host import Lease
from bypass.ports.monitor import Monitor
from bypass.ports.subscriptions import SubHandle, Subscriptions
from bypass.protocol.messages import ContextMessage, Kind, Message, Publish, Subscribe
from bypass.protocol.scheme_context import SchemeContext
from bypass.protocol.wire import encoded_size, piggyback_size
from bypass.scenarios.evaluation.schemes import Scheme
from bypass.scenarios.evaluation.subscribed_areas import SubscribedAreas
from bypass.sim.cellular import BROKER
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.sensor import Movement, TraceSensor
from bypass.support.arrays import Ints
from bypass.transitions import Engine, Mechanism

EVENT = Event(kind="event")
EVERYTHING = Subscription.of(attr("kind") == "event")


class InstantSystem:
    """All who take part begin at the clock's time, without subscriptions.

    `deliveries` are pairs of an event's number and a client that was told of it in the same microsecond;
    `traffic` counts context messages and bytes, `header` bytes more for each message of its own.
    """

    def __init__(
        self,
        scheme: Scheme,
        region: Region,
        movement: Movement,
        clock: VirtualClock,
        phases: NDArray[np.float64],
        seed: int,
        header: int,
    ) -> None:
        self.deliveries: list[tuple[int, int]] = []
        self.traffic = np.zeros(4, np.int64)
        self._clock, self._header, self._seed = clock, header, seed
        self._flag = scheme.flag
        self._monitor = Monitor()
        self._waiting: list[Message] = []
        self._table = SubscriptionTable()
        grace = Grace(0.0, clock.after)
        part: type[Mechanism] = scheme.scheme.Broker
        group = self._engine(BROKER, NoSensor(), self).create_group(
            "filter",
            part,
            set=_values(scheme, part),
            state={"table": self._table, "grace": grace, "region": Region(region.area, region.places)},
        )
        assert isinstance(group.default, FilterBroker)
        self._broker = group.default
        self.watch_indexes()
        self._networks: list[ClientNetwork] = []
        self._clients: list[FilterClient] = []
        part = scheme.scheme.Client
        for number, phase in enumerate(phases.tolist()):
            network = ClientNetwork(number, self._send_up, clock.after, self)
            network.flag = scheme.flag
            engine = self._engine(number, TraceSensor(clock, movement, number, phase), network)
            state = {"subscriptions": Subscriptions()}
            engine.create_proxy("filter", FilterClient, part, set=_values(scheme, part), state=state)
            client = engine.active("filter")
            assert isinstance(client, FilterClient)
            network.bind(client, _no_plan, _NoGateway())
            self._networks.append(network)
            self._clients.append(client)

    def subscribe_all(self, radius: float, interval: float, areas: SubscribedAreas | None = None) -> None:
        """Everybody subscribes to his areas or, without `areas`, within a radius (m) around him, and then
        wants to know his place each `interval` s."""
        request = LocationRequest(interval=interval)
        for number, client in enumerate(self._clients):
            if areas is None:
                # Clients of real systems have whole metres, here it may be any number.
                client.subscribe(
                    client.subscriptions.add(EVERYTHING, _ignore, radius, request)  # type: ignore[arg-type]
                )
            elif (interest := areas.interest(number)) is not None:
                client.subscribe(client.subscriptions.add(EVERYTHING, _ignore, None, request, True, interest))

    def publish(self, number: int, client: int, local: bool, x: float, y: float) -> None:
        """A client publishes an event with this number, where it is (`local`) or elsewhere."""
        kind = Kind.LOCAL if local else Kind.PLACED
        self._clients[client].publish(Publish(number, EVENT, kind, self._clock.now_us, (x, y), client=client))

    # -- what the broker's part communicates through -------------------------------------------------------

    def send(self, client: int, message: ContextMessage, _scheme: FilterBroker) -> None:
        """The broker's part tells one client something."""
        message.client = client
        message.scheme = self._flag
        if isinstance(message, SchemeContext):
            message.of_scheme = self._flag
        self.traffic[MESSAGES_DOWN] += 1
        self.traffic[BYTES_DOWN] += encoded_size(message) + self._header
        self._networks[client].receive(message)

    def deliver(self, publication: Publish, rows: Ints, unfiltered: bool = False) -> None:
        """The owners of these rows are told of an event; never its publisher."""
        for row in rows.tolist():
            client = int(self._table.client[row])
            if client != publication.client:
                self._networks[client].notified(publication, self._table.handles[row], unfiltered)

    def watch_indexes(self) -> None:
        """The table tells exactly the indexes in use of changes."""
        self._table.listeners = (*self._broker.indexes, self._broker.grace)

    # -- what clients hear and say -------------------------------------------------------------------------

    def notified(self, client: int, publication: Publish) -> None:
        """An event has reached a client for the first time; later than at once does not count."""
        if publication.at_us == self._clock.now_us:
            self.deliveries.append((publication.id, client))

    def _send_up(self, message: Message) -> None:
        if not self._waiting:
            self._clock.at(self._clock.now_us, self._settle)
        self._waiting.append(message)

    def _settle(self) -> None:
        """Let the broker hear, in order, what clients have said in this microsecond."""
        waiting, self._waiting = self._waiting, []
        for message in sorted(waiting, key=_rank):
            client = message.client
            if isinstance(message, ContextMessage):
                self._context(client, message, encoded_size(message) + self._header)
            elif isinstance(message, Publish):
                if message.piggyback is not None:
                    self._context(client, message.piggyback, piggyback_size(message))
                    message.piggyback = None
                self.deliver(message, self._broker.match(message))
                for rows in self._broker.match_areas([message]):
                    self.deliver(message, rows)
                self.deliver(message, self._broker.unfiltered(), unfiltered=True)
            elif isinstance(message, Subscribe):
                self._broker.connected(client)
                row = self._table.add(
                    client, message.handle, message.subscription, message.radius, message.interest
                )
                if message.piggyback is not None:
                    self._context(client, message.piggyback, piggyback_size(message))
                self._broker.subscribed(client, row)

    def _context(self, client: int, message: ContextMessage, size: int) -> None:
        self.traffic[MESSAGES_UP] += 1
        self.traffic[BYTES_UP] += size
        if self._broker.place_of(message) is not None:
            self._broker.context_arrived(client, message)

    def _engine(self, number: int, sensor: LocationSensor, link: object) -> Engine:
        """Make the engine that runs the part of one participant."""
        host = SimHost(number, self._clock, sensor, self._monitor, self._seed)
        return Engine(lease=lambda _: Lease(host, f"the filter of {number}", link), clock=self._clock.now)


def _values(scheme: Scheme, part: type[Mechanism]) -> dict[str, Any]:
    """Those of the scheme's parameters that a part has."""
    return {name: value for name, value in scheme.setting.values.items() if name in part.parameters()}


def _rank(message: Message) -> int:
    """The order in which messages of one microsecond are heard: the lowest first."""
    if not isinstance(message, Publish):
        return 2
    return 0 if message.piggyback is None else 1


def _ignore(_event: Event, _handle: SubHandle) -> None:
    """Ignore an event: applications do nothing with events here."""


def _no_plan(_message: Message) -> None:
    """Ignore a plan: there are none here."""


class _NoGateway:
    """Relays nothing: nobody asks it to."""

    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        """Never called."""
