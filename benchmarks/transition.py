"""A total transition at a broker with many subscriptions: what stays, what is built, how long it takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from common import arguments, integer, pin, print_table, seconds, write

from bypass import Action, Event, Plan, Region, attr
from bypass.core import Broker
from bypass.core.downlink import Delivery
from bypass.events.filters import Subscription
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.protocol.messages import ContextUpdate, Kind, Message, Publish, Subscribe
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.support.units import MICROSECONDS
from bypass.transitions import Record

SIDE = 20_000.0  # metres
RADIUS = 125
STEPS: dict[str, dict[str, Any]] = {"grid": {"grid": 20}, "egrid": {"grid": 40}, "ste": {}, "radial": {}}
COLUMNS = ("client", "handle", "group", "radius", "x", "y", "vx", "vy")


class BenchHost(SimHost):
    """A host that measures real time; what is to be done later waits until it is asked for."""

    def __init__(self) -> None:
        self._queue = VirtualClock()
        super().__init__(-1, self._queue, NoSensor(), Monitor(), seed=1)
        self.now = time.perf_counter

    def catch_up(self) -> None:
        """Do what was to be done in the next minute."""
        self._queue.run_until(self._queue.now_us + 60 * MICROSECONDS)


class CountingDownlink:
    """The way to clients that are not there."""

    messages = 0
    notifications = 0

    def send(self, client: int, message: Message) -> None:  # noqa: ARG002
        self.messages += 1

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        for _, gateways, groups, _ in deliveries:
            if gateways is not None:
                self.notifications += len(gateways.clients)
            self.notifications += sum(len(group.clients) for group in groups)


class Bench:
    """One broker, and clients with one subscription each; `subscribing` is how long (s) they all took."""

    def __init__(self, subscriptions: int) -> None:
        self.host, self.downlink = BenchHost(), CountingDownlink()
        self.broker = Broker(self.host, self.downlink, region=Region((0.0, 0.0, SIDE, SIDE)))
        self.broker.engine.add_listener(self)
        self.switched_at = 0.0
        wanted = Subscription.of(attr("kind") == "event")
        places = np.random.default_rng(1).uniform(0, SIDE, (subscriptions, 2)).tolist()
        messages = [
            Subscribe(1, wanted, RADIUS, ContextUpdate((x, y), (1.0, 0.5)), client=client, scheme=1)
            for client, (x, y) in enumerate(places)
        ]
        began = time.perf_counter()
        for message in messages:
            self.broker.receive(message)
        self.subscribing = time.perf_counter() - began

    def transition_finished(self, record: Record) -> None:  # noqa: ARG002
        """The new scheme is at work; from now on clients are told."""
        self.switched_at = time.perf_counter()

    def transition(self, scheme: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Exchange the scheme, and see that nothing else changed; times are in seconds."""
        table = self.broker.table
        before = [getattr(table, name)[table.rows()] for name in COLUMNS]
        plan = Plan(plan=f"to-{scheme}", actions=(Action(proxy="filter", to=scheme, set=settings),))
        sent, began = self.downlink.messages, time.perf_counter()
        (record,) = self.broker.execute(plan)
        ended, plans = time.perf_counter(), self.downlink.messages - sent
        bootstrap = seconds(self.host.catch_up, time.perf_counter)
        assert record.outcome == "done", record.error
        assert self.broker.table is table, "another table"
        after = [getattr(table, name)[table.rows()] for name in COLUMNS]
        assert all(map(np.array_equal, before, after)), "rows have changed"
        notified = self.downlink.notifications
        self.broker.receive(Publish(1, Event(kind="event"), Kind.PLACED, 0, (SIDE / 2, SIDE / 2), client=-1))
        phases, took = dict(record.phases), self.switched_at - began
        return {
            "step": f"{record.source} -> {record.target}",
            "phases": phases | {"other": took - sum(phases.values())},
            "transition": took,
            "plans": ended - self.switched_at,
            "plans_sent": plans,
            "bootstrap": bootstrap,
            "assignments_sent": self.downlink.messages - sent - plans,
            "notified_then": self.downlink.notifications - notified,
        }


def main() -> None:
    parser = arguments(__doc__, repetitions=3)
    integer(parser, "--subscriptions", 100_000, "at the broker")
    options = parser.parse_args()
    pin()
    bench, n = Bench(options.subscriptions), options.subscriptions
    rounds = [[bench.transition(*step) for step in STEPS.items()] for _ in range(options.repetitions + 1)]
    results = []
    for same in zip(*rounds[1:], strict=True):  # the first round compiles
        times = {k: statistics.median(r[k] for r in same) for k in ("transition", "plans", "bootstrap")}
        phases = {k: statistics.median(r["phases"][k] for r in same) for k in same[0]["phases"]}
        results.append(same[0] | times | {"phases": phases})
    names = list(results[0]["phases"])
    phase_rows = [[r["step"], *(r["phases"][k] / n * 1e9 for k in names)] for r in results]
    print_table(
        f"{n:,} subscriptions stay where they are, in the same table: ns a subscription, by phase",
        ("transition", *names, "all", "all, ms"),
        [
            [*row, r["transition"] / n * 1e9, r["transition"] * 1e3]
            for row, r in zip(phase_rows, results, strict=True)
        ],
    )
    again = bench.subscribing / n * 1e6
    print_table(
        f"Afterwards, with the new scheme at work: µs a client (to subscribe anew would be {again:.1f})",
        ("transition", "plans sent", "µs", "assignments sent", "µs"),
        [
            (
                r["step"],
                r["plans_sent"],
                r["plans"] / n * 1e6,
                r["assignments_sent"],
                r["bootstrap"] / n * 1e6,
            )
            for r in results
        ],
    )
    write("transition", options.out, {"subscriptions": n, "subscribing": bench.subscribing, "steps": results})


if __name__ == "__main__":
    main()
