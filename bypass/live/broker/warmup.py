"""Calls everything that is compiled at its first call, before clients wait for it.

The kernels that match events are compiled when they are first used on a machine, which takes seconds in which
nobody would be served: also in the middle of the first transition to a scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from bypass.core.borders.fences import Fences
from bypass.core.borders.watched_client import KeptWatch
from bypass.core.broker import Broker
from bypass.core.downlink import Delivery
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.live.broker.loop.loop import LoopTimer
from bypass.live.broker.sessions.notifications import Composer, Notifications
from bypass.live.broker.sessions.unacknowledged import Unacknowledged
from bypass.live.broker.sessions.unacknowledged_kernels import NONE
from bypass.live.host import LiveHost
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, FILTER_PROXY
from bypass.mechanisms.filters.indexes.groups import SubscriptionGroups
from bypass.mechanisms.matching.counting import Counting
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.areas import Area
from bypass.places.borders import BorderOptions
from bypass.places.region import Place, Region
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.protocol.borders import BorderWatch
from bypass.protocol.messages import ContextUpdate, Kind, Message, Publish, Subscribe, Unsubscribe
from bypass.transitions import Action, Plan

_RING = [(0, 0), (400, 0), (400, 300)]
_INTERESTS = (
    AreaOfInterest(
        (
            Area.circle((100, 100), 50),
            Area.box((0, 0), (600, 600)),
            Area.polygon(_RING, [[(300, 50), (350, 50), (350, 80)]]),
            Area.corridor(_RING, 20),
            Area.sector((100, 100), 50, 0, 60),
        )
    ),
    AreaOfInterest((Area.circle((0, 0), 50),), relative=True),
    AreaOfInterest((Area.of_place("somewhere"),)),
)


class _NoTime:
    """A clock that stands still: nothing that is to happen later happens."""

    def now(self) -> float:
        return 0.0

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> LoopTimer:  # noqa: ARG002
        return LoopTimer(None, ())


class _Nobody:
    """Where clients would be."""

    def send(self, client: int, message: Message) -> None:
        """Nobody hears it."""

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        """Nobody hears it; but only who is asked for is looked for."""
        for _ in deliveries:
            pass


def warm_up(registry: Registry | None = None) -> None:
    """Do once what clients of a broker do, with every filter scheme; with built-in ones only once in a
    process."""
    _warm_up_builtin()
    if registry is not None:
        _match(registry, registry.kinds(FILTER).keys() & registry.flags.given.keys())


@cache
def _warm_up_builtin() -> None:
    registry = Registry()
    _match(registry, registry.kinds(FILTER))
    _match_attributes()
    _deliver()
    _pass_borders()


def _deliver() -> None:
    awaited, notifications = Unacknowledged(), Notifications()
    clients = np.array([1])
    slot = awaited.occupy(1)
    awaited.connected(slot, durable=True)
    awaited.deliver(NONE, 1, 1, clients, 10, 1, False, notifications)
    notifications.rests.append(b"warm")
    list(Composer().packets(notifications, awaited.slots))
    awaited.add(NONE, 2, 2, slot, None)
    awaited.first_unsent(slot, 1)
    awaited.waits(slot, 1, True)
    awaited.between(1, 2)
    awaited.acknowledge(slot, clients)
    awaited.withdraw(slot, 1)
    awaited.moved(0, 1)
    awaited.all_moved()
    awaited.mark(slot)
    awaited.give_up(slot, 2)


def _match_attributes() -> None:
    """Look up few of several subscriptions, then judge those of some rows."""
    groups, matching, rows = SubscriptionGroups(), Counting(None), np.arange(8)
    matching.groups = groups
    matching.start()
    for number in range(8):
        groups.join((attr("kind") == "warm") & ((attr("n") >= number) | ~(attr("n") == number)))
    for kind in ("cold", "warm"):
        event = Event([("kind", kind), ("n", 1), ("n", 2)])
        matching.accepting(event)
        matching.accepted(event, rows[:6], rows)
    groups.leave(0)


def _pass_borders() -> None:
    square = Area.polygon([(0, 0), (10, 0), (10, 10)])
    fences = Fences()
    terms = BorderWatch(BorderOptions(), (("warm", square),))
    watch = KeptWatch(1, 1, 1, terms, {"warm": square})
    fences.put(watch)
    fences.passed(np.array([[-5.0, 1.0, 5.0, 1.0]]))
    fences.around(1.0, 0.5)
    fences.drop(watch)


def _match(registry: Registry, schemes: Iterable[str]) -> None:
    region = Region((0.0, 0.0, 1000.0, 1000.0), (Place("somewhere", 100.0, 100.0, 50.0),))
    host = LiveHost(0, _NoTime(), NoSensor(), Monitor())
    broker = Broker(host, _Nobody(), region=region, registry=registry)
    wanted = Subscription.of(attr("kind") == "warm")
    event = Event(kind="warm")
    for scheme in (*schemes, broker.filter_schemes[0].name):
        broker.execute(Plan(plan="warm up", actions=(Action(proxy=FILTER_PROXY, to=scheme),)))
        flag = registry.flags.of(scheme)
        for client in (1, 2, 3):
            context = ContextUpdate((100.0 * client, 100.0), (1.0, 0.5))
            for handle, radius in ((1, 150), (2, 250)):
                broker.receive(Subscribe(handle, wanted, radius, context, client=client, scheme=flag))
            for handle, interest in enumerate(_INTERESTS, 3):
                asked = Subscribe(handle, wanted, interest=interest, client=client, scheme=flag)
                broker.receive(asked)
            broker.receive(ContextUpdate((90.0 * client, 100.0), (1.0, 0.5), client=client, scheme=flag))
        for kind, place in ((Kind.PLAIN, None), (Kind.PLACED, (120.0, 100.0)), (Kind.LOCAL, (500.0, 500.0))):
            broker.receive(Publish(1, event, kind, 0, place, client=1, scheme=flag))
            broker.receive(*(Publish(1, event, kind, 0, place, client=1, scheme=flag) for _ in range(2)))
        placed = Publish(1, event, Kind.PLACED, 0, (120.0, 100.0), client=1, scheme=flag)
        broker.filter_schemes[0].match_among(placed, broker.table.rows())
        for handle in range(1, 3 + len(_INTERESTS)):
            broker.receive(Unsubscribe(handle, client=3, scheme=flag))
