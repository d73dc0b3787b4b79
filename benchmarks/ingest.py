"""The data pipeline: how many messages a second from the log through Spark into the table, and how soon."""

from __future__ import annotations

import os
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import ingest_postgres as postgres
from common import arguments, integer, print_table, write
from ingest_load import BLOCK, KINDS, Installation, Kind
from ingest_stream import StreamRate, drain, latency
from pyspark.sql import SparkSession

from bypass.ingest.connectors.intake import IntakeLimits, LogIntake
from bypass.ingest.stream.plans import submit_plan
from bypass.models.compute.spark_session import spark_session
from bypass.transitions import Action, Plan

DURABILITIES = ("none", "log-only", "full-sync")
FLEETS = (1_000, 10_000, 100_000)
RATES = ("messages/s", "CPU µs", "load")


class Bench:
    """A run: its options, a folder to work in, and all figures so far."""

    def __init__(self, options: Namespace, folder: Path) -> None:
        self.options = options
        self.figures: dict[str, Any] = {}
        self._folder, self._used = folder, 0

    def installation(self, kind: Kind, devices: int = 0, durability: str = "log-only") -> Installation:
        """A new installation."""
        self._used += 1
        return Installation(self._folder / str(self._used), kind, devices or self.options.devices, durability)

    @contextmanager
    def spark(self, cores: int) -> Iterator[SparkSession]:
        """Spark with so many workers, which have taken a batch of messages before."""
        with spark_session("ingest benchmark", f"local[{cores}]") as session:
            warm = self.installation(Kind())
            for _ in range(2):
                warm.fill(self.options.warm)
                drain(session, warm, self.options.warm)
            yield session

    def rate(self, spark: SparkSession, installation: Installation) -> StreamRate:
        """The rate of the stream over a log that is full: the median of the batches that find all warm."""
        installation.fill(self.options.messages)
        found = drain(spark, installation, self.options.messages, self.options.batch)
        what = f"{installation.kind.name}, {installation.devices:,} devices"
        print(f"{what}: {found.rate:,.0f} messages/s, {found.cpu_us:.1f} µs", flush=True)
        return found


def show_rates(title: str, found: dict[str, StreamRate], of: str) -> None:
    """Print a table of rates, with each as a multiple of one of them."""
    print_table(
        title,
        ("", *RATES, f"× {of}"),
        [
            [name, each.rate, each.cpu_us, each.load, each.rate / found[of].rate]
            for name, each in found.items()
        ],
    )


def measure_log(bench: Bench) -> None:
    """Append blocks to one file, and hand in messages one by one, by each durability in turn."""
    kind, count = Kind(), bench.options.messages
    found: dict[str, dict[str, list[float]]] = {name: {} for name in DURABILITIES}
    for _ in range(bench.options.repetitions):
        for name in DURABILITIES:
            for how, act in (("blocks", _append), ("one by one", _hand_in)):
                installation = bench.installation(kind, durability=name)
                wall, cpu = act(installation, count)
                found[name].setdefault(f"{how}/s", []).append(count / wall)
                found[name].setdefault(f"{how}/CPU s", []).append(count / cpu)
    medians = {name: {what: median(each) for what, each in of.items()} for name, of in found.items()}
    columns = list(medians["none"])
    rows: list[list[str | float]] = [[name, *of.values()] for name, of in medians.items()]
    print_table(f"Log: {count:,} messages in blocks of {BLOCK:,}", ("durability", *columns), rows)
    bench.figures["log"] = found


def _timed(action: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.monotonic(), time.process_time()
    action()
    return time.monotonic() - wall, time.process_time() - cpu


def _append(installation: Installation, count: int) -> tuple[float, float]:
    blocks = installation.blocks(count)

    def append() -> None:
        for records in blocks:
            installation.log.append(records)
        installation.log.flush()

    return _timed(append)


def _hand_in(installation: Installation, count: int) -> tuple[float, float]:
    messages = [
        (device.decode(), payload)
        for records in installation.blocks(count)
        for device, payload in zip(records.devices, records.payloads, strict=True)
    ]
    limits = IntakeLimits(messages=count, bytes=1 << 40)
    intake = LogIntake(installation.log, installation.folder.path / "refused.json", limits=limits)

    def hand_in() -> None:
        for device, payload in messages:
            done = intake.submit(device, payload)
        done.result()

    taken = _timed(hand_in)
    intake.close()
    return taken


def measure_kinds(bench: Bench, spark: SparkSession) -> None:
    """Messages of all forms and suites; the first kind is measured again with each repetition."""
    plain = KINDS[0].name
    found = {}
    for kind in KINDS if bench.options.kinds else KINDS[:1]:
        found[kind.name] = bench.rate(spark, bench.installation(kind))
    again = [bench.rate(spark, bench.installation(Kind())) for _ in range(bench.options.repetitions - 1)]
    found[plain] = sorted([found[plain], *again])[len(again) // 2]
    show_rates(f"{bench.options.messages:,} messages of {bench.options.devices:,} devices", found, plain)
    bench.figures["kinds"] = {name: each._asdict() for name, each in found.items()}
    bench.figures["repeated"] = [each._asdict() for each in again]


def measure_fleets(bench: Bench, spark: SparkSession) -> None:
    """The same number of messages from few devices and from many."""
    found = {f"{size:,}": bench.rate(spark, bench.installation(Kind(), size)) for size in FLEETS}
    costs = [each.cpu_us for each in found.values()]
    show_rates("Devices", found, f"{FLEETS[0]:,}")
    print(
        f"\n  a message of {FLEETS[-1]:,} costs {costs[-1] / costs[0]:.2f} × as much as one of {FLEETS[0]:,}"
    )
    bench.figures["devices"] = {name: each._asdict() for name, each in found.items()}


def measure_latency(bench: Bench, spark: SparkSession) -> None:
    """Messages that come evenly, once the stream has run for a while."""
    options = bench.options
    found = latency(spark, bench.installation(Kind()), options.rate, options.warm_s, options.seconds)
    row = [found.rate, found.p50, found.p99, found.longest, found.load]
    title = f"From the append until it can be queried, {options.seconds} s after {options.warm_s} s"
    print_table(title, ("messages/s", "p50 s", "p99 s", "longest s", "load"), [row])
    bench.figures["latency"] = found._asdict()


def measure_postgres(bench: Bench, spark: SparkSession, folder: Path) -> None:
    """The same log, by the stream and by plain consumers into PostgreSQL."""
    if not postgres.available():
        print("\nPostgreSQL or psycopg is not installed: left out")
        return
    installation = bench.installation(Kind())
    found: dict[str, list[Any]] = {"Spark and Delta": [*bench.rate(spark, installation)[:2]]}
    with postgres.database(folder / "postgres") as (where, server):
        for consumers in (1, 2):
            peer = postgres.measure(where, server, installation.log.path, 0, consumers)
            found[f"PostgreSQL, {consumers} consumer{'s' * (consumers > 1)}"] = [*peer]
    ours = found["Spark and Delta"][0]
    rows = [[name, *each, os.getloadavg()[0], ours / each[0]] for name, each in found.items()]
    print_table("Beside plain consumers", ("", *RATES, "ours ×"), rows)
    bench.figures["postgres"] = found


def measure_configurations(bench: Bench) -> None:
    """Workers, row models and durabilities as in the thesis: append first, then the stream."""
    wanted = {
        "C1: 1 worker, standard, none": (1, "standard", "none"),
        "C2: 2 workers, standard, none": (2, "standard", "none"),
        "   3 workers, standard, none": (3, "standard", "none"),
        "C3: 2 workers, batched, none": (2, "batched", "none"),
        "C5: 2 workers, standard, log-only": (2, "standard", "log-only"),
        "C6: 2 workers, batched, log-only": (2, "batched", "log-only"),
        "   2 workers, standard, full-sync": (2, "standard", "full-sync"),
    }
    found: dict[str, StreamRate] = {}
    for workers in (1, 2, 3):
        with bench.spark(workers) as spark:
            for name, (needed, model, durability) in wanted.items():
                if needed == workers:
                    found[name] = _configuration(bench, spark, model, durability)
    rates = {name: found[name] for name in wanted}
    show_rates("Configurations: appended, then streamed", rates, next(iter(wanted)))
    bench.figures["configurations"] = {name: each._asdict() for name, each in rates.items()}


def _configuration(bench: Bench, spark: SparkSession, model: str, durability: str) -> StreamRate:
    installation = bench.installation(Kind(), durability=durability)
    if model != "standard":
        plan = Plan(plan=model, actions=(Action(proxy="row-model", to=model),))
        submit_plan(installation.folder.plans, plan)
    count = bench.options.messages
    wall, cpu = _append(installation, count)
    streamed = drain(spark, installation, count, bench.options.batch)
    rate = 1 / (wall / count + 1 / streamed.rate)
    return StreamRate(rate, streamed.cpu_us + cpu / count * 1e6, streamed.load, streamed.batches)


def main() -> None:
    parser = arguments(__doc__, repetitions=3)
    integer(parser, "--messages", 600_000, "messages of each measurement")
    integer(parser, "--batch", 200_000, "messages of a batch")
    integer(parser, "--warm", 200_000, "messages before the first measurement")
    integer(parser, "--devices", 10_000, "devices")
    integer(parser, "--rate", 5_000, "messages a second, for latency")
    integer(parser, "--warm-s", 60, "seconds before latency counts")
    integer(parser, "--seconds", 60, "seconds in which it counts")
    parser.add_argument("--no-kinds", dest="kinds", action="store_false", help="JSON without a suite alone")
    parts = ["log", "kinds", "devices", "latency", "postgres", "configurations"]
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts, help="what is measured  [all]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL does not run as root, and has its folder here
        bench = Bench(options, Path(folder))
        if "log" in options.parts:
            measure_log(bench)
        if {"kinds", "devices", "latency", "postgres"} & {*options.parts}:
            with bench.spark(2) as spark:
                if "kinds" in options.parts:
                    measure_kinds(bench, spark)
                if "devices" in options.parts:
                    measure_fleets(bench, spark)
                if "postgres" in options.parts:
                    measure_postgres(bench, spark, Path(folder))
                if "latency" in options.parts:
                    measure_latency(bench, spark)
        if "configurations" in options.parts:
            measure_configurations(bench)
    sizes = {name: getattr(options, name) for name in ("messages", "batch", "devices", "rate")}
    write("ingest", options.out, {"sizes": sizes, "figures": bench.figures})


if __name__ == "__main__":
    main()
