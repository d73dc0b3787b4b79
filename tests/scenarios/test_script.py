"""Experiments by a script: clients do what it says, and what cannot be done is refused."""

from __future__ import annotations

from typing import Any

import pytest

from bypass.scenarios import InvalidScenario
from bypass.scenarios.experiments.variants import validated
from bypass.scenarios.runs.runner import run

SUBSCRIBED: list[dict[str, Any]] = [
    {"at": 0, "do": "move", "client": 0, "place": [100, 100]},
    {"at": 0, "do": "move", "client": 1, "place": [120, 100]},
    {"at": 0, "do": "subscribe", "client": 0, "subscription": 1, "radius": 50},
]


def file(*steps: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "test",
        "about": "test",
        "clients": 3,
        "duration": 20,
        "location": {"interval": 0.5},
        "script": {"steps": [*SUBSCRIBED, *steps]},
    }


def figures(*steps: dict[str, Any]) -> tuple[int, int, int, list[int]]:
    """The deliveries that were owed, lost and doubled, and how many were notified of each event."""
    result = run(validated("test", file(*steps)))
    counts = result.summary()["extra"]["script"]
    notified = result.main.events["notified"].tolist()
    return counts["owed"], counts["lost"], counts["doubled"], notified


def publish(at: float, **where: Any) -> dict[str, Any]:
    return {"at": at, "do": "publish", "client": 1, **where}


def step(at: float, do: str, **keys: Any) -> dict[str, Any]:
    return {"at": at, "do": do, "client": 0, **keys}


def test_events_of_every_kind_reach_whom_they_concern() -> None:
    steps = publish(3, local=True), publish(3), publish(3, place=[140, 100]), publish(3, place=[500, 500])
    assert figures(*steps) == (3, 0, 0, [1, 1, 1, 0])


def test_who_moves_is_found_where_it_is_then() -> None:
    there = step(5, "move", place=[500, 500])
    assert figures(there, publish(8, place=[500, 510]), publish(8, local=True)) == (1, 0, 0, [1, 0])


def test_who_leaves_gets_what_waited_and_who_is_killed_begins_anew() -> None:
    left = step(3, "leave"), publish(5, local=True), step(8, "return")
    assert figures(*left) == (1, 0, 0, [1])
    killed = step(3, "kill"), publish(5, local=True), step(8, "return"), publish(10, local=True)
    assert figures(*killed) == (0, 0, 0, [0, 0])
    again = step(11, "subscribe", subscription=1), publish(14)
    assert figures(*killed, *again) == (1, 0, 0, [0, 0, 1])


def test_who_is_still_away_at_the_end_gets_what_waited() -> None:
    assert figures(step(3, "leave"), publish(5, local=True)) == (1, 0, 0, [1])


def test_what_was_unsubscribed_is_owed_nothing() -> None:
    assert figures(step(3, "unsubscribe", subscription=1), publish(5, local=True)) == (0, 0, 0, [0])


def test_plans_are_executed() -> None:
    plan = {"plan": "cells", "actions": [{"proxy": "filter", "to": "grid"}]}
    result = run(validated("test", file({"at": 3, "do": "plan", "plan": plan}, publish(8, local=True))))
    assert result.main.phases[0].mechanisms["filter"]["name"] == "grid"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (step(30, "leave"), "script.steps.3.at is 30.0: expected less than 20.0 s, the end"),
        ({**step(3, "leave"), "client": 3}, "script.steps.3.client is 3: expected clients from 0 to 2"),
        (step(3, "return"), "script.steps.3.do is 'return' of client 0, who is there: expected away"),
        (step(3, "fly"), "script.steps.3.do is 'fly'"),
        (step(3, "move"), "script.steps.3.place is missing: 'move' needs it"),
        (step(3, "leave", place=[1, 1]), "script.steps.3.place is of no use to 'leave'"),
        (step(3, "publish", place=[1, 1], local=True), "script.steps.3.local is true beside a place"),
        (step(3, "unsubscribe", subscription=7), "script.steps.3.subscription is 7: expected one"),
        (step(3, "subscribe", subscription=1), "script.steps.3.subscription is 1: expected a new one"),
        (step(3, "subscribe", subscription=2, radius=0), "script.steps.3.radius is 0"),
        ({"at": 3, "do": "leave", "clients": 0}, "script.steps.3.clients is unknown: expected one of at, "),
        (
            {"at": 3, "do": "plan", "plan": {"plan": "x", "actions": [{"proxy": "filter", "to": "fog"}]}},
            "script.steps.3.plan 'x' cannot be executed",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidScenario) as refusal:
        validated("test", file(wrong))
    assert str(refusal.value).startswith(f"test: {message}")
    assert "\n" not in str(refusal.value)


def test_times_ascend() -> None:
    with pytest.raises(InvalidScenario, match=r"steps.4.at is 3.0: expected ascending times, from 4.0 on"):
        validated("test", file(publish(4), publish(3)))


def test_who_is_away_does_nothing() -> None:
    with pytest.raises(InvalidScenario, match=r"is 'publish' of client 1, who is away: expected there"):
        validated("test", file({**step(3, "kill"), "client": 1}, publish(4)))
