"""Figures that the dissemination scenarios are judged by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.places.region import Place
from bypass.scenarios.figures.figures import (
    by_centre,
    by_time,
    correlation,
    mechanisms_between,
    most_crowded,
    present,
    recall_by_density,
    share_inside,
    slowest_plan,
)
from bypass.scenarios.figures.usage import ClientExecution, Course, JoinOrLeave, time_shares
from bypass.transitions import Record

TIMES = st.floats(0, 100, allow_nan=False)
MECHANISMS = st.sampled_from(("nothing", "gossip", "unicast"))


@st.composite
def courses(draw: st.DrawFn) -> list[Course]:
    """Each client has something from the beginning on."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        later = sorted(draw(st.lists(TIMES, max_size=4)))
        found.append([(at, draw(MECHANISMS)) for at in (0.0, *later)])
    return found


def events(at_s: Any, recall: Any, x: Any = 0.0, y: Any = 0.0, subscribers: int = 100) -> dict[str, Any]:
    """Events with so many subscribers each; nobody else is notified."""
    at = np.asarray(at_s, float)
    shares = np.broadcast_to(np.asarray(recall, float), at.shape)
    correct = np.rint(shares * subscribers).astype(np.int64)
    return {
        "at_us": np.rint(at * 1e6).astype(np.int64),
        "x": np.broadcast_to(np.asarray(x, float), at.shape),
        "y": np.broadcast_to(np.asarray(y, float), at.shape),
        "subscribers": np.full(at.shape, subscribers),
        "notified": correct,
        "correct": correct,
        "delay_us": np.full(at.shape, 1000.0),
    }


def test_first_and_last_fifth() -> None:
    at = np.arange(0.0, 100.0, 0.1)
    found = by_time(events(at, np.where(at < 20.0, 0.2, np.where(at >= 80.0, 0.9, 0.5))), 100.0)
    assert found["first"]["recall"] == pytest.approx(0.2)
    assert found["last"] == pytest.approx({"recall": 0.9, "precision": 1.0, "delay_ms": 1.0})


def test_the_centre_is_a_quarter_of_the_world() -> None:
    x, y = (each.ravel() for each in np.meshgrid(np.arange(1.0, 200.0, 2.0), np.arange(0.5, 100.0)))
    inner = (np.abs(x - 100.0) <= 50.0) & (np.abs(y - 50.0) <= 25.0)
    assert inner.mean() == pytest.approx(0.25)
    found = by_centre(events(np.zeros(len(x)), np.where(inner, 0.7, 0.1), x, y), 200.0, 100.0)
    assert found == pytest.approx({"centre": 0.7, "border": 0.1})


@pytest.mark.parametrize("sign", [1, -1])
def test_recall_that_follows_density(sign: int) -> None:
    cells = np.arange(6)
    x = np.repeat(cells * 100.0 + 50.0, 25)
    found = events(np.zeros(len(x)), 0.5, x)
    found["subscribers"] = np.repeat(10 + 10 * cells, 25)
    found["correct"] = np.repeat((10 + 10 * cells) * (cells[::sign] + 1) // 10, 25)
    assert recall_by_density(found) == pytest.approx(sign)


def test_cells_with_few_events_say_nothing_of_density() -> None:
    x = np.concatenate((np.repeat([50.0, 150.0, 250.0], 20), [350.0]))
    found = events(np.zeros(len(x)), np.concatenate((np.repeat([0.1, 0.2, 0.3], 20), [0.0])), x)
    found["subscribers"] = np.concatenate((np.repeat([10, 20, 30], 20), [1000]))
    found["correct"] = np.concatenate((np.repeat([1, 4, 9], 20), [0]))
    assert recall_by_density(found) == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=20))
@settings(max_examples=50, deadline=None)
def test_a_correlation_is_symmetric_and_knows_no_unit(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, float).T
    found = correlation(a, b)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert math.isnan(found)
    else:
        assert -1 - 1e-9 <= found <= 1 + 1e-9
        assert correlation(b, 3 * a + 1) == pytest.approx(found, abs=1e-9)
        assert correlation(-a, b) == pytest.approx(-found, abs=1e-9)


def test_inside_an_attraction_point_or_almost() -> None:
    x, y = np.array([0.0, 10.0, 12.0, 20.0]), np.zeros(4)
    places = (Place("here", 0.0, 0.0, 10.0),)
    assert share_inside(x, y, places, 0.0) == 0.5
    assert share_inside(x, y, places, 2.0) == 0.75
    assert share_inside(x, y, (), 2.0) == 0.0
    assert math.isnan(share_inside(x[:0], y[:0], places, 0.0))


@given(courses(), st.tuples(TIMES, TIMES, TIMES).map(sorted))
@settings(max_examples=50, deadline=None)
def test_shares_of_a_stretch_add_up(found: list[Course], edges: list[float]) -> None:
    start, middle, end = edges
    if end - start < 1e-6:
        return
    whole = mechanisms_between(found, start, end)
    assert sum(whole.values()) == pytest.approx(1.0)
    for mechanism, share in whole.items():
        parts = [(a, b) for a, b in ((start, middle), (middle, end)) if b > a]
        seconds = sum(mechanisms_between(found, a, b)[mechanism] * (b - a) for a, b in parts)
        assert share * (end - start) == pytest.approx(seconds, abs=1e-9)


@given(courses())
@settings(max_examples=50, deadline=None)
def test_shares_of_the_whole_run_are_those_of_usage(found: list[Course]) -> None:
    whole, usage = mechanisms_between(found, 0.0, 100.0), time_shares(found, 100.0)
    assert set(usage) <= {*whole, "nothing"}  # what rounding leaves over counts as nothing
    for mechanism, share in whole.items():
        assert share == pytest.approx(usage.get(mechanism, 0.0), abs=1e-9)


def test_who_is_there_when() -> None:
    comes = [JoinOrLeave(float(at), client, True) for client, at in enumerate((0, 0, 10, 20))]
    goes = [JoinOrLeave(30.0, 0, False), JoinOrLeave(40.0, 1, False)]
    times = np.array([0.0, 9.9, 10.0, 25.0, 30.0, 45.0])
    assert present([*comes, *goes], 4, times).tolist() == [2, 2, 3, 4, 3, 2]
    assert most_crowded([*comes, *goes], 4, 50.0) == (20.0, 30.0)


def test_if_nobody_comes_or_goes_all_are_there_all_the_time() -> None:
    assert present((), 7, np.array([0.0, 5.0])).tolist() == [7, 7]
    assert most_crowded((), 7, 50.0) == (0.0, 50.0)


def executed(plan: str, host: str, at: float, target: str = "gossip") -> ClientExecution:
    record = Record(plan, plan, "", "", host, at, "direct", target=target, outcome="done")
    return ClientExecution(record, 0.0, 0.0)


def test_the_slowest_plan_is_that_with_the_longest_way_from_its_first_to_its_last_client() -> None:
    quick = [executed("a", f"client-{i}", 1.0 + 0.01 * i) for i in range(3)]
    slow = [executed("b", f"client-{i}", 5.0 + 0.02 * i) for i in range(3)]
    others = [executed("c", "client-1", 2.0), executed("c", "broker", 9.0), executed("", "client-1", 50.0)]
    assert slowest_plan([*quick, *slow, *others]) == pytest.approx(0.04)
    assert math.isnan(slowest_plan([]))
