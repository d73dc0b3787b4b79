"""Events that expire: by theory, and by playing queues event by event."""

from __future__ import annotations

import random
from collections import deque
from math import exp, inf, isnan, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.queueing import (
    Centre,
    InvalidCentre,
    Unstable,
    compose,
    discarded_late,
    dropped_waiting,
)
from tests.models.test_queueing import centres

METRO = Centre("metro", 1.0, 1 / 16, 20.0, 20.0)


def test_an_ordinary_queue_has_exponential_times() -> None:
    plain = Centre("c", 1.0, 1 / 16)
    fate = discarded_late([plain], 0.1)
    assert fate.expired == pytest.approx(exp(-0.1 * 15), rel=1e-12)
    assert fate.delay == pytest.approx(1 / 15 - 0.1 * exp(-1.5) / (1 - exp(-1.5)), rel=1e-12)


def test_without_others_an_event_races_against_its_lifetime() -> None:
    """Service (1/16 s on average) or lifetime (1/4 s): the time until the first of them is exponential."""
    fate = dropped_waiting([Centre("c", 0.0, 1 / 16)], 1 / 4)
    assert (fate.expired, fate.delay) == pytest.approx((0.2, 0.05))


@settings(max_examples=60, deadline=None)
@given(centres(most=0.9), st.floats(-2.0, 3.0).map(lambda power: 10.0**power))
def test_long_lifetimes_change_nothing_and_shorter_ones_lose_more(centre: Centre, factor: float) -> None:
    lifetime = factor * centre.response()
    late, later = (discarded_late([centre], t) for t in (lifetime, 2 * lifetime))
    assert later.expired <= late.expired + 1e-9
    assert isnan(late.delay) or late.delay <= min(lifetime, centre.response()) * (1 + 1e-6)
    never = discarded_late([centre], 1000 * (centre.response() + centre.off))  # OFF may be rare and long
    assert never.expired == pytest.approx(0.0, abs=1e-6)
    assert never.delay == pytest.approx(centre.response(), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    centres(most=0.9).filter(lambda centre: centre.mean_number() < 1000),
    st.floats(-2.0, 1.0).map(lambda power: 10.0**power),
)
def test_dropped_events_make_room_for_others(centre: Centre, factor: float) -> None:
    lifetime = factor * centre.response()
    fate = dropped_waiting([centre], lifetime)
    assert 0.0 < fate.expired < 1.0
    assert fate.delay < centre.response()
    assert dropped_waiting([centre], 2 * lifetime).expired < fate.expired


def test_no_load_is_too_much_where_what_waits_is_dropped() -> None:
    """Twice as much as can be served: half of it is dropped, if lifetimes are long."""
    crowded = Centre("c", 32.0, 1 / 16)
    assert dropped_waiting([crowded], 50.0).expired == pytest.approx(0.5, abs=1e-9)
    with pytest.raises(Unstable, match=r"^c: load 2: expected below 1"):
        discarded_late([crowded], 50.0)


def test_along_a_path_delays_add_up_and_less_comes_to_the_next() -> None:
    path = compose(1.0, 1 / 16, publisher=(292.1, 78.7), subscriber=(155.8, 72.1), brokers=2)
    total = sum(centre.response() for centre in path)
    late, dropped = discarded_late(path, 1e5), dropped_waiting(path, 1e7)
    assert late.delay == pytest.approx(total, rel=1e-6)
    assert dropped.delay == pytest.approx(total, rel=1e-4)
    assert dropped.expired == pytest.approx(total / 1e7, rel=1e-3)
    first, rest = dropped_waiting(path[:1], 60.0), dropped_waiting(path, 60.0)
    assert first.expired < rest.expired
    assert first.delay < rest.delay


@pytest.mark.parametrize("lifetime", [0.0, -1.0, inf, float("nan")])
def test_lifetimes_without_sense_are_refused(lifetime: float) -> None:
    for ask in (discarded_late, dropped_waiting):
        with pytest.raises(InvalidCentre, match=f"^lifetime {lifetime} s: expected a finite number above 0"):
            ask([METRO], lifetime)


# -- played ------------------------------------------------------------------------------------------------


def played(
    centre: Centre, lifetime: float, *, drops: bool, events: int, seed: int
) -> tuple[int, list[float]]:
    """How many events expire, and the delays of the others, from a queue that is played moment by moment."""
    draw = random.Random(seed)
    now, on, queue = 0.0, True, deque[tuple[float, float]]()  # when each came, and when it expires
    comes, turns = draw.expovariate(centre.rate), draw.expovariate(1.0 / centre.on)
    expired, delays = 0, list[float]()
    while expired + len(delays) < events:
        if drops:
            alive = [each for each in queue if each[1] > now]
            expired += len(queue) - len(alive)
            queue = deque(alive)
        done = (
            now + draw.expovariate(1.0 / centre.service) if on and queue else inf
        )  # services have no memory
        ends = min((each[1] for each in queue), default=inf) if drops else inf
        now = min(comes, turns, done, ends)
        if now == done:
            came, limit = queue.popleft()
            if now > limit:
                expired += 1
            else:
                delays.append(now - came)
        elif now == comes:
            life = draw.expovariate(1.0 / lifetime) if drops else lifetime
            queue.append((now, now + life))
            comes = now + draw.expovariate(centre.rate)
        elif now == turns:
            on = not on
            turns = now + draw.expovariate(1.0 / (centre.on if on else centre.off))
    return expired, delays


@pytest.mark.parametrize("drops", [False, True])
def test_a_queue_that_is_played_loses_what_theory_says(drops: bool) -> None:
    centre, lifetime = Centre("c", 2.0, 0.2, 3.0, 1.0), 1.0
    fate = (dropped_waiting if drops else discarded_late)([centre], lifetime)
    runs = [played(centre, lifetime, drops=drops, events=15_000, seed=seed) for seed in range(12)]
    shares = [expired / (expired + len(delays)) for expired, delays in runs]
    means = [sum(delays) / len(delays) for _, delays in runs]
    for found, expected in ((shares, fate.expired), (means, fate.delay)):
        mean = sum(found) / len(found)
        error = sqrt(sum((each - mean) ** 2 for each in found) / (len(found) - 1) / len(found))
        assert abs(mean - expected) < 4 * error
        assert error < 0.03 * expected  # else it could not tell a wrong theory
