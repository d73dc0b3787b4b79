"""How long events take under intermittent connectivity: simulation beside formula, and how fast it is."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import asdict
from typing import Any

from common import arguments, integer, print_table, seconds, write

from bypass.models.compute.engines import LocalEngine, spark_engine
from bypass.models.queueing import ROWS, Centre, compose, simulate, sweep_paths
from bypass.models.queueing.published_figures import BROKERS, SERVICE

LOADS = (0.1, 0.3, 0.5, 0.7, 0.9)
PERIODS = ((math.inf, 0.0), (1.0, 1.0), (1.5, 1.5), (20.0, 20.0))
WITHIN = 0.02
"""By how much a single centre may differ from its formula."""
GOAL = 2.0
"""Million events a second and core."""


def single_centres(events: int) -> list[dict[str, Any]]:
    """One centre at several loads: here the formula is exact."""
    grid = [(load, on, off) for on, off in PERIODS for load in LOADS]
    centres = [Centre("centre", load / SERVICE / (1 + off / on), SERVICE, on, off) for load, on, off in grid]
    found = sweep_paths([[centre] for centre in centres], events=events, seed=1)
    rows = [{"load": load, **each.row()} for (load, _, _), each in zip(grid, found, strict=True)]
    print_table(
        f"One centre, {events:,} events: mean response (s) by simulation and by formula",
        ("T_ON", "T_OFF", "load", "simulation", "95 % ±", "formula", "deviation %"),
        [
            (
                on,
                off,
                load,
                row["simulated"],
                row["high"] - row["simulated"],
                row["formula"],
                100 * row["deviation"],
            )
            for (load, on, off), row in zip(grid, rows, strict=True)
        ],
    )
    beyond = sum(row["deviation"] > WITHIN for row in rows)
    outside = sum(not row["low"] <= row["formula"] <= row["high"] for row in rows)
    print(
        f"\n  {len(rows) - beyond} of {len(rows)} within {100 * WITHIN:g} %;"
        f" the formula is outside of {outside} intervals of 95 %"
    )
    return rows


def slides(events: int) -> list[dict[str, Any]]:
    """The five rows of the published table, beside what its authors found by either way."""
    rows = []
    for number, row in enumerate(ROWS):
        centres = row.centres()
        formula = sum(centre.response() for centre in centres)
        ours = simulate(centres, events, number + 1)
        rows.append({**asdict(row), "ours": ours.mean, "half_width": ours.half_width, "formula": formula})
        rows[-1] |= {"centres": ours.centres, "correlation": ours.correlation}
    print_table(
        f"Six centres, {events:,} events, service {SERVICE:g} s and rates assumed: mean response (s)",
        (
            "disconnections",
            "rate",
            "simulation",
            "95 % ±",
            "formula",
            "deviation %",
            "theirs",
            "formula",
            "deviation %",
        ),
        [
            (
                *(row["kind"], row["rate"], row["ours"], row["half_width"], row["formula"]),
                100 * abs(row["ours"] - row["formula"]) / row["ours"],
                *(row["simulated"], row["analytical"]),
                100 * abs(row["simulated"] - row["analytical"]) / row["simulated"],
            )
            for row in rows
        ],
    )
    return rows


def speed(events: int, repetitions: int) -> list[dict[str, Any]]:
    """Events a second of processor time, in one thread; those before the ones that count, too."""
    cases = {
        "M/M/1": [Centre("a", 8.0, SERVICE)],
        "ON/OFF 20 s, 20 s": [Centre("a", 1.0, SERVICE, 20.0, 20.0)],
        "the same, half of it others'": [Centre("a", 0.5, SERVICE, 20.0, 20.0, 0.5)],
        "path of six, the second row": ROWS[1].centres(),
    }
    rows: list[dict[str, Any]] = []
    for name, centres in cases.items():
        simulate(centres, 1000, 1)
        taken = [seconds(lambda centres=centres: simulate(centres, events, 1)) for _ in range(repetitions)]  # type: ignore[misc]
        rate = 1.1 * events / statistics.median(taken) / 1e6
        rows.append({"name": name, "centres": len(centres), "events": rate, "visits": rate * len(centres)})
    print_table(
        f"Million events a second and core ({events:,} events)",
        ("path", "centres", "events, whole path", "events × centres"),
        [(row["name"], row["centres"], row["events"], row["visits"]) for row in rows],
    )
    print(f"\n  least {min(row['events'] for row in rows):.1f}, asked {GOAL:g}")
    return rows


def study(sets: int, events: int) -> dict[str, Any]:
    """Many sets of parameters, on Spark and in this process."""
    times = [0.5 * 1.4 ** (n % 10) for n in range(sets)]
    paths = [
        compose(
            0.5 + 4.5 * n / sets,
            SERVICE,
            publisher=(on, on / 2),
            subscriber=(1.5 * on, on / (1 + n // 10 % 3)),
            brokers=BROKERS,
        )
        for n, on in enumerate(times)
    ]
    with spark_engine("benchmark") as spark:
        sweep_paths(paths[: spark.parallel], events=1000, seed=1, engine=spark)  # compiled and loaded
        began = time.perf_counter()
        there = sweep_paths(paths, events=events, seed=1, engine=spark)
        taken = {"spark": time.perf_counter() - began}
        cores = spark.parallel
    began = time.perf_counter()
    here = sweep_paths(paths, events=events, seed=1, engine=LocalEngine())
    taken["local"] = time.perf_counter() - began
    if here != there:
        raise AssertionError("Spark and one process have found other results")
    rows = [each.row() for each in there]
    deviations = sorted(row["deviation"] for row in rows)
    print_table(
        f"{sets:,} paths of six centres with {events:,} events each, on {cores} cores",
        ("engine", "seconds", "million events/s"),
        [(name, took, 1.1 * sets * events / took / 1e6) for name, took in taken.items()],
    )
    median, p95, most = (100 * deviations[int(share * (sets - 1))] for share in (0.5, 0.95, 1))
    print(f"\n  both the same; the formula deviates by {median:.2g} %, p95 {p95:.2g}, most {most:.2g}")
    return {"cores": cores, "seconds": taken, "rows": rows}


def main() -> None:
    parser = arguments(__doc__, repetitions=3)
    integer(parser, "--events", 20_000_000, "events through each single centre and published path")
    integer(parser, "--sets", 1000, "sets of parameters in the study on Spark; 0 leaves it out")
    integer(parser, "--set-events", 100_000, "events of each of them")
    options = parser.parse_args()
    result = {
        "events": options.events,
        "service": SERVICE,
        "single": single_centres(options.events),
        "slides": slides(options.events),
        "speed": speed(max(options.events // 5, 1000), options.repetitions),
        "study": study(options.sets, options.set_events) if options.sets else None,
    }
    write("timeliness", options.out, result)


if __name__ == "__main__":
    main()
