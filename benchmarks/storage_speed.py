"""How many seconds of a store are simulated in a second of processor time, by design and number of nodes."""

from __future__ import annotations

import gc
import statistics
import time
from typing import Any

from common import arguments, integer, one_by_one, pin, print_table, write

from bypass.scenarios import load
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.runs.preparation import prepared

DESIGNS = ("cells", "ours", "local", "server")
SIZES = (16, 100, 196)
TARGETS = {("cells", 196): 10.0}


def scenario(design: str, nodes: int, seconds: int) -> Scenario:
    """A run of `thyme-static` that ends after so many seconds with operations, at their usual rates."""
    whole = load("thyme-static")
    settings = whole.objects
    assert settings is not None
    begin = settings.operations_from
    changes: dict[str, Any] = {
        "duration": begin + seconds,
        "objects.posts.duration": seconds * settings.operations.compression,
        "checks": [],
    }
    return variants(load("thyme-static", changes=changes))[f"{design}-{nodes}"]


def measure(design: str, nodes: int, seconds: int, repetitions: int) -> dict[str, Any]:
    """The rate while there are operations: before them `dsdv` is silent most of the time."""
    pin()
    chosen = scenario(design, nodes, seconds)
    assert chosen.objects is not None
    prepared(scenario(design, 16, 2), 1).run()  # kernels are loaded
    begin, rates, run = chosen.objects.operations_from, [], None
    for _ in range(repetitions):
        experiment = prepared(chosen, 1)
        gc.collect()
        marks: dict[float, float] = {}

        def note(second: float, marks: dict[float, float] = marks) -> None:
            marks[second] = time.process_time()

        run = experiment.run(note)
        rates.append(seconds / (marks[chosen.duration] - marks[begin]))
    assert run is not None
    assert run.store is not None
    return {
        "design": design,
        "nodes": nodes,
        "rate": statistics.median(rates),
        "rates": rates,
        "target": TARGETS.get((design, nodes)),
        "frames": run.store.traffic["phy_frames"] / chosen.duration,
        "heard": run.traffic["adhoc_down"].sum() / max(run.traffic["adhoc_up"].sum(), 1),
    }


def main() -> None:
    parser = arguments(__doc__, repetitions=3)
    integer(parser, "--seconds", 60, "seconds with operations")
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=DESIGNS)
    parser.add_argument("--sizes", nargs="+", type=int, choices=SIZES, default=SIZES)
    options = parser.parse_args()
    with one_by_one("bypass.scenarios.runs.stored") as pool:
        jobs = [
            pool.submit(measure, design, nodes, options.seconds, options.repetitions)
            for nodes in options.sizes
            for design in options.designs
        ]
        results = [job.result() for job in jobs]
    print_table(
        f"{options.seconds} s with operations: simulated seconds in a second of processor time",
        ("design", "nodes", "s/s", "at least", "frames/s", "bytes heard/sent"),
        [
            (
                each["design"],
                str(each["nodes"]),
                each["rate"],
                "–" if each["target"] is None else f"{each['target']:g}",
                each["frames"],
                float(each["heard"]),
            )
            for each in results
        ],
    )
    write("storage_speed", options.out, {"seconds": options.seconds, "runs": results})


if __name__ == "__main__":
    main()
