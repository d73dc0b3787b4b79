"""The simulated location sensor: fixes at regular moments, whoever listens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bypass.places.sensor import Fix, LocationRequest
from bypass.sim.clock import VirtualClock
from bypass.sim.sensor import TraceSensor
from bypass.support.units import MICROSECONDS


class Walk:
    """Client 3 walks east with 2 m/s."""

    def position(self, client: int, at: float) -> tuple[float, float]:
        return 2.0 * at, float(client)

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        return 2.0, 0.0


class Listener:
    def __init__(self) -> None:
        self.fixes: list[Fix] = []

    def __call__(self, fix: Fix) -> None:
        self.fixes.append(fix)

    @property
    def times(self) -> list[float]:
        return [fix.at for fix in self.fixes]


def sensor(phase: float = 0.5) -> tuple[VirtualClock, TraceSensor]:
    clock = VirtualClock()
    return clock, TraceSensor(clock, Walk(), 3, phase)


def run(clock: VirtualClock, until: float) -> None:
    clock.run_until(round(until * MICROSECONDS))


def test_fixes_tell_the_truth() -> None:
    clock, gps = sensor()
    listener = Listener()
    gps.request(LocationRequest(interval=2.0), listener)
    run(clock, 4.0)
    assert listener.fixes == [Fix(2.0, 3.0, 2.0, 0.0, 1.0), Fix(6.0, 3.0, 2.0, 0.0, 3.0)]
    assert gps.last() == listener.fixes[-1]
    assert gps.current() == Fix(8.0, 3.0, 2.0, 0.0, 4.0)


@given(
    st.floats(0, 1, exclude_max=True),
    st.lists(st.tuples(st.integers(0, 12_000), st.booleans()), max_size=12),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_listeners_come_and_go_and_fixes_stay_where_they_are(
    phase: float, changes: list[tuple[int, bool]]
) -> None:
    """One listener stays all the time; the others must not be felt, not even at the moment of a fix."""
    clock, gps = sensor(phase)
    steady, guest = Listener(), Listener()
    gps.request(LocationRequest(interval=2.0), steady)
    for millisecond, joins in changes:
        if joins:
            clock.at(millisecond * 1000, gps.request, LocationRequest(interval=2.0), guest)
        else:
            clock.at(millisecond * 1000, gps.release, guest)
    run(clock, 12.0)
    step = round(phase * 2 * MICROSECONDS) % (2 * MICROSECONDS)
    assert steady.times == [t / MICROSECONDS for t in range(step, 12 * MICROSECONDS, 2 * MICROSECONDS)]
    assert set(guest.times) <= set(steady.times)


@pytest.mark.parametrize("first", ["release", "request"])
def test_a_listener_is_exchanged_at_the_very_moment_of_a_fix(first: str) -> None:
    clock, gps = sensor(phase=0.0)
    old, new = Listener(), Listener()
    every = LocationRequest(interval=2.0)

    def exchange() -> None:
        if first == "release":
            gps.release(old)
            gps.request(every, new)
        else:
            gps.request(every, new)
            gps.release(old)

    clock.at(2 * MICROSECONDS, exchange)
    gps.request(every, old)
    run(clock, 7.0)
    assert sorted([*old.times, *new.times]) == [0.0, 2.0, 4.0, 6.0]


def test_the_shortest_interval_serves_all() -> None:
    clock, gps = sensor(phase=0.0)
    slow, fast = Listener(), Listener()
    gps.request(LocationRequest(interval=5.0), slow)
    run(clock, 1.0)
    gps.request(LocationRequest(interval=1.0), fast)
    run(clock, 4.0)
    assert fast.times == [1.0, 2.0, 3.0]
    assert slow.times == [0.0, 1.0, 2.0, 3.0]
    gps.release(fast)
    run(clock, 11.0)
    assert slow.times[4:] == [5.0, 10.0]


def test_the_sensor_rests_when_nobody_listens() -> None:
    clock, gps = sensor()
    listener = Listener()
    gps.request(LocationRequest(interval=2.0), listener)
    gps.release(listener)
    gps.release(listener)
    run(clock, 10.0)
    assert listener.times == []


def test_after_a_rest_the_last_fix_is_a_new_one() -> None:
    clock, gps = sensor()
    listener = Listener()
    gps.request(LocationRequest(interval=2.0), listener)
    run(clock, 2.0)
    gps.release(listener)
    run(clock, 100.2)
    gps.request(LocationRequest(interval=2.0), listener)
    last = gps.last()
    assert last is not None
    assert last.at == pytest.approx(100.2)


def test_who_is_released_by_another_listener_hears_no_more() -> None:
    clock, gps = sensor()
    second = Listener()

    def first(fix: Fix) -> None:
        gps.release(second)

    gps.request(LocationRequest(interval=2.0), first)
    gps.request(LocationRequest(interval=2.0), second)
    run(clock, 6.0)
    assert second.times == []


def test_before_the_first_request_there_is_no_last_fix() -> None:
    assert sensor()[1].last() is None


@pytest.mark.parametrize("interval", [0.0, -1.0, 1e-9, float("inf"), float("nan")])
def test_intervals_that_no_sensor_can_keep(interval: float) -> None:
    with pytest.raises(ValidationError):
        LocationRequest(interval=interval)
