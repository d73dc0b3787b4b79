"""A mechanism's lease of its host: closed before the switch, open while active, dead afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bypass.mechanisms.filters import Radial
from bypass.places.sensor import Fix, LocationRequest
from bypass.ports.host import Lease
from bypass.ports.monitor import Monitor
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.sensor import TraceSensor
from bypass.support.units import MICROSECONDS
from bypass.transitions import MechanismStopped, NetworkDuringTransition, TransitionFailed

if TYPE_CHECKING:
    from tests.conftest import World

EVERY_SECOND = LocationRequest(interval=1.0)


class Standing:
    def position(self, client: int, at: float) -> tuple[float, float]:
        return 1.0, 2.0

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        return 0.0, 0.0


class Link:
    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, message: str) -> None:
        self.sent.append(message)


class Site:
    """A host with one lease on it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        sensor = TraceSensor(self.clock, Standing(), 4, 0.5)
        self.host = SimHost(4, self.clock, sensor, Monitor(), seed=1)
        self.link = Link()
        self.lease = Lease(self.host, "client 4's filter", self.link)

    def run(self, seconds: float) -> None:
        self.clock.run_until(self.clock.now_us + round(seconds * MICROSECONDS))


def test_before_the_switch_nothing_can_be_sent() -> None:
    site = Site()
    with pytest.raises(NetworkDuringTransition, match="client 4's filter tried to communicate before"):
        site.lease.link.send("too early")
    assert site.link.sent == []


def test_while_active_it_communicates() -> None:
    site = Site()
    site.lease.open()
    site.lease.link.send("hello")
    assert site.link.sent == ["hello"]


def test_after_the_stop_nothing_can_be_sent() -> None:
    site = Site()
    site.lease.open()
    site.lease.close()
    with pytest.raises(MechanismStopped, match="client 4's filter tried to communicate after"):
        site.lease.link.send("too late")
    assert site.link.sent == []


def test_timers_end_with_the_lease() -> None:
    site = Site()
    fired: list[int] = []
    site.lease.after(1.0, fired.append, 1)
    site.lease.after(3.0, fired.append, 3)
    site.lease.after(0.5, fired.append, 0).cancel()
    site.run(2.0)
    site.lease.close()
    site.lease.after(0.0, fired.append, 4)
    site.run(5.0)
    assert fired == [1]


def test_a_timer_due_in_the_instant_of_the_stop_does_not_fire() -> None:
    site = Site()
    fired: list[int] = []
    site.host.after(1.0, site.lease.close)
    site.lease.after(1.0, fired.append, 1)
    site.run(2.0)
    assert fired == []


def test_sensor_listeners_end_with_the_lease() -> None:
    site = Site()
    mine: list[Fix] = []
    others: list[Fix] = []
    site.lease.location.request(EVERY_SECOND, mine.append)
    site.host.location.request(EVERY_SECOND, others.append)
    site.run(2.0)
    site.lease.close()
    site.run(2.0)
    assert len(mine) == 2
    assert len(others) == 4


def test_a_lease_releases_only_its_own_listeners() -> None:
    site = Site()
    others: list[Fix] = []
    listener = others.append
    site.host.location.request(EVERY_SECOND, listener)
    site.lease.location.release(listener)
    site.run(2.0)
    assert len(others) == 2


def test_a_lease_shows_its_host() -> None:
    site = Site()
    lease, host = site.lease, site.host
    assert (lease.id, lease.now(), lease.state_info, lease.monitor) == (
        4,
        host.now(),
        host.state_info,
        host.monitor,
    )
    assert lease.random("x") is host.random("x")
    assert lease.location.current() == Fix(1.0, 2.0, 0.0, 0.0, 0.0)
    assert lease.location.last() is None


class Hasty(Radial.Client):
    """Wants to report before it is active, and leaves a timer and a listener behind."""

    name = "hasty"

    def start(self) -> None:
        super().start()
        self.host.after(0.5, self._late)
        self.host.link.send_context(self.context(self.host.location.current()))

    def _late(self) -> None:
        raise AssertionError("a timer of a mechanism that never became active")

    def moved(self, fix: Fix) -> None:
        raise AssertionError("a fix for a mechanism that never became active")


def test_a_mechanism_that_sends_while_it_starts_is_not_switched_to(new_world: type[World]) -> None:
    world = new_world([(10.0, 10.0), (20.0, 10.0)])
    client = world.clients[0]
    handle = world.subscribe(0, 100)
    world.run()
    active = client.engine.active("filter")
    with pytest.raises(TransitionFailed, match="tried to communicate before it was switched to") as failed:
        client.engine.transition("filter", Hasty)
    assert failed.value.phase == "start"
    assert client.engine.active("filter") is active
    sent = len(world.up)
    event = world.publish(1, (15.0, 10.0))
    world.run(3.0)
    assert world.heard(event) == [(0, handle.id)]
    assert len(world.up) == sent + 1 + 3  # the event, and the old mechanism's reports of three fixes
