"""Compares simulator, local engine and Spark on one trace of Darmstadt: which events do they judge
differently?"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from common import arguments, integer, print_table, write
from numpy.typing import NDArray

from bypass.mechanisms.filters.indexes.envelopes import SECONDS_AHEAD, WIDENING
from bypass.models.compute.engines import ComputeEngine, LocalEngine, spark_engine
from bypass.models.mobility import Darmstadt
from bypass.models.traces import Trace, write_trace
from bypass.scenarios.evaluation import evaluate
from bypass.scenarios.evaluation.judging.sensors import sensor_phases
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.runs.experiment import Experiment
from bypass.support.arrays import Bools, Floats, Ints
from bypass.support.units import MICROSECONDS

Columns = dict[str, NDArray[Any]]

SCHEMES: dict[str, dict[str, Any]] = {
    "radial": {"scheme": "radial"},
    "ste:1.5": {"scheme": "ste", "alpha": 1.5},
    "grid:5": {"scheme": "grid", "grid": 5},
    "egrid:10": {"scheme": "egrid", "grid": 10},
    "attract": {"scheme": "attract"},
    "multi": {"scheme": "multi"},
}
WORKLOADS = ("ar", "lbs", "rnd")
EVENT, COUNTS = ("at_us", "publisher"), ("subscribers", "notified", "correct")
PROCESSES = 2
SEED, RADIUS, INTERVAL_US = 5, 125.0, 5 * MICROSECONDS
CLOSE_M = 0.01
"""Places nearer to a line (m) may fall on either side of it, by the last digit."""


def simulated(trace: Path, workload: str, scheme: str) -> Columns:
    """Counts of the simulator if messages take no time."""
    played = Trace.open(trace)
    scenario = Scenario.model_validate(
        {
            "name": "agreement",
            "about": "messages take no time",
            "clients": played.clients,
            "duration": played.duration,
            "mobility": {"model": "playback", "path": str(trace)},
            "workload": {"model": workload, "start": 0.0},
            "network": {"latency": 0.0, "jitter": 0.0, "bandwidth": 1e15},
            "filter": SCHEMES[scheme],
        }
    )
    columns = Experiment(scenario, SEED).run().events
    order = np.lexsort((columns["publisher"], columns["at_us"]))
    return {name: columns[name][order] for name in (*EVENT, *COUNTS)}


def evaluated(trace: Trace, engine: ComputeEngine, out: Path) -> dict[str, Columns]:
    """Counts of an engine, by workload."""
    workloads: dict[str, dict[str, Any]] = {name: {} for name in WORKLOADS}
    evaluate(trace, list(SCHEMES), out=out, engine=engine, workloads=workloads, seed=SEED)
    order = [("at_us", "ascending"), ("publisher", "ascending")]
    tables = {name: pq.read_table(out / "events" / name).sort_by(order) for name in WORKLOADS}
    return {name: {c: table[c].to_numpy() for c in table.column_names} for name, table in tables.items()}


def of_scheme(columns: Columns, scheme: str) -> Columns:
    """The columns of one scheme, named as in the simulator."""
    own = {name: columns[f"{scheme}/{name}"] for name in COUNTS[1:]}
    return {name: columns[name] for name in (*EVENT, COUNTS[0])} | own


def differing(one: Columns, other: Columns) -> Bools:
    """Which events have other counts. Raises AssertionError if they are not the same events."""
    for name in EVENT:
        if not np.array_equal(one[name], other[name]):
            raise AssertionError(f"{name}: the events are not the same ones")
    return np.asarray(np.logical_or.reduce([one[name] != other[name] for name in COUNTS]))


@dataclass(frozen=True)
class Looks:
    """Where one client was, and how fast (m, m/s), when it last looked before each event."""

    x: Floats
    y: Floats
    vx: Floats
    vy: Floats


class Boundaries:
    """For each event, whether somebody is so close to a line that decides that rounding may decide."""

    def __init__(self, trace: Trace, events: Columns, local: bool) -> None:
        self.trace, self.local = trace, local
        self.places = np.stack(trace.read(0, trace.samples)).astype(np.float64)
        self.at_us: Ints = events["at_us"]
        self.publisher = events["publisher"]
        self.x, self.y = events["x"], events["y"]
        self.phases = sensor_phases(SEED, 0, trace.clients, INTERVAL_US)

    def find(self) -> dict[str, Bools]:
        """By scheme. What decides who should be notified, decides in every scheme."""
        truth, discs, cones, circles = (np.zeros(len(self.x), np.bool_) for _ in range(4))
        grids = {5: self.near_cell_border(5), 10: self.near_cell_border(10)}
        for client in range(self.trace.clients):
            apart = self.publisher != client
            now, fix = self.look(client, self.at_us), self.look(client, self.last_fix(client))
            looks = [fix, self.look(client, self.last_publication(client))] if self.local else [fix]
            truth |= apart & self.near_disc(now)
            discs |= apart & self.near_disc(fix)
            cones |= apart & self.near_cone(fix)
            circles |= apart & self.near_circle(fix.x, fix.y)
            for look in looks:
                grids[5] |= apart & self.near_channel(look, 5, 0.0)
                grids[10] |= apart & self.near_channel(look, 10, RADIUS)
        circles |= self.near_circle(self.x, self.y)
        own = [discs, discs | cones, grids[5], grids[10], circles, circles | discs]
        return {scheme: truth | near for scheme, near in zip(SCHEMES, own, strict=True)}

    def last_fix(self, client: int) -> Ints:
        """When a client had its last fix before each event; at 0, when it subscribed, if it had none."""
        phase = int(self.phases[client])
        fixes = phase + (self.at_us - 1 - phase) // INTERVAL_US * INTERVAL_US
        return np.where(fixes > 0, fixes, 0)

    def last_publication(self, client: int) -> Ints:
        """When a client last published up to each event, which it may have published; at 0 if never."""
        own: Ints = np.concatenate([[0], self.at_us[self.publisher == client]])
        return np.take(own, np.searchsorted(own, self.at_us, side="right") - 1)

    def look(self, client: int, at_us: Ints) -> Looks:
        """Where a client was at these times."""
        at = at_us / MICROSECONDS / self.trace.step
        sample = np.minimum(at.astype(np.int64), self.trace.samples - 2)
        here, there = self.places[:, sample, client], self.places[:, sample + 1, client]
        x, y = here + (at - sample) * (there - here)
        return Looks(x, y, *((there - here) / self.trace.step))

    def near_disc(self, look: Looks) -> Bools:
        return close(np.hypot(look.x - self.x, look.y - self.y), RADIUS)

    def near_cone(self, look: Looks) -> Bools:
        """Close to a side of the cone, or to its end."""
        speed = np.hypot(look.vx, look.vy)
        moving = speed > 0.0
        speed[~moving] = 1.0
        dx, dy = self.x - look.x, self.y - look.y
        along, aside = (dx * look.vx + dy * look.vy) / speed, np.abs(dx * look.vy - dy * look.vx) / speed
        length, width = 1.5 * SECONDS_AHEAD * speed, RADIUS + along * WIDENING
        within = (along >= -CLOSE_M) & (along <= length + CLOSE_M) & (aside <= width + CLOSE_M)
        return moving & within & (close(aside, width) | close(along, length))

    def near_circle(self, x: Floats, y: Floats) -> Bools:
        found = np.zeros(len(x), np.bool_)
        for point in self.trace.attractions:
            found |= close(np.hypot(x - point.x, y - point.y), point.radius)
        return found

    def near_cell_border(self, n: int) -> Bools:
        """Events close to another cell."""
        found = np.zeros(len(self.x), np.bool_)
        for places, size in zip((self.x, self.y), self.trace.size, strict=True):
            border = np.clip(np.rint(places / size * n), 1, n - 1)
            found |= close(places, border * size / n)
        return found

    def near_channel(self, look: Looks, n: int, margin: float) -> Bools:
        """Whether a client is close to listening, or not listening any more, to the cell of an event."""
        outside = np.full(len(self.x), -np.inf)  # how far beyond the cell and its margin
        places = ((self.x, look.x), (self.y, look.y))
        for (event, client), size in zip(places, self.trace.size, strict=True):
            cell = np.clip((event / size * n).astype(np.int64), 0, n - 1)
            low = np.where(cell == 0, -np.inf, cell * size / n - margin)
            high = np.where(cell == n - 1, np.inf, (cell + 1) * size / n + margin)
            outside = np.maximum(outside, np.maximum(low - client, client - high))
        return close(outside, 0.0)


def close(value: Floats, line: Floats | float) -> Bools:
    return np.asarray(np.abs(value - line) <= CLOSE_M)


def compare(trace: Trace, folder: Path) -> list[dict[str, Any]]:
    """A row for each workload and scheme."""
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        runs = {
            (workload, scheme): pool.submit(simulated, trace.path, workload, scheme)
            for workload in WORKLOADS
            for scheme in SCHEMES
        }
        local = evaluated(trace, LocalEngine(), folder / "local")
        with spark_engine("benchmark", f"local[{PROCESSES}]") as engine:
            spark = evaluated(trace, engine, folder / "spark")
        rows = []
        for workload in WORKLOADS:
            near = Boundaries(trace, local[workload], local=workload == "ar").find()
            for scheme in SCHEMES:
                ours = of_scheme(local[workload], scheme)
                simulator = differing(runs[workload, scheme].result(), ours)
                on_spark = differing(of_scheme(spark[workload], scheme), ours)
                row = {
                    "workload": workload,
                    "scheme": scheme,
                    "events": len(simulator),
                    "near": int(np.count_nonzero(near[scheme])),
                    "not_as_simulated": int(np.count_nonzero(simulator)),
                    "not_as_on_spark": int(np.count_nonzero(on_spark)),
                    "unexplained": int(np.count_nonzero((simulator | on_spark) & ~near[scheme])),
                }
                print(f"{workload}, {scheme}: {row['events']:,} events compared", file=sys.stderr, flush=True)
                rows.append(row)
    return rows


def main() -> int:
    parser = arguments(__doc__, repetitions=None)
    integer(parser, "--clients", 297, "clients")
    integer(parser, "--duration", 300, "seconds; 30 are enough to see that all is well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = write_trace(
            Darmstadt(),
            "darmstadt",
            folder / "trace",
            clients=options.clients,
            duration=options.duration,
            seed=SEED,
            engine=LocalEngine(),
        )
        rows = compare(trace, folder)
    print_table(
        f"{options.clients} clients in Darmstadt for {options.duration} s: events that others judge unlike"
        f" the local engine, and those with something within {CLOSE_M * 100:g} cm of a line that decides",
        ("workload", "scheme", "events", "near a line", "≠ simulator", "≠ Spark", "≠ and not near"),
        [list(row.values()) for row in rows],
    )
    unexplained = sum(row["unexplained"] for row in rows)
    print(f"\n{unexplained} of {sum(row['events'] for row in rows):,} differ without being near a line")
    settings = {"clients": options.clients, "duration": options.duration, "seed": SEED, "close_m": CLOSE_M}
    write("agreement", options.out, {**settings, "runs": rows})
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
