"""How many seconds are simulated in a second of processor time, and what the bare parts of it would take."""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from heapq import heappop, heappush
from typing import Any

from common import arguments, integer, one_by_one, pin, print_table, seconds, write

from bypass import Event
from bypass.mechanisms.filters import FilterBroker
from bypass.protocol.messages import Kind, Publish
from bypass.scenarios import load
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.runs.experiment import Experiment

TARGETS: dict[str, tuple[dict[str, Any], float]] = {
    "radial": ({}, 40.0),
    "ste": ({"filter.alpha": 1.5}, 40.0),
    "grid": ({"filter.grid": 2}, 15.0),
    "egrid": ({"filter.grid": 10}, 15.0),
}
MOBILITY = ("rwp", "darmstadt")
WARM_UP_S = 5


def scenario(scheme: str, mobility: str, clients: int, duration: int) -> Scenario:
    """One scheme from beginning to end; every client publishes once a second and hears of what is near it."""
    changes: dict[str, Any] = {
        "timeline": [], "checks": [], "runs": {}, "main": "", "clients": clients, "duration": duration,
        "mobility.model": mobility, "filter.scheme": scheme,
    }  # fmt: skip
    return load("total-transitions", changes=changes | TARGETS[scheme][0])


def idle(*args: object) -> None:
    """Do nothing: the action of the bare event loop."""


def bare_loop(run: Run) -> None:
    """As many steps as the events need at least, and an empty call for each delivery.

    An event takes three steps: it is published, it reaches the broker, it reaches the subscribers.
    """
    numbers = itertools.count()
    heap: list[tuple[int, int, int]] = []
    for at in run.events["at_us"].tolist()[:500]:
        heappush(heap, (at, next(numbers), 3))
    coming = iter(run.events["at_us"].tolist()[500:])
    deliveries = itertools.cycle(run.events["notified"].tolist())
    while heap:
        at, _, steps = heappop(heap)
        idle(at)
        if steps > 1:
            heappush(heap, (at + 100_000, next(numbers), steps - 1))
            continue
        for _ in range(next(deliveries)):
            idle(at)
        if (following := next(coming, None)) is not None:
            heappush(heap, (following, next(numbers), 3))


def bare_matching(experiment: Experiment, run: Run) -> None:
    """Match each event by the broker's scheme, with the subscribers where they are at the end."""
    (scheme,) = experiment.system.broker.schemes.active
    assert isinstance(scheme, FilterBroker)
    places = zip(run.events["x"].tolist(), run.events["y"].tolist(), strict=True)
    for number, place in enumerate(places):
        scheme.match(Publish(number, Event(kind="event"), Kind.PLACED, 0, place))


def measure(scheme: str, mobility: str, clients: int, duration: int, repetitions: int) -> dict[str, Any]:
    """Rates over the run alone: to draw up the trace and make the clients is not part of it."""
    pin()
    Experiment(scenario(scheme, mobility, clients, min(WARM_UP_S, duration)), 1).run()
    rates = []
    for _ in range(repetitions):
        experiment = Experiment(scenario(scheme, mobility, clients, duration), 1)
        gc.collect()  # what is left of the one before is not this one's affair
        began = time.process_time()
        run = experiment.run()
        rates.append(duration / (time.process_time() - began))
    events = len(run.events["id"])
    rate = statistics.median(rates)
    return {
        "scheme": scheme,
        "mobility": mobility,
        "deliveries": int(run.events["notified"].sum()) / events,
        "rate": rate,
        "rates": rates,
        "target": TARGETS[scheme][1],
        "us": duration / rate / events * 1e6,
        "loop_us": seconds(lambda: bare_loop(run)) / events * 1e6,
        "matching_us": seconds(lambda: bare_matching(experiment, run)) / events * 1e6,
    }


def main() -> None:
    parser = arguments(__doc__, repetitions=3)
    integer(parser, "--clients", 297, "clients")
    integer(parser, "--duration", 80, "seconds to simulate")
    options = parser.parse_args()
    size = (options.clients, options.duration, options.repetitions)
    with one_by_one("bypass.scenarios.runs.experiment") as pool:
        jobs = [pool.submit(measure, scheme, model, *size) for scheme in TARGETS for model in MOBILITY]
        results = [job.result() for job in jobs]
    columns = {
        "scheme": "scheme",
        "mobility": "mobility",
        "deliveries": "deliveries/event",
        "rate": "s/s",
        "target": "at least",
        "us": "µs/event",
        "loop_us": "bare loop",
        "matching_us": "bare matching",
    }
    print_table(
        f"{options.clients} clients, {options.duration} s: simulated seconds in a second of processor time",
        list(columns.values()),
        [[result[column] for column in columns] for result in results],
    )
    write(
        "simulator", options.out, {"clients": options.clients, "duration": options.duration, "runs": results}
    )


if __name__ == "__main__":
    main()
