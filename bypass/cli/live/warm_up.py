"""`bypass warm-up`: compiles kernels before anybody waits for them."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from bypass.cli.group import LAB, commands, is_there, need_broker


@commands.command()
def warm_up() -> None:
    """Compile what brokers and experiments compute with, and keep it for all processes of this machine.

    Without it the first broker, and the first experiment, take about a minute longer. With the extra `lab`
    kernels for experiments are compiled as well. What was compiled before is found again, and takes seconds.

    \b
    Examples:
      bypass warm-up && bypass broker --open
    """
    need_broker()
    began = time.perf_counter()
    with_experiments = is_there(LAB)
    _compile((_nearby, _beyond) if with_experiments else (_brokers,))
    users = "brokers and experiments" if with_experiments else "brokers"
    click.echo(f"kernels for {users} are there after {time.perf_counter() - began:.1f} s")


def _compile(work: tuple[Callable[[], None], ...]) -> None:
    """Do each in a process of its own."""
    # A child must not inherit threads.
    # Compilers make much that stays to the end: looking for garbage takes a tenth of the time.
    with ProcessPoolExecutor(len(work), get_context("spawn"), initializer=gc.disable) as pool:
        for done in [pool.submit(each) for each in work]:
            done.result()


# Each of these two is about as long. What one begins with, the other needs only when it is in the cache.


def _nearby() -> None:
    _simulate("adhoc", "plan-b")
    _simulate("adhoc", "hyperg")
    for selection in ("dkc", "skc", "wca"):
        _simulate("coexistence-gateway", f"{selection}-gossip")


def _beyond() -> None:
    """Compile what clients nearby do not need, in one process: what it has compiled it has in memory."""
    _traces()
    _simulate("total-transitions", "seamless")
    _brokers()


def _brokers() -> None:
    from bypass.live.broker.warmup import warm_up as warm_up_broker

    warm_up_broker()


def _simulate(scenario: str, run: str) -> None:
    """Run a few seconds with a few clients."""
    from bypass.scenarios.experiments.variants import variants
    from bypass.scenarios.runs.experiment import Experiment
    from bypass.scenarios.runs.loader import load

    Experiment(variants(load(scenario, duration=8.0, clients=12))[run], seed=1).run()


def _traces() -> None:
    """Make traces by all mobility models, judge the schemes on one, and follow events through queues."""
    from bypass.models.compute.engines import LocalEngine
    from bypass.models.mobility import MOBILITY, Playback
    from bypass.models.queueing import Centre, sweep_paths
    from bypass.models.traces import write_trace
    from bypass.scenarios.evaluation import evaluate

    engine = LocalEngine()
    with tempfile.TemporaryDirectory() as folder:
        made = {
            name: write_trace(kind(), name, Path(folder, name), clients=12, duration=8, seed=1, engine=engine)
            for name, kind in reversed(MOBILITY.items())  # streets come last: `_nearby` begins with them
            if kind is not Playback
        }
        schemes = ["radial", "ste:1.5", "grid:5", "egrid:10", "attract", "multi"]
        evaluate(made["darmstadt"], schemes, out=Path(folder, "judged"), engine=engine)
    sweep_paths([[Centre("phone", 1.0, 0.1, 4.0, 2.0)]], events=100, seed=1, engine=engine)
