"""Which mechanism clients used when, and how fast transitions reached them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.scenarios.experiments.schema import Step
from bypass.scenarios.figures.usage import (
    ClientExecution,
    Course,
    JoinOrLeave,
    courses,
    spread_of,
    time_shares,
)
from bypass.transitions import Action, Plan, Record

DURATION = 100.0
MECHANISMS = ["nothing", "gossip", "flooding"]


def execution(
    at: float,
    host: str,
    target: str,
    source: str = "nothing",
    proxy: str = "direct",
    outcome: str = "done",
) -> ClientExecution:
    record = Record("1", "plan", "who", "why", proxy=proxy, host=host, at=at, source=source, target=target)
    record.outcome = outcome  # type: ignore[assignment] # one of the results
    return ClientExecution(record, at, 2.0 * at)


# -- courses ----------------------------------------------------------------------------------------------


def test_a_course_has_what_a_client_switched_to() -> None:
    executions = [
        execution(5.0, "client-1", "gossip"),
        execution(6.0, "client-1", "gossip", "gossip"),  # a change of parameters
        execution(7.0, "client-0", "broadcast", proxy="gateway"),
        execution(8.0, "client-0", "flooding", outcome="failed"),
        execution(9.0, "broker", "grid", "radial", proxy="direct"),
        execution(9.5, "client-1", "flooding", "gossip"),
    ]
    found = courses("direct", "nothing", 2, executions, ())
    assert found == [[(0.0, "nothing")], [(0.0, "nothing"), (5.0, "gossip"), (9.5, "flooding")]]


def test_who_comes_begins_again_and_who_goes_uses_nothing() -> None:
    attendance = [JoinOrLeave(0.0, 0, True), JoinOrLeave(10.0, 0, False), JoinOrLeave(30.0, 1, True)]
    attendance += [JoinOrLeave(40.0, 0, True)]
    found = courses(
        "mode", "augment", 3, [execution(5.0, "client-0", "cloud", "augment", "mode")], attendance
    )
    assert found == [
        [(0.0, "augment"), (5.0, "cloud"), (10.0, "nothing"), (40.0, "augment")],
        [(30.0, "augment")],
        [],
    ]


times = st.integers(0, 120_000).map(lambda ms: ms / 1000.0)
a_course = st.lists(st.tuples(times, st.sampled_from(MECHANISMS)), max_size=5).map(
    lambda changes: sorted(changes, key=lambda change: change[0])
)


@given(st.lists(a_course, min_size=1, max_size=6))
def test_shares_are_those_of_looking_at_each_moment(found: list[Course]) -> None:
    shares = time_shares(found, DURATION)
    assert math.isclose(sum(shares.values()), 1.0)
    assert all(share > 0.0 for share in shares.values())
    edges = sorted({0.0, DURATION, *(at for course in found for at, _ in course if at < DURATION)})
    expected: dict[str, float] = {}
    for start, end in pairwise(edges):
        for course in found:
            used = [mechanism for at, mechanism in course if at <= start]
            name = used[-1] if used else "nothing"
            expected[name] = expected.get(name, 0.0) + (end - start) / (DURATION * len(found))
    assert shares == pytest.approx({name: share for name, share in expected.items() if share > 0.0})


@given(st.lists(st.lists(times, max_size=5).map(sorted), min_size=1, max_size=5))
def test_who_always_used_something_never_used_nothing(changes: list[list[float]]) -> None:
    found: list[Course] = [[(0.0, "a"), *((at, "ab"[i % 2]) for i, at in enumerate(c))] for c in changes]
    assert "nothing" not in time_shares(found, DURATION)


# -- spread -----------------------------------------------------------------------------------------------

STEP = Step(at=20.0, plan=Plan(plan="p", actions=(Action(proxy="direct", to="gossip"),)))


def test_a_spread_has_the_first_switch_of_each_client_until_the_next_step() -> None:
    executions = [
        execution(19.9, "client-0", "gossip"),
        execution(20.0, "client-1", "gossip"),
        execution(24.0, "client-2", "gossip"),
        execution(25.0, "client-2", "flooding", "gossip"),
        execution(26.0, "client-2", "gossip", "flooding"),
        execution(27.0, "client-3", "gossip", "gossip"),
        execution(28.0, "client-3", "gossip", proxy="gateway"),
        execution(29.0, "broker", "gossip"),
        execution(55.0, "client-4", "gossip"),
        execution(60.0, "client-5", "gossip"),
    ]
    spread = spread_of(STEP, "next", 60.0, 8, executions)
    assert spread.delay.tolist() == [0.0, 4.0, 35.0]
    assert spread.x.tolist() == [20.0, 24.0, 55.0]
    assert spread.y.tolist() == [40.0, 48.0, 110.0]
    summary = spread.summary()
    assert summary["reached"] == 3 / 8
    assert (summary["first_s"], summary["p50_s"], summary["last_s"]) == (0.0, 4.0, 35.0)
    assert summary["first_to_last_s"] == 35.0
    assert summary["mean_s"] == pytest.approx(13.0)
    assert summary["within_30_s"] == 2 / 8


def test_a_step_that_reached_nobody_has_no_delays() -> None:
    summary = spread_of(STEP, "next", 60.0, 8, []).summary()
    assert (summary["reached"], summary["within_5_s"], summary["within_30_s"]) == (0.0, 0.0, 0.0)
    assert all(summary[name] is None for name in ("first_s", "mean_s", "p90_s", "last_s"))
    assert not np.isnan(summary["at_s"])
