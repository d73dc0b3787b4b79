"""Who is near an event: the index of RADIAL and STE beside shapely's STRtree, rtree and looking at everybody."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import rtree
import shapely
from common import arguments, pin, print_table, ratio, rounds, write
from numpy.typing import NDArray

from bypass import Event, attr
from bypass.filters import Subscription
from bypass.mechanisms.filters import SubscriptionTable
from bypass.mechanisms.filters.envelopes import EnvelopeIndex
from bypass.messages import Kind, Publish

Floats = NDArray[np.float64]

RADIUS = 125
HITS = 11  # subscriptions near an event, on average
BATCH_TARGET = 3.0
SINGLE_TARGET = 10.0
SIZES = (30, 100, 300, 1_000, 3_000, 10_000)


class Town:
    """Subscribers anywhere in a square that is as large as it takes for an event to concern 11 of them."""

    def __init__(self, subscriptions: int, events: int) -> None:
        random = np.random.default_rng(1)
        self.side = math.sqrt(subscriptions * math.pi * RADIUS**2 / HITS)
        self.x, self.y = random.uniform(0, self.side, (2, subscriptions))
        self.px, self.py = random.uniform(0, self.side, (2, events))
        self.table = SubscriptionTable()
        subscription = Subscription.of(attr("kind") == "event")
        for client, (x, y) in enumerate(zip(self.x.tolist(), self.y.tolist(), strict=True)):
            self.table.locate(client, x, y, 0.0)
            self.table.add(client, 1, subscription, RADIUS)
        event = Event(kind="event")
        places = zip(self.px.tolist(), self.py.tolist(), strict=True)
        self.events = [Publish(i, event, Kind.PLACED, 0, place) for i, place in enumerate(places)]

    def index(self, resolver: bool = False) -> EnvelopeIndex:
        index = EnvelopeIndex(self.table, resolver)
        index.insert(self.table.located())
        return index

    def rtree(self) -> rtree.index.Index:
        """Loaded in bulk, with the properties it has by default."""
        places = zip(self.x.tolist(), self.y.tolist(), strict=True)
        return rtree.index.Index((i, (x, y, x, y), None) for i, (x, y) in enumerate(places))


def nearby(tree: rtree.index.Index, xs: list[float], ys: list[float], x: float, y: float) -> list[int]:
    """What lies in the square around a place, and then in the circle."""
    square = tree.intersection((x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS))
    return [i for i in square if (xs[i] - x) ** 2 + (ys[i] - y) ** 2 <= RADIUS**2]


def compare(town: Town, singles: int, repetitions: int) -> list[dict[str, Any]]:
    """One event at a time, and many at once; all ways must find the same."""
    index, resolver, tree = town.index(), town.index(resolver=True), town.rtree()
    strtree = shapely.STRtree(shapely.points(town.x, town.y))
    points = shapely.points(town.px, town.py)
    xs, ys, events = town.x.tolist(), town.y.tolist(), town.events[:singles]
    places = [(e.location or (0.0, 0.0)) for e in events]

    def bulk() -> NDArray[np.int64]:
        found: NDArray[np.int64] = strtree.query(points, predicate="dwithin", distance=RADIUS)
        return found

    offsets, rows = index.match_many(town.px, town.py)
    assert len(rows) == bulk().shape[1], "shapely finds others"
    for i, (event, place) in enumerate(zip(events, places, strict=True)):
        found = rows[offsets[i] : offsets[i + 1]].tolist()
        assert found == _rows(index, event) == _rows(resolver, event), f"event {i}: found others in between"
        assert found == sorted(nearby(tree, xs, ys, *place)), f"event {i}: rtree finds others"
    actions: dict[str, Callable[[], object]] = {
        "index, all at once": lambda: index.match_many(town.px, town.py),
        "STRtree, all at once": bulk,
        "index": lambda: [index.match(event) for event in events],
        "rtree": lambda: [nearby(tree, xs, ys, *place) for place in places],
        "everybody": lambda: [resolver.match(event) for event in events],
    }
    taken = rounds(actions, repetitions)
    results = []
    for name, times in taken.items():
        batch = name.endswith("all at once")
        quick = taken["index, all at once" if batch else "index"]
        us = statistics.median(times) / (len(points) if batch else singles) * 1e6
        results.append({"way": name, "us": us, "ratio": ratio(times, quick), "hits": len(rows) / len(points)})
    return results


def _rows(index: EnvelopeIndex, event: Publish) -> list[int]:
    found = index.match(event)
    assert found is not None
    rows: list[int] = found.tolist()
    return rows


def move(town: Town, moves: int, repetitions: int) -> list[dict[str, Any]]:
    """Everybody takes some steps: one report at a time."""
    index, tree = town.index(), town.rtree()
    town.table.listeners = (index,)
    random = np.random.default_rng(2)
    steps = random.uniform(-10, 10, (moves, 2)).tolist()
    clients = random.permutation(len(town.x))[:moves].tolist()
    xs, ys = town.x.tolist(), town.y.tolist()

    def in_index() -> None:
        for client, (dx, dy) in zip(clients, steps, strict=True):
            x, y, _ = town.table.place(client) or (0.0, 0.0, 0.0)
            town.table.locate(client, x + dx, y + dy, 0.0)

    def in_rtree() -> None:
        for client, (dx, dy) in zip(clients, steps, strict=True):
            x, y = xs[client], ys[client]
            tree.delete(client, (x, y, x, y))
            xs[client], ys[client] = x, y = x + dx, y + dy
            tree.insert(client, (x, y, x, y))

    taken = rounds({"index": in_index, "rtree": in_rtree}, repetitions)
    return [
        {
            "way": name,
            "us": statistics.median(times) / len(clients) * 1e6,
            "ratio": ratio(times, taken["index"]),
        }
        for name, times in taken.items()
    ]


def by_size(sizes: list[int], repetitions: int) -> list[dict[str, Any]]:
    """From which size on an index pays, against looking at every subscriber."""
    results = []
    for size in sizes:
        town = Town(size, 1000)
        index, resolver = town.index(), town.index(resolver=True)
        taken = rounds(
            {
                "index": lambda index=index, town=town: [index.match(e) for e in town.events],  # type: ignore[misc]
                "everybody": lambda index=resolver, town=town: [index.match(e) for e in town.events],  # type: ignore[misc]
            },
            repetitions,
        )
        us = {name: statistics.median(times) / len(town.events) * 1e6 for name, times in taken.items()}
        results.append({"size": size, "us": us, "ratio": ratio(taken["everybody"], taken["index"])})
    return results


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--subscriptions", type=int, default=10_000, metavar="N", help="located subscriptions"
    )
    parser.add_argument("--events", type=int, default=20_000, metavar="N", help="events in a batch")
    parser.add_argument(
        "--singles", type=int, default=1_000, metavar="N", help="events, or moves, one by one"
    )
    options = parser.parse_args()
    pin()
    town = Town(options.subscriptions, options.events)
    ways = compare(town, min(options.singles, options.events), options.repetitions)
    moves = move(town, min(options.singles, options.subscriptions), options.repetitions)
    sizes = by_size([size for size in SIZES if size <= options.subscriptions], options.repetitions)
    targets = {"STRtree, all at once": BATCH_TARGET, "rtree": SINGLE_TARGET}
    print_table(
        f"Whom an event concerns: {options.subscriptions:,} subscriptions, {ways[0]['hits']:.1f} hits",
        ("way", "µs an event", "× the index's", "at least ×"),
        [(w["way"], w["us"], w["ratio"], str(targets.get(w["way"], ""))) for w in ways],
    )
    print_table("A subscriber moves", ("way", "µs", "× the index's"), [tuple(m.values()) for m in moves])
    print_table(
        "From which size on the index pays",
        ("subscriptions", "index µs", "everybody µs", "everybody ×"),
        [(s["size"], s["us"]["index"], s["us"]["everybody"], s["ratio"]) for s in sizes],
    )
    write("matching", options.out, {"targets": targets, "matching": ways, "moving": moves, "sizes": sizes})


if __name__ == "__main__":
    main()
