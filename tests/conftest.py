"""A small world in virtual time, for tests of the whole system: people are where the test puts them."""

from __future__ import annotations

import gc
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import pytest
from hypothesis import settings

from bypass.core.downlink import Delivery, Downlink
from bypass.core.plans.pending_plans import PendingPlan
from bypass.core.plans.plan_progress import ClientVerdict, PlanProgress
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription, attr
from bypass.mechanisms.filters import Attract, Egrid, FilterBroker, Grid, Multi, Ste
from bypass.models.compute.engines import SparkEngine, spark_engine
from bypass.places.geo import PlanarLocation
from bypass.places.region import Place, Region
from bypass.places.sensor import LocationRequest
from bypass.ports.subscriptions import Callback, SubHandle
from bypass.protocol.messages import Message
from bypass.sim.system import SimulatedSystem
from bypass.support.units import MICROSECONDS
from bypass.transitions import Action, Plan, Record
from tests.cluster import QUICK_JAVA
from tests.scheduling import ByFile

# Spark has little to do here: thoroughly compiled and verified, it takes twice the time to start and to work.
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JAVA)

# How long an example takes says nothing: others may use the machine, and the first one loads what it needs.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

# Thousands of tests and what they import stay to the end: the garbage collector need not look at them.
gc.disable()

Point = tuple[float, float]

AREA = (0.0, 0.0, 1000.0, 1000.0)
PLACES = (
    Place("park", 300.0, 300.0, 100.0),
    Place("pond", 360.0, 300.0, 60.0),
    Place("station", 800.0, 800.0, 80.0),
)


class Walkers:
    """A trace: everybody stands, or walks straight on, from where the test has put them last."""

    def __init__(self, places: Sequence[Point]) -> None:
        self._legs = [(0.0, *place, 0.0, 0.0, 0.0) for place in places]

    def put(self, client: int, at: float, place: Point, vector: Point, stands: bool) -> None:
        self._legs[client] = (at, *place, *vector, 0.0 if stands else 1.0)

    def position(self, client: int, at: float) -> Point:
        since, x, y, vx, vy, pace = self._legs[client]
        return x + pace * vx * (at - since), y + pace * vy * (at - since)

    def velocity(self, client: int, at: float) -> Point:
        return self._legs[client][3:5]


class Tap:
    """The broker's way to its clients, noting what takes it."""

    def __init__(self, downlink: Downlink) -> None:
        self.messages: list[tuple[int, Message]] = []
        self.notifications: list[tuple[int, int, tuple[int, ...]]] = []  # event, client, handles
        self.relays: list[tuple[int, int, tuple[int, ...]]] = []  # event, gateway, addresses
        self._downlink = downlink

    def send(self, client: int, message: Message) -> None:
        self.messages.append((client, message))
        self._downlink.send(client, message)

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        deliveries = [*deliveries]
        for publication, gateways, groups, _ in deliveries:
            if gateways is not None:
                self.relays += [
                    (publication.id, client, others)
                    for client, others in zip(gateways.clients, gateways.targets, strict=True)
                ]
            for group in groups:
                self.notifications += [
                    (publication.id, client, own)
                    for client, own in zip(group.clients.tolist(), group.handles, strict=True)
                ]
        self._downlink.notify(deliveries)


class World:
    """A simulated system with a client at each of `places`; `options` are those of `SimulatedSystem`.

    `up` are messages as they reach the broker, `tap` holds what the broker sends, `deliveries` are
    (time, client, handle, event), in order; `rollouts` are plans that clients were told, `settled` the shares
    of them that clients have done, or failed for good.
    """

    def __init__(
        self, places: Sequence[Point], *, attractions: Sequence[Place] = PLACES, **options: Any
    ) -> None:
        self.walkers = Walkers(places)
        self.region = Region(AREA, tuple(attractions))
        self.system = SimulatedSystem(len(places), self.walkers, self.region, **options)
        self.broker = self.system.broker
        self.clients = self.system.clients
        self.up: list[Message] = []
        self.deliveries: list[tuple[float, int, int, int]] = []
        self._told: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # by event
        self.tap = Tap(self.broker.downlink)
        self.broker.downlink = self.tap
        self.rollouts: list[PlanProgress] = []
        self.settled: list[tuple[int, PendingPlan]] = []
        self.tracker = self.broker.rollout.tracker
        self.tracker.listeners.append(self)
        self.system.cellular.attach_broker(self._arrived)
        self._events = 0

    # -- what happens -------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self.system.clock.now()

    def run(self, seconds: float = 1.0) -> None:
        """Let time pass; by default long enough for every message that is under way and its answer."""
        self.system.clock.run_until(self.system.clock.now_us + round(seconds * MICROSECONDS))

    def put(self, client: int, place: Point, vector: Point = (0.0, 0.0), *, stands: bool = False) -> None:
        """From now on the client is there and walks by `vector`, or stands and only reports it."""
        self.walkers.put(client, self.now, place, vector, stands)

    def place(self, client: int) -> Point:
        return self.walkers.position(client, self.now)

    def subscribe(
        self,
        client: int,
        radius: int | None = 100,
        wanted: Subscription | Filter | None = None,
        interval: float = 1.0,
    ) -> SubHandle:
        return self.clients[client].subscribe(
            wanted if wanted is not None else attr("kind") == "news",
            self.callback(client),
            radius=radius,
            location_request=LocationRequest(interval=interval),
        )

    def callback(self, client: int) -> Callback:
        """The callback by which a client is told."""

        def told(event: Event, handle: SubHandle) -> None:
            self.deliveries.append((self.now, client, handle.id, event["number"]))
            self._told[event["number"]].append((client, handle.id))

        return told

    def publish(self, client: int, at: Point | None = None, **attributes: Any) -> int:
        """Publish an event, at a place if one is given; gives what `heard` wants to know."""
        where = None if at is None else PlanarLocation(*at)
        self.clients[client].publish(self._event(attributes), where)
        return self._events

    def publish_local(self, client: int, **attributes: Any) -> int:
        self.clients[client].publish_local(self._event(attributes))
        return self._events

    def heard(self, event: int) -> list[tuple[int, int]]:
        """The deliveries of an event: (client, handle), sorted, as often as they happened."""
        return sorted(self._told.get(event, ()))

    def execute(self, to: str | None = None, members: Sequence[int] | None = None, **values: Any) -> Record:
        """One transition of the filter scheme, at the broker and at its clients."""
        action = Action(
            proxy="filter", to=to, set=values, members=None if members is None else tuple(members)
        )
        (record,) = self.broker.execute(Plan(plan="test", actions=(action,)))
        return record

    def rollout_begun(self, progress: PlanProgress) -> None:
        self.rollouts.append(progress)

    def plan_settled(self, client: int, plan: PendingPlan) -> None:
        self.settled.append((client, plan))

    def rollout_concluded(self, progress: PlanProgress) -> None:
        """Of interest is what clients have done."""

    def ended(self, verdict: ClientVerdict) -> dict[int, str]:
        """Clients that have ended some plan with this verdict, and why."""
        return {client: plan.reason for client, plan in self.settled if plan.verdict == verdict}

    def unanswered(self) -> dict[int, list[ClientVerdict]]:
        """Plans that clients were told and may not have done."""
        return {
            client: [plan.verdict for plan in self.tracker.pending.of(client)]
            for client in self.tracker.pending
        }

    def _event(self, attributes: dict[str, Any]) -> Event:
        self._events += 1
        return Event(**{"kind": "news", "number": self._events, **attributes})

    def _arrived(self, message: Message) -> None:
        self.up.append(copy(message))  # the broker takes off what rides on it
        self.broker.receive(message)

    # -- what should happen -------------------------------------------------------------------------------

    def schemes(self) -> list[FilterBroker]:
        return [scheme for scheme in self.broker.schemes.active if isinstance(scheme, FilterBroker)]

    def scheme_of(self, client: int) -> FilterBroker:
        """The one scheme that serves the client."""
        (scheme,) = [scheme for scheme in self.schemes() if client in scheme.clients]
        return scheme

    def everybody(self) -> Iterator[tuple[int, SubHandle]]:
        for number, client in enumerate(self.clients):
            for registered in client.subscriptions:
                yield number, registered.handle

    def selected(self, publisher: int, at: Point) -> list[tuple[int, int]]:
        """The (client, handle) pairs that an event of kind "news" there concerns, by the rules of the schemes
        and reported places."""
        return sorted(
            (client, handle.id)
            for client, handle in self.everybody()
            if client != publisher and (handle.radius is None or self._concerns(client, handle.radius, at))
        )

    def _concerns(self, client: int, radius: int, at: Point) -> bool:
        known = self.broker.table.place(client)
        if known is None:
            return False
        scheme, place = self.scheme_of(client), known[:2]
        match scheme:
            case Ste.Broker():
                return in_envelope(at, place, radius, self.walkers.velocity(client, self.now), scheme.alpha)
            case Egrid.Broker():
                square = [
                    (place[0] + sx * radius, place[1] + sy * radius) for sx in (-1, 1) for sy in (-1, 1)
                ]
                (i0, j0), *_, (i1, j1) = [cell(corner, scheme.grid) for corner in square]
                i, j = cell(at, scheme.grid)
                return i0 <= i <= i1 and j0 <= j <= j1
            case Grid.Broker():
                return cell(at, scheme.grid) == cell(place, scheme.grid)
            case Attract.Broker():
                mine, its = self.around(place), self.around(at)
                return bool(mine & its) or not (mine or its)
            case Multi.Broker():
                mine = self.around(place)
                return bool(mine & self.around(at)) if mine else math.dist(at, place) <= radius
            case _:
                return math.dist(at, place) <= radius

    def around(self, at: Point) -> set[str]:
        """Names of the attraction points that a place is in."""
        return {p.name for p in self.region.places if math.dist(at, (p.x, p.y)) <= p.radius}


def cell(at: Point, n: int) -> tuple[int, int]:
    """The cell of a place among n × n, the outermost ones having everything beyond them too."""
    x0, y0, x1, y1 = AREA
    i, j = math.floor((at[0] - x0) / ((x1 - x0) / n)), math.floor((at[1] - y0) / ((y1 - y0) / n))
    return min(max(i, 0), n - 1), min(max(j, 0), n - 1)


def in_envelope(at: Point, place: Point, radius: float, vector: Point, alpha: float) -> bool:
    """Whether a place is in the disc around a subscriber, or in the cone that starts there."""
    if math.dist(at, place) <= radius:
        return True
    speed = math.hypot(*vector)
    if speed == 0.0 or alpha == 0.0:
        return False
    dx, dy = at[0] - place[0], at[1] - place[1]
    along = (dx * vector[0] + dy * vector[1]) / speed
    aside = abs(dx * vector[1] - dy * vector[0]) / speed
    return 0.0 <= along <= 60.0 * alpha * speed and aside <= radius + along * math.tan(math.radians(15))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow files come first, those that share a worker before them: nobody is left with one at the end.

    Of these, tests that start Spark themselves come before those that share the fixture's session.
    """

    def turn(item: pytest.Item) -> tuple[bool, bool, bool]:
        alone, quick = (item.get_closest_marker(mark) is None for mark in ("xdist_group", "slow"))
        return alone, "spark" in getattr(item, "fixturenames", ()), quick

    items.sort(key=turn)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.fixture(scope="session")
def new_world() -> type[World]:
    return World


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkEngine]:
    """Two cores of this machine. Files that use it are marked `xdist_group("spark")`: one worker starts Java,
    which takes long, and imports in Spark's own workers what tests have them do."""
    with spark_engine("tests", "local[2]") as engine:
        yield engine
