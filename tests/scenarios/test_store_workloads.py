"""Workloads of a store that a scenario names: built in, or of one's own in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bypass.models.storage import UniversityTrace
from bypass.scenarios import InvalidScenario, load
from bypass.scenarios.experiments.inputs import experiment_text, input_files
from bypass.scenarios.runs.preparation import prepared

UNIVERSITY = """
about: A class of the university.
clients: 16
duration: 720
world: {width: 160, height: 80}
mobility: {model: visitors, width: 160, height: 80}
wifi: {reach: 113, interference: 250, broadcast_rate: 6, unicast_rate: 6, rts: false}
begin:
  - {proxy: transport, to: wifi}
  - {proxy: mode, to: ad-hoc}
  - {proxy: routing, to: cells, set: {area: [0, 0, 160, 80], side: 40}}
objects: {storage: cells, workload: {model: university, topics: 3}, retrieve: 0.7, within: 30}
"""

EXAMPLES = Path(__file__).parents[2] / "examples"


def written(folder: Path, text: str = UNIVERSITY) -> Path:
    path = folder / "class.yaml"
    path.write_text(text)
    return path


def test_the_published_run_takes_720_seconds(tmp_path: Path) -> None:
    """A minute before the operations, ten minutes of them, and a minute after them."""
    scenario = load(written(tmp_path))
    assert scenario.objects is not None
    assert scenario.objects.operations_from == 60
    assert scenario.objects.workload is not None
    assert scenario.objects.workload.build() == UniversityTrace(topics=3)
    assert scenario.duration - scenario.objects.operations_from - UniversityTrace().length == 60
    drawn, again = scenario.objects.schedule(16, 4), UniversityTrace(topics=3).draw(16, 4)
    assert np.array_equal(drawn.at_us, again.at_us)


def test_another_duration_stretches_the_trace(tmp_path: Path) -> None:
    scenario = load(written(tmp_path), duration=72)
    assert scenario.objects is not None
    assert scenario.objects.operations_from == 6
    assert scenario.objects.stage_starts == [6]
    assert len(scenario.objects.schedule(16, 1)) > 0
    scenario.objects.check(66.0, scenario.registry())
    with pytest.raises(ValueError, match=r"workload takes 60 s from 6 s on: expected an end by 65 s"):
        scenario.objects.check(65.0, scenario.registry())


@pytest.mark.slow
def test_clients_do_what_it_says(tmp_path: Path) -> None:
    extra = prepared(load(written(tmp_path), duration=72), 1).run().summary()["extra"]
    assert extra["objects"] > 10
    assert extra["acknowledged"] == extra["objects"]
    assert extra["notified"] > 0.9
    assert extra["success"]["retrieve"] > 0.9


def test_what_is_written_out_gives_the_same_workload(tmp_path: Path) -> None:
    first = load(written(tmp_path))
    again = load(written(tmp_path, experiment_text(first)))
    assert "exponent: 1.0" in experiment_text(first)
    assert first.objects is not None
    assert again.objects is not None
    assert first.objects.workload is not None
    assert again.objects.workload is not None
    assert first.objects.workload.build() == again.objects.workload.build()
    runs = UNIVERSITY + "runs: {few: {objects.workload.topics: 2}, none: {objects.workload: null}}\n"
    written_again = load(written(tmp_path, experiment_text(load(written(tmp_path, runs)))))
    assert written_again.runs["few"]["objects.workload"]["topics"] == 2
    assert written_again.runs["none"]["objects.workload"] is None


def test_a_workload_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "roll_call.py").write_text((EXAMPLES / "roll_call.py").read_text())
    own = "{model: roll_call.py:RollCall, every: 1, most: 16, rounds: 2}"
    scenario = load(written(tmp_path, UNIVERSITY.replace("{model: university, topics: 3}", own)))
    assert scenario.objects is not None
    drawn = scenario.objects.schedule(16, 1)
    assert drawn.at_us.tolist() == [0, *(round(1e6 * at) for at in (*range(1, 16), *range(17, 32)))]
    assert scenario.objects.stage_starts == [60]
    assert len(drawn.ideal_matches()) == 30
    assert tmp_path / "roll_call.py" in input_files(scenario)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"objects.workload.model": "school"},
            r"objects.workload.model is 'school': expected one of university",
        ),
        (
            {"objects.workload.topics": 0},
            r"objects.workload.topics is 0: expected greater than or equal to 1",
        ),
        (
            {"objects.workload.later": 60},
            r"objects.workload.later is 60: expected at most a lecture, 45 minutes",
        ),
        (
            {"objects.workload.sizes": 1},
            r"objects.workload.sizes is unknown: expected one of model, compression",
        ),
        ({"objects.posts": {"rate": 1}}, r"objects.posts is given beside a workload: expected one of them"),
        ({"objects.within": -1}, r"objects.within is -1: expected"),
        ({"duration": 600}, r"objects.workload takes 600 s from 60 s on: expected an end by 600 s"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidScenario, match=complaint):
        load(written(tmp_path), changes=changes)
