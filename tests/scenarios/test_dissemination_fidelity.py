"""The thesis' dissemination experiments in short: what holds in seconds of the full number of clients.

Fewer clients would be fewer neighbours. The scenarios' own checks have the figures of full runs.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.figures.measures import Phase, between, precision, recall
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.result import Result
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load

pytestmark = pytest.mark.slow


@cache
def short(scenario: str, name: str, duration: float) -> Run:
    return Experiment(variants(load(scenario, duration=duration))[name], seed=1).run()


def alone(mechanism: str) -> Phase:
    return short("adhoc", mechanism, 7.0).phases[0]


@pytest.mark.parametrize(
    ("mechanism", "low", "high"),
    [
        ("broadcast", 0.5, 0.7),
        ("gossip", 0.75, 0.92),
        ("hyperg", 0.7, 0.92),
        ("plan-b", 0.88, 0.99),
        ("flooding", 0.88, 0.99),
    ],
)
def test_recall_of_local_events_is_the_thesis(mechanism: str, low: float, high: float) -> None:
    assert low <= alone(mechanism).recall.mean <= high


def test_who_passes_events_on_reaches_more_and_tells_others_too() -> None:
    assert alone("broadcast").recall.mean < alone("gossip").recall.mean
    assert alone("gossip").recall.mean < min(alone("plan-b").recall.mean, alone("flooding").recall.mean)
    assert alone("broadcast").precision.mean > 0.99
    for mechanism in ("gossip", "hyperg", "plan-b", "flooding"):
        assert 0.5 <= alone(mechanism).precision.mean <= 0.9


def test_what_mechanisms_send_is_in_the_order_of_the_thesis() -> None:
    sent = {name: alone(name).traffic["adhoc_up"] for name in ("broadcast", "gossip", "plan-b", "flooding")}
    assert sent["broadcast"] < 0.3 * sent["gossip"]
    assert 1.2 * sent["gossip"] < sent["plan-b"] < sent["flooding"]
    assert 0.4 <= sent["plan-b"] / sent["flooding"] <= 0.8  # a third and a fifth of it are GOSSIP's


def test_events_arrive_in_milliseconds() -> None:
    for mechanism in ("broadcast", "gossip", "plan-b"):
        assert alone(mechanism).delay_ms.mean < 20.0


def test_gossip_with_certainty_is_flooding() -> None:
    certain, flooding = (short("gossip-p", name, 4.0) for name in ("p-1", "flooding"))
    for column, values in certain.events.items():
        np.testing.assert_array_equal(values, flooding.events[column])
    assert certain.local == flooding.local


def test_a_transition_told_to_all_takes_the_spread_of_latencies_and_nothing_is_lost() -> None:
    run = short("dissemination-transitions", "transitions", 25.0)
    assert [phase.name for phase in run.phases] == ["gossip", "plan-b", "hyperg", "flooding", "broadcast"]
    for spread in run.spreads():
        assert spread.summary()["reached"] == 1.0
        assert spread.summary()["first_to_last_s"] <= 0.052
    for around in run.summary()["extra"]["transitions"]:
        assert around["recall_dip_s"] < 0.1
    assert run.phase("broadcast").recall.mean < 0.7 < run.phase("gossip").recall.mean


@pytest.mark.parametrize("mechanism", ["plan-b", "hyperg", "flooding", "broadcast"])
def test_after_a_transition_a_mechanism_is_what_it_is_alone(mechanism: str) -> None:
    """From 1 s after it on until the next one, with the same clients and events; full runs compare means of
    whole phases."""
    switched = short("dissemination-transitions", "transitions", 25.0)
    phase = switched.phase(mechanism)
    static = short("adhoc", mechanism, phase.end_s)
    window = (phase.start_s + 1.0, phase.end_s)
    for share in (recall, precision):
        ours, theirs = (np.nanmean(share(between(run.events, *window))) for run in (switched, static))
        assert ours == pytest.approx(theirs, abs=0.03)


def test_one_client_that_is_told_is_enough_for_most_others() -> None:
    run = short("self-healing", "one", 25.0)
    assert run.plans_sent == 4
    hyperg = run.spreads()[1].summary()
    assert hyperg["reached"] > 0.6
    assert hyperg["p50_s"] < 3.0


def test_gateways_save_download_and_cost_hardly_any_recall() -> None:
    scenario = load("coexistence-gateway", duration=10.0)
    names = ("none", "wca-broadcast", "skc-broadcast")
    runs = {name: short("coexistence-gateway", name, 10.0) for name in names}
    alone, wca, skc = runs.values()
    assert scenario.baseline == "none"
    extra = Result(scenario.model_copy(update={"main": "wca-broadcast"}), runs).summary()["extra"]
    assert extra["cellular_download_saved"] > 0.3
    assert extra["recall_lost"] < 0.02
    assert extra["gateways_inside"] == 1.0
    use = {name: run.gateways.summary() for name, run in runs.items()}
    assert 0.38 <= use["skc-broadcast"]["share"] <= 0.46
    assert use["wca-broadcast"]["per_event"] < use["skc-broadcast"]["per_event"]
    assert alone.gateways.summary()["events"] == 0
    assert wca.phases[0].traffic["adhoc_down"] < skc.phases[0].traffic["adhoc_down"]


def test_modes_are_what_they_consist_of() -> None:
    cloud, ad_hoc, offload, augment = (
        short("hybrid-modes", name, 4.5).phases[0] for name in ("cloud", "ad-hoc", "offload", "augment")
    )
    assert offload.recall.mean == pytest.approx(ad_hoc.recall.mean, abs=0.02)
    assert augment.recall.mean > cloud.recall.mean > ad_hoc.recall.mean
    assert cloud.precision.mean > 0.96 > augment.precision.mean
    assert augment.precision.mean == pytest.approx(ad_hoc.precision.mean, abs=0.1)
    assert ad_hoc.delay_ms.mean < augment.delay_ms.mean < cloud.delay_ms.mean
    assert 1.0 < augment.traffic["cellular_up"] / cloud.traffic["cellular_up"] < 1.1  # two addresses
