"""Virtual time: what is due happens in order, once, unless it was called off."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.sim.clock import VirtualClock
from bypass.support.units import MICROSECONDS


@given(st.lists(st.integers(0, 20), max_size=40))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_by_time_and_then_by_order_of_asking(times: list[int]) -> None:
    clock = VirtualClock()
    done: list[tuple[int, int]] = []
    for number, time in enumerate(times):
        clock.at(time, lambda n: done.append((clock.now_us, n)), number)
    clock.run_until(21)
    assert done == sorted((time, number) for number, time in enumerate(times))
    assert clock.now_us == 21


def test_what_is_asked_for_in_an_instant_happens_in_that_instant_after_the_rest() -> None:
    clock = VirtualClock()
    done: list[str] = []

    def first() -> None:
        done.append("first")
        clock.after(0.0, done.append, "asked for by first")
        clock.at(0, done.append, "too late, so now")

    clock.at(5, first)
    clock.at(5, done.append, "second")
    clock.run_until(6)
    assert done == ["first", "second", "asked for by first", "too late, so now"]


def test_up_to_but_not_including() -> None:
    clock = VirtualClock()
    done: list[int] = []
    clock.after(2.0, done.append, 1)
    clock.run_until(2 * MICROSECONDS)
    assert done == []
    assert clock.now() == 2.0
    clock.run_until(2 * MICROSECONDS + 1)
    assert done == [1]


def test_time_never_goes_back() -> None:
    clock = VirtualClock()
    clock.run_until(10)
    clock.run_until(3)
    assert clock.now_us == 10


def test_what_is_called_off_never_happens() -> None:
    clock = VirtualClock()
    done: list[int] = []
    kept, cancelled = clock.after(1.0, done.append, 1), clock.after(1.0, done.append, 2)
    cancelled.cancel()
    clock.run_until(2 * MICROSECONDS)
    assert done == [1]
    kept.cancel()
    cancelled.cancel()


def test_one_timer_calls_another_off_in_the_same_instant() -> None:
    clock = VirtualClock()
    done: list[int] = []
    clock.after(1.0, lambda: later.cancel())
    later = clock.after(1.0, done.append, 1)
    clock.run_until(2 * MICROSECONDS)
    assert done == []
