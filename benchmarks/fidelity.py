"""Runs the built-in scenarios in full and sets their figures beside the thesis'.

Each run is kept in a file of its own under DIR/fidelity as soon as it is done: what was stopped goes on where
it was, and more seeds are added to those that are there. Runs of other code are not used.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from common import arguments, integer, machine, print_table, write
from fidelity_record import RECORD, Measured, compare, enter, totals, write_page

import bypass
from bypass.scenarios.experiments.checks import figure
from bypass.scenarios.experiments.inputs import parameters
from bypass.scenarios.experiments.provenance import git_state, input_hashes
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import reduction, variants
from bypass.scenarios.report.result import Result, assembled
from bypass.scenarios.runs.loader import builtin_names, load
from bypass.scenarios.runs.paths import check_paths
from bypass.scenarios.runs.preparation import prepared
from bypass.scenarios.runs.trial import Trial

PACKAGE = Path(bypass.__file__).parent


def carry_out(trial: Trial, folder: Path, code: dict[str, str]) -> tuple[str, float]:
    """Run a trial and keep its figures, with what they depend on; gives its key and how long it took (s)."""
    began = time.perf_counter()
    experiment = Scenario.model_validate(trial.experiment)
    summary = Result(experiment, {trial.variant: prepared(experiment, trial.seed).run()}).summary()
    trial.succeeded(folder, summary | {"code": code})
    return trial.key, time.perf_counter() - began


def trials_of(scenario: Scenario, seed: int) -> dict[str, Trial]:
    """The runs of a scenario. Checks are not among what decides what a run gives."""
    return {
        name: Trial(name, {}, seed, parameters(each) | {"about": "", "checks": []}, deciding_code())
        for name, each in variants(scenario).items()
    }


def measure(trials: list[Trial], folder: Path, processes: int) -> None:
    """Carry out what has not been, here or in so many processes."""
    missing = [trial for trial in trials if trial.outcome(folder) is None]
    code = {"commit": commit(), **machine()}
    for done, (key, seconds) in enumerate(carried_out(missing, folder, code, processes), 1):
        print(f"  {done} of {len(missing)}: {key}, {seconds:.0f} s", file=sys.stderr, flush=True)


def carried_out(
    trials: list[Trial], folder: Path, code: dict[str, str], processes: int
) -> Iterator[tuple[str, float]]:
    """Give the outcome of each trial, as `carry_out` does, as soon as it is done."""
    if processes == 1 or len(trials) <= 1:
        yield from (carry_out(trial, folder, code) for trial in trials)
        return
    with ProcessPoolExecutor(min(processes, len(trials)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(carry_out, trial, folder, code) for trial in trials]
        yield from (future.result() for future in as_completed(futures))


def commit() -> str:
    """The state of the code, as git tells it."""
    state = git_state(PACKAGE)
    return (
        "unknown" if state is None else state["commit"][:12] + (" with changes" if state["changed"] else "")
    )


ROOMS = (
    *("core", "events", "mechanisms", "models", "places", "ports", "protocol", "sim", "support"),
    "transitions",
    *(f"scenarios/{name}" for name in ("experiments", "figures", "rules", "runs")),
)


@cache
def deciding_code() -> dict[str, str]:
    """Hashes of what decides about figures: not the live system, the commands, and the checks themselves."""
    parts = [
        *PACKAGE.glob("*.py"),
        *(PACKAGE / name for name in ROOMS),
    ]
    return {
        Path(path).relative_to(PACKAGE).as_posix(): own for path, own in input_hashes(sorted(parts)).items()
    }


def measured(scenario: Scenario, seed: int, folder: Path) -> Measured:
    """The figures that the checks of a scenario ask for, out of its runs, which are all there."""
    summaries: dict[str, dict[str, Any]] = {}
    for name, trial in trials_of(scenario, seed).items():
        outcome = trial.outcome(folder)
        assert outcome is not None
        summaries[name] = outcome["summary"]
    summary = assembled(scenario, summaries)
    figures: dict[str, float | None] = {}
    for path in sorted({path for check in scenario.checks for path in check.paths}):
        try:
            figures[path] = figure(summary, path)
        except KeyError:
            figures[path] = None
    return Measured(
        commits=sorted({each["code"]["commit"] for each in summaries.values()}),
        machines=sorted({each["code"]["cpu"] for each in summaries.values()}),
        wall_s=round(sum(each["wall_s"] for each in summaries.values())),
        figures=figures,
    )


def options() -> argparse.Namespace:
    parser = arguments(__doc__ or "", repetitions=None)
    integer(parser, "--seeds", 1, "seeds from 1 to so many")
    parser.add_argument("--scenarios", nargs="+", choices=builtin_names(), help="those alone, in this order")
    parser.add_argument("--duration", type=float, metavar="S", help="simulate so many seconds (in full)")
    parser.add_argument(
        "--clients", type=int, metavar="N", help="with so many clients (as the scenario says)"
    )
    integer(parser, "--processes", os.cpu_count() or 1, "runs side by side")
    parser.add_argument("--strict", action="store_true", help="end with 1 if a difference is not explained")
    parser.add_argument(
        "--record", action="store_true", help=f"enter the figures into {RECORD.name} and docs/thesis.md"
    )
    chosen = parser.parse_args()
    for name in chosen.scenarios or builtin_names():
        asked = load(name, duration=chosen.duration, clients=chosen.clients)
        if (chosen.strict or chosen.record) and (less := reduction(asked, load(name))):
            parser.error(f"--strict or --record with {less}: expected {name} in full")
        if chosen.record and chosen.clients is not None:
            parser.error("--clients with --record: expected as many as the scenario says")
    return chosen


def quickest_first(names: list[str]) -> Iterator[str]:
    """By simulated seconds; radios make them several times as long."""

    def work(name: str) -> float:
        runs = variants(load(name)).values()
        return sum(each.duration * (8.0 if each.begin else 1.0) for each in runs)

    yield from sorted(names, key=work)


def main() -> None:
    chosen = options()
    folder = chosen.out / "fidelity"
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(1, chosen.seeds + 1)
    compared = {}
    for name in chosen.scenarios or quickest_first(builtin_names()):
        check_paths(load(name))
        scenario = load(name, duration=chosen.duration, clients=chosen.clients)
        print(f"{name}:", file=sys.stderr, flush=True)
        trials = [trial for seed in seeds for trial in trials_of(scenario, seed).values()]
        measure(trials, folder, chosen.processes)
        found = {seed: measured(scenario, seed, folder) for seed in seeds}
        compared[name] = checks = compare(scenario.checks, found)
        header = ("figure", "source", "stated", "ours", "expected", "verdict")
        print_table(name, header, [check.row for check in checks])
        if chosen.record:
            enter(name, found)
            write_page()
    counts = totals(check for checks in compared.values() for check in checks)
    print("\nin all: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    for name, checks in compared.items():
        for check in checks:
            if check.settled:
                print(f"{name}: {check.name} holds again, though a difference is explained")
    data = {name: [check.to_dict() for check in checks] for name, checks in compared.items()}
    write("fidelity", chosen.out, {"seeds": chosen.seeds, "verdicts": counts, "scenarios": data})
    if chosen.strict and counts["differs"] + counts["unknown"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
