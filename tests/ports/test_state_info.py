from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.ports.state_info import LOCATION, VELOCITY, Key, Reading, StateInformation, VelocityFromLocations

BATTERY: Key[float] = Key("battery")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def knows(**at: float) -> Callable[[int], Reading[float] | None]:
    """A provider that knows client n as of time `at["cn"]`; its readings carry their time as value."""

    def provider(entity: int) -> Reading[float] | None:
        time = at.get(f"c{entity}")
        return None if time is None else Reading(time, time)

    return provider


def test_the_freshest_reading_wins_whatever_the_order_of_providers() -> None:
    sis = StateInformation(Clock())
    sis.provide(BATTERY, knows(c1=50, c2=80))
    sis.provide(BATTERY, knows(c1=60, c2=70))
    sis.provide(BATTERY, knows(c3=10))
    assert sis.get(BATTERY, 1) == Reading(60, 60)
    assert sis.get(BATTERY, 2) == Reading(80, 80)
    assert sis.get(BATTERY, 3) == Reading(10, 10)
    assert sis.get(BATTERY, 4) is None
    assert sis.get(LOCATION, 1) is None


def test_of_equally_fresh_readings_the_first_providers_wins() -> None:
    sis = StateInformation(Clock())
    sis.provide(LOCATION, lambda entity: Reading((1.0, 1.0), 5.0))
    sis.provide(LOCATION, lambda entity: Reading((2.0, 2.0), 5.0))
    assert sis.get(LOCATION, 1) == Reading((1.0, 1.0), 5.0)


def test_old_readings_are_not_given_to_those_who_mind() -> None:
    clock = Clock()
    sis = StateInformation(clock)
    sis.provide(BATTERY, knows(c1=90))
    assert sis.get(BATTERY, 1, max_age=10) == Reading(90, 90)
    clock.now += 0.5
    assert sis.get(BATTERY, 1, max_age=10) is None
    assert sis.get(BATTERY, 1) == Reading(90, 90)


def test_many_are_looked_up_as_each_of_them() -> None:
    sis = StateInformation(Clock())
    assert sis.get_many(BATTERY, [1, 2]) == [None, None]
    sis.provide(BATTERY, knows(c1=50, c2=80))
    assert sis.get_many(BATTERY, [2, 9, 1]) == [80, None, 50]
    sis.provide(BATTERY, knows(c1=60, c3=10))
    assert sis.get_many(BATTERY, [3, 2, 1, 9]) == [10, 80, 60, None]
    assert sis.get_many(BATTERY, []) == []


def test_a_provider_that_answers_for_many_is_asked_once_where_it_is_the_only_one() -> None:
    sis, asked = StateInformation(Clock()), list[Sequence[int]]()
    provider, other = knows(c1=50, c2=80), knows(c1=60)

    def bulk(entities: Sequence[int]) -> list[float | None]:
        asked.append(entities)
        return [{1: 50.0, 2: 80.0}.get(entity) for entity in entities]

    sis.provide(BATTERY, provider, bulk)
    assert sis.get_many(BATTERY, [3, 2, 1]) == [None, 80, 50]
    assert asked == [[3, 2, 1]]
    sis.provide(BATTERY, other)
    assert sis.get_many(BATTERY, [3, 2, 1]) == [None, 80, 60]


def test_velocity_comes_from_the_last_two_locations() -> None:
    velocity = VelocityFromLocations()
    sis = StateInformation(Clock())
    sis.provide(VELOCITY, velocity)
    assert sis.get(VELOCITY, 1) is None
    velocity.report(1, Reading((0.0, 0.0), 10.0))
    assert sis.get(VELOCITY, 1) is None
    velocity.report(1, Reading((6.0, -2.0), 14.0))
    assert sis.get(VELOCITY, 1) == Reading((1.5, -0.5), 14.0)
    velocity.report(1, Reading((99.0, 99.0), 14.0))
    velocity.report(1, Reading((99.0, 99.0), 12.0))
    assert sis.get(VELOCITY, 1) == Reading((1.5, -0.5), 14.0)
    velocity.report(1, Reading((6.0, 0.0), 15.0))
    assert sis.get(VELOCITY, 1) == Reading((0.0, 2.0), 15.0)
    assert sis.get(VELOCITY, 2) is None
    assert velocity.many([2, 1]) == [None, (0.0, 2.0)]
    velocity.forget(1)
    assert sis.get(VELOCITY, 1) is None
    velocity.forget(1)


@given(
    st.tuples(st.floats(-30, 30), st.floats(-30, 30)),
    st.lists(st.floats(0, 1000), min_size=2, max_size=8, unique_by=lambda at: round(at, 1)),
)
def test_steady_movement_gives_its_velocity_in_whatever_order_reports_come(
    vector: tuple[float, float], times: list[float]
) -> None:
    velocity = VelocityFromLocations()
    for at in times:
        velocity.report(7, Reading((5 + vector[0] * at, vector[1] * at), at))
    reading = velocity(7)
    if times[0] == max(times):
        assert reading is None
    else:
        assert reading is not None
        assert reading.at == max(times)
        assert reading.value == pytest.approx(vector, abs=1e-6)
