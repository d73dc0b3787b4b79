"""Runs the scenarios `infra-*` with several seeds, and prints means of their checks beside what is stated.

Each run is kept in a file of its own under DIR/infrastructure as soon as it is done: what was stopped goes on
where it was. Runs of other code are not used. Published figures are means of at least three runs.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from common import arguments, integer, machine, print_table, write
from fidelity import carried_out, commit, deciding_code

from bypass.scenarios.experiments.checks import Check, figure, judge
from bypass.scenarios.experiments.files import builtin_names
from bypass.scenarios.experiments.inputs import parameters
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.runs.loader import load
from bypass.scenarios.runs.trial import Trial

PREFIX = "infra-"
NAMES = tuple(name.removeprefix(PREFIX) for name in builtin_names() if name.startswith(PREFIX))


def trials_of(scenario: Scenario, seed: int) -> dict[str, Trial]:
    """The runs of a scenario with a seed, by their names."""
    found = {}
    for name, experiment in variants(scenario).items():
        made_of = parameters(experiment) | {"about": "", "checks": []}
        found[name] = Trial(f"{scenario.name}-{name}", {}, seed, made_of, deciding_code())
    return found


def summary_of(scenario: Scenario, seed: int, folder: Path) -> dict[str, Any] | None:
    """The figures of all runs with a seed, by the paths that checks have; None unless all are done."""
    outcomes = {name: trial.outcome(folder) for name, trial in trials_of(scenario, seed).items()}
    runs = {name: each["summary"] for name, each in outcomes.items() if each and each["summary"]}
    if len(runs) < len(outcomes):
        return None
    main = runs[scenario.main or next(iter(runs))]
    return {**main, "runs": runs}


def mean(values: list[float]) -> float:
    """The mean of what is a number; NaN of nothing."""
    known = [value for value in values if not math.isnan(value)]
    return statistics.fmean(known) if known else math.nan


def measured(scenario: Scenario, summaries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The means of all checks over the seeds, their smallest and largest figures, and the verdicts on the
    means."""
    found = []
    for check in scenario.checks:
        values = [check.of(partial(figure, summary)) for summary in summaries]
        known = [value for value in values if not math.isnan(value)]
        look: Callable[[str], float] = partial(_same, mean(values))
        verdict = judge([_alone(check)], look)[0]
        found.append(
            verdict.to_dict()
            | {
                "least": min(known, default=math.nan),
                "most": max(known, default=math.nan),
                "runs": len(known),
            }
        )
    return found


def options() -> argparse.Namespace:
    parser = arguments(__doc__ or "", repetitions=None)
    parser.add_argument("--scenarios", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--duration", type=float, metavar="S", help="simulate so many seconds (in full)")
    parser.add_argument("--clients", type=int, metavar="N", help="with so many clients (in full)")
    integer(parser, "--seeds", 3, "seeds from 1 to so many")
    integer(parser, "--processes", 1, "runs side by side")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    folder = chosen.out / "infrastructure"
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(1, chosen.seeds + 1)
    scenarios = [
        load(PREFIX + name, duration=chosen.duration, clients=chosen.clients) for name in chosen.scenarios
    ]
    trials = [
        trial for seed in seeds for scenario in scenarios for trial in trials_of(scenario, seed).values()
    ]
    missing = [trial for trial in trials if trial.outcome(folder) is None]
    code = {"commit": commit(), **machine()}
    for done, (key, taken) in enumerate(carried_out(missing, folder, code, chosen.processes), 1):
        print(f"  {done} of {len(missing)}: {key}, {taken:.0f} s", file=sys.stderr, flush=True)
    results = {}
    for scenario in scenarios:
        summaries = [found for seed in seeds if (found := summary_of(scenario, seed, folder)) is not None]
        results[scenario.name] = checks = measured(scenario, summaries)
        rows = [
            (
                each["name"],
                each["source"],
                each["stated"],
                _shown(each["ours"]),
                f"{_shown(each['least'])} to {_shown(each['most'])}",
                each["verdict"],
            )
            for each in checks
        ]
        print_table(
            f"{scenario.name}: means of {len(summaries)} runs",
            ("check", "source", "stated", "ours", "from, to", "verdict"),
            rows,
        )
    write("infrastructure", chosen.out, {"seeds": chosen.seeds, "scenarios": results})


def _alone(check: Check) -> Check:
    """The check of a figure that is made already."""
    return check.model_copy(update={"minus": None, "over": None, "minus_over": None, "among": ()})


def _same(value: float, _: str) -> float:
    return value


def _shown(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.3g}" if abs(value) < 1e4 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
