"""Around a transition, no event reaches fewer subscribers than the worse of the two schemes reaches anyway.

Three runs with the same seed have the same movements and publications: one stays with the old scheme, one
has the new scheme from the start, one switches. So every single event can be compared.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
import pytest

from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER
from bypass.scenarios.figures.measures import Columns, between, recall
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load

pytestmark = pytest.mark.slow

SCHEMES = tuple(Registry().kinds(FILTER))
SWITCH_S = 6.0
DURATION_S = 7.5  # what is published shortly after the switch has arrived


@cache
def events(workload: str, scheme: str, to: str | None = None, grace: float = 1.5) -> Columns:
    plan = {"plan": "switch", "actions": [{"proxy": "filter", "to": to}]}
    changes = {
        "workload.model": workload,
        "filter.scheme": scheme,
        "grace": grace,
        "timeline": [{"at": SWITCH_S, "plan": plan}] if to else [],
        "runs": {},
        "main": "",
        "checks": [],
    }
    scenario = load("total-transitions", changes=changes, duration=DURATION_S, clients=100)
    return Experiment(scenario, seed=1).run().events


def near_switch(columns: Columns) -> Columns:
    return between(columns, SWITCH_S - 1.0, SWITCH_S + 1.0)


@pytest.mark.parametrize("workload", ["ar", "lbs"])
@pytest.mark.parametrize(("old", "new"), list(permutations(SCHEMES, 2)))
def test_no_event_is_worse_off_than_under_the_worse_scheme(workload: str, old: str, new: str) -> None:
    switched = near_switch(events(workload, old, new))
    before, after = near_switch(events(workload, old)), near_switch(events(workload, new))
    assert len(switched["id"]) > 150
    np.testing.assert_array_equal(switched["subscribers"], before["subscribers"])
    np.testing.assert_array_equal(switched["subscribers"], after["subscribers"])
    worse = np.minimum(before["correct"], after["correct"])
    lost = switched["correct"] < worse
    assert not lost.any(), f"{lost.sum()} events lost, published at {switched['at_us'][lost] / 1e6} s"


def at_switch(columns: Columns) -> float:
    """Mean recall of what was published within 60 ms of the switch: all of it arrives after the switch."""
    return float(np.nanmean(recall(between(columns, SWITCH_S - 0.06, SWITCH_S + 0.06))))


def test_without_grace_local_events_are_lost_after_grid_to_egrid() -> None:
    assert at_switch(events("ar", "grid", "egrid", grace=0.0)) < 0.1
    assert at_switch(events("ar", "grid", "egrid")) > 0.6


def test_without_grace_placed_events_are_not_lost_after_grid_to_egrid() -> None:
    assert at_switch(events("lbs", "grid", "egrid", grace=0.0)) > at_switch(events("lbs", "grid")) - 0.05
