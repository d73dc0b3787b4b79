"""The thesis' filter experiments in short: figures within the tolerances that the full runs are held to."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.figures.measures import between, precision, recall
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load

pytestmark = pytest.mark.slow

ALONE = {"timeline": [], "runs": {}, "main": "", "checks": []}


@cache
def switching() -> Run:
    scenario = variants(load("total-transitions", duration=100.0))["seamless"]
    return Experiment(scenario, seed=1).run()


@cache
def alone(scheme: str, until: float, grid: int) -> Run:
    """Until shortly after that time: its last events arrive."""
    changes = {"filter.scheme": scheme, "filter.grid": grid, **ALONE}
    return Experiment(load("total-transitions", changes=changes, duration=until + 2.0), seed=1).run()


def test_five_phases_with_the_schemes_of_the_plan() -> None:
    phases = switching().phases
    assert [phase.name for phase in phases] == ["radial", "ste", "grid", "egrid", "radial"]
    assert [phase.mechanisms["filter"]["name"] for phase in phases] == [phase.name for phase in phases]
    assert phases[1].mechanisms["filter"]["parameters"]["alpha"] == 1.5
    assert phases[2].mechanisms["filter"]["parameters"]["grid"] == 5
    assert phases[3].mechanisms["filter"]["parameters"]["grid"] == 10
    assert [phase.start_s for phase in phases] == [0.0, 32.0, 48.0, 68.0, 88.0]
    assert phases[-1].end_s == 100.0


@pytest.mark.parametrize(
    ("phase", "low_recall", "high_recall", "low_precision", "high_precision"),
    [
        ("radial", 0.97, 1.0, 0.96, 1.0),
        ("ste", 0.985, 1.0, 0.68, 0.9),
        ("grid", 0.62, 0.78, 0.4, 0.75),
        ("egrid", 0.99, 1.0, 0.3, 0.6),
    ],
)
def test_recall_and_precision_are_the_thesis(
    phase: str, low_recall: float, high_recall: float, low_precision: float, high_precision: float
) -> None:
    found = switching().phase(phase)
    assert low_recall <= found.recall.mean <= high_recall
    assert low_precision <= found.precision.mean <= high_precision


@pytest.mark.parametrize(("i", "scheme", "grid"), [(1, "ste", 5), (2, "grid", 5), (3, "egrid", 10)])
def test_after_a_transition_a_scheme_is_what_it_is_alone(i: int, scheme: str, grid: int) -> None:
    phase = switching().phases[i]
    window = (phase.start_s + 10.0, phase.end_s)
    static = between(alone(scheme, phase.end_s, grid).events, *window)
    switched = between(switching().events, *window)
    assert np.nanmean(recall(switched)) == pytest.approx(np.nanmean(recall(static)), abs=0.005)
    assert np.nanmean(precision(switched)) == pytest.approx(np.nanmean(precision(static)), abs=0.005)


@pytest.mark.parametrize(("i", "scheme", "grid"), [(1, "ste", 5), (2, "grid", 5), (3, "egrid", 10)])
def test_context_traffic_after_a_transition_is_what_it_is_alone(i: int, scheme: str, grid: int) -> None:
    phase = switching().phases[i]
    start, end = int(phase.start_s) + 10, int(phase.end_s)
    for way in ("up", "down"):
        switched = switching().traffic[f"context_{way}"][start:end].sum()
        static = alone(scheme, phase.end_s, grid).traffic[f"context_{way}"][start:end].sum()
        assert switched == pytest.approx(static, rel=0.1)


def test_partial_transitions_do_what_multi_does() -> None:
    both = variants(load("partial-transitions", duration=45.0))
    moving = Experiment(both["transitions"], seed=1).run()
    multi = Experiment(both["multi"], seed=1).run()
    assert len(moving.executions) > 200
    assert moving.phases[0].recall.mean == pytest.approx(multi.phases[0].recall.mean, abs=0.002)
    assert moving.phases[0].precision.mean == pytest.approx(multi.phases[0].precision.mean, abs=0.002)
    assert moving.summary()["extra"]["near_border"] > 0.95
