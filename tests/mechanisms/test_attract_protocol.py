"""Channels around attraction points: who is told what in ATTRACT and MULTI, and who reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bypass.places.region import Place
from bypass.protocol.messages import Assignment, AssignmentRequest, Circle, ContextUpdate, Publish

if TYPE_CHECKING:
    from tests.conftest import World

IN_PARK, IN_BOTH, IN_POND, AWAY = (250.0, 300.0), (350.0, 300.0), (415.0, 300.0), (600.0, 600.0)
CIRCLES = (
    Circle("a1:0", 300.0, 300.0, 100.0),
    Circle("a1:1", 360.0, 300.0, 60.0),
    Circle("a1:2", 800.0, 800.0, 80.0),
)


def started(new_world: type[World], scheme: str, *places: tuple[float, float], **options: Any) -> World:
    world = new_world(places, scheme=scheme, **options)
    for client in range(len(places)):
        world.subscribe(client, 50)
    world.run()
    return world


def assignments(world: World, client: int = 0) -> list[Assignment]:
    return [m for to, m in world.tap.messages if to == client and isinstance(m, Assignment)]


def context(world: World) -> list[type]:
    return [type(m) for m in world.up if isinstance(m, AssignmentRequest | ContextUpdate)]


@pytest.mark.parametrize(("scheme", "flag"), [("attract", 5), ("multi", 6)])
@pytest.mark.parametrize(
    ("place", "channels"),
    [
        (IN_PARK, ("a1:0",)),
        (IN_BOTH, ("a1:1", "a1:0")),
        (IN_POND, ("a1:1",)),
        (AWAY, ("a1:other",)),
    ],
)
def test_the_first_assignment_brings_the_map(
    new_world: type[World], scheme: str, flag: int, place: tuple[float, float], channels: tuple[str, ...]
) -> None:
    """All circles around a place are listened to; the one it lies deepest in is published to."""
    world = started(new_world, scheme, place)
    (assignment,) = assignments(world)
    assert assignment == Assignment(1, channels[0], channels, circles=CIRCLES, scheme=flag)


@pytest.mark.parametrize("scheme", ["attract", "multi"])
def test_borders_make_one_ask_and_nothing_else_does(new_world: type[World], scheme: str) -> None:
    world = started(new_world, scheme, IN_PARK)
    world.up.clear()
    world.put(0, (220.0, 300.0))
    world.run(5.0)
    assert context(world) == []
    for place, channels in ((IN_BOTH, ("a1:1", "a1:0")), (AWAY, ("a1:other",)), (IN_PARK, ("a1:0",))):
        world.up.clear()
        world.put(0, place)
        world.run(3.0)
        assert context(world)[0] is AssignmentRequest
        assert context(world).count(AssignmentRequest) == 1
        assert assignments(world)[-1] == Assignment(
            1, channels[0], channels, scheme=world.broker.flag_of(world.schemes()[0])
        )  # the map is known


@pytest.mark.parametrize("enabled", [False, True])
def test_inside_a_circle_places_are_reported_on_request(new_world: type[World], enabled: bool) -> None:
    world = started(new_world, "attract", IN_PARK, AWAY, set={"enable_updates": enabled})
    world.up.clear()
    world.run(5.0)
    reports = [m for m in world.up if isinstance(m, ContextUpdate)]
    assert [m.client for m in reports] == ([0] * 5 if enabled else [])
    assert all(m.location == IN_PARK for m in reports)


def test_reports_are_switched_on_at_the_clients(new_world: type[World]) -> None:
    world = started(new_world, "attract", IN_PARK)
    world.execute(enable_updates=True)
    world.run()
    world.up.clear()
    world.run(5.0)
    assert context(world) == [ContextUpdate] * 5
    world.execute(enable_updates=False)
    world.run()
    world.up.clear()
    world.run(5.0)
    assert context(world) == []


def test_multi_reports_outside_only(new_world: type[World]) -> None:
    world = started(new_world, "multi", IN_PARK, AWAY)
    world.up.clear()
    world.run(5.0)
    assert [(type(m), m.client) for m in world.up] == [(ContextUpdate, 1)] * 5


def test_multi_reports_by_the_rules_of_radial(new_world: type[World]) -> None:
    world = started(new_world, "multi", AWAY, set={"updates": "distance", "threshold": 10.0})
    world.up.clear()
    world.run(5.0)
    assert context(world) == []
    world.put(0, AWAY, (4.0, 0.0))
    world.run(10.0)
    assert context(world) == [ContextUpdate] * 3


@pytest.mark.parametrize(
    ("place", "channel"),
    [(IN_PARK, "a1:0"), (IN_BOTH, "a1:1"), (AWAY, "a1:other")],
)
def test_local_events_carry_channel_and_place(
    new_world: type[World], place: tuple[float, float], channel: str
) -> None:
    world = started(new_world, "attract", place)
    world.publish_local(0)
    world.run()
    (event,) = [m for m in world.up if isinstance(m, Publish)]
    assert (event.channel, event.location) == (channel, place)


@pytest.mark.parametrize("scheme", ["attract", "multi"])
@pytest.mark.parametrize("grace", [0.0, 1.0])
def test_events_reach_whom_the_circles_select(new_world: type[World], scheme: str, grace: float) -> None:
    places = [IN_PARK, IN_BOTH, IN_POND, AWAY, (650.0, 600.0), (990.0, 10.0), (800.0, 790.0)]
    world = started(new_world, scheme, *places, grace=grace)
    for publisher, place in enumerate(places):
        local = world.publish_local(publisher)
        placed = world.publish(0, place)
        world.run()
        assert world.heard(local) == world.selected(publisher, place)
        assert world.heard(placed) == world.selected(0, place)


@pytest.mark.parametrize(
    ("extension", "metres"), [("none", 0.0), ("max", 60.0), ("mean", 40.0), (25, 25.0), (0.0, 0.0)]
)
@pytest.mark.parametrize("scheme", ["attract", "multi"])
def test_enlarged_circles_take_in_events_near_them(
    new_world: type[World], scheme: str, extension: str | float, metres: float
) -> None:
    world = new_world([IN_PARK, AWAY], scheme=scheme, set={"extension": extension})
    handle = world.subscribe(0, 20)
    world.subscribe(1, 60)
    world.run()
    events = {distance: world.publish(1, (200.0 - distance, 300.0)) for distance in (metres - 1, metres + 1)}
    world.run()
    assert [world.heard(event) for event in events.values()] == [[(0, handle.id)], []]


def test_the_enlargement_follows_subscriptions(new_world: type[World]) -> None:
    world = new_world([IN_PARK, AWAY], scheme="attract", set={"extension": "max"})
    handle = world.subscribe(0, 20)

    def reached(metres: float) -> bool:
        event = world.publish(1, (200.0 - metres, 300.0))
        world.run()
        return (0, handle.id) in world.heard(event)

    world.run()
    assert [reached(19.0), reached(21.0)] == [True, False]
    wide = world.subscribe(1, 100)
    world.run()
    assert [reached(99.0), reached(101.0)] == [True, False]
    world.clients[1].unsubscribe(wide)
    world.run()
    assert [reached(19.0), reached(21.0)] == [True, False]
    world.subscribe(1, 100)
    world.run()
    world.broker.disconnect(1)
    assert [reached(19.0), reached(21.0)] == [True, False]
    world.execute(extension=30.0)
    assert [reached(29.0), reached(31.0)] == [True, False]


def test_another_subscription_in_the_same_place_is_no_news(new_world: type[World]) -> None:
    world = started(new_world, "attract", IN_PARK)
    world.subscribe(0, 70)
    world.run()
    first, second = assignments(world)  # each subscription brings a request along
    assert first.circles == CIRCLES
    assert second.circles == ()


@pytest.mark.parametrize("scheme", ["attract", "multi"])
def test_a_region_without_attraction_points_is_everywhere_else(new_world: type[World], scheme: str) -> None:
    world = started(new_world, scheme, IN_PARK, AWAY, attractions=[])
    event = world.publish_local(0)
    world.run()
    assert world.heard(event) == ([(1, 1)] if scheme == "attract" else [])
    world.up.clear()
    world.put(0, IN_POND)
    world.run(5.0)
    assert AssignmentRequest not in context(world)


@pytest.mark.parametrize("names", [("park", "park"), ("other", "0")])
def test_names_of_places_do_not_matter(new_world: type[World], names: tuple[str, str]) -> None:
    first, second = Place(names[0], 300.0, 300.0, 50.0), Place(names[1], 700.0, 700.0, 50.0)
    world = started(new_world, "attract", (300.0, 310.0), (700.0, 710.0), AWAY, attractions=[first, second])
    world.put(0, (700.0, 690.0))
    world.run(2.0)
    events = [world.publish(2, place) for place in ((300.0, 300.0), (700.0, 700.0), (500.0, 500.0))]
    world.run()
    assert [world.heard(event) for event in events] == [[], [(0, 1), (1, 1)], []]
