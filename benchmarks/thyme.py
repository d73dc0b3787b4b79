"""Runs the scenarios `thyme-*` at all points of the published figures, 15 times each, and prints means.

Each run is kept in a file of its own under DIR/thyme as soon as it is done: what was stopped goes on where it
was. Runs of other code are not used. A published point is 5 topologies with 3 runs each; ours has as many
runs, each with a seed, and so a topology and a workload, of its own.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from common import arguments, integer, machine, print_table, write
from fidelity import carried_out, commit, deciding_code
from scipy.stats import t as student

from bypass.scenarios.experiments.checks import figure
from bypass.scenarios.experiments.inputs import parameters
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import changed, validated, variants
from bypass.scenarios.runs.loader import load
from bypass.scenarios.runs.trial import Trial

DESIGNS = ("cells", "ours", "local", "server")
CELL_M = 40
COLUMNS = {4: 16, 6: 36, 8: 64, 10: 100, 12: 144, 14: 196}
"""Nodes by the columns of their cells: half as many rows, two nodes a cell."""

POINTS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "static": ("nodes", "{}-100", tuple(COLUMNS.values())),
    "crashes": ("churn.share", "{}-many", (0.2, 0.4, 0.6, 0.8)),
    "churn": ("churn.share", "{}-40", (0.05, 0.1, 0.2, 0.3, 0.4)),
    "mobile": ("mobility.speed", "{}-10", (1, 2, 5, 10)),
}
"""Of each scenario: the key that differs, the run that all points begin with, and the points."""

FIGURES = {
    "recall": "notified",
    "insert": "success.insert",
    "subscribe": "success.subscribe",
    "retrieve": "success.retrieve",
    "insert ms": "operation_ms.insert.mean",
    "retrieve ms": "operation_ms.retrieve.mean",
    "told ms": "notification_ms.mean",
    "longest s": "longest_notification_s",
    "bytes": "store_traffic.phy_bytes",
    "sent again": "store_traffic.retransmissions",
    "forwarded": "store_traffic.forwarded_bytes",
    "control": "control_share",
    "J a node": "energy.mean_j",
}


class Point(NamedTuple):
    """A point of a figure: which one, at what value, for which design, and the experiment."""

    scenario: str
    value: float
    design: str
    experiment: Scenario


def points(
    names: list[str], designs: list[str], values: list[float], duration: float | None
) -> Iterator[Point]:
    """The points of these scenarios, or those of the given values alone."""
    for name in names:
        key, run, all_values = POINTS[name]
        whole = variants(load(f"thyme-{name}", duration=duration))
        for value in all_values:
            if values and value not in values:
                continue
            for design in designs:
                data = whole[run.format(design)].model_dump(mode="json")
                own = {key: [value, value] if name == "mobile" else value}
                changes = of_size(int(value), design) if name == "static" else own
                yield Point(name, value, design, validated(name, changed(name, data, changes)))


def of_size(nodes: int, design: str) -> dict[str, Any]:
    """The changes that make a run one of so many nodes."""
    columns = next(each for each, known in COLUMNS.items() if known == nodes)
    width, height = CELL_M * columns, CELL_M * columns // 2
    changes: dict[str, Any] = {
        "clients": nodes, "world.width": width, "world.height": height, "mobility.width": width,
        "mobility.height": height,
    }  # fmt: skip
    if design in ("cells", "ours"):
        changes["begin.2.set.area"] = [0, 0, width, height]
    return changes


def trial_of(point: Point, seed: int) -> Trial:
    """The run of a point with a seed."""
    made_of = parameters(point.experiment) | {"about": "", "checks": []}
    label = f"{point.scenario}-{point.design}-{point.value:g}"
    return Trial(label, {}, seed, made_of, deciding_code())


def interval(values: list[float]) -> tuple[float, float]:
    """The mean, and half the width of its 95 % interval: NaN of a single value."""
    mean = statistics.fmean(values) if values else math.nan
    if len(values) < 2:
        return mean, math.nan
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return mean, float(student.ppf(0.975, len(values) - 1)) * spread


def measured(point: Point, seeds: range, folder: Path) -> dict[str, Any]:
    """The means and intervals of a point, over the runs that there are."""
    found: dict[str, list[float]] = {name: [] for name in FIGURES}
    runs = 0
    for seed in seeds:
        outcome = trial_of(point, seed).outcome(folder)
        if outcome is None:
            continue
        runs += 1
        for name, path in FIGURES.items():
            try:
                found[name].append(figure(outcome["summary"]["extra"], path))
            except KeyError:
                continue  # nobody did that, or it never succeeded
    return {
        "scenario": point.scenario,
        "value": point.value,
        "design": point.design,
        "runs": runs,
        "figures": {name: interval(values) for name, values in found.items()},
    }


def options() -> argparse.Namespace:
    parser = arguments(__doc__ or "", repetitions=None)
    parser.add_argument("--scenarios", nargs="+", choices=POINTS, default=list(POINTS))
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--values", nargs="+", type=float, default=[], help="of the x axis alone (all)")
    parser.add_argument("--duration", type=float, metavar="S", help="simulate so many seconds (in full)")
    integer(parser, "--seeds", 15, "seeds from 1 to so many")
    integer(parser, "--processes", os.cpu_count() or 1, "runs side by side")
    return parser.parse_args()


def cell(mean: float, half: float) -> str:
    """A mean with its interval."""
    text = f"{mean:.3g}" if abs(mean) < 1e4 else f"{mean:,.0f}"
    return text if math.isnan(half) else f"{text} ± {half:.2g}"


def main() -> None:
    chosen = options()
    folder = chosen.out / "thyme"
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(1, chosen.seeds + 1)
    all_points = list(points(chosen.scenarios, chosen.designs, chosen.values, chosen.duration))
    trials = [trial_of(point, seed) for seed in seeds for point in all_points]
    missing = [trial for trial in trials if trial.outcome(folder) is None]
    code = {"commit": commit(), **machine()}
    for done, (key, taken) in enumerate(carried_out(missing, folder, code, chosen.processes), 1):
        print(f"  {done} of {len(missing)}: {key}, {taken:.0f} s", file=sys.stderr, flush=True)
    results = [measured(point, seeds, folder) for point in all_points]
    for name in chosen.scenarios:
        own = [each for each in results if each["scenario"] == name]
        if own:
            rows = [
                (f"{each['value']:g}", each["design"], str(each["runs"]),
                 *(cell(*each["figures"][column]) for column in FIGURES))
                for each in own
            ]  # fmt: skip
            print_table(
                f"thyme-{name}: means and 95 % intervals", (POINTS[name][0], "design", "runs", *FIGURES), rows
            )
    write("thyme", chosen.out, {"seeds": chosen.seeds, "points": results})


if __name__ == "__main__":
    main()
