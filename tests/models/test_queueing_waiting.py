"""How long events will wait for clients that come and go, told by when they did so far."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.models.queueing import Centre, DelayEstimator


def sent(events: int, seconds: float) -> DelayEstimator:
    """Clients get that many events while they are there, which takes so many seconds in all."""
    return DelayEstimator(lambda _client: (events, seconds))


@given(
    st.lists(st.tuples(st.floats(0.1, 100.0), st.floats(0.1, 100.0)), min_size=1, max_size=8),
    st.floats(0.0, 50.0),
    st.integers(1, 50),
)
def test_means_are_times_by_periods_that_ended(
    turns: list[tuple[float, float]], lasting: float, events: int
) -> None:
    estimator, now = sent(events, 0.001 * events), 3.0
    estimator.joined(7, now)
    for on, off in turns:
        estimator.left(7, now + on)
        estimator.joined(7, now + on + off)
        now += on + off
    there = sum(on for on, _ in turns) + lasting
    centre = estimator.centre(7, now + lasting)
    assert centre is not None
    assert (centre.rate, centre.service, centre.on, centre.off) == pytest.approx(
        (events / there, 0.001, there / len(turns), sum(off for _, off in turns) / len(turns)), rel=1e-9
    )
    if centre.load < 1.0:
        assert estimator.delay(7, now + lasting) == centre.response()


def test_who_never_leaves_makes_nobody_wait() -> None:
    estimator = sent(10, 1.0)
    estimator.joined(1, 0.0)
    assert estimator.centre(1, 20.0) == Centre("client 1", 0.5, 0.1)
    assert estimator.delay(1, 20.0) == pytest.approx(0.1 / 0.95)


def test_nobody_knows_before_somebody_came_back_or_got_something() -> None:
    estimator = sent(10, 1.0)
    assert estimator.delay(1, 5.0) is None
    estimator.joined(1, 5.0)
    estimator.left(1, 15.0)
    assert estimator.delay(1, 50.0) is None
    estimator.joined(1, 20.0)
    assert estimator.centre(1, 20.0) == Centre("client 1", 1.0, 0.1, 10.0, 5.0)
    silent = sent(0, 0.0)
    silent.joined(1, 0.0)
    assert silent.delay(1, 9.0) is None


def test_who_was_away_from_the_beginning_was_not_there() -> None:
    """A run begins with everybody, and those who come later leave at its first moment."""
    estimator = sent(10, 1.0)
    estimator.joined(1, 0.0)
    estimator.left(1, 0.0)
    estimator.joined(1, 30.0)
    estimator.left(1, 40.0)
    assert estimator.centre(1, 45.0) == Centre("client 1", 1.0, 0.1, 10.0, 35.0)


def test_to_be_told_twice_changes_nothing() -> None:
    estimator = sent(10, 1.0)
    estimator.left(1, 1.0)
    for now in (2.0, 3.0):
        estimator.joined(1, now)
    for now in (12.0, 13.0):
        estimator.left(1, now)
    estimator.joined(1, 17.0)
    assert estimator.centre(1, 17.0) == Centre("client 1", 1.0, 0.1, 10.0, 5.0)


def test_what_cannot_all_be_sent_waits_for_ever() -> None:
    estimator = sent(100, 9.0)
    estimator.joined(1, 0.0)
    estimator.left(1, 10.0)
    estimator.joined(1, 20.0)
    assert estimator.delay(1, 20.0) == inf


def test_events_that_wait_for_a_client_come_up_all_the_time() -> None:
    estimator = DelayEstimator(lambda _client: (10, 1.0), durable=True)
    estimator.joined(1, 0.0)
    estimator.left(1, 10.0)
    estimator.joined(1, 20.0)
    assert estimator.centre(1, 20.0) == Centre("client 1", 0.5, 0.1, 10.0, 10.0)


def test_who_is_forgotten_is_new_again() -> None:
    estimator = sent(10, 1.0)
    estimator.joined(1, 0.0)
    for _ in range(2):
        estimator.forget(1)
        assert estimator.delay(1, 5.0) is None
    estimator.joined(1, 10.0)
    assert estimator.centre(1, 15.0) == Centre("client 1", 2.0, 0.1)
