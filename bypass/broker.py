"""The broker: keeps subscriptions, selects who gets an event, and executes transitions while it does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from bypass.host import Host, Lease
from bypass.kernel import kernel
from bypass.matching import matches
from bypass.mechanisms import BROKER_MECHANISMS, CLIENT_MECHANISMS, find_mechanism
from bypass.mechanisms.filters import FilterBroker, Grace, SubscriptionTable
from bypass.mechanisms.filters.buckets import Ints
from bypass.mechanisms.filters.table import NO_ROWS
from bypass.messages import (
    AssignmentRequest,
    ContextMessage,
    ContextUpdate,
    Kind,
    Message,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.monitor import Metric, MetricRegistry
from bypass.plans import shares
from bypass.region import Region
from bypass.roles import GatewaySelection
from bypass.sis import LOCATION, Reading
from bypass.transitions import (
    Action,
    AtomicTransition,
    Coordinator,
    Distribution,
    Engine,
    InvalidPlan,
    Nothing,
    Plan,
    Record,
    check_plan,
)

KEPT_DISTRIBUTIONS = 1000


class Downlink(Protocol):
    """The broker's way to its clients, as the runtime provides it: reliable, in order for each client."""

    def send(self, client: int, message: Message) -> None:
        """Send one message to one client."""

    def multicast(
        self, publication: Publish, clients: Ints, handles: list[tuple[int, ...]], unfiltered: bool
    ) -> None:
        """Notify many distinct clients of one event, each with its own handles."""


@kernel
def others(rows: Ints, client: Ints, publisher: int) -> Ints:
    """The rows that are not the publisher's own."""
    kept = np.empty(len(rows), np.int64)
    n = 0
    for row in rows:
        if client[row] != publisher:
            kept[n] = row
            n += 1
    return kept[:n]


class StartFromNothing(AtomicTransition[FilterBroker, FilterBroker]):
    """A transition without state transfer, for comparison: clients must subscribe again."""

    def transfer_state(self, a: FilterBroker, b: FilterBroker) -> None:
        b.table = SubscriptionTable()
        b.grace = Grace(0.0, a.host.after)
        b.region = a.region


class Broker:
    """One broker for one region. Feed it what arrives with `receive`; change it with `execute`.

    `set` are parameters, for `scheme` and for all that come after it as far as they have them.
    `grace` is how long, in seconds, what a transition replaced goes on matching (0: not at all).
    `state_transfer=False` makes every transition start from nothing.
    """

    def __init__(
        self,
        host: Host,
        downlink: Downlink,
        *,
        region: Region,
        scheme: str = "radial",
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the word that plans use
        grace: float = 1.5,
        state_transfer: bool = True,
    ) -> None:
        self.host = host
        self.downlink = downlink
        self.table = SubscriptionTable()
        self.epoch = 0
        self.late_context = 0  # context messages of a scheme that their sender had left at the broker
        self.late_subscriptions = 0  # subscriptions that arrived under a scheme their sender had left
        self.distributions: deque[Distribution] = deque(maxlen=KEPT_DISTRIBUTIONS)
        self.location_listeners: list[Callable[[int, float, float], None]] = []  # told of each reported place
        self._state_transfer = state_transfer
        self._grace = Grace(grace, host.after)
        self.engine = Engine("broker", lease=self._lease, clock=host.now, defer=partial(host.after, 0.0))
        settings = set or {}
        first = find_mechanism(BROKER_MECHANISMS, "filter", scheme)
        self.schemes = self.engine.create_group(
            "filter",
            first,
            mechanisms=BROKER_MECHANISMS["filter"].values(),
            set={name: value for name, value in settings.items() if name in first.parameters()},
            state={"table": self.table, "grace": self._grace, "region": region},
        )
        self.engine.set_defaults("filter", settings)
        self.selection = self.engine.create_proxy("gateway-selection", GatewaySelection, Nothing)
        self.coordinator = Coordinator(self.engine, send=self._send_plan)
        self.engine.add_listener(self)
        if not state_transfer:
            self.engine.register_transition("filter", StartFromNothing())
        self.watch_indexes()
        host.sis.provide(LOCATION, self._place)
        self.metrics = MetricRegistry()
        for name, read in self._readings().items():
            self.metrics.add(Metric(name, read))

    # -- transitions --------------------------------------------------------------------------------------

    def execute(self, plan: Plan) -> list[Record]:
        """Execute a plan here, then at the clients concerned; gives the broker's records.

        Raises the error that `check` finds, or InvalidPlan for members if there is no state transfer, before
        anything is changed. An action that fails is in the records; clients are told what succeeded here.
        """
        check_plan(plan, BROKER_MECHANISMS, CLIENT_MECHANISMS)
        if not self._state_transfer and any(action.members for action in plan.actions):
            raise InvalidPlan(f"plan {plan.plan!r} names members: expected none, without state transfer")
        self.epoch += 1
        name = plan.id or f"{plan.plan[:100]}-{self.epoch}"
        plan = plan.model_copy(update={"epoch": self.epoch, "id": name})
        here = [action for action in plan.actions if action.proxy in BROKER_MECHANISMS]
        records = self.engine.execute(plan.model_copy(update={"actions": tuple(here)})) if here else []
        failed = [action for action, record in zip(here, records, strict=True) if record.outcome == "failed"]
        succeeded = [action for action in plan.actions if action not in failed]
        if failed and plan.on_error == "abort":
            succeeded = list(plan.actions[: plan.actions.index(failed[0])])
        if succeeded:
            self._distribute(plan.model_copy(update={"actions": tuple(succeeded)}))
        return records

    def _distribute(self, plan: Plan) -> None:
        served = [scheme.clients for scheme in self._schemes()]
        for share, clients in shares(plan, served, resubscribe=not self._state_transfer):
            self.distributions.append(self.coordinator.distribute(share, clients))

    def transition_started(self, record: Record) -> None:
        """Nothing: the table's listeners change when the transition is complete."""

    def transition_finished(self, record: Record) -> None:  # noqa: ARG002 - whatever it was
        """The schemes may be others now."""
        self.watch_indexes()

    def watch_indexes(self) -> None:
        """Have the table tell exactly the indexes in use of changes."""
        schemes = self._schemes()
        self.table = schemes[0].table
        self._grace = schemes[0].grace
        self.table.listeners = (*(scheme.index for scheme in schemes), self._grace)

    # -- messages -----------------------------------------------------------------------------------------

    def receive(self, message: Message) -> None:
        """Process one message from a client."""
        if isinstance(message, Publish):
            if message.piggyback is not None:
                self._context(message.client, message.scheme, message.piggyback)
                message.piggyback = None  # the publisher's place is no business of the subscribers
            self.publish(message)
        elif isinstance(message, ContextMessage):
            self._context(message.client, message.scheme, message)
        elif isinstance(message, Subscribe):
            self._subscribe(message)
        elif isinstance(message, Unsubscribe):
            if self.table.remove(message.client, message.handle) is not None:
                self.scheme_of(message.client).unsubscribed()
        elif isinstance(message, OutcomeMessage):
            self.coordinator.receive_outcome(message.client, message.outcome)

    def disconnect(self, client: int) -> None:
        """Forget a client that has left for good, with its subscriptions."""
        scheme = self.scheme_of(client)
        self.table.remove_client(client)
        scheme.gone(client)

    def scheme_of(self, client: int) -> FilterBroker:
        """The one scheme that serves a client; a client that is new here gets the default one."""
        schemes = self._schemes()
        for scheme in schemes:
            if client in scheme.clients:
                return scheme
        schemes[0].connected(client)
        return schemes[0]

    def _scheme_of_sender(self, client: int, flag: int) -> FilterBroker:
        """The scheme that serves a client; one that is new, and comes with another, is told to change."""
        new = not any(client in scheme.clients for scheme in self._schemes())
        scheme = self.scheme_of(client)
        if new and flag != scheme.flag:
            self.epoch += 1
            action = Action(proxy="filter", to=scheme.name, members=(client,))
            why = f"client {client} is new and came with another scheme"
            name = f"join-{self.epoch}"
            self._distribute(Plan(plan="join", why=why, id=name, epoch=self.epoch, actions=(action,)))
        return scheme

    def _subscribe(self, message: Subscribe) -> None:
        client = message.client
        if message.scheme != self._scheme_of_sender(client, message.scheme).flag:
            self.late_subscriptions += 1
        row = self.table.add(client, message.handle, message.subscription, message.radius)
        if message.piggyback is not None:
            self._context(client, message.scheme, message.piggyback)
        # Asked for again: the place that came along may have moved the client to another scheme.
        self.scheme_of(client).subscribed(client, row)

    def _context(self, client: int, flag: int, message: ContextMessage) -> None:
        if not isinstance(message, ContextUpdate | AssignmentRequest):
            return  # what brokers say to clients
        scheme = self._scheme_of_sender(client, flag)
        if flag != scheme.flag:
            self.late_context += 1
            if not self._grace.seconds:
                return
        scheme.context_arrived(client, message)
        for listener in self.location_listeners:
            listener(client, *message.location)

    # -- events -------------------------------------------------------------------------------------------

    def publish(self, publication: Publish) -> None:
        """Select the subscriptions that an event concerns and notify their owners."""
        schemes = self._schemes()
        if publication.kind is Kind.PLAIN:
            self.deliver(publication, self.table.rows())
            return
        # A channel is a word of its publisher's scheme: beside it, the place alone says something.
        foreign = publication if len(schemes) == 1 else replace(publication, channel=None)
        found = [s.match(publication if s.flag == publication.scheme else foreign) for s in schemes]
        if self._grace.overlapping:
            found += self._grace.match(publication)
        plain = self.table.plain()
        if len(plain):
            found.append(plain)
        self.deliver(publication, found[0] if len(found) == 1 else np.unique(np.concatenate(found)))
        for scheme in schemes:
            unknown = scheme.unfiltered()
            if len(unknown):
                self.deliver(publication, unknown, unfiltered=True)

    def deliver(self, publication: Publish, rows: Ints, unfiltered: bool = False) -> None:
        """Notify the owners of those rows whose attribute filters accept the event; never its publisher."""
        table = self.table
        rows = others(self._accepting(publication, rows), table.client, publication.client)
        if not len(rows):
            return
        clients = table.client[rows]
        handles = [table.handles[row] for row in rows.tolist()]
        if not table.shared:
            self.downlink.multicast(publication, clients, handles, unfiltered)
            return
        together: dict[int, tuple[int, ...]] = {}
        for client, handle in zip(clients.tolist(), handles, strict=True):
            together[client] = together.get(client, ()) + handle
        self.downlink.multicast(publication, np.array([*together]), [*together.values()], unfiltered)

    def _accepting(self, publication: Publish, rows: Ints) -> Ints:
        """Those rows whose subscription accepts the event's attributes; each distinct one is asked once."""
        table = self.table
        event = publication.event
        if len(table.groups) == 1:
            return rows if matches(event, table.groups[0]) else NO_ROWS
        groups = table.group[rows]
        refused = [g for g in np.unique(groups).tolist() if not matches(event, table.groups[g])]
        if not refused:
            return rows
        return rows[~np.isin(groups, refused)]

    # -- what schemes communicate through -----------------------------------------------------------------

    def send(self, client: int, message: Message) -> None:
        """Send a scheme's message to a client."""
        message.client = client
        message.epoch = self.epoch
        self.downlink.send(client, message)

    # -- internals ----------------------------------------------------------------------------------------

    def _readings(self) -> dict[str, Callable[[], float]]:
        return {
            "clients": lambda: sum(len(scheme.clients) for scheme in self._schemes()),
            "subscriptions": lambda: len(self.table),
            "schemes": lambda: len(self._schemes()),
            "epoch": lambda: self.epoch,
            "late_context": lambda: self.late_context,
            "late_subscriptions": lambda: self.late_subscriptions,
            "unplaced_events": lambda: sum(scheme.unplaced for scheme in self._schemes()),
        }

    def _schemes(self) -> tuple[FilterBroker, ...]:
        return self.schemes.active  # type: ignore[return-value] # the group holds nothing else

    def _lease(self, proxy: str) -> Lease:
        return Lease(self.host, f"broker's {proxy}", self)

    def _send_plan(self, client: object, data: bytes) -> None:
        assert isinstance(client, int)
        self.downlink.send(client, PlanMessage(data, client=client, epoch=self.epoch))

    def _place(self, client: int) -> Reading[tuple[float, float]] | None:
        place = self.table.place(client)
        return None if place is None else Reading((place[0], place[1]), place[2])
