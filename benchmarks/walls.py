"""Loss by the walls of buildings in our towns, beside urban values of the literature, and what walls cost.

Pairs of places on the streets of a map, up to the interference range apart. Ours is `wall_db` for each wall.
Sommer, Eckhoff, German and Dressler (WONS 2011) take 9 dB for each wall and 0.4 dB for each metre inside, in
the constants that Veins ships. Boban, Barros and Tonguz (GEMV²) found that power falls with distance to the
power of 2.9 between vehicles with buildings in the way, where it falls to the power of 2 in sight.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import shapely
from common import arguments, integer, print_table, write

from bypass.models.maps import MAPS, load_map
from bypass.models.maps.polygons import blocks
from bypass.models.maps.walking import on_streets
from bypass.models.radio.medium import Medium
from bypass.models.radio.radio import WIFI, RadioModel
from bypass.models.radio.walls import NO_WALLS, Walls, count_walls
from bypass.support.arrays import Floats

WALL_DB = 9.0
INSIDE_DB = 0.4  # for each metre in a building, which ours does not have
SIGHT, BEHIND = 2.0, 2.9
NEAREST_M = 10.0


def losses(name: str, pairs: int) -> tuple[Floats, Floats, Floats]:
    """Distances (m) of pairs of places on streets, the walls between them, and metres inside of buildings."""
    street_map = load_map(name)
    numbers = np.arange(4 * pairs)
    places = on_streets(
        np.uint64(1),
        numbers,
        np.zeros_like(numbers),
        street_map.nodes,
        street_map.edges,
        street_map.street_shares,
    )
    ends = np.column_stack([places.x, places.y])
    rng = np.random.default_rng(1)
    found: list[Floats] = []
    while sum(map(len, found)) < pairs:
        two = np.hstack([ends[rng.permutation(len(ends))], ends[rng.permutation(len(ends))]])
        apart = np.hypot(two[:, 0] - two[:, 2], two[:, 1] - two[:, 3])
        found.append(two[(apart >= NEAREST_M) & (apart <= WIFI.interference)])
    ways = np.concatenate(found)[:pairs]
    houses = blocks(street_map)
    walls = Walls.around(ring for polygon in houses for ring in polygon)
    seen = np.full(len(walls.ends), -1)
    counts = np.array(
        [
            count_walls(walls, x1, y1, x2, y2, 1 << 30, seen, i)
            for i, (x1, y1, x2, y2) in enumerate(ways.tolist())
        ],
        np.float64,
    )
    town = shapely.union_all([shapely.Polygon(outer, holes) for outer, *holes in houses])
    shapely.prepare(town)
    inside = shapely.length(shapely.intersection(shapely.linestrings(ways.reshape(-1, 2, 2)), town))
    return np.hypot(ways[:, 0] - ways[:, 2], ways[:, 1] - ways[:, 3]), counts, inside


def exponent(distance: Floats, loss: Floats) -> float:
    """The power of distance by which power falls as much, on average, from 1 m on."""
    lengths = 10 * np.log10(distance)
    return float((lengths * (SIGHT * lengths + loss)).sum() / (lengths * lengths).sum())


def seconds(model: RadioModel, walls: Walls, stations: int) -> float:
    """Processor time of a second in which positions change ten times and everybody sends as often."""
    rng = np.random.default_rng(1)
    place = rng.uniform(0, 1300, (stations, 2))
    medium = Medium(model, lambda t: (place[:, 0] + t, place[:, 1]), stations, 1, walls=walls)
    for at in range(0, 1_100_000, 1000 * model.refresh_ms):
        for station in range(stations):  # those who hear a station are found when it sends
            medium.send(at, station, 100)
    medium.run_until(100_000)
    began = time.process_time()
    medium.run_until(1_100_000)
    return time.process_time() - began


def main() -> None:
    parser = arguments(__doc__ or "")
    integer(parser, "--pairs", 20_000, "pairs of places")
    integer(parser, "--stations", 1000, "stations on the move")
    given = parser.parse_args()
    rows: list[tuple[str | float, ...]] = []
    results: dict[str, dict[str, float]] = {}
    for name in MAPS:
        distance, walls, inside = losses(name, given.pairs)
        hidden = walls > 0
        ours, sommer = WALL_DB * walls[hidden], WALL_DB * walls[hidden] + INSIDE_DB * inside[hidden]
        results[name] = {
            "in_sight": float(1 - hidden.mean()),
            "walls": float(walls[hidden].mean()),
            "ours_db": float(np.median(ours)),
            "sommer_db": float(np.median(sommer)),
            "ours_exponent": exponent(distance[hidden], ours),
            "sommer_exponent": exponent(distance[hidden], sommer),
        }
        needed = WALL_DB * (BEHIND - SIGHT) / (results[name]["ours_exponent"] - SIGHT)
        rows.append((name, *results[name].values(), BEHIND, needed))
    print_table(
        "pairs of places: the share in sight; behind walls, median loss (dB), exponents, dB a wall for 2.9",
        ("map", "in sight", "walls", "ours", "Sommer", "exponent", "of Sommer", "of GEMV²", "dB for that"),
        rows,
    )
    walled = WIFI.model_copy(update={"wall_db": WALL_DB})
    town = Walls.around(ring for polygon in blocks(load_map("darmstadt")) for ring in polygon)
    pairs = [
        (seconds(WIFI, NO_WALLS, given.stations), seconds(walled, town, given.stations))
        for _ in range(given.repetitions)
    ]
    plain, behind = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"\n{given.stations:,} stations, positions {1000 // WIFI.refresh_ms} times a second:"
        f" {1000 * plain:.0f} ms without, {1000 * behind:.0f} ms with walls of processor time a second"
    )
    results["refresh"] = {"stations": given.stations, "plain_s": plain, "walls_s": behind}
    write("walls", given.out, results)


if __name__ == "__main__":
    main()
