"""How clients keep the broker informed of their places: RADIAL and STE, over the simulated network."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from bypass.events.event import Event
from bypass.mechanisms.filters.base.updates import Strategy, due
from bypass.places.sensor import Fix, LocationRequest
from bypass.protocol.messages import AssignmentRequest, ContextUpdate, Publish, Subscribe

if TYPE_CHECKING:
    from tests.conftest import World


def reports(world: World) -> list[ContextUpdate]:
    return [message for message in world.up if isinstance(message, ContextUpdate)]


def fix(x: float, at: float) -> Fix:
    return Fix(x, 0.0, 0.0, 0.0, at)


@pytest.mark.parametrize(
    ("strategy", "x", "at", "expected"),
    [
        ("frequency", 0.0, 4.9, False),
        ("frequency", 0.0, 5.0, True),
        ("frequency", 999.0, 4.9, False),
        ("distance", 10.0, 999.0, False),
        ("distance", 10.1, 0.1, True),
        ("distance", -10.1, 0.1, True),
        ("hybrid", 10.0, 4.9, False),
        ("hybrid", 10.1, 4.9, True),
        ("hybrid", 0.0, 5.0, True),
    ],
)
def test_when_a_report_is_due(strategy: Strategy, x: float, at: float, expected: bool) -> None:
    assert due(strategy, 5.0, 10.0, fix(0.0, 0.0), fix(x, at)) is expected
    assert due(strategy, 5.0, 10.0, None, fix(x, at))


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("radial", ContextUpdate),
        ("ste", ContextUpdate),
        ("grid", AssignmentRequest),
        ("egrid", AssignmentRequest),
        ("attract", AssignmentRequest),
        ("multi", AssignmentRequest),
    ],
)
def test_a_subscription_brings_the_place_along(new_world: type[World], scheme: str, message: type) -> None:
    world = new_world([(100.0, 200.0)], scheme=scheme)
    world.put(0, (100.0, 200.0), (1.0, -0.5), stands=True)
    world.subscribe(0, 125)
    world.run(0.5)
    subscribe, *more = world.up
    assert isinstance(subscribe, Subscribe)
    assert more == [] or scheme == "multi"  # which reports once more when it knows the circles
    assert subscribe.radius == 125
    assert type(subscribe.piggyback) is message
    if scheme == "ste":
        assert subscribe.piggyback == ContextUpdate((100.0, 200.0), (1.0, -0.5))
    elif scheme == "radial":
        assert subscribe.piggyback == ContextUpdate((100.0, 200.0))
    known = world.broker.table.place(0)
    assert known is not None
    assert known[:2] == (100.0, 200.0)


@pytest.mark.parametrize("scheme", ["radial", "ste", "grid", "egrid", "attract", "multi"])
def test_a_subscription_without_radius_says_nothing_about_places(new_world: type[World], scheme: str) -> None:
    world = new_world([(100.0, 200.0)], scheme=scheme)
    world.put(0, (100.0, 200.0), (50.0, 0.0))
    world.subscribe(0, None)
    world.run(10.0)
    (subscribe,) = world.up
    assert isinstance(subscribe, Subscribe)
    assert subscribe.piggyback is None
    assert world.tap.messages == []


def test_every_fix_is_reported_unless_a_period_is_set(new_world: type[World]) -> None:
    world = new_world([(0.0, 0.0)])
    world.subscribe(0)
    world.run(10.5)
    assert len(reports(world)) == 10
    assert {report.scheme for report in reports(world)} == {1}


@pytest.mark.parametrize("scheme", ["radial", "ste"])
def test_reports_by_frequency(new_world: type[World], scheme: str) -> None:
    world = new_world([(0.0, 0.0)], scheme=scheme, set={"updates": "frequency", "period": 3.0})
    world.put(0, (0.0, 0.0), (100.0, 0.0))
    world.subscribe(0)
    world.run(21.0)
    places = [report.location[0] for report in reports(world)]
    assert len(places) == 6
    assert [b - a for a, b in pairwise(places)] == pytest.approx([300.0] * 5)


def test_reports_by_distance(new_world: type[World]) -> None:
    world = new_world([(0.0, 0.0)], set={"updates": "distance", "threshold": 10.0})
    world.subscribe(0)
    world.run(20.0)
    assert reports(world) == []  # somebody who stands has nothing to report
    world.put(0, (0.0, 0.0), (2.5, 0.0))
    world.run(21.0)
    places = [0.0, *(report.location[0] for report in reports(world))]
    steps = [b - a for a, b in pairwise(places)]
    assert len(steps) == 4
    assert all(10.0 < step <= 12.5 for step in steps)


def test_reports_by_distance_or_time_and_never_twice(new_world: type[World]) -> None:
    world = new_world([(0.0, 0.0)], set={"updates": "hybrid", "threshold": 10.0, "period": 4.0})
    world.subscribe(0)
    world.run(13.0)
    assert len(reports(world)) in (2, 3)  # every four seconds
    before = len(reports(world))
    world.put(0, (0.0, 0.0), (4.0, 0.0))
    world.run(13.0)
    places = [report.location[0] for report in reports(world)[before:]]
    steps = [b - a for a, b in pairwise(places)]
    assert steps == pytest.approx([12.0] * len(steps))  # every three, and the period starts anew each time
    assert len(steps) >= 2


def test_strategies_change_while_the_system_runs(new_world: type[World]) -> None:
    world = new_world([(0.0, 0.0)])
    world.subscribe(0)
    world.run(3.5)
    seen = len(reports(world))
    assert seen == 3
    assert world.execute(updates="distance").outcome == "skipped"  # the broker's part has no such parameter
    world.run(1.5)
    seen = len(reports(world))
    world.run(10.0)
    assert len(reports(world)) == seen


@pytest.mark.parametrize("scheme", ["radial", "ste"])
def test_the_broker_has_nothing_to_say(new_world: type[World], scheme: str) -> None:
    world = new_world([(0.0, 0.0), (50.0, 0.0)], scheme=scheme)
    world.put(0, (0.0, 0.0), (20.0, 3.0))
    for client in (0, 1):
        world.subscribe(client)
    world.run(20.0)
    assert world.tap.messages == []


@pytest.mark.parametrize("scheme", ["radial", "ste"])
def test_events_follow_subscribers(new_world: type[World], scheme: str) -> None:
    world = new_world([(0.0, 0.0), (500.0, 500.0)], scheme=scheme)
    handle = world.subscribe(0, 100)
    world.run()
    here, there = world.publish(1, (50.0, 0.0)), world.publish(1, (750.0, 0.0))
    world.run()
    assert world.heard(here) == [(0, handle.id)]
    assert world.heard(there) == []
    world.put(0, (700.0, 0.0))
    world.run(2.0)
    here, there = world.publish(1, (50.0, 0.0)), world.publish(1, (750.0, 0.0))
    world.run()
    assert world.heard(here) == []
    assert world.heard(there) == [(0, handle.id)]


def test_an_envelope_reaches_ahead_as_far_as_the_broker_says(new_world: type[World]) -> None:
    world = new_world([(500.0, 500.0), (0.0, 0.0)], scheme="ste")
    world.put(0, (500.0, 500.0), (0.0, 1.5), stands=True)
    handle = world.subscribe(0, 125)
    world.run()

    def reached(metres: float) -> bool:
        event = world.publish(1, (500.0, 500.0 + metres))
        world.run()
        return world.heard(event) == [(0, handle.id)]

    assert [reached(m) for m in (134.0, 136.0, -124.0, -126.0)] == [True, False, True, False]
    assert world.execute(alpha=3.0).outcome == "done"
    assert [reached(m) for m in (269.0, 271.0)] == [True, False]
    assert world.execute(alpha=0.0).outcome == "done"
    world.run()  # until the old envelopes have had their grace
    assert [reached(m) for m in (124.0, 126.0)] == [True, False]


def test_a_report_rides_on_an_event_of_the_same_instant(new_world: type[World]) -> None:
    world = new_world([(0.0, 0.0)])
    client = world.clients[0]
    world.subscribe(0)
    world.run()
    world.up.clear()

    def publish(fix: Fix) -> None:
        client.publish_local(Event(kind="other"))

    client.host.location.request(LocationRequest(interval=1.0), publish)
    world.run(5.0)
    events = [message for message in world.up if isinstance(message, Publish)]
    assert len(events) == len(world.up) == 5
    assert [event.piggyback for event in events] == [ContextUpdate((0.0, 0.0))] * 5
    known = world.broker.table.place(0)
    assert known is not None
    assert known[2] > world.now - 1.2


@pytest.mark.parametrize("scheme", ["radial", "grid", "attract", "multi"])
def test_without_located_subscriptions_the_sensor_rests(new_world: type[World], scheme: str) -> None:
    world = new_world([(0.0, 0.0)], scheme=scheme)
    world.put(0, (0.0, 0.0), (100.0, 0.0))
    world.subscribe(0, None)
    handle = world.subscribe(0, 100)
    world.run(3.0)
    world.clients[0].unsubscribe(handle)
    world.run()
    world.up.clear()
    world.run(10.0)
    assert world.up == []


def test_the_most_impatient_subscription_sets_the_pace(new_world: type[World]) -> None:
    world = new_world([(0.0, 0.0)])
    world.subscribe(0, 100, interval=5.0)
    fast = world.subscribe(0, 100, interval=1.0)
    world.run(10.0)
    assert 9 <= len(reports(world)) <= 11
    world.clients[0].unsubscribe(fast)
    world.run()
    world.up.clear()
    world.run(20.0)
    assert len(reports(world)) == 4
    assert math.isclose(world.now, 31.0)
