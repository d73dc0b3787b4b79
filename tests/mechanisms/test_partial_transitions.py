"""Some clients move to another scheme, the others stay: schemes side by side."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from bypass.protocol.messages import Assignment

if TYPE_CHECKING:
    from tests.conftest import World

SCHEMES = ["radial", "ste", "grid", "egrid", "attract", "multi"]
PAIRS = list(permutations(SCHEMES, 2))
PLACES = [(250.0, 300.0), (300.0, 320.0), (350.0, 300.0), (415.0, 300.0), (600.0, 600.0), (620.0, 610.0)]
MOVED = [1, 2, 4]
STAYED = [0, 3, 5]


def populated(new_world: type[World], scheme: str, **options: Any) -> World:
    world = new_world(PLACES, scheme=scheme, **options)
    for client in range(len(PLACES)):
        world.subscribe(client, 80)
        if client % 2:
            world.subscribe(client, None)
            world.subscribe(client, 200)
    world.run(3.0)
    return world


def assert_divided(world: World, **members: list[int]) -> None:
    """Each client in one scheme, at the broker and on its own side, its rows in that scheme's index only."""
    table = world.broker.table
    assert {scheme.name: sorted(scheme.clients) for scheme in world.schemes()} == members
    for scheme in world.schemes():
        assert scheme.index.members().tolist() == table.located(scheme.clients).tolist()
        for client in scheme.clients:
            assert world.clients[client].engine.active("filter").name == scheme.name
    rows = sorted((int(table.client[row]), int(table.handle[row])) for row in table.rows())
    assert rows == sorted((client, handle.id) for client, handle in world.everybody())


def assert_events_arrive(world: World) -> None:
    expected = {}
    for publisher, place in enumerate(PLACES):
        expected[world.publish_local(publisher)] = world.selected(publisher, place)
        expected[world.publish(publisher, (place[0] - 60.0, place[1]))] = world.selected(
            publisher, (place[0] - 60.0, place[1])
        )
    world.run()
    assert {event: world.heard(event) for event in expected} == expected


@pytest.mark.parametrize("grace", [0.0, 1.0])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_schemes_side_by_side_serve_their_own(
    new_world: type[World], source: str, target: str, grace: float
) -> None:
    world = populated(new_world, source, grace=grace)
    record = world.execute(to=target, members=MOVED)
    assert (record.kind, record.source, record.target) == ("partial", source, target)
    assert (record.outcome, record.error, record.members) == ("done", "", len(MOVED))
    assert record.dropped == ()  # the other scheme goes on and keeps what it has
    world.run(3.0)
    assert_divided(world, **{source: STAYED, target: MOVED})
    assert_events_arrive(world)
    back = world.execute(to=source, members=MOVED)
    assert (back.outcome, back.error) == ("done", "")
    world.run(3.0)
    assert_divided(world, **{source: list(range(len(PLACES)))})
    assert_events_arrive(world)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_in_the_midst_everybody_is_notified_once(new_world: type[World], source: str, target: str) -> None:
    world = populated(new_world, source, grace=1.0)
    before = world.selected(0, PLACES[1])
    world.execute(to=target, members=MOVED)
    events = []
    for _ in range(6):
        events.append(world.publish(0, PLACES[1]))
        world.run(0.04)
    world.run(3.0)
    after = world.selected(0, PLACES[1])
    told = [(event, client) for event, client, _ in world.tap.notifications]
    assert len(told) == len(set(told))
    for event in events:
        heard = world.heard(event)
        assert len(heard) == len(set(heard))
        assert set(before) & set(after) <= set(heard) <= set(before) | set(after)


@pytest.mark.parametrize("grace", [0.0, 1.0])
def test_the_last_one_turns_off_the_light_unless_it_is_the_default(
    new_world: type[World], grace: float
) -> None:
    world = populated(new_world, "radial", grace=grace)
    world.execute(to="grid", members=[0, 1, 2])
    world.run()
    world.execute(to="ste", members=[3, 4, 5])
    world.run(2.0)
    assert_divided(world, radial=[], grid=[0, 1, 2], ste=[3, 4, 5])  # newcomers get the default
    world.execute(to="grid", members=[3, 4])
    world.run(2.0)
    assert_divided(world, radial=[], grid=[0, 1, 2, 3, 4], ste=[5])
    record = world.execute(to="grid", members=[5])
    assert [phase for phase, _ in record.phases][-1] == "stop"
    world.run(2.0)
    assert_divided(world, radial=[], grid=[0, 1, 2, 3, 4, 5])
    assert_events_arrive(world)


def test_a_total_transition_ends_the_division(new_world: type[World]) -> None:
    for target in ("ste", "grid", "attract"):
        world = populated(new_world, "radial")
        world.execute(to="grid", members=[0, 1])
        world.execute(to="multi", members=[2])
        world.run()
        record = world.execute(to=target)
        assert record.members == (6 if target != "grid" else 4)
        world.run(3.0)
        assert_divided(world, **{target: list(range(6))})
        assert_events_arrive(world)


def test_a_newcomer_is_served_by_the_default(new_world: type[World]) -> None:
    world = new_world(PLACES)
    for client in range(3):
        world.subscribe(client, 80)
    world.run()
    world.execute(to="grid", members=[0, 1, 2])
    world.run()
    world.subscribe(3, 80)
    world.run()
    assert world.scheme_of(3).name == "radial"
    event = world.publish(0, PLACES[3])
    world.run()
    assert (3, 1) in world.heard(event)


@pytest.mark.parametrize("first", ["grid", "egrid"])
def test_parameters_change_while_somebody_is_leaving(new_world: type[World], first: str) -> None:
    """Rows that linger for the grace period must not stay for good in the index of the new layout."""
    world = populated(new_world, first, grace=1.0)
    world.execute(to="radial", members=MOVED)
    world.execute(grid=3)
    world.run(3.0)
    assert_divided(world, **{first: STAYED, "radial": MOVED})
    assert_events_arrive(world)


@pytest.mark.parametrize("scheme", ["grid", "egrid", "attract", "multi"])
def test_there_and_back_in_one_instant(new_world: type[World], scheme: str) -> None:
    """A client that is welcomed after it has left again must not be taken for informed."""
    world = populated(new_world, "radial", grace=1.0)
    world.execute(to=scheme, members=[5])
    world.run()
    world.execute(to=scheme, members=[0])
    world.execute(to="radial", members=[0])
    world.run(3.0)
    assert_divided(world, **{"radial": [0, 1, 2, 3, 4], scheme: [5]})
    world.tap.messages.clear()
    world.execute(to=scheme, members=[0])
    world.run(0.5)
    (assignment,) = [m for client, m in world.tap.messages if client == 0 and isinstance(m, Assignment)]
    assert bool(assignment.circles) == (scheme in ("attract", "multi"))
    world.run(3.0)
    assert_events_arrive(world)


@pytest.mark.parametrize("scheme", ["attract", "multi"])
def test_who_comes_back_is_told_the_map_again(new_world: type[World], scheme: str) -> None:
    world = populated(new_world, scheme)
    for to in ("radial", scheme):
        world.tap.messages.clear()
        world.execute(to=to, members=[0])
        world.run(2.0)
    (assignment,) = [m for client, m in world.tap.messages if client == 0 and isinstance(m, Assignment)]
    assert assignment.circles


def test_rows_used_again_during_the_grace_period(new_world: type[World]) -> None:
    """The row of somebody who moved is given to another, in the very scheme that lets the old one linger."""
    world = populated(new_world, "radial", grace=1.0)
    world.execute(to="grid", members=[0])
    (registered,) = world.clients[0].subscriptions
    world.clients[0].unsubscribe(registered.handle)
    world.run(0.3)
    world.subscribe(5, 90)
    world.run(3.0)
    assert_divided(world, radial=[1, 2, 3, 4, 5], grid=[0])
    assert_events_arrive(world)


def test_attract_and_radial_by_border_equal_multi(new_world: type[World]) -> None:
    """Clients moved at the borders see what clients of the scheme that adapts by itself see."""
    inside = [client for client, place in enumerate(PLACES) if place[0] < 420.0]
    divided = populated(new_world, "radial")
    divided.execute(to="attract", members=inside)
    multi = populated(new_world, "multi")
    for world in (divided, multi):
        world.run(3.0)
        world.deliveries.clear()
        for publisher, (x, y) in enumerate(PLACES):
            for dx in (-130.0, -60.0, 0.0, 60.0):
                world.publish(publisher, (x + dx, y))
            world.publish_local(publisher)
        world.run()
    seen = [sorted((c, h, n) for _, c, h, n in world.deliveries) for world in (divided, multi)]
    offset = [min(n for _, _, n in each) for each in seen]
    assert [(c, h, n - offset[0]) for c, h, n in seen[0]] == [(c, h, n - offset[1]) for c, h, n in seen[1]]
    assert seen[0]
