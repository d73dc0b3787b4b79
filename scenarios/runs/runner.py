"""Running scenarios: one experiment here, several side by side in processes of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from queue import Empty
from typing import Any

from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.result import Result
from bypass.scenarios.runs.loader import load
from bypass.scenarios.runs.paths import check_paths
from bypass.scenarios.runs.preparation import prepared


def run(
    scenario: str | Path | Scenario,
    *,
    seed: int | None = None,
    duration: float | None = None,
    clients: int | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the command line
    progress: Callable[[float, float], None] = lambda _done, _total: None,
) -> Result:
    """Run a built-in scenario, a YAML file or a `Scenario` and give its result.

    `set` changes dotted keys, and `seed` is the scenario's own unless given; `progress(done, total)` is told
    about simulated seconds over all runs.
    Raises InvalidScenario before anything runs, also if a check in a file looks for a figure that no run of
    it, or in the caller's own `Scenario`, can have. One that changes take away is not measured.
    """
    asked: dict[str, Any] = {
        "scenario": str(scenario),
        "seed": seed,
        "duration": duration,
        "clients": clients,
        "set": dict(set or {}),
    }
    if isinstance(scenario, Scenario):
        asked["scenario"] = scenario.name
        check_paths(scenario)
    else:
        check_paths(load(scenario))
        scenario = load(scenario, changes=set, duration=duration, clients=clients)
    if seed is not None:
        scenario = scenario.model_copy(update={"seed": seed})
    experiments = variants(scenario)
    total = sum(each.duration for each in experiments.values())
    if len(experiments) == 1:
        name, only = next(iter(experiments.items()))
        runs = {name: prepared(only, only.seed).run(lambda done: progress(done, total))}
    else:
        runs = _side_by_side(experiments, partial(_tell, progress, total))
    return Result(scenario, runs, asked)


def _tell(progress: Callable[[float, float], None], total: float, done: float) -> None:
    progress(done, total)


def _side_by_side(experiments: dict[str, Scenario], progress: Callable[[float], None]) -> dict[str, Run]:
    """One process for each core; a child must not inherit half-initialised threads, hence spawn."""
    context = get_context("spawn")
    with context.Manager() as manager:
        seconds = manager.Queue()
        with ProcessPoolExecutor(
            min(len(experiments), os.cpu_count() or 1),
            mp_context=context,
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),  # the parent alone decides what an interruption means
        ) as pool:
            futures = {
                name: pool.submit(_run_one, scenario.model_dump(mode="json"), seconds)
                for name, scenario in experiments.items()
            }
            try:
                done = 0.0
                while not all(future.done() for future in futures.values()):
                    try:
                        done += seconds.get(timeout=0.2)
                    except Empty:
                        continue
                    progress(done)
                return {name: future.result() for name, future in futures.items()}
            except BaseException:  # leaving the block would wait for all runs; public from Python 3.14 on
                for process in pool._processes.values():
                    process.terminate()
                raise


def _run_one(data: dict[str, Any], seconds: Any) -> Run:
    scenario, told = Scenario.model_validate(data), 0.0

    def tell(now: float) -> None:
        nonlocal told
        if now - told >= 10.0:
            seconds.put(now - told)
            told = now

    return prepared(scenario, scenario.seed).run(tell)
