"""How many positions a second Spark brings to disk, and how many one thread with the same kernels does."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import arguments, integer, print_table, ratio, seconds, write

from bypass.models.compute.engines import ComputeEngine, LocalEngine, spark_engine
from bypass.models.mobility import RandomWaypoint
from bypass.models.traces import Trace, write_trace
from bypass.models.traces.blocks import ENCODING, SCHEMA

SEED, SLAB = 1, 20
CLIENTS = [300, 10_000, 100_000]
TARGET = 0.7
"""The share of the limit that Spark should reach, for the largest number of clients."""


def limit(folder: Path, clients: int, duration: int) -> None:
    """One thread: movement, positions and Parquet without a folder's bookkeeping, a file for each slab."""
    waypoints = RandomWaypoint().block(0, clients, float(duration), np.uint64(SEED))
    cursor = waypoints.cursor()
    folder.mkdir()
    most = SLAB + 1  # the last slab has the position at the very end too
    numbers = np.tile(np.arange(clients, dtype=np.int32), most)
    x, y = np.empty((most, clients), np.float32), np.empty((most, clients), np.float32)
    for begin in range(0, duration, SLAB):
        end = begin + SLAB if begin + SLAB < duration else duration + 1
        times = np.arange(begin, end).astype(np.float64)
        rows = len(times) * clients
        cursor.sample(times, x, y)
        columns = [np.repeat(times, clients), numbers[:rows], x.reshape(-1)[:rows], y.reshape(-1)[:rows]]
        table = pa.table(list(map(pa.array, columns)), schema=SCHEMA)
        pq.write_table(table, folder / f"{begin}.parquet", **ENCODING)


def trace(engine: ComputeEngine, folder: Path, clients: int, duration: int) -> Trace:
    """The same positions as a trace."""
    return write_trace(
        RandomWaypoint(),
        "rwp",
        folder,
        clients=clients,
        duration=duration,
        seed=SEED,
        slab=SLAB,
        engine=engine,
    )


def read(path: Path) -> None:
    """All positions, slab by slab, in one thread."""
    opened = Trace.open(path)
    for slab in range(opened.slabs):
        opened.read(*opened.slab_samples(slab))


def measure(spark: ComputeEngine, clients: int, duration: int, repetitions: int) -> dict[str, Any]:
    local = LocalEngine()
    ways: dict[str, Callable[[Path], object]] = {
        "limit": lambda folder: limit(folder, clients, duration),
        "local": lambda folder: trace(local, folder, clients, duration),
        "spark": lambda folder: trace(spark, folder, clients, duration),
    }
    taken: dict[str, list[float]] = {name: [] for name in (*ways, "read")}
    with tempfile.TemporaryDirectory() as parent:
        kept = Path(parent, "spark")
        for turn in range(repetitions + 1):  # before the first that counts, everything is compiled and loaded
            for name, way in ways.items():
                folder = Path(parent, name)
                shutil.rmtree(folder, ignore_errors=True)
                took = seconds(lambda way=way, folder=folder: way(folder), time.perf_counter)  # type: ignore[misc]
                taken[name] += [took] if turn else []
            taken["read"] += [seconds(lambda: read(kept), time.perf_counter)] if turn else []
        made = Trace.open(kept)
        if made.digest() != Trace.open(Path(parent, "local")).digest():
            raise AssertionError(f"{clients} clients: Spark and one process have written other rows")
        size = sum(path.stat().st_size for path in made.files)
    rates = {name: [made.rows / each / 1e6 for each in times] for name, times in taken.items()}
    return {
        "clients": clients,
        "rows": made.rows,
        **{name: statistics.median(each) for name, each in rates.items()},
        "share": ratio(taken["limit"], taken["spark"]),
        "bytes": size / made.rows,
        "rates": rates,
    }


def main() -> None:
    parser = arguments(__doc__, repetitions=3)
    parser.add_argument(
        "--clients", type=int, nargs="+", default=CLIENTS, metavar="N", help=f"numbers of clients ({CLIENTS})"
    )
    integer(parser, "--duration", 600, "seconds of movement")
    options = parser.parse_args()
    with spark_engine("benchmark") as spark:
        cores = spark.parallel
        results = [measure(spark, each, options.duration, options.repetitions) for each in options.clients]
    columns = {
        "clients": "clients",
        "rows": "rows",
        "limit": "one thread",
        "local": "local",
        "spark": "Spark",
        "share": "Spark/one thread",
        "read": "read",
        "bytes": "bytes/row",
    }
    print_table(
        f"{options.duration} s of random waypoint, a row each second: million rows/s, Spark on {cores} cores",
        list(columns.values()),
        [[result[column] for column in columns] for result in results],
    )
    largest = max(results, key=lambda result: int(result["clients"]))
    print(
        f"\nSpark with {largest['clients']:,} clients: {largest['share']:.2f} of one thread, asked {TARGET}"
    )
    versions = {name: version(name) for name in ("pyarrow", "pyspark")}
    write(
        "traces",
        options.out,
        {
            "duration": options.duration,
            "cores": cores,
            "target": TARGET,
            "versions": versions,
            "runs": results,
        },
    )


if __name__ == "__main__":
    main()
