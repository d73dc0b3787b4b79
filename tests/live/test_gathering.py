"""How long turns collect, by how busy a broker is."""

from __future__ import annotations

import pytest

from bypass.live.broker.loop.batching import LONGEST_S, SPARE, Batching, usable_processors


def waits(idle: float, used: float, processors: int = 2) -> float:
    """For how long a turn collects after the loop was idle, and processors were used, for these shares."""
    at = 0.0
    gathering = Batching(at, processors, lambda: at * used)
    for step in range(1, 201):
        at = step / 100
        gathering.until(at, at * idle)
    gathering.begin(at)
    return gathering.until(at, at * idle) - at


def test_nothing_waits_while_there_is_time_to_spare() -> None:
    assert waits(idle=1.0, used=0.0) == 0.0
    assert waits(idle=SPARE + 0.01, used=2 * (1.0 - SPARE) - 0.01) == 0.0


@pytest.mark.parametrize(("idle", "used"), [(0.0, 1.0), (0.6, 2.0)])
def test_who_is_never_idle_or_has_no_processor_left_collects_longest(idle: float, used: float) -> None:
    assert waits(idle, used) == pytest.approx(LONGEST_S, rel=0.01)


def test_the_busier_the_longer() -> None:
    by_idleness = [waits(idle, 1.0 - idle) for idle in (0.5, 0.4, 0.3, 0.2, 0.1, 0.0)]
    assert by_idleness == sorted(by_idleness)
    assert waits(SPARE / 2, 0.7) == pytest.approx(LONGEST_S / 2, rel=0.02)


def test_threads_of_their_own_count_where_there_is_one_processor() -> None:
    assert waits(idle=0.6, used=0.9, processors=1) > waits(idle=0.6, used=0.9, processors=4) == 0.0


def test_a_burst_that_is_over_is_forgotten() -> None:
    used = 0.0
    gathering = Batching(0.0, 1, lambda: used)
    used = 1.0
    assert gathering.until(1.0, 0.0) > LONGEST_S / 2
    gathering.begin(1.5)
    assert gathering.until(1.5, 0.5) == 1.5


def test_the_first_look_is_no_reason_to_wait() -> None:
    assert Batching(5.0, usable_processors()).until(5.0, 0.0) == 5.0
