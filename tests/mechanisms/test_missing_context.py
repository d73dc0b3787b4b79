"""Subscriptions whose owner has not said where it is are ignored, served unfiltered, or served late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bypass.events.filters import attr
from bypass.mechanisms.filters.base.broker import WAITING_EVENTS, WAITING_SECONDS
from bypass.places.areas import Area
from bypass.places.sensor import Fix, FixListener, LocationRequest
from bypass.protocol.messages import ContextUpdate
from bypass.sim.host import SimHost

if TYPE_CHECKING:
    from tests.conftest import World

SCHEMES = ["radial", "ste", "grid", "egrid", "attract", "multi"]
HERE, THERE = (250.0, 300.0), (900.0, 100.0)


class Dark:
    """A sensor that sees no satellites; then the test lets it."""

    def __init__(self) -> None:
        self.fix: Fix | None = None
        self._listeners: list[FixListener] = []

    def request(self, request: LocationRequest, listener: FixListener) -> None:
        self._listeners.append(listener)

    def release(self, listener: FixListener) -> None:
        self._listeners.remove(listener)

    def available(self) -> bool:
        return True

    def last(self) -> Fix | None:
        return self.fix

    def current(self) -> Fix | None:
        return self.fix

    def place(self) -> tuple[float, float] | None:
        return None if self.fix is None else (self.fix.x, self.fix.y)

    def see(self, x: float, y: float, at: float) -> None:
        self.fix = Fix(x, y, 0.0, 0.0, at)
        for listener in tuple(self._listeners):
            listener(self.fix)


def in_the_dark(new_world: type[World], scheme: str, missing: str) -> tuple[World, Dark]:
    """Client 0 has subscribed to 100 m around, but does not know where it is; client 1 knows."""
    world = new_world([HERE, HERE], scheme=scheme, set={"missing_context": missing})
    sensor, client = Dark(), world.clients[0]
    assert isinstance(client.host, SimHost)
    client.host.location = sensor
    for name in ("ste" if scheme == "radial" else "radial", scheme):  # a new mechanism sees the new sensor
        client.engine.transition("filter", name)
    world.subscribe(0, 100)
    world.subscribe(1, 100)
    world.run()
    return world, sensor


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ignored_until_the_place_is_known(new_world: type[World], scheme: str) -> None:
    world, sensor = in_the_dark(new_world, scheme, "ignore")
    before = world.publish(1, HERE)
    world.run()
    sensor.see(*HERE, world.now)
    world.run()
    after = world.publish(1, HERE)
    world.run()
    assert world.heard(before) == []
    assert world.heard(after) == [(0, 1)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_unfiltered_until_the_place_is_known(new_world: type[World], scheme: str) -> None:
    """The client, whose sensor does not know either, gets everything; attributes still count."""
    world, sensor = in_the_dark(new_world, scheme, "unfiltered")
    near, far, other = world.publish(1, HERE), world.publish(1, THERE), world.publish(1, HERE, kind="other")
    world.run()
    sensor.see(*HERE, world.now)
    world.run()
    near_again, far_again = world.publish(1, HERE), world.publish(1, THERE)
    world.run()
    assert [world.heard(event) for event in (near, far, other)] == [[(0, 1)], [(0, 1)], []]
    assert [world.heard(event) for event in (near_again, far_again)] == [[(0, 1)], []]


def test_the_client_filters_what_the_broker_could_not(new_world: type[World]) -> None:
    world, sensor = in_the_dark(new_world, "radial", "unfiltered")
    near, far = world.publish(1, HERE), world.publish(1, THERE)
    sensor.fix = Fix(*HERE, 0.0, 0.0, world.now)  # known here, and not told
    world.run()
    assert [world.heard(event) for event in (near, far)] == [[(0, 1)], []]
    assert {client for _, client, _ in world.tap.notifications} == {0}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_events_wait_for_the_place_in_order(new_world: type[World], scheme: str) -> None:
    world, sensor = in_the_dark(new_world, scheme, "wait")
    events = [world.publish(1, place) for place in (HERE, THERE, HERE)]
    own = world.publish(0, HERE)
    world.run(0.5)
    assert [client for _, client, _, _ in world.deliveries] == [1]
    sensor.see(*HERE, world.now)
    world.run()
    heard = [number for _, client, _, number in world.deliveries if client == 0]
    assert heard == [events[0], events[2]]
    assert world.heard(own) == [(1, 1)]


def test_waiting_has_bounds_in_number(new_world: type[World]) -> None:
    world, sensor = in_the_dark(new_world, "radial", "wait")
    events = [world.publish(1, HERE) for _ in range(WAITING_EVENTS + 20)]
    world.run(2.0)
    sensor.see(*HERE, world.now)
    world.run(2.0)
    assert [number for _, _, _, number in world.deliveries] == events[20:]


def test_waiting_has_bounds_in_time(new_world: type[World]) -> None:
    world, sensor = in_the_dark(new_world, "radial", "wait")
    world.publish(1, HERE)
    world.run(3.0)
    recent = world.publish(1, HERE)
    world.run(WAITING_SECONDS - 2.5)
    sensor.see(*HERE, world.now)
    world.run()
    assert [number for _, _, _, number in world.deliveries] == [recent]


def test_waiting_events_survive_a_transition(new_world: type[World]) -> None:
    for members in (None, [0]):
        world, sensor = in_the_dark(new_world, "radial", "wait")
        event = world.publish(1, HERE)
        world.run(0.5)
        world.execute(to="grid", members=members)
        world.run(0.5)
        sensor.see(*HERE, world.now)
        world.run()
        assert world.heard(event) == [(0, 1)]


@pytest.mark.parametrize("missing", ["ignore", "unfiltered", "wait"])
def test_subscriptions_without_radius_never_wait(new_world: type[World], missing: str) -> None:
    world, _ = in_the_dark(new_world, "radial", missing)
    handle = world.subscribe(0, None)
    world.run()
    event = world.publish(1, THERE)
    world.run()
    assert (0, handle.id) in world.heard(event)
    assert len(world.heard(event)) == (2 if missing == "unfiltered" else 1)


@pytest.mark.parametrize("missing", ["ignore", "unfiltered", "wait"])
def test_who_unsubscribes_in_the_dark_hears_nothing(new_world: type[World], missing: str) -> None:
    world, sensor = in_the_dark(new_world, "radial", missing)
    (registered,) = world.clients[0].subscriptions
    event = world.publish(1, HERE)
    world.clients[0].unsubscribe(registered.handle)
    world.run()
    sensor.see(*HERE, world.now)
    world.run()
    assert world.heard(event) == []


def test_the_strategy_can_be_changed(new_world: type[World]) -> None:
    world, _ = in_the_dark(new_world, "radial", "ignore")
    assert world.execute(missing_context="unfiltered").outcome == "done"
    event = world.publish(1, THERE)
    world.run()
    assert world.heard(event) == [(0, 1)]


def test_a_report_tells_the_broker_and_nobody_else(new_world: type[World]) -> None:
    world, sensor = in_the_dark(new_world, "radial", "wait")
    world.up.clear()
    sensor.see(*HERE, world.now)
    world.run(0.5)
    assert ContextUpdate(HERE, client=0, scheme=1) in world.up
    assert world.broker.table.place(0) is not None


@pytest.mark.parametrize("missing", ["ignore", "unfiltered", "wait"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_areas_that_move_with_who_does_not_know_where_it_is(
    new_world: type[World], scheme: str, missing: str
) -> None:
    """Fixed ones are told of what lies in them all the while."""
    world, sensor = in_the_dark(new_world, scheme, missing)
    moving, fixed = (
        world.clients[0].subscribe(attr("kind") == "news", world.callback(0), **where)
        for where in (
            {"area": Area.circle((0, 0), 50), "relative": True},
            {"area": Area.circle(HERE, 50)},
        )
    )
    world.run()
    before = world.publish(1, HERE)
    world.run(0.5)
    early = world.heard(before)
    assert (0, fixed.id) in early
    assert ((0, moving.id) in early) == (missing == "unfiltered")
    sensor.see(*HERE, world.now)
    world.run()
    assert world.heard(before).count((0, moving.id)) == (missing != "ignore")
    near, far = world.publish(1, HERE), world.publish(1, THERE)
    world.run()
    assert world.heard(near).count((0, moving.id)) == world.heard(near).count((0, fixed.id)) == 1
    assert not {(0, moving.id), (0, fixed.id)} & {*world.heard(far)}
