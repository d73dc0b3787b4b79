"""Compares the indexes over attributes with trying every subscription, with databases and with topics."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attributes_databases import Duck, Sqlite, draw, draw_events
from attributes_servers import PROGRAMS, measure_live, measure_topics
from common import arguments, integer, pin, print_table, ratio, rounds, seconds, write

from bypass.core.broker import Broker
from bypass.core.downlink import Delivery
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms import Registry
from bypass.mechanisms.families import MATCHING
from bypass.mechanisms.filters.indexes.groups import SubscriptionGroups
from bypass.mechanisms.matching.base import AttributeMatching
from bypass.places.geo import PlanarLocation
from bypass.places.region import Region
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.protocol.messages import ContextUpdate, Message, Subscribe
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.system import SimulatedSystem
from bypass.transitions import Action, Plan

TARGETS = {"matching_us": 30.0, "of_one_filter": 3.0, "subscribing_s": 10.0, "exponent": 1.1}
PLACE = (500.0, 500.0)
REGION = Region((0.0, 0.0, 1000.0, 1000.0), ())
MECHANISMS = ("counting", "tree", "linear")
LINEAR_EVENTS = 10
"""Events by which ways that look at every subscription are measured."""


def index(mechanism: str, wanted: Sequence[Subscription]) -> AttributeMatching:
    """A mechanism that has these subscriptions."""
    made: AttributeMatching = Registry().kinds(MATCHING)[mechanism](None)
    made.groups = SubscriptionGroups()
    made.start()
    for each in wanted:
        made.groups.join(each)
    return made


def compare_matching(number: int, keys: int, events: int, repetitions: int) -> list[dict[str, Any]]:
    """Which of very many subscriptions accept an event. All ways must find the same."""
    wanted, happening = draw(number, keys), draw_events(events, keys)
    subscriptions = [each.subscription() for each in wanted]
    made = {name: index(name, subscriptions) for name in MECHANISMS}
    databases: dict[str, Sqlite | Duck] = {"SQLite": Sqlite(wanted), "DuckDB": Duck(wanted)}
    hits = 0
    for event in happening[:LINEAR_EVENTS]:
        expected = sorted(made["linear"].accepting(event).tolist())
        numbers = [made["linear"].groups[each] for each in expected]
        for name in ("counting", "tree"):
            assert sorted(made[name].accepting(event).tolist()) == expected, f"{name} finds others"
        for name, database in databases.items():
            found = {subscriptions[each] for (each,) in database.find(event)}
            assert found == {*numbers}, f"{name} finds others"
    for event in happening:
        hits += len(made["counting"].accepting(event))
    few = happening[:LINEAR_EVENTS]
    ways: dict[str, Callable[[], object]] = {
        "counting": lambda: [made["counting"].accepting(event) for event in happening],
        "tree": lambda: [made["tree"].accepting(event) for event in happening],
        "linear": lambda: [made["linear"].accepting(event) for event in few],
        "SQLite": lambda: [databases["SQLite"].find(event) for event in happening[: 10 * len(few)]],
        "DuckDB": lambda: [databases["DuckDB"].find(event) for event in few],
    }
    sizes = {"linear": len(few), "SQLite": min(10 * len(few), events), "DuckDB": len(few)}
    taken = rounds(ways, repetitions)
    per_event = {name: [t / sizes.get(name, events) for t in times] for name, times in taken.items()}
    return [
        {
            "way": name,
            "us": statistics.median(times) * 1e6,
            "ratio": ratio(times, per_event["counting"]),
            "hits": hits / events,
        }
        for name, times in per_event.items()
    ]


def _accept_all(matching: AttributeMatching, events: Sequence[Event]) -> None:
    for event in events:
        matching.accepting(event)


def compare_shapes(number: int, events: int, repetitions: int) -> list[dict[str, Any]]:
    """Which mechanism is better depends on what subscriptions ask for."""
    r = random.Random(3)
    shapes: dict[str, tuple[list[Subscription], list[Event]]] = {
        "four equalities of ten values": (
            [
                Subscription([attr(n) == r.randrange(10) for n in "abcd"]) & (attr("e") > i)
                for i in range(number)
            ],
            [Event({n: r.randrange(10) for n in "abcd"}, e=number) for _ in range(events)],
        ),
        "a narrow range": (
            [(attr("level") >= i) & (attr("level") < i + 3) for i in range(number)],
            [Event(level=r.uniform(0, number)) for _ in range(events)],
        ),
        "a beginning": (
            [Subscription.of(attr("name").startswith(f"{i:06}")) for i in range(number)],
            [Event(name=f"{r.randrange(number):06}/x") for _ in range(events)],
        ),
        "one of two identifiers": (
            [(attr("id") == i) | (attr("other") == i) for i in range(number)],
            [Event(id=r.randrange(number), other=r.randrange(number)) for _ in range(events)],
        ),
    }  # fmt: skip
    results = []
    for shape, (wanted, happening) in shapes.items():
        made = {name: index(name, wanted) for name in MECHANISMS}
        few = {name: happening if name == "counting" else happening[:LINEAR_EVENTS] for name in MECHANISMS}
        if shape.startswith("four"):
            few["tree"] = happening
        actions: dict[str, Callable[[], object]] = {
            name: partial(_accept_all, made[name], few[name]) for name in MECHANISMS
        }
        taken = rounds(actions, repetitions)
        us = {name: statistics.median(taken[name]) / len(few[name]) * 1e6 for name in MECHANISMS}
        results.append({"shape": shape, **us})
    return results


# -- the whole broker -------------------------------------------------------------------------------------


class Counted:
    """Takes what goes to clients, and counts it."""

    def __init__(self) -> None:
        self.told = 0

    def send(self, client: int, message: Message) -> None:
        """Nobody hears it."""

    def notify(self, deliveries: Any) -> None:
        each: Delivery
        for each in deliveries:
            self.told += sum(len(group.clients) for group in each.groups)


def compare_subscribing(number: int) -> dict[str, float]:
    """Many clients, or one, subscribe at a broker in this process; with their place, which it learns so."""
    wanted = [each.subscription() for each in draw(number, 1000)]
    result = {}
    for clients in (number, 1):
        broker = Broker(SimHost(-1, VirtualClock(), NoSensor(), Monitor(), 1), Counted(), region=REGION)
        flag = broker.flag_of(broker.filter_schemes[0])
        messages = [
            Subscribe(
                i + 1, each, 100, ContextUpdate(PLACE, client=i % clients), client=i % clients, scheme=flag
            )
            for i, each in enumerate(wanted)
        ]
        result["many clients" if clients > 1 else "one client"] = seconds(
            lambda broker=broker, messages=messages: [broker.receive(each) for each in messages]  # type: ignore[misc]
        )
    return result


class Standing:
    """Everybody is at one place."""

    def position(self, client: int, at: float) -> tuple[float, float]:  # noqa: ARG002 - whoever, whenever
        return PLACE

    def velocity(self, client: int, at: float) -> tuple[float, float]:  # noqa: ARG002
        return 0.0, 0.0


class Simulated:
    """A simulated system with so many different subscriptions of some clients at one place."""

    def __init__(self, number: int, clients: int, mechanism: str) -> None:
        registry = Registry()
        self.system = SimulatedSystem(clients + 1, Standing(), REGION, registry=registry)
        self.told = 0
        self.number = number
        self.published = 0
        for i in range(number):
            self.system.clients[i % clients].subscribe(attr("n") == i, self._tell, radius=100)
        self.until = 5.0
        self.system.run_until(self.until)
        self.system.broker.execute(Plan(plan="matching", actions=(Action(proxy="matching", to=mechanism),)))

    def _tell(self, *_: object) -> None:
        self.told += 1

    def publish(self, events: int) -> None:
        """Events one after the other, a hundred in a second, each for one subscription."""
        publisher = self.system.clients[-1]
        for _ in range(events):
            publisher.publish(Event(n=self.published % self.number), PlanarLocation(*PLACE))
            self.published += 1
            self.until += 0.01
            self.system.run_until(self.until)
        self.until += 2.0
        self.system.run_until(self.until)


def compare_simulated(
    sizes: Sequence[int], events: int, repetitions: int, clients: int
) -> list[dict[str, Any]]:
    """Measure an event that concerns one of so many different subscriptions in one place."""
    results: list[dict[str, Any]] = []
    for mechanism in ("counting", "linear"):
        made = {size: Simulated(size, clients, mechanism) for size in sizes}
        taken = rounds(
            {str(size): partial(one.publish, events) for size, one in made.items()},
            repetitions,
        )
        for size, one in made.items():
            assert one.told == one.published, f"{one.told} of {one.published} events arrived"
            results.append({
                "mechanism": mechanism,
                "subscriptions": size,
                "us": statistics.median(taken[str(size)]) / events * 1e6,
                "of_one": ratio(taken[str(size)], taken[str(sizes[0])]),
            })  # fmt: skip
    return results


def exponent(results: Sequence[dict[str, Any]]) -> float:
    """The power of the number of subscriptions with which the cost of an event grows, by least squares."""
    logs = [(math.log(each["subscriptions"]), math.log(each["us"])) for each in results]
    return float(statistics.linear_regression([x for x, _ in logs], [y for _, y in logs]).slope)


def main() -> None:
    parser = arguments(__doc__)
    integer(parser, "--subscriptions", 100_000, "different subscriptions that events are matched with")
    integer(parser, "--keys", 1_000, "identifiers that subscriptions ask for")
    integer(parser, "--events", 2_000, "events")
    integer(parser, "--together", 5_000, "different subscriptions in one place")
    integer(parser, "--live", 5_000, "different subscriptions at a live broker, 0: none")
    options = parser.parse_args()
    pin()
    matching = compare_matching(options.subscriptions, options.keys, options.events, options.repetitions)
    print_table(
        f"{options.subscriptions:,} subscriptions (an identifier of {options.keys:,}, a range, a set), "
        f"{matching[0]['hits']:.1f} hits",
        ("way", "µs/event", "× counting", "at most"),
        [(m["way"], m["us"], m["ratio"], "30" if m["way"] == "counting" else "") for m in matching],
    )
    shapes = compare_shapes(options.subscriptions // 10, min(options.events, 500), options.repetitions)
    print_table(
        f"{options.subscriptions // 10:,} subscriptions of one shape: µs/event",
        list(shapes[0]),
        [list(s.values()) for s in shapes],
    )
    subscribing = compare_subscribing(options.subscriptions)
    print_table(
        f"Subscribing {options.subscriptions:,} in one process, at most 10 s",
        ("by", "s"),
        list(subscribing.items()),
    )
    sizes = [size for size in (1, 100, 1000) if size < options.together] + [options.together]
    simulated = compare_simulated(sizes, min(options.events, 500), options.repetitions, 20)
    print_table(
        "Simulated: different subscriptions of 20 clients in one place, an event for one, at most 3 ×",
        ("matching", "subscriptions", "µs/event", "× one"),
        [list(each.values()) for each in simulated],
    )
    growing = [10**n for n in range(5) if 10**n <= options.subscriptions]
    growth = compare_simulated(growing, min(options.events, 500), options.repetitions, 1)
    powers = {
        name: exponent([each for each in growth if each["mechanism"] == name])
        for name in ("counting", "linear")
    }
    print_table(
        "Simulated: subscriptions of one client; grows with the power "
        + ", ".join(f"{power:.2f} ({name})" for name, power in powers.items()),
        ("matching", "subscriptions", "µs/event", "× one"),
        [list(each.values()) for each in growth],
    )
    live = measure_live(options.live, options.events, options.repetitions) if options.live else []
    topics = [
        {
            "server": name,
            **measure_topics(name, options.subscriptions, options.keys, options.events, options.repetitions),
        }
        for name in PROGRAMS
        if options.live
    ]
    if live:
        print_live(live, topics)
    write(
        "attributes",
        options.out,
        {
            "targets": TARGETS, "matching": matching, "shapes": shapes, "subscribing": subscribing,
            "simulated": simulated, "growth": growth, "exponents": powers, "live": live, "topics": topics,
        },
    )  # fmt: skip


def print_live(live: list[dict[str, Any]], topics: list[dict[str, Any]]) -> None:
    """Print what brokers take for an event, ours and others."""
    one = {each["matching"]: each["us"] for each in live if each["subscriptions"] == 1}
    print_table(
        "Live: different subscriptions of one client in one place, processor time of the broker, at most 3 ×",
        ("matching", "subscriptions", "µs/event", "× one", "subscribing, s", "its CPU s"),
        [
            (
                each["matching"], each["subscriptions"], each["us"], each["us"] / one[each["matching"]],
                each["subscribing_s"], each["subscribing_cpu_s"],
            )
            for each in live
        ],
    )  # fmt: skip
    if topics:
        print_table(
            "A topic for each identifier: processor time of the server; subscribers would test the rest",
            ("server", "told of an event", "µs/event"),
            [(each["server"], each["told"], each["us"]) for each in topics],
        )


if __name__ == "__main__":
    main()
