"""Experiments whose clients keep their sessions while they are away: all arrives, and takes its time."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load

CLIENTS, DURATION = 12, 60.0
ON_OFF: dict[str, Any] = {"model": "on-off", "on": 12.0, "off": 8.0}
EVERYWHERE: dict[str, Any] = {"model": "ar", "radius": 5000, "rate": 0.5}
TRANSITIONS = [
    {"at": 8.0 * (n + 1), "plan": {"plan": "next", "actions": [{"proxy": "filter", "to": scheme}]}}
    for n, scheme in enumerate(("ste", "radial", "ste", "radial"))
]


@cache
def run(durable: bool = True, seed: int = 1, timeline: bool = False) -> Run:
    changes = {
        "clients": CLIENTS,
        "duration": DURATION,
        "churn": {**ON_OFF, "durable": durable},
        "workload": EVERYWHERE,
        "timeline": TRANSITIONS if timeline else [],
        "runs": {},
        "main": "",
        "checks": [],
    }
    return Experiment(load("total-transitions", changes=changes), seed).run()


@pytest.mark.parametrize("timeline", [False, True])
def test_nothing_is_lost(timeline: bool) -> None:
    events = run(timeline=timeline).events
    assert len(events["id"]) > 200
    # A first subscription takes its way to the broker: until then somebody is concerned and not known.
    missed = events["subscribers"] - events["correct"]
    assert 0 <= missed.sum() < 0.01 * events["subscribers"].sum()
    assert (missed[events["at_us"] > 40e6] == 0).all()
    assert run(durable=False, timeline=timeline).events["correct"].sum() < events["correct"].sum()


def test_delays_include_the_waiting() -> None:
    """Events wait at publishers, and for subscribers."""
    waiting, passing = run().events, run(durable=False).events
    assert np.nanmax(passing["delay_us"]) < 0.5e6
    assert np.nanmax(waiting["delay_us"]) > 8e6
    mean = run().phases[0].delay_ms.mean
    assert mean == pytest.approx(np.nanmean(waiting["delay_us"]) / 1000.0)
    assert mean > 2000.0


def test_the_figures_do_not_depend_on_when_the_run_ends() -> None:
    """Early events have the same delays in a longer run: nobody comes back sooner because of the end."""
    scenario = run().scenario.model_copy(update={"duration": 2 * DURATION})
    longer = Experiment(scenario, 1).run().events
    own = run().events
    same = longer["at_us"] < 0.9 * DURATION * 1e6
    early = own["at_us"] < 0.9 * DURATION * 1e6
    # Other events are on the way at the same time: latencies, of which an event has two, are other ones.
    np.testing.assert_allclose(own["delay_us"][early], longer["delay_us"][same], rtol=0, atol=2 * 50_000)


def test_the_seed_decides() -> None:
    def digest(found: Run) -> str:
        return json.dumps({**found.summary(), "wall_s": 0.0})

    again = Experiment(run().scenario, 1).run()
    assert digest(again) == digest(run())
    assert digest(run(seed=2)) != digest(run())


def test_who_takes_part_once_stays() -> None:
    found = run()
    assert all(each.joins for each in found.attendance)
    assert len({each.client for each in found.attendance}) == len(found.attendance) <= CLIENTS


def test_transitions_reach_who_was_away() -> None:
    found = run(timeline=True)
    assert found.phases[-1].mechanisms["filter"]["name"] == "radial"
    last = {each.client: each.record.target for each in found.executions if each.client is not None}
    assert set(last.values()) == {"radial"}


@pytest.mark.parametrize("model", ["none", "ramp", "growth"])
def test_only_who_returns_has_something_to_keep(model: str) -> None:
    with pytest.raises(InvalidScenario, match=f"churn.durable is true with model '{model}': expected on-off"):
        load("total-transitions", changes={"churn": {"model": model, "durable": True}})
