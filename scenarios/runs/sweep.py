"""Sweeps: a scenario with many seeds and at all points of a grid of values, each run a piece of work.

A run that is done is kept in a file of its own at once, so a sweep that was stopped goes on where it was.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bypass.errors import BypassError, shown
from bypass.models.compute.engines import ComputeEngine, WorkerLost, WorkProgress, spark_engine, unwatched
from bypass.models.request import check_request
from bypass.scenarios.experiments.inputs import EXPERIMENT, experiment_text, origin, parameters
from bypass.scenarios.experiments.provenance import FILE as PROVENANCE
from bypass.scenarios.experiments.provenance import write_provenance
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.runs import sweep_tables
from bypass.scenarios.runs.loader import InvalidScenario, load
from bypass.scenarios.runs.sweep_tables import Rows
from bypass.scenarios.runs.trial import SweepFailed, Trial, carry_out

__all__ = ["InvalidSweep", "Sweep", "SweepFailed", "sweep"]

ParameterGrid = Mapping[str, Sequence[Any]]


class InvalidSweep(BypassError):
    """A scenario cannot be run with these seeds or this grid."""


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep, as the files in `folder` have them: `results` has a row for each phase of each
    run, `means` one for each phase at each point of the grid, both with the keys in `grid`."""

    folder: Path
    grid: tuple[str, ...]
    results: Rows
    means: Rows

    @property
    def failed(self) -> Rows:
        """The runs that failed: one row each, with the keys of the grid, `variant`, `seed` and `error`."""
        return [row for row in self.results if row["outcome"] == "failed"]


def sweep(
    scenario: str | Path,
    *,
    seeds: Sequence[int],
    out: str | Path,
    grid: ParameterGrid | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the command line
    duration: float | None = None,
    clients: int | None = None,
    engine: ComputeEngine | None = None,
    master: str | None = None,
    progress: WorkProgress = unwatched,
) -> Sweep:
    """Run a scenario with every seed at every point of the grid (dotted keys to values); keep all in `out`.

    Without an engine, runs are tasks of Spark at `master`, or on this machine's cores. All workers must reach
    `out` under the same path. Runs that are done there already, with the same code and inputs, are not run
    again; what other code or inputs gave is removed. A run that fails is in the results and stops no other.
    `progress` is told how many runs are done, of all.

    Raises InvalidSweep and InvalidScenario before anything runs or is written.
    """
    trials = list(_trials(scenario, seeds, grid or {}, set or {}, duration, clients))
    folder = Path(out).absolute()
    kept = folder / "runs"
    _forget_stale(trials, kept)
    _run([trial for trial in trials if not _done(trial, kept)], len(trials), kept, engine, master, progress)
    outcomes = [trial.outcome(kept) for trial in trials]
    results = sweep_tables.results(outcome for outcome in outcomes if outcome is not None)
    keys = tuple(grid or {})
    means = sweep_tables.means(results, keys)
    sweep_tables.write(folder, keys, results, means)
    _write_origin(folder, trials, scenario, seeds, grid or {}, set or {}, duration, clients)
    return Sweep(folder, keys, results, means)


def _forget_stale(trials: list[Trial], kept: Path) -> None:
    """Remove outcomes of the same runs, and of others, that other code or inputs gave."""
    same = {each.identity: each for each in trials}
    code = trials[0].origin["code"]
    for path in kept.glob("*.json"):
        try:
            found = json.loads(path.read_bytes())
            origin = found.get("origin", {})
            identity = Trial.identify(found["variant"], found["grid"], found["seed"], found["experiment"])
        except (OSError, ValueError, AttributeError, KeyError):
            continue  # none of ours
        trial = same.get(identity)
        if origin.get("code") != code or (trial is not None and path.stem != trial.key):
            path.unlink(missing_ok=True)


def _write_origin(
    folder: Path,
    trials: list[Trial],
    scenario: str | Path,
    seeds: Sequence[int],
    grid: ParameterGrid,
    changes: Mapping[str, Any],
    duration: float | None,
    clients: int | None,
) -> None:
    """Say what the tables come from, and write the scenario as a file that gives the same sweep again."""
    loaded = load(scenario, changes=changes, duration=duration, clients=clients)
    (folder / EXPERIMENT).write_text(experiment_text(loaded), encoding="utf-8")
    write_provenance(
        folder / PROVENANCE,
        {
            **trials[0].origin,
            **{
                what: {name: known for trial in trials for name, known in trial.origin[what].items()}
                for what in ("modules", "distributions", "inputs")
            },
            "asked": {
                "scenario": str(scenario),
                "grid": {key: list(values) for key, values in grid.items()},
                "set": dict(changes),
                "duration": duration,
                "clients": clients,
            },
            "seeds": list(seeds),
            "parameters": parameters(loaded),
        },
    )


def _done(trial: Trial, kept: Path) -> bool:
    outcome = trial.outcome(kept)
    return outcome is not None and outcome["outcome"] == "done"


def _run(
    trials: list[Trial],
    total: int,
    kept: Path,
    engine: ComputeEngine | None,
    master: str | None,
    progress: WorkProgress,
) -> None:
    """Run all trials that have no outcome yet. Raises SweepFailed if one cannot be found afterwards."""
    before = total - len(trials)
    progress(before, total)
    if not trials:
        return
    lost = None
    with ExitStack() as stack:
        engine = engine or stack.enter_context(spark_engine("bypass sweep", master))
        kept.mkdir(parents=True, exist_ok=True)
        for trial in trials:
            trial.forget(kept)
        pieces = [(trial, str(kept)) for trial in trials]
        try:
            engine.run(carry_out, pieces, lambda done, _: progress(before + done, total))
        except WorkerLost as error:
            lost = error
    for trial in trials:
        if trial.outcome(kept) is None:
            if lost is None:
                raise SweepFailed(f"{kept} lacks {trial.key}.json: expected a folder that all workers share")
            trial.failed(kept, lost)


def _trials(
    scenario: str | Path,
    seeds: Sequence[int],
    grid: ParameterGrid,
    changes: Mapping[str, Any],
    duration: float | None,
    clients: int | None,
) -> Iterator[Trial]:
    """All runs, point by point, every experiment checked. Raises InvalidSweep and InvalidScenario."""
    load(scenario)  # what is wrong with the file is not the grid's fault
    _check_values("seeds", seeds)
    for key, values in grid.items():
        _check_values(f"grid key {key!r}", values)
        if key in changes:
            raise InvalidSweep(f"grid key {key!r} is set, too: expected one of both")
        if key in sweep_tables.RESULTS:
            raise InvalidSweep(f"grid key {key!r} has the name of a column of the results: expected another")
    for values in itertools.product(*grid.values()):
        point = dict(zip(grid, values, strict=True))
        try:
            experiments = _experiments(
                load(scenario, changes={**changes, **point}, duration=duration, clients=clients), point
            )
        except InvalidScenario as error:
            if not point:
                raise
            where = ", ".join(f"{key}={shown(value)}" for key, value in point.items())
            raise InvalidSweep(f"grid point {where}: {error}") from None
        for variant, experiment in experiments.items():
            data, made_of = experiment.model_dump(mode="json", exclude={"checks", "seed"}), origin(experiment)
            for seed in seeds:
                check_request(experiment.clients, experiment.duration, seed)
                yield Trial(variant, point, seed, data, made_of)


def _check_values(what: str, values: Sequence[Any]) -> None:
    if not values:
        raise InvalidSweep(f"{what} has no values: expected at least one")
    texts = Counter(json.dumps(value, sort_keys=True, default=str) for value in values)
    text, count = texts.most_common(1)[0]
    if count > 1:
        raise InvalidSweep(f"{what} has {text} {count} times: expected different values")


def _experiments(scenario: Scenario, point: Mapping[str, Any]) -> dict[str, Scenario]:
    """The scenario's variants. Raises InvalidSweep if one of them sets a key of the grid itself, which would
    stand in the results with values that had no effect."""
    for variant, own in scenario.runs.items():
        if "seed" in own:
            raise InvalidSweep(f"run {variant!r} of {scenario.name} sets its seed: expected none in a sweep")
        for key, mine in itertools.product(point, own):
            if f"{key}.".startswith(f"{mine}."):
                raise InvalidSweep(
                    f"grid key {key!r} is set by run {variant!r} of {scenario.name}, too: expected another"
                )
    return variants(scenario)
