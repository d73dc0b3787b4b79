"""Compares the index of RADIAL and STE with shapely's STRtree, rtree, and asking everybody."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import rtree
import shapely
from common import arguments, integer, pin, print_table, ratio, rounds, write
from numpy.typing import NDArray

from bypass import Event, attr
from bypass.events.filters import Subscription
from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.protocol.messages import Kind, Publish

RADIUS = 125
HITS = 11  # subscriptions near an event, on average
TARGETS = {"STRtree, all at once": 3.0, "rtree": 10.0}  # times what the index takes, at least
SIZES = (30, 100, 300, 1_000, 3_000, 10_000)


class Town:
    """Subscribers anywhere in a square, so large that an event concerns 11 of them, and events."""

    def __init__(self, subscriptions: int, events: int) -> None:
        random = np.random.default_rng(1)
        side = math.sqrt(subscriptions * math.pi * RADIUS**2 / HITS)
        self.x, self.y = random.uniform(0, side, (2, subscriptions))
        self.px, self.py = random.uniform(0, side, (2, events))
        self.table = SubscriptionTable()
        wanted = Subscription.of(attr("kind") == "event")
        for client, (x, y) in enumerate(zip(self.x.tolist(), self.y.tolist(), strict=True)):
            self.table.locate(client, x, y, 0.0)
            self.table.add(client, 1, wanted, RADIUS)
        self.places = list(zip(self.px.tolist(), self.py.tolist(), strict=True))
        self.events = [
            Publish(i, Event(kind="event"), Kind.PLACED, 0, place) for i, place in enumerate(self.places)
        ]

    def index(self, resolver: bool = False) -> EnvelopeIndex:
        """The library's index; as a resolver, it looks at every subscriber."""
        index = EnvelopeIndex(self.table, resolver)
        index.insert(self.table.located())
        return index


class Rtree:
    """Loaded in bulk, with the properties that rtree has by default."""

    def __init__(self, town: Town) -> None:
        self.places = list(zip(town.x.tolist(), town.y.tolist(), strict=True))
        self.tree = rtree.index.Index((i, (x, y, x, y), None) for i, (x, y) in enumerate(self.places))

    def match(self, x: float, y: float) -> list[int]:
        """The subscribers within the circle around a place, found among those in the square around it."""
        square = self.tree.intersection((x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS))
        places = self.places
        return [i for i in square if (places[i][0] - x) ** 2 + (places[i][1] - y) ** 2 <= RADIUS**2]

    def move(self, i: int, x: float, y: float) -> None:
        self.tree.delete(i, self.places[i] * 2)
        self.places[i] = (x, y)
        self.tree.insert(i, (x, y, x, y))


def compare_matching(town: Town, singles: int, repetitions: int) -> list[dict[str, Any]]:
    """Many events at once, and one at a time. All ways must find the same."""
    index, everybody, tree = town.index(), town.index(resolver=True), Rtree(town)
    strtree = shapely.STRtree(shapely.points(town.x, town.y))
    points = shapely.points(town.px, town.py)
    events, places = town.events[:singles], town.places[:singles]

    def bulk() -> NDArray[np.int64]:
        found: NDArray[np.int64] = strtree.query(points, predicate="dwithin", distance=RADIUS)
        return found

    offsets, rows = index.match_places(town.px, town.py)
    assert len(rows) == bulk().shape[1], "shapely finds others"
    for i, (event, place) in enumerate(zip(events, places, strict=True)):
        found = rows[offsets[i] : offsets[i + 1]]
        for matched in (index.match(event), everybody.match(event)):
            assert matched is not None
            assert np.array_equal(found, matched), f"event {i}: one at a time, others are found"
        assert found.tolist() == sorted(tree.match(*place)), f"event {i}: rtree finds others"
    ways: dict[str, Callable[[], object]] = {
        "index, all at once": lambda: index.match_places(town.px, town.py),
        "STRtree, all at once": bulk,
        "index": lambda: [index.match(event) for event in events],
        "rtree": lambda: [tree.match(*place) for place in places],
        "everybody": lambda: [everybody.match(event) for event in events],
    }
    taken = rounds(ways, repetitions)
    results = []
    for name, times in taken.items():
        batch = name.endswith("all at once")
        us = statistics.median(times) / (len(points) if batch else len(events)) * 1e6
        times_index = ratio(times, taken["index, all at once" if batch else "index"])
        results.append({"way": name, "us": us, "ratio": times_index, "hits": len(rows) / len(points)})
    return results


def compare_moving(town: Town, moves: int, repetitions: int) -> list[dict[str, Any]]:
    """Subscribers report, one at a time, that they have taken some steps."""
    tree, table = Rtree(town), town.table
    table.listeners = (town.index(),)
    clients = np.random.default_rng(2).permutation(len(town.x))[:moves].tolist()

    def in_index() -> None:
        for client in clients:
            x, y, _ = table.place(client) or (0.0, 0.0, 0.0)
            table.locate(client, x + 5.0, y - 5.0, 0.0)

    def in_rtree() -> None:
        for client in clients:
            x, y = tree.places[client]
            tree.move(client, x + 5.0, y - 5.0)

    taken = rounds({"index": in_index, "rtree": in_rtree}, repetitions)
    us = {name: statistics.median(times) / len(clients) * 1e6 for name, times in taken.items()}
    return [{"way": name, "us": us[name], "ratio": ratio(taken[name], taken["index"])} for name in taken]


def compare_sizes(sizes: list[int], repetitions: int) -> list[dict[str, Any]]:
    """From which size on an index pays, against looking at every subscriber."""
    results = []
    for size in sizes:
        found = compare_matching(Town(size, 500), 500, repetitions)
        results.append({"size": size} | {each["way"]: each["us"] for each in found})
    return results


def main() -> None:
    parser = arguments(__doc__)
    integer(parser, "--subscriptions", 10_000, "subscribers, with one subscription each")
    integer(parser, "--events", 20_000, "events that are matched at once")
    integer(parser, "--singles", 1_000, "events, and moves, one at a time")
    options = parser.parse_args()
    pin()
    town = Town(options.subscriptions, options.events)
    matching = compare_matching(town, options.singles, options.repetitions)
    moving = compare_moving(town, options.singles, options.repetitions)
    sizes = compare_sizes([size for size in SIZES if size <= options.subscriptions], options.repetitions)
    print_table(
        f"Whom an event concerns: {options.subscriptions:,} subscriptions, {matching[0]['hits']:.1f} hits",
        ("way", "µs/event", "× index", "at least"),
        [(m["way"], m["us"], m["ratio"], str(TARGETS.get(m["way"], ""))) for m in matching],
    )
    print_table("A subscriber moves", ("way", "µs", "× index"), [list(m.values()) for m in moving])
    print_table(
        "From which size on the index pays: µs/event", list(sizes[0]), [list(s.values()) for s in sizes]
    )
    write(
        "matching", options.out, {"targets": TARGETS, "matching": matching, "moving": moving, "sizes": sizes}
    )


if __name__ == "__main__":
    main()
