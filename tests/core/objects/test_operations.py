"""Operations that nobody answers: how often they are tried."""

from __future__ import annotations

from bypass.core.objects.operations import FOREVER, OperationResult, Operations
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.protocol.storage import OperationStatus
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.support.units import MICROSECONDS


def begun(retries: int) -> tuple[VirtualClock, Operations, list[float], list[OperationResult]]:
    """An operation that is tried every two seconds, the moments at which it is, and its end."""
    clock = VirtualClock()
    operations = Operations(SimHost(1, clock, NoSensor(), Monitor(), seed=1), 2.0, 3)
    tries: list[float] = []
    ends: list[OperationResult] = []
    operations.begin(lambda _: tries.append(clock.now()), ends.append, retries=retries)
    return clock, operations, tries, ends


def test_an_operation_ends_after_its_retries() -> None:
    clock, _, tries, ends = begun(3)
    clock.run_until(60 * MICROSECONDS)
    assert tries == [0.0, 2.0, 4.0, 6.0]
    assert [each.status for each in ends] == [OperationStatus.TIMEOUT]


def test_attempts_before_an_exchange_do_not_count() -> None:
    clock, operations, tries, ends = begun(3)
    clock.run_until(5 * MICROSECONDS)
    operations.try_again()
    clock.run_until(60 * MICROSECONDS)
    assert tries == [0.0, 2.0, 4.0, 5.0, 7.0, 9.0, 11.0]
    assert len(ends) == 1


def test_times_between_attempts_grow_after_the_usual_ones_and_begin_anew_after_an_exchange() -> None:
    clock, operations, tries, ends = begun(FOREVER)
    clock.run_until(25 * MICROSECONDS)
    operations.try_again()
    clock.run_until(38 * MICROSECONDS)
    assert tries == [0.0, 2.0, 4.0, 6.0, 8.0, 12.0, 20.0, 25.0, 27.0, 29.0, 31.0, 33.0, 37.0]
    assert not ends
