"""How many seconds are simulated in a second of processor time if events travel between clients nearby."""

from __future__ import annotations

import gc
import math
import statistics
import time
from typing import Any

from common import arguments, integer, one_by_one, pin, print_table, write

from bypass.models.radio.medium import Medium
from bypass.scenarios import load
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.runs.experiment import Experiment

RUNS: dict[str, tuple[str, str, float]] = {
    "GOSSIP": ("adhoc", "gossip", 18.0),
    "FLOODING": ("adhoc", "flooding", 9.0),
    "PLAN-B": ("adhoc", "plan-b", 9.0),
    "HYPERG": ("adhoc", "hyperg", 9.0),
    "CX-GATEWAY": ("coexistence-gateway", "", 12.0),
}
"""Of which scenario, which run (its main one, if that is not said), and how fast it should be."""

SIZES = (100, 297, 1000, 3000)
DENSITY = 297 / 1300.0**2  # clients for each square metre
WARM_UP_S = 5
FRAME_BYTES = 250
MOST_FRAMES = 20_000  # of the medium alone


def scenario(name: str, duration: int) -> Scenario:
    """One run of a scenario."""
    source, run, _ = RUNS[name]
    whole = load(source, duration=duration)
    return variants(whole)[run or whole.main]


def scaled(clients: int, duration: int) -> Scenario:
    """GOSSIP at the same density, whatever the number of clients."""
    side = math.sqrt(clients / DENSITY)
    changes: dict[str, Any] = {
        "runs": {}, "main": "", "checks": [], "clients": clients, "duration": duration,
        "world": {"width": side, "height": side},
        "mobility": {"model": "rwp", "width": side, "height": side},
    }  # fmt: skip
    return load("adhoc", changes=changes)


def measure(chosen: Scenario, repetitions: int) -> dict[str, float]:
    """Rates over the run alone: to draw up the trace and make the clients is not part of it."""
    pin()
    Experiment(chosen.model_copy(update={"duration": float(min(WARM_UP_S, chosen.duration))}), 1).run()
    taken = []
    for _ in range(repetitions):
        experiment = Experiment(chosen, 1)
        gc.collect()
        began = time.process_time()
        run = experiment.run()
        taken.append(time.process_time() - began)
    cost = statistics.median(taken)
    frames = run.local["frames"]
    return {
        "rate": chosen.duration / cost,
        "frames": frames / chosen.duration,
        "first_copies": float(run.events["notified"].sum()) / chosen.duration,
        "us_per_frame": cost / max(frames, 1) * 1e6,
        "bare_us": bare_medium(chosen, frames),
    }


def bare_medium(chosen: Scenario, frames: int) -> float:
    """Microseconds that a frame costs the medium alone, if clients send as many frames a second in turn."""
    cursor = chosen.mobility.build().generate(chosen.clients, chosen.duration, 1).cursor()
    medium = Medium(chosen.wifi, cursor.positions, chosen.clients, 1)
    gap = int(chosen.duration * 1e6) // max(frames, 1)
    frames = min(max(frames, 1), MOST_FRAMES)
    for k in range(frames):
        medium.send(k * gap, k * 7919 % chosen.clients, FRAME_BYTES)
    began = time.process_time()
    medium.run_until(frames * gap + 1_000_000)
    return (time.process_time() - began) / frames * 1e6


def main() -> None:
    parser = arguments(__doc__, repetitions=3)
    integer(parser, "--duration", 60, "seconds to simulate")
    integer(parser, "--scale-duration", 10, "seconds to simulate when the number of clients grows")
    integer(parser, "--most", SIZES[-1], "clients at the most")
    options = parser.parse_args()
    sizes = [size for size in SIZES if size <= options.most]
    with one_by_one("bypass.scenarios.runs.experiment") as pool:
        jobs = {
            name: pool.submit(measure, scenario(name, options.duration), options.repetitions) for name in RUNS
        }
        growing = {
            size: pool.submit(measure, scaled(size, options.scale_duration), options.repetitions)
            for size in sizes
        }
        rates = {name: job.result() for name, job in jobs.items()}
        scale = {size: job.result() for size, job in growing.items()}
    print_table(
        f"297 clients in Darmstadt, AR, {options.duration} s: simulated seconds a second of processor time",
        ("", "s/s", "at least", "frames/s", "first copies/s", "µs/frame", "medium alone"),
        [
            (name, r["rate"], RUNS[name][2], r["frames"], r["first_copies"], r["us_per_frame"], r["bare_us"])
            for name, r in rates.items()
        ],
    )
    least = scale[sizes[0]]["us_per_frame"]
    print_table(
        "GOSSIP, random waypoint, as dense for any number of clients: cost of a frame (at most 2 ×)",
        ("clients", "µs/frame", "× the least", "frames/s", "medium alone"),
        [
            (size, s["us_per_frame"], s["us_per_frame"] / least, s["frames"], s["bare_us"])
            for size, s in scale.items()
        ],
    )
    write("dissemination", options.out, {"rates": rates, "scale": {str(k): v for k, v in scale.items()}})


if __name__ == "__main__":
    main()
