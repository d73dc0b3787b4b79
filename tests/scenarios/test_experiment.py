"""One experiment: same seed, same everything; watching changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from bypass.protocol.messages import Publish
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.result import Result
from bypass.scenarios.runs.experiment import Experiment, ExperimentFailed
from bypass.scenarios.runs.loader import load

SHORT = {"runs": {}, "main": "", "checks": []}


def experiment(seed: int = 1, mobility: str = "map") -> Experiment:
    changes = {**SHORT, "mobility.model": mobility}
    scenario = load("total-transitions", changes=changes, duration=30.0, clients=40)
    return Experiment(scenario, seed)


def same(one: Run, other: Run) -> None:
    first, second = one.summary(), other.summary()
    first["wall_s"] = second["wall_s"] = 0.0
    assert json.dumps(first) == json.dumps(second)
    for name, column in one.events.items():
        np.testing.assert_array_equal(column, other.events[name])
    for name, column in one.traffic.items():
        np.testing.assert_array_equal(column, other.traffic[name])


def test_same_seed_same_run() -> None:
    same(experiment().run(), experiment().run())


def test_another_seed_another_run() -> None:
    assert experiment(1).run().events["x"].tolist() != experiment(2).run().events["x"].tolist()


class Counter:
    def __init__(self) -> None:
        self.heard = 0

    def notified(self, client: int, publication: Publish) -> None:
        self.heard += 1


def test_analyzers_change_nothing() -> None:
    watched = experiment()
    counter = Counter()
    watched.system.monitor.register(counter)
    watched_run, plain_run = watched.run(), experiment().run()
    assert counter.heard == sum(phase.deliveries for phase in plain_run.phases)
    same(watched_run, plain_run)


def test_files_have_what_they_promise(tmp_path: Path) -> None:
    run = experiment().run()
    Result(run.scenario, {"only": run}).write(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert {"scenario", "seed", "clients", "duration_s", "wall_s", "phases"} <= summary.keys()
    for phase in summary["phases"]:
        assert {"name", "start_s", "end_s", "mechanisms", "recall", "precision", "events"} <= phase.keys()
        assert set(phase["delay_ms"]) == {"mean", "p50", "p95"}
        assert {"cellular_up", "cellular_down", "adhoc_up", "adhoc_down"} <= phase["traffic"].keys()
        assert {"context_up", "context_down", "coordination"} <= phase["traffic"].keys()
    events = pq.read_table(tmp_path / "events.parquet")
    assert events.num_rows == sum(phase["events"] for phase in summary["phases"])
    timeline = pq.read_table(tmp_path / "timeline.parquet")
    assert timeline.num_rows == 30
    records = [json.loads(line) for line in (tmp_path / "transitions.jsonl").read_text().splitlines()]
    # four plans, executed by the broker and by each of 40 clients
    assert len(records) == 4 * 41
    assert {record["outcome"] for record in records} == {"done"}


def test_a_world_without_attraction_points_has_a_summary_too() -> None:
    figures = experiment(mobility="rwp").run().summary()["extra"]
    assert np.isnan(figures["near_border"])
    assert figures["by_place"]["far"]["events"] == 40 * 28


def test_equal_runs_have_equal_files(tmp_path: Path) -> None:
    for name in ("one", "other"):
        run = experiment().run()
        Result(run.scenario, {"only": run}).write(tmp_path / name)
    for file in ("events.parquet", "timeline.parquet"):
        one, other = (pq.read_table(tmp_path / name / file) for name in ("one", "other"))
        assert one.equals(other)
        assert one["recall"].null_count > 0  # some events concern nobody, some seconds have no event


def test_everything_that_is_published_is_in_the_ledger() -> None:
    run = experiment().run()
    assert len(run.events["id"]) == 40 * 28  # once a second, from the second second on
    assert len(np.unique(run.events["id"])) == len(run.events["id"])


def test_a_plan_that_fails_ends_the_experiment_by_name() -> None:
    broken = experiment()
    # A circle scheme in a region that has just lost its numbers for layouts cannot start.
    object.__setattr__(broken.region, "generations", iter(()))
    with pytest.raises(ExperimentFailed, match="'T2' at"):
        broken.run()
