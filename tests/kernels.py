"""Compiles what tests use before they run: `python -m tests.kernels`.

Workers that begin with the same kernels would each compile them, while the clocks of their tests run. What is
left out here is compiled by the first test that needs it.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from bypass.live.broker.warmup import warm_up
from bypass.models.compute.engines import LocalEngine
from bypass.models.mobility import MOBILITY, Playback
from bypass.models.queueing import Centre, sweep_paths
from bypass.models.traces import write_trace
from bypass.scenarios.evaluation import evaluate
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load

LOCAL = LocalEngine()


def simulate(scenario: str, run: str) -> None:
    """A run of a few seconds with a few clients."""
    Experiment(variants(load(scenario, duration=8.0, clients=12))[run], seed=1).run()


def nearby() -> None:
    simulate("adhoc", "plan-b")
    simulate("adhoc", "hyperg")
    for selection in ("dkc", "skc", "wca"):
        simulate("coexistence-gateway", f"{selection}-gossip")


def traces() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = {
            name: write_trace(model(), name, Path(folder, name), clients=12, duration=8, seed=1, engine=LOCAL)
            for name, model in reversed(MOBILITY.items())  # streets come last: `nearby` begins with them
            if model is not Playback
        }
        schemes = ["radial", "ste:1.5", "grid:5", "egrid:10", "attract", "multi"]
        evaluate(made["darmstadt"], schemes, out=Path(folder, "judged"), engine=LOCAL)
    sweep_paths([[Centre("phone", 1.0, 0.1, 4.0, 2.0)]], events=100, seed=1, engine=LOCAL)


def filters() -> None:
    simulate("total-transitions", "seamless")
    warm_up()


def beyond() -> None:
    """Compile what clients nearby do not need, in one process: what it has compiled it has in memory."""
    traces()
    filters()


# A process each, and about as long. What one begins with, the other needs only when it is in the cache.
WORK: tuple[Callable[[], None], ...] = (nearby, beyond)


def main() -> None:
    # A child must not inherit threads.
    # Compilers make much that stays to the end: looking for garbage takes a tenth of the time.
    with ProcessPoolExecutor(len(WORK), get_context("spawn"), initializer=gc.disable) as pool:
        for work, done in [(work, pool.submit(work)) for work in WORK]:
            done.result()
            print(f"kernels: {work.__name__}", file=sys.stderr)


if __name__ == "__main__":
    main()
