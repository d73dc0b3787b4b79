"""Border events of many clients that move, at a broker that has their fixes: processor time for each second.

All clients say once a second where they are. The fences are polygons of 8 to 200 vertices, so large that each
client is in about 12 of them. Beside it the same by the tracker alone, which looks at every fence whose
bounds the way meets, for a part of the clients: it has to find the same events.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import numpy as np
from common import arguments, integer, pin, print_table, write

from bypass.core.borders.announcer import Announcer
from bypass.core.borders.assignments import Assignments
from bypass.core.borders.borders import Borders
from bypass.core.borders.permissions import WatchPermissions
from bypass.core.borders.watch_scope import WatchScope
from bypass.core.downlink import Delivery
from bypass.core.plans.isolation import NumberedClients
from bypass.places.areas import Area
from bypass.places.borders import BorderOptions, BorderTracker, PathPoint
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.protocol.borders import BorderWatch
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.support.arrays import Floats

HITS = 12
SIDE_M = 20_000.0
WATCHER = -2


def fences(count: int, rng: np.random.Generator) -> dict[str, Area]:
    """Stars of 8 to 200 vertices, each client being in HITS of them on average."""
    radius = float(np.sqrt(HITS * SIDE_M**2 / (count * np.pi)))
    made = {}
    for i in range(count):
        vertices = int(rng.integers(8, 201))
        turns = np.sort(rng.uniform(0, 2 * np.pi, vertices))
        while np.diff(turns).min() < 1e-4:
            turns = np.sort(rng.uniform(0, 2 * np.pi, vertices))
        reach = radius * rng.uniform(0.8, 1.2, vertices)
        x, y = rng.uniform(0, SIDE_M, 2)
        made[str(i)] = Area.polygon(
            np.column_stack((x + reach * np.cos(turns), y + reach * np.sin(turns))).tolist()
        )
    return made


def ways(clients: int, speed: float, seconds: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Where all clients are, second after second; they turn a little each time."""
    place = rng.uniform(0, SIDE_M, (clients, 2))
    heading = rng.uniform(0, 2 * np.pi, clients)
    for _ in range(seconds):
        yield place
        heading = heading + rng.normal(0, 0.3, clients)
        place = np.clip(place + speed * np.column_stack((np.cos(heading), np.sin(heading))), 0, SIDE_M)


def measured(areas: dict[str, Area], clients: int, speed: float, seconds: int) -> dict[str, float]:
    """Processor time (s) of each second, and the events in it."""
    clock = VirtualClock()
    told: list[Delivery] = []

    host = SimHost(-1, clock, NoSensor(), Monitor(), 1)
    permissions = WatchPermissions(NumberedClients(), lambda *_: True)
    borders = Borders(
        host,
        WatchScope(permissions, dict),
        Assignments(permissions, lambda _: True, clock.now, lambda *_: None),
        lambda: range(clients),
        Announcer(told.extend, clock.now),
    )
    borders.watch(WATCHER, 1, BorderWatch(BorderOptions(), tuple(areas.items()), whom=None))
    times, events, rng = [], [], np.random.default_rng(2)
    sample = range(0, clients, max(1, clients // 12))
    path: list[Floats] = []
    for second, places in enumerate(ways(clients, speed, seconds, rng)):
        rows = places.tolist()
        path.append(places[list(sample)])
        before = len(told)
        began = time.process_time()
        for client, (x, y) in enumerate(rows):
            borders.located(client, x, y, float(second))
        borders.flush()
        times.append(time.process_time() - began)
        events.append(len(told) - before)
    found = sorted(
        (each.publication.event["client"], each.publication.event["area"], each.publication.event["at"])
        for each in told
        if each.publication.event["client"] in sample
    )
    assert found == by_tracker(areas, sample, path), "kernels and tracker differ"
    return {
        "cpu_s": statistics.median(times[2:]),
        "most_s": max(times[2:]),
        "events": statistics.mean(events[2:]),
    }


def by_tracker(areas: dict[str, Area], sample: range, path: list[Floats]) -> list[tuple[int, str, float]]:
    """The same events of some clients by the tracker alone."""
    found = []
    for i, client in enumerate(sample):
        tracker, last = BorderTracker(BorderOptions(), client), None
        for second, places in enumerate(path):
            x, y = places[i].tolist()
            point = PathPoint(x, y, float(second))
            if last is None:
                tracker.begin(areas.items(), point)
            else:
                found += [(client, e.area, e.at) for e in tracker.go(areas.items(), last, point)]
            last = point
    return sorted(found)


def main() -> None:
    parser = arguments(__doc__ or "", repetitions=None)
    integer(parser, "--clients", 10_000, "clients that move")
    integer(parser, "--fences", 10_000, "fences")
    integer(parser, "--seconds", 12, "seconds, of which the first two do not count")
    given = parser.parse_args()
    pin()
    areas = fences(given.fences, np.random.default_rng(1))
    results = {
        f"{speed:g} m/s": measured(areas, given.clients, speed, given.seconds) for speed in (1.5, 5.0, 15.0)
    }
    rows = [
        (name, 1000 * each["cpu_s"], 1000 * each["most_s"], each["events"]) for name, each in results.items()
    ]
    title = f"{given.clients:,} clients at 1 Hz, {given.fences:,} fences"
    print_table(title, ("speed", "CPU ms a second", "at most", "border events a second"), rows)
    write("borders", given.out, {"clients": given.clients, "fences": given.fences, "results": results})


if __name__ == "__main__":
    main()
