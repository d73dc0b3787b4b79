"""How clients learn their channels in GRID and EGRID, and what they do with them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bypass.protocol.messages import (
    Assignment,
    AssignmentRequest,
    ContextMessage,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.wire import decode, encode
from bypass.sim.cellular import CellularModel

if TYPE_CHECKING:
    from tests.conftest import World

FAST = CellularModel(bandwidth=1e9)


def assignments(world: World, client: int = 0) -> list[Assignment]:
    return [m for to, m in world.tap.messages if to == client and isinstance(m, Assignment)]


def requests(world: World) -> list[AssignmentRequest]:
    return [m for m in world.up if isinstance(m, AssignmentRequest)]


def in_town(new_world: type[World], scheme: str, *places: tuple[float, float], **options: Any) -> World:
    """Cells of 200 m; everybody has an area of 50 m."""
    world = new_world(places, scheme=scheme, set={"grid": 5}, **options)
    for client in range(len(places)):
        world.subscribe(client, 50)
    world.run()
    return world


def test_grid_assigns_the_cell_that_one_is_in(new_world: type[World]) -> None:
    world = in_town(new_world, "grid", (250.0, 900.0))
    (assignment,) = assignments(world)
    assert assignment == Assignment(
        generation=1,
        publish="g1:1:4",
        channels=("g1:1:4",),
        cell=(200.0, 800.0, 400.0, math.inf),
        cover=(200.0, 800.0, 400.0, math.inf),
        scheme=3,
    )


def test_egrid_assigns_all_cells_that_the_area_touches(new_world: type[World]) -> None:
    world = in_town(new_world, "egrid", (370.0, 450.0))
    (assignment,) = assignments(world)
    assert assignment == Assignment(
        generation=1,
        publish="g1:1:2",
        channels=("g1:1:2", "g1:2:2"),
        cell=(200.0, 400.0, 400.0, 600.0),
        cover=(200.0, 400.0, 600.0, 600.0),
        scheme=4,
    )


@pytest.mark.parametrize("scheme", ["grid", "egrid"])
def test_who_stays_in_the_cell_says_nothing(new_world: type[World], scheme: str) -> None:
    world = in_town(new_world, scheme, (260.0, 500.0))
    world.up.clear()
    world.put(0, (260.0, 500.0), (10.0, 1.0))
    world.run(8.0)
    assert world.up == []
    assert len(assignments(world)) == 1


def test_who_leaves_the_cell_asks_once(new_world: type[World]) -> None:
    world = in_town(new_world, "grid", (390.0, 500.0))
    world.up.clear()
    world.put(0, (390.0, 500.0), (20.0, 0.0))
    world.run(5.0)
    (request,) = world.up
    assert isinstance(request, AssignmentRequest)
    assert 400.0 <= request.location[0] < 430.0
    assert [a.publish for a in assignments(world)] == ["g1:1:2", "g1:2:2"]


def test_whose_area_leaves_the_covered_cells_asks_within_the_own_cell(new_world: type[World]) -> None:
    world = in_town(new_world, "egrid", (300.0, 500.0))
    world.put(0, (351.0, 500.0))  # 51 m from here, 50 m of area: 1 m reaches into the next cell
    world.run(2.0)
    first, second = assignments(world)
    assert first.channels == ("g1:1:2",)
    assert second.channels == ("g1:1:2", "g1:2:2")
    assert first.publish == second.publish == "g1:1:2"
    assert len(requests(world)) == 1


def test_a_larger_area_gets_more_channels(new_world: type[World]) -> None:
    world = in_town(new_world, "egrid", (300.0, 500.0))
    world.subscribe(0, 150)
    world.run()
    assert len(assignments(world)[-1].channels) == 9
    sent = len(world.tap.messages)
    world.subscribe(0, 10)
    world.run()
    assert assignments(world)[sent:] == [] or assignments(world)[-1] == assignments(world)[-2]


def test_whose_smaller_area_leaves_its_cells_asks_though_the_largest_stays(new_world: type[World]) -> None:
    world = in_town(new_world, "egrid", (300.0, 500.0), (900.0, 900.0))
    (smaller,) = [handle for client, handle in world.everybody() if client == 0]
    larger = world.subscribe(0, 150)  # all of (0, 200) to (600, 800)
    world.run()
    assert assignments(world)[-1].cell == (250.0, 450.0, 350.0, 550.0)
    world.put(0, (351.0, 500.0))
    world.run(2.0)
    assert len(requests(world)) == 1
    assert assignments(world)[-1].cell == (350.0, 450.0, 400.0, 550.0)
    event = world.publish(1, (401.0, 500.0))
    world.run()
    assert world.heard(event) == [(0, smaller.id), (0, larger.id)]


def test_what_is_withdrawn_does_not_loosen_what_is_left(new_world: type[World]) -> None:
    world = in_town(new_world, "egrid", (300.0, 500.0), (900.0, 900.0))
    larger = world.subscribe(0, 150)
    world.run()
    world.clients[0].unsubscribe(larger)
    world.put(0, (351.0, 500.0))
    world.run(2.0)
    event = world.publish(1, (401.0, 500.0))
    world.run()
    assert world.heard(event) == [(0, 1)]


def test_local_events_carry_the_channel_and_others_the_place_only(new_world: type[World]) -> None:
    world = in_town(new_world, "grid", (250.0, 500.0), (290.0, 590.0), (410.0, 500.0))
    world.up.clear()
    here, there = world.publish_local(0), world.publish(0, (500.0, 500.0))
    world.run()
    local, placed = [message for message in world.up if isinstance(message, Publish)]
    assert (local.channel, local.location) == ("g1:1:2", (250.0, 500.0))
    assert (placed.channel, placed.location) == (None, (500.0, 500.0))
    assert world.heard(here) == [(1, 1)]
    assert world.heard(there) == [(2, 1)]


@pytest.mark.parametrize("grace", [0.0, 1.0])
def test_who_publishes_beyond_the_own_cell_asks_along_with_the_event(
    new_world: type[World], grace: float
) -> None:
    world = in_town(new_world, "grid", (250.0, 500.0), (290.0, 590.0), (410.0, 500.0), grace=grace)
    world.run(0.1)
    world.up.clear()
    world.put(0, (420.0, 500.0))
    event = world.publish_local(0)  # before the sensor notices
    world.run()
    publish = world.up[0]
    assert isinstance(publish, Publish)
    assert publish.channel is None
    assert isinstance(publish.piggyback, AssignmentRequest)
    assert world.heard(event) == [(2, 1)]
    assert assignments(world)[-1].publish == "g1:2:2"
    assert requests(world) == []


def test_who_never_subscribed_to_a_place_publishes_by_place(new_world: type[World]) -> None:
    world = new_world([(250.0, 500.0), (290.0, 590.0)], scheme="grid")
    world.subscribe(1)
    world.run()
    event = world.publish_local(0)
    world.run()
    assert world.heard(event) == [(1, 1)]
    assert isinstance(world.up[-1], Publish)
    assert world.up[-1].channel is None


@pytest.mark.parametrize("scheme", ["grid", "egrid"])
@pytest.mark.parametrize("grace", [0.0, 1.0])
def test_a_new_layout_is_told_to_everybody_by_the_scheme_itself(
    new_world: type[World], scheme: str, grace: float
) -> None:
    world = in_town(new_world, scheme, (250.0, 500.0), (290.0, 590.0), (810.0, 500.0), grace=grace)
    world.tap.messages.clear()
    record = world.execute(grid=10)
    world.run()
    assert (record.kind, record.outcome) == ("self", "done")
    assert [client for client, _ in world.tap.messages] == [0, 1, 2]
    assert not any(isinstance(message, PlanMessage) for _, message in world.tap.messages)
    assert [assignments(world, client)[0].publish for client in range(3)] == ["g2:2:5", "g2:2:5", "g2:8:5"]
    event = world.publish_local(0)
    world.run()
    assert world.heard(event) == [(1, 1)]


def test_without_grace_events_with_old_channels_are_lost(new_world: type[World]) -> None:
    world = in_town(new_world, "grid", (250.0, 500.0), (290.0, 590.0), grace=0.0)
    under_way = world.publish_local(0)
    placed = world.publish(0, (250.0, 500.0))
    world.execute(grid=10)
    world.run()
    assert world.heard(under_way) == []
    assert world.heard(placed) == [(1, 1)]
    after = world.publish_local(0)
    world.run()
    assert world.heard(after) == [(1, 1)]


def test_with_grace_nothing_is_lost(new_world: type[World]) -> None:
    world = in_town(new_world, "grid", (250.0, 500.0), (290.0, 590.0), grace=1.0)
    under_way = world.publish_local(0)
    world.execute(grid=10)
    at_once = world.publish_local(0)
    world.run()
    assert world.heard(under_way) == world.heard(at_once) == [(1, 1)]


@pytest.mark.parametrize(
    ("to", "values", "channel"),
    [
        ("egrid", {"grid": 10}, "g2:3:3"),
        (None, {"grid": 10}, "g2:3:3"),
        ("attract", {}, "a2:0"),
        ("multi", {}, "a2:0"),
    ],
)
def test_what_the_broker_assigns_by_an_old_place_is_corrected_at_once(
    new_world: type[World], to: str | None, values: dict[str, Any], channel: str
) -> None:
    """Not at the next fix, which may be far away."""
    world = new_world([(210.0, 390.0)], scheme="grid", set={"grid": 5})
    world.subscribe(0, 50, interval=600.0)
    world.run(0.5)
    world.put(0, (310.0, 310.0))  # in the same cell
    world.execute(to=to, **values)
    world.run(0.6)
    assert [a.publish for a in assignments(world)[1:]][-1] == channel
    assert len(requests(world)) == 1


@pytest.mark.parametrize("scheme", ["radial", "ste", "grid", "egrid", "attract", "multi"])
@pytest.mark.parametrize("grace", [0.0, 1.0])
def test_looking_context_up_or_keeping_an_index_makes_no_difference(
    new_world: type[World], scheme: str, grace: float
) -> None:
    places = [(250.0, 300.0), (290.0, 310.0), (310.0, 350.0), (810.0, 500.0)]
    world = in_town(new_world, scheme, *places, grace=grace)
    expected = world.selected(0, (250.0, 300.0))
    assert expected
    before = world.publish_local(0)
    for value in (True, False):
        world.execute(resolver=value)
        at_once = world.publish_local(0)
        world.run()
        assert world.heard(at_once) == expected
    assert world.heard(before) == expected


def test_all_channels_of_the_finest_layout_fit_into_one_message(new_world: type[World]) -> None:
    world = new_world([(500.0, 500.0), (20.0, 980.0)], scheme="egrid", set={"grid": 200}, network=FAST)
    world.subscribe(0, 20_000_000)
    world.run()
    assert len(assignments(world)[0].channels) == 40_000
    longest = replace(assignments(world)[0], channels=("g4294967295:199:199",) * 40_000)
    assert decode(encode(longest)) == longest
    event = world.publish(1, (20.0, 980.0))
    world.run()
    assert world.heard(event) == [(0, 1)]


def test_parameters_out_of_bounds_change_nothing(new_world: type[World]) -> None:
    world = in_town(new_world, "grid", (250.0, 500.0))
    index = world.schemes()[0].index
    for grid in (0, 201, 2.5, "many"):
        with pytest.raises(Exception, match="grid"):
            world.execute(grid=grid)
    assert world.schemes()[0].index is index
    assert world.broker.engine.records == []


def test_only_places_travel(new_world: type[World]) -> None:
    """Every context message of a client of a channel scheme is a request with its place."""
    world = in_town(new_world, "egrid", (0.0, 0.0))
    world.put(0, (0.0, 0.0), (37.0, 29.0))
    world.run(20.0)
    world.clients[0].unsubscribe(next(iter(world.clients[0].subscriptions)).handle)
    world.run()
    kinds = {type(message) for message in world.up}
    assert kinds == {Subscribe, AssignmentRequest, Unsubscribe}
    assert all(m.location is not None for m in world.up if isinstance(m, AssignmentRequest))
    assert all(isinstance(m, ContextMessage) for _, m in world.tap.messages)
