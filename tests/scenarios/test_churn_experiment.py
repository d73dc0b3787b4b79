"""Experiments with clients that come and go, radios and rules: same seed, same run; figures add up."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bypass.protocol.messages import Publish
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load

pytestmark = pytest.mark.slow

ALONE = {"runs": {}, "main": "", "checks": [], "baseline": ""}
DURATION, CLIENTS = 20.0, 30


def experiment(seed: int = 1, **changes: Any) -> Experiment:
    named = {key.replace("__", "."): value for key, value in changes.items()}
    scenario = load(
        "adhoc",
        changes={**ALONE, "begin.2.to": "augment", **named},
        duration=DURATION,
        clients=CLIENTS,
    )
    return Experiment(scenario, seed)


CHURN: dict[str, Any] = {"churn": {"model": "on-off", "on": 6.0, "off": 4.0}}


@cache
def churning() -> Run:
    return experiment(**CHURN).run()


class Counter:
    def __init__(self) -> None:
        self.heard = 0

    def notified(self, client: int, publication: Publish) -> None:
        self.heard += 1


def digest(run: Run) -> str:
    return json.dumps({**run.summary(), "wall_s": 0.0})


def test_analyzers_change_nothing_while_clients_come_and_go() -> None:
    watched, counter = experiment(**CHURN), Counter()
    watched.system.monitor.register(counter)
    assert digest(watched.run()) == digest(churning())
    assert counter.heard > 0
    assert digest(experiment(2, **CHURN).run()) != digest(churning())


def test_clients_come_and_go_in_turn() -> None:
    run = churning()
    assert run.attendance
    for client in range(CLIENTS):
        turns = [each.joins for each in run.attendance if each.client == client]
        assert all(a != b for a, b in pairwise(turns))
        assert not turns or turns[0]
    times = [each.at for each in run.attendance]
    assert times == sorted(times)


def test_who_is_not_there_neither_publishes_nor_counts() -> None:
    run = churning()
    there = np.zeros(CLIENTS, np.bool_)
    changes = iter([*run.attendance])
    change = next(changes, None)
    for at_us, publisher, subscribers in zip(
        run.events["at_us"].tolist(),
        run.events["publisher"].tolist(),
        run.events["subscribers"].tolist(),
        strict=True,
    ):
        while change is not None and change.at * 1e6 <= at_us:
            there[change.client] = change.joins
            change = next(changes, None)
        assert there[publisher]
        assert subscribers < there.sum()
    assert len(set(run.events["id"].tolist())) == len(run.events["id"])


@pytest.mark.parametrize("proxy", ["transport", "direct", "mode", "gateway"])
def test_shares_of_mechanisms_add_up(proxy: str) -> None:
    run = churning()
    shares = run.summary()["extra"]["usage"][proxy]
    assert sum(shares.values()) == pytest.approx(1.0)
    present = 0.0
    for course in run.courses(proxy):
        for (at, name), end in zip(course, [*(at for at, _ in course[1:]), DURATION], strict=True):
            present += (end - at) * (name != "nothing")
    assert shares.get("nothing", 0.0) == pytest.approx(1.0 - present / (DURATION * CLIENTS))


def test_in_augment_those_who_stay_miss_little() -> None:
    run = experiment().run()
    assert run.phases[0].recall.mean == pytest.approx(1.0, abs=0.02)
    assert run.attendance == ()
    usage = run.summary()["extra"]["usage"]["direct"]
    assert {name for name, share in usage.items() if share} == {"gossip"}


def test_local_traffic_is_counted_apart() -> None:
    run = churning()
    assert run.traffic["adhoc_up"].sum() > 0
    assert run.traffic["adhoc_down"].sum() > 0
    assert run.local["frames"] > 0
    cloud = experiment(begin__2__to="cloud").run()
    assert cloud.traffic["adhoc_up"].sum() == cloud.local["frames"] == 0


def test_what_spreads_by_healing_is_told_to_few() -> None:
    step = {
        "at": 5.0,
        "phase": "hyperg",
        "spread": "healing",
        "initiators": 2,
        "plan": {"plan": "p", "actions": [{"proxy": "direct", "to": "hyperg"}]},
    }
    run = experiment(timeline=[step]).run()
    reached = [each for each in run.executions if each.record.target == "hyperg"]
    healed = [each for each in reached if each.record.who == "self-healing"]
    told = [each for each in reached if each not in healed]
    assert run.plans_sent == len(told) == 2
    assert healed
    (spread,) = run.spreads()
    assert len(spread.delay) == len({each.client for each in reached})
    central = experiment(timeline=[{**step, "spread": "central"}]).run()
    assert central.plans_sent == CLIENTS
    assert central.spreads()[0].summary()["reached"] == 1.0


def test_rules_act_in_an_experiment() -> None:
    run = experiment(rules={"use": "cx-adhoc"}, begin__1__to="nothing").run()
    fired = run.summary()["extra"]["rules"]
    assert fired.get("enter", 0) > 0
    assert not [firing.error for firing in run.firings if firing.error]
    assert "gossip" in run.summary()["extra"]["usage"]["direct"]
