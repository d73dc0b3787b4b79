"""How many events a second are judged: on Spark, by bare kernels, by k-d trees and geopandas; growth."""

from __future__ import annotations

import functools
import math
import multiprocessing
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from common import arguments, integer, print_table, ratio, rounds, write
from scipy.spatial import cKDTree

from bypass.mechanisms.filters.indexes.envelopes import SECONDS_AHEAD, WIDENING
from bypass.models.compute.engines import LocalEngine, SparkEngine, spark_engine
from bypass.models.mobility import RandomDirection
from bypass.models.traces import Trace, write_trace
from bypass.models.waypoints import Waypoints
from bypass.models.workloads import World
from bypass.places.region import Region
from bypass.scenarios.evaluation import Evaluation, evaluate, make_workload, parse_schemes
from bypass.scenarios.evaluation.events import WorkloadEvents
from bypass.scenarios.evaluation.judging.judges import Judges
from bypass.scenarios.evaluation.judging.sensors import sensor_phases
from bypass.scenarios.evaluation.judging.windows import windows
from bypass.support.arrays import Bools, Floats, Ints, Singles
from bypass.support.counter_rng import Purpose, normal_pair
from bypass.support.units import MICROSECONDS

Pairs = tuple[Ints, Ints]

SCHEMES = ("radial", "ste:1.5", "grid:5", "egrid:10")
SEED, RADIUS, INTERVAL_US = 1, 125.0, 5 * MICROSECONDS
AHEAD_S = 1.5 * SECONDS_AHEAD
PROCESSES = 2
SHORT_S = 10
SIZES = (3_000, 10_000, 30_000, 100_000)
CROWD = 5  # every so many is in it
PAIRS = 50_000_000
"""So many neighbours in a second fit into the memory of those that list them."""
TARGETS = {"Spark/pool": 2.0, "geopandas": 50.0, "cKDTree": 4.0, "memory, GiB": 3.0, "exponent": 1.15}


class Crowded(RandomDirection):
    """Every fifth client is at the centre: around a place of its own, which is normally distributed there
    with a deviation of 20 m, it walks in a square of 20 m."""

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        apart = super().block(first, last, duration, seed)
        together = RandomDirection(width=20.0, height=20.0).block(first, last, duration, seed)
        tracks = []
        for i, client in enumerate(range(first, last)):
            own, x, y = apart, 0.0, 0.0
            if client % CROWD == 0:
                u, v = normal_pair(seed, Purpose.GROUP, client, 0)
                own, x, y = together, self.width / 2 - 10.0 + 20.0 * u, self.height / 2 - 10.0 + 20.0 * v
            part = slice(own.offsets[i], own.offsets[i + 1])
            tracks.append((own.t[part], own.x[part] + x, own.y[part] + y))
        return Waypoints.of_tracks(tracks)


def make(kind: str, clients: int, duration: int, folder: Path) -> Path:
    """A trace with as much room for each client as 297 have in 1300 m × 1300 m."""
    side = 1300.0 * math.sqrt(clients / 297)
    model = (Crowded if kind == "crowd" else RandomDirection)(width=side, height=side)
    path = folder / f"{kind}-{clients}-{duration}"
    write_trace(model, kind, path, clients=clients, duration=duration, seed=SEED, engine=LocalEngine())
    return path


# -- what runs in processes of its own -----------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def held(path: Path, first: int, last: int) -> tuple[Trace, Singles, Singles]:
    """Positions, read once."""
    trace = Trace.open(path)
    return trace, *trace.read(first, last + 1)


def bare(path: Path, first: int, last: int) -> tuple[float, int, list[int]]:
    """The kernels alone, from sample `first` to `last`: positions are in memory, publications are drawn as
    they come, results go nowhere. Gives the seconds it took, the events, and the work."""
    trace, x, y = held(path, first, last)
    began = time.perf_counter()
    schemes, region = parse_schemes(SCHEMES), Region((0.0, 0.0, *trace.size))
    source = WorkloadEvents("ar", make_workload("ar", {"radius": RADIUS}), SEED, World((), *trace.size))
    phases = sensor_phases(SEED, 0, trace.clients, INTERVAL_US)
    published = functools.partial(source.between, 0, trace.clients)
    jury: Judges | None = None
    events = 0
    for window in windows(x, y, first, trace.step, phases, INTERVAL_US, published):
        if jury is None:
            jury = Judges(schemes, region, RADIUS, window.leg, phases, INTERVAL_US, SEED)
            jury.begin({})
        events += len(jury.count(window).subscribers)
    assert jury is not None
    return time.perf_counter() - began, events, jury.work.tolist()


class Second:
    """Where clients are at one second, where they had their last fixes and how they moved there: what peers
    are given."""

    def __init__(self, path: Path, second: int) -> None:
        trace = Trace.open(path)
        self.clients, self.size = trace.clients, np.array(trace.size)
        places = np.stack(trace.read(0, second + 1), axis=-1).astype(np.float64)
        fix_us = sensor_phases(SEED, 0, trace.clients, INTERVAL_US)
        fix_us += (second * MICROSECONDS - 1 - fix_us) // INTERVAL_US * INTERVAL_US
        sample, us = np.divmod(np.maximum(fix_us, 0), MICROSECONDS)
        before, after = (places[k, np.arange(trace.clients)] for k in (sample, sample + 1))
        self.true = places[second]
        self.velocity = after - before
        self.known = before + (us / MICROSECONDS)[:, None] * self.velocity
        self.speed = np.hypot(*self.velocity.T)
        length = AHEAD_S * self.speed.max()
        self.reach = math.hypot(length, RADIUS + length * WIDENING)

    def enclosing(self, event: Ints, client: Ints) -> tuple[Bools, Bools]:
        """For pairs of an event and a client: whether it is in the client's disc, and in its envelope."""
        gap = self.true[event] - self.known[client]
        vx, vy = self.velocity[client].T
        disc = (gap**2).sum(axis=1) <= RADIUS**2
        speed = np.maximum(self.speed[client], 1e-9)
        along = (gap[:, 0] * vx + gap[:, 1] * vy) / speed
        aside = np.abs(gap[:, 0] * vy - gap[:, 1] * vx) / speed
        cone = (along >= 0) & (along <= AHEAD_S * speed) & (aside <= RADIUS + along * WIDENING)
        return disc, disc | (cone & (speed > 1e-9))


def judged_by_pairs(second: Second, near: Pairs, known_near: Pairs) -> Ints:
    """A row for each event, which everybody publishes where he is: subscribers, then notified and correct by
    scheme.

    Given all pairs of an event and a client that is in the radius, and of one that had its last fix within
    reach of an envelope, oneself included. In GRID and EGRID clients have the cells of their last fix.
    """
    (event, client), others = (
        tuple(each[pairs[0] != pairs[1]] for each in pairs) for pairs in (near, known_near)
    )

    def counted(events: Ints) -> Ints:
        return np.bincount(events, minlength=second.clients)

    columns = [counted(event)]
    for notified, correct in zip(second.enclosing(*others), second.enclosing(event, client), strict=True):
        columns += [counted(others[0][notified]), counted(event[correct])]
    for cells, margin in ((5, 0.0), (10, RADIUS)):
        size = second.size / cells
        low, high, there = (
            np.clip(places / size, 0, cells - 1).astype(np.int64)
            for places in (second.known - margin, second.known + margin, second.true)
        )
        edges = np.zeros((cells + 1, cells + 1), np.int64)  # where spans of cells begin and end, to be summed
        for sign, i, j in ((1, low, low), (-1, low, high + 1), (-1, high + 1, low), (1, high + 1, high + 1)):
            np.add.at(edges, (i[:, 0], j[:, 1]), sign)
        listeners = edges.cumsum(axis=0).cumsum(axis=1)[there[:, 0], there[:, 1]]
        columns.append(listeners - np.all((low <= there) & (there <= high), axis=1))
        cell = there[event]
        columns.append(counted(event[np.all((low[client] <= cell) & (cell <= high[client]), axis=1)]))
    return np.column_stack(columns)


def with_tree(second: Second) -> Ints:
    """scipy, the way that is quickest here: lists of `query_ball_point` take four times as long."""
    events = cKDTree(second.true)

    def pairs(places: Floats, distance: float) -> Pairs:
        found = events.sparse_distance_matrix(cKDTree(places), distance, output_type="ndarray")
        return found["i"], found["j"]

    return judged_by_pairs(second, pairs(second.true, RADIUS), pairs(second.known, second.reach))


def with_geopandas(second: Second) -> Ints:
    """Spatial joins."""
    import geopandas

    def pairs(places: Floats, distance: float) -> Pairs:
        clients = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*places.T))
        joined = geopandas.sjoin(events, clients, predicate="dwithin", distance=distance)
        return joined.index.to_numpy(), joined["index_right"].to_numpy()

    events = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*second.true.T))
    return judged_by_pairs(second, pairs(second.true, RADIUS), pairs(second.known, second.reach))


PEERS: dict[str, Callable[[Second], Ints]] = {"cKDTree": with_tree, "geopandas": with_geopandas}


@functools.lru_cache(maxsize=1)
def second_of(path: Path, second: int) -> Second:
    return Second(path, second)


def peer(name: str, path: Path, second: int) -> Ints:
    """Counts of a peer, summed up, so that little goes from process to process."""
    sums: Ints = PEERS[name](second_of(path, second)).sum(axis=0)
    return sums


# -- what is compared ----------------------------------------------------------------------------------------


class Bench:
    """Two processes, both engines, and a folder for what they write."""

    def __init__(self, processes: list[ProcessPoolExecutor], spark: SparkEngine, folder: Path) -> None:
        self.processes, self.folder = processes, folder
        self.spark = spark
        self.peers = [name for name in PEERS if name != "geopandas" or find_spec("geopandas")]

    @classmethod
    @contextmanager
    def opened(cls) -> Iterator[Bench]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            pools = (ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) for _ in range(PROCESSES))
            processes = [stack.enter_context(pool) for pool in pools]
            spark = stack.enter_context(spark_engine("benchmark", f"local[{PROCESSES}]"))
            yield cls(processes, spark, folder)

    def away(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Call a function in another process and return its result."""
        return self.processes[0].submit(function, *arguments).result()

    def trace(self, kind: str, clients: int, duration: int) -> Path:
        """Made once, in another process: what that needs is no memory of the driver's."""
        path = self.folder / f"{kind}-{clients}-{duration}"
        if not path.exists():
            say(f"a trace: {kind}, {clients:,} clients, {duration} s")
            self.away(make, kind, clients, duration, self.folder)
        return path

    def pool(self, path: Path, duration: int) -> None:
        """The bare kernels, a part of the time for each process."""
        cuts = [duration * k // PROCESSES for k in range(PROCESSES + 1)]
        parts = zip(self.processes, cuts, cuts[1:], strict=False)
        for each in [process.submit(bare, path, *part) for process, *part in parts]:
            each.result()

    def evaluate(self, path: Path, publications: Path | None = None) -> Evaluation:
        """From the trace to the files, on Spark."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        trace = Trace.open(path)
        return evaluate(trace, SCHEMES, out=out, engine=self.spark, publications=publications, seed=SEED)

    def check(self) -> None:
        """The peers and the evaluation must count the same for events that all belong to one moment."""
        path, recorded = self.trace("crowd", 500, 8), self.folder / "recorded.parquet"
        nowhere = pa.nulls(500, pa.float64())
        table = {"t": np.full(500, 7.0), "client": np.arange(500), "x": nowhere, "y": nowhere}
        pq.write_table(pa.table(table), recorded)
        events = pq.read_table(self.evaluate(path, recorded).out / "events")
        # EGRID's clients keep cells for longer than since the last fix, which is all that the peers know.
        columns = (f"{scheme}/{what}" for scheme in SCHEMES[:3] for what in ("notified", "correct"))
        ours = [pc.sum(events[column]).as_py() for column in ("subscribers", *columns)]
        for name in self.peers:
            if (theirs := self.away(peer, name, path, 7).tolist()[: len(ours)]) != ours:
                raise AssertionError(f"{name} counts {theirs}, the evaluation {ours}")

    def compare(self, kind: str, clients: int, duration: int, repetitions: int) -> dict[str, Any]:
        """All ways, one of each in turn. Peers judge one second, unless that needs too much memory."""
        path, evaluations = self.trace(kind, clients, duration), []
        ways: dict[str, Callable[[], object]] = {
            "pool": lambda: self.pool(path, duration),
            "spark": lambda: evaluations.append(self.evaluate(path)),
        }
        if kind == "uniform" or (clients / CROWD) ** 2 < PAIRS:
            second = min(6, duration)
            ways |= {name: functools.partial(self.away, peer, name, path, second) for name in self.peers}
        say(f"{kind}, {clients:,} clients, {duration} s: {', '.join(ways)}, {repetitions} times after once")
        taken = rounds(ways, repetitions, time.perf_counter)
        events = evaluations[-1].summaries["ar"]["events"]
        judged = {name: clients if name in PEERS else events for name in ways}
        per_event = {name: [t / judged[name] for t in times] for name, times in taken.items()}
        return {
            "kind": kind,
            "clients": clients,
            "duration": duration,
            "events": events,
            "seconds": taken,
            "rates": {name: 1 / statistics.median(times) for name, times in per_event.items()},
            "spark_to_pool": ratio(taken["spark"], taken["pool"]),
            "times": {name: ratio(per_event[name], per_event["spark"]) for name in ways if name in PEERS},
            "memory": self.memory(evaluations[-1]),
        }

    def memory(self, evaluation: Evaluation) -> dict[str, float]:
        """The most that the processes of an evaluation have had so far (GiB)."""
        ascending = sorted((piece["process"], piece["memory_mib"]) for piece in evaluation.pieces)
        java: Any = self.spark.session.sparkContext._jvm
        status = Path(f"/proc/{java.java.lang.ProcessHandle.current().pid()}/status")
        return {
            "workers": sum(dict(ascending).values()) / 1024,
            "driver": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2,
            "Java": int(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) / 1024**2,
        }

    def grow(self, kind: str, sizes: list[int], duration: int, repetitions: int) -> dict[str, Any]:
        """The bare kernels in one process, by the number of clients."""
        rows = []
        for clients in sizes:
            path = self.trace(kind, clients, duration)
            say(f"growth: {kind}, {clients:,} clients, {duration} s")
            runs = [self.away(bare, path, 0, duration) for _ in range(repetitions + 1)]  # the first one reads
            events, (tested, in_bulk, passed) = runs[0][1:]
            us = statistics.median(run[0] for run in runs[1:]) * 1e6
            counts = {"us": us, "tested": tested, "in_bulk": in_bulk, "passed": passed}
            each = {name: count / events for name, count in counts.items()}
            rows.append({"clients": clients, **each, "candidates": each["tested"] + each["in_bulk"]})
        # Fitted by event, and one more for all events, because there are as many as clients.
        exponents = {
            column: 1 + float(np.polyfit(np.log(sizes), np.log([row[column] for row in rows]), 1)[0])
            for column in ("us", "tested", "candidates")
            if len(sizes) > 1
        }
        return {"rows": rows, "exponents": exponents}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = arguments(__doc__, repetitions=3)
    integer(parser, "--clients", 100_000, "in the large worlds")
    integer(parser, "--duration", 60, "seconds that are judged, but of a large crowd 10 at most")
    options = parser.parse_args()
    n, duration, repetitions = options.clients, options.duration, options.repetitions
    short = min(SHORT_S, duration)
    cases = [("uniform", n, duration), ("crowd", n, short), ("crowd", n // 10, duration)]
    sizes = [size for size in SIZES if size <= n] or [n]
    with Bench.opened() as bench:
        bench.check()
        runs = [bench.compare(*case, repetitions) for case in cases]
        growth = {kind: bench.grow(kind, sizes, short, repetitions) for kind in ("uniform", "crowd")}
        missing = sorted(set(PEERS) - set(bench.peers))
    show_runs(runs)
    show_peers(runs, missing)
    show_growth(growth)
    libraries = ("pyarrow", "pyspark", "scipy", "geopandas")
    versions = {name: version(name) for name in libraries if name not in missing}
    result = {"targets": TARGETS, "schemes": SCHEMES, "versions": versions, "runs": runs, "growth": growth}
    write("evaluation", options.out, result)


def show_runs(runs: list[dict[str, Any]]) -> None:
    print_table(
        f"Seconds from the trace to the files, and of the kernels alone in {PROCESSES} processes (pool)",
        ("clients", "", "judged s", "events", "pool", "Spark", "Spark/pool", "at most"),
        [
            [
                *(run[key] for key in ("kind", "clients", "duration", "events")),
                *(statistics.median(run["seconds"][way]) for way in ("pool", "spark")),
                *(run["spark_to_pool"], TARGETS["Spark/pool"]),
            ]
            for run in runs
        ],
    )
    print_table(
        "The most memory (GiB) that the evaluation on Spark has had so far",
        ("clients", "", "workers", "driver", "Java", "workers and driver", "at most"),
        [
            [
                *(run["kind"], run["clients"], *run["memory"].values()),
                *(run["memory"]["workers"] + run["memory"]["driver"], TARGETS["memory, GiB"]),
            ]
            for run in runs
        ],
    )


def show_peers(runs: list[dict[str, Any]], missing: list[str]) -> None:
    print_table(
        f"Events/s: Spark, from the trace to the files on {PROCESSES} cores, and peers, in memory on one",
        ("clients", "", "way", "events/s", "Spark", "Spark ×", "at least", "a core ×"),
        [
            [
                *(run["kind"], run["clients"], way, run["rates"][way], run["rates"]["spark"]),
                *(times, TARGETS[way], times / PROCESSES),
            ]
            for run in runs
            for way, times in run["times"].items()
        ],
    )
    for name in missing:
        print(f"\n{name} is not installed and not compared.")


def show_growth(growth: dict[str, dict[str, Any]]) -> None:
    names = ("clients", "us", "tested", "in_bulk", "passed", "candidates")
    for kind, grown in growth.items():
        print_table(
            f"{kind}: what one event costs one process",
            ("clients", "µs", "clients tested", "counted in bulk", "boxes passed over", "candidates"),
            [[row[name] for name in names] for row in grown["rows"]],
        )
        if grown["exponents"]:
            took, tests, candidates = (f"clients^{exponent:.2f}" for exponent in grown["exponents"].values())
            asked = f", asked {TARGETS['exponent']} at most" if kind == "uniform" else ""
            print(f"\n  All events: {took} of time{asked}; {tests} tests, without bulk {candidates}.")


if __name__ == "__main__":
    main()
