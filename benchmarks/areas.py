"""Compares the index of areas with rtree, shapely's STRtree and Redis, and its answers with those of
PostGIS."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from areas_load import Load, load_many
from areas_oracle import differences
from areas_osm import buildings
from areas_peers import Circles, Rtree
from common import arguments, integer, one_by_one, pin, print_table, ratio, rounds, write
from servers import installed

from bypass import Area
from bypass.mechanisms.filters.indexes.areas.grid import AreaGrid

HITS = 12  # areas that hold a place, on average
REACH = 100.0
FULL = 0.57  # the part of its circle that a polygon of `ring` covers, on average
TARGETS = {
    "STRtree, all at once": 2.0,
    "rtree and shapely": 10.0,
}  # times what the grid takes for a place, if it is asked for many, at least
MOST_LOAD_S, MOST_MIB, MOST_MATCH_US = 60.0, 2048, 50.0
TILE38 = {
    "source": "https://github.com/tidwall/tile38/issues/491",
    "stated": "16 cores, 23,000 circles of 5 km: 6,000 places set in a second; 30,000 without fences",
    "places/s": 6000,
}
"""The rate that a user of Tile38 states: it is not measured here."""


def ring(random: np.random.Generator, side: float, vertices: int) -> list[tuple[float, float]]:
    """A polygon somewhere in a square, whose vertices are seen from its middle in turn."""
    x, y = random.uniform(0, side, 2)
    radii = REACH * random.uniform(0.5, 1, vertices)
    angles = np.arange(vertices) * (2 * math.pi / vertices)
    return list(
        zip((x + radii * np.cos(angles)).tolist(), (y + radii * np.sin(angles)).tolist(), strict=True)
    )


class Town:
    """Polygons of 8 to 200 vertices in a square so large that 12 of them hold a place, and clients on their
    way."""

    def __init__(self, polygons: int, clients: int, events: int) -> None:
        random = np.random.default_rng(1)
        self.side = math.sqrt(polygons * math.pi * REACH**2 * FULL / HITS)
        rings = [ring(random, self.side, n) for n in random.integers(8, 201, polygons).tolist()]
        self.areas = [Area.polygon(each) for each in rings]
        self.grid = AreaGrid()
        self.grid.hold(self.areas)
        self.shapes = [area.geometry() for area in self.areas]
        places, way = random.uniform(0, self.side, (2, clients)), random.uniform(-1.5, 1.5, (2, clients))
        steps = [places + way * second for second in range(-(-events // clients))]
        self.x, self.y = np.concatenate(steps, axis=1)[
            :, :events
        ].copy()  # each client's place, second by second
        self.places = list(zip(self.x.tolist(), self.y.tolist(), strict=True))


def compare_matching(town: Town, singles: int, repetitions: int) -> list[dict[str, Any]]:
    """Many places at once, and one at a time. All ways must find the same."""
    grid, tree = town.grid, Rtree(town.shapes)
    strtree = shapely.STRtree(town.shapes)
    points = shapely.points(town.x, town.y)
    offsets, numbers = grid.at_many(town.x, town.y)
    found = strtree.query(points, predicate="intersects")
    assert found.shape[1] == len(numbers), "shapely finds others"
    for i, place in enumerate(town.places[:singles]):
        own = numbers[offsets[i] : offsets[i + 1]].tolist()
        assert own == grid.at(*place).tolist(), f"place {i}: one at a time, others are found"
        assert own == sorted(tree.at(*place)), f"place {i}: rtree finds others"
    ways: dict[str, Callable[[], object]] = {
        "grid, all at once": lambda: grid.at_many(town.x, town.y),
        "STRtree, all at once": lambda: strtree.query(points, predicate="intersects"),
        "grid": lambda: [grid.at(*place) for place in town.places[:singles]],
        "rtree and shapely": lambda: [tree.at(*place) for place in town.places[:singles]],
    }
    taken = rounds(ways, repetitions)
    asked = {name: len(points) if name.endswith("all at once") else singles for name in ways}
    each = {name: [seconds / asked[name] for seconds in times] for name, times in taken.items()}
    hits = len(numbers) / len(points)
    return [
        {
            "way": name,
            "us": statistics.median(times) * 1e6,
            "ratio": ratio(times, each["grid, all at once"]),
            "hits": hits,
        }
        for name, times in each.items()
    ]


def compare_changes(town: Town, changes: int, repetitions: int) -> list[dict[str, Any]]:
    """An area takes the place of another one; an area moves with a client."""
    areas, grid, tree = town.areas[:changes], town.grid, Rtree(town.shapes)
    others = [area.placed(5.0, -5.0) for area in areas]
    shapes = [area.geometry() for area in others]

    def change() -> None:
        for old, new in zip(areas, others, strict=True):
            (number,) = grid.hold([new]).tolist()
            grid.release([*grid.hold([old]).tolist()] * 2)
            grid.hold([old])
            grid.release([number])

    def change_rtree() -> None:
        for k, shape in enumerate(shapes):
            before = tree.shapes[k]
            tree.change(k, shape)
            tree.change(k, before)

    sector = Area.sector((0, 0), REACH, 0, 60)
    followers = [grid.follow(sector, x, y, 0.0, 1.0) for x, y in town.places[:changes]]
    numbers = np.array([followers])

    def move() -> None:
        for k, (x, y) in enumerate(town.places[:changes]):
            grid.move(numbers[:, k], np.array([(x + 1.5, y, 0.0, 1.0)]))

    taken = rounds({"grid": change, "rtree": change_rtree, "an area that moves": move}, repetitions)
    grid.release(followers)
    per = {"grid": 2 * changes, "rtree": 2 * changes, "an area that moves": changes}
    return [{"way": way, "us": statistics.median(times) / per[way] * 1e6} for way, times in taken.items()]


def compare_circles(places: int, repetitions: int) -> list[dict[str, Any]]:
    """Fences that are circles of one radius: the only ones that GEOSEARCH finds, as members near a place."""
    if installed("redis-server") is None:
        print("redis-server is not installed: left out")
        return []
    with tempfile.TemporaryDirectory() as folder, Circles.serve(Path(folder)) as circles:
        asked = circles.places[:places]
        found = [circles.grid.at(*circles.metres(place)).tolist() for place in asked]
        redis = [circles.search(place) for place in asked]
        differ = sum(a != b for a, b in zip(found, redis, strict=True))
        began = circles.server.cpu()
        for place in asked * repetitions:
            circles.search(place)
        us = (circles.server.cpu() - began) / repetitions / len(asked) * 1e6
        in_metres = [circles.metres(place) for place in asked]
        times = rounds({"grid": lambda: [circles.grid.at(*place) for place in in_metres]}, repetitions)[
            "grid"
        ]
    own = statistics.median(times) / len(asked) * 1e6
    hits = sum(map(len, found)) / len(asked)
    return [
        {"way": "grid", "us": own, "hits": hits, "other answers": 0},
        {"way": "Redis GEOSEARCH (server alone)", "us": us, "hits": hits, "other answers": differ},
    ]


def main() -> None:
    parser = arguments(__doc__)
    integer(parser, "--polygons", 10_000, "polygons of 8 to 200 vertices")
    integer(parser, "--clients", 10_000, "clients that move")
    integer(parser, "--events", 40_000, "places that are looked for at once")
    integer(parser, "--singles", 1_000, "places, and changes, one at a time")
    integer(parser, "--fences", 1_000_000, "fences of up to 16 vertices that are loaded")
    parser.add_argument("--no-peers", action="store_true", help="leave PostGIS, OpenStreetMap and Redis out")
    options = parser.parse_args()
    with one_by_one("areas_load") as pool:
        load: Load = pool.submit(load_many, options.fences, options.singles).result()
    pin()
    town = Town(options.polygons, options.clients, options.events)
    matching = compare_matching(town, options.singles, options.repetitions)
    changes = compare_changes(town, options.singles, options.repetitions)
    circles = [] if options.no_peers else compare_circles(options.singles, options.repetitions)
    oracle = (
        []
        if options.no_peers
        else differences({"random": town.areas, "OpenStreetMap": buildings()}, options.events)
    )
    assert not any(each["differences"] for each in oracle), f"PostGIS differs: {oracle}"
    print_table(
        f"Which of {options.polygons:,} polygons hold a place: {matching[0]['hits']:.1f} on average",
        ("way", "µs/place", "× grid at once", "at least"),
        [(m["way"], m["us"], m["ratio"], str(TARGETS.get(m["way"], ""))) for m in matching],
    )
    print_table("An area changes", ("way", "µs"), [list(each.values()) for each in changes])
    print_table(
        f"{options.fences:,} fences of up to 16 vertices, each a subscription of a client of its own",
        ("figure", "value", "at most"),
        [
            ("s to make the areas", load.made_s, ""),
            ("s to load them", load.loaded_s, str(MOST_LOAD_S)),
            ("MiB of areas, table and index", load.mib, str(MOST_MIB)),
            ("µs to match an event", load.match_us, str(MOST_MATCH_US)),
            ("µs to match one of many", load.together_us, str(MOST_MATCH_US)),
            ("fences that hold an event", load.hits, ""),
        ],
    )
    if circles:
        print_table("Circles of 100 m", list(circles[0]), [list(each.values()) for each in circles])
        print(f"\nTile38, as stated and not measured here: {TILE38['stated']} ({TILE38['source']})")
    if oracle:
        print_table(
            "PostGIS, beyond 1 cm of a border", list(oracle[0]), [list(each.values()) for each in oracle]
        )
    write(
        "areas",
        options.out,
        {
            "targets": TARGETS,
            "matching": matching,
            "changes": changes,
            "load": load._asdict(),
            "circles": circles,
            "tile38": TILE38,
            "oracle": oracle,
        },
    )


if __name__ == "__main__":
    main()
