"""Every scheme to every other while people stand and publish: nobody notices, nothing is lost."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from bypass.mechanisms.filters import FilterClient
from bypass.protocol.messages import Assignment, PlanMessage

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from tests.conftest import World

SCHEMES = ["radial", "ste", "grid", "egrid", "attract", "multi"]
CHANNELS = {"grid", "egrid", "attract", "multi"}
PAIRS = list(permutations(SCHEMES, 2))
PLACES = [
    (250.0, 300.0), (300.0, 320.0), (350.0, 300.0), (415.0, 300.0), (150.0, 300.0),
    (600.0, 600.0), (620.0, 610.0), (810.0, 790.0), (5.0, 995.0),
]  # fmt: skip
RADII: list[tuple[int | None, ...]] = [
    (50,),
    (100, None),
    (100,),
    (150, 20),
    (60,),
    (100,),
    (30,),
    (100,),
    (400,),
]


def populated(new_world: type[World], scheme: str, **options: Any) -> World:
    world = new_world(PLACES, scheme=scheme, **options)
    for client, radii in enumerate(RADII):
        if client % 2:  # some have a heading, which STE takes into account
            world.put(client, PLACES[client], (0.0, 1.5), stands=True)
        for radius in radii:
            world.subscribe(client, radius)
    world.run(3.0)
    return world


def assert_consistent(world: World, scheme: str) -> None:
    """Every subscription once, everybody served by the scheme, and nothing of what was before is left."""
    table = world.broker.table
    rows = [(int(table.client[row]), int(table.handle[row])) for row in table.rows()]
    assert sorted(rows) == sorted((client, handle.id) for client, handle in world.everybody())
    (running,) = world.schemes()
    assert running.name == scheme
    assert running.clients == set(range(len(PLACES)))
    assert running.index.members().tolist() == table.located().tolist()
    assert [client.engine.active("filter").name for client in world.clients] == [scheme] * len(PLACES)
    assert not running.grace.overlapping


def assert_events_arrive(world: World) -> None:
    """Local and placed events reach exactly whom the scheme selects, and plain ones everybody else."""
    expected = {}
    for publisher, place in enumerate(PLACES):
        expected[world.publish_local(publisher)] = world.selected(publisher, place)
        elsewhere = (place[0] + 70.0, place[1] - 30.0)
        expected[world.publish(publisher, elsewhere)] = world.selected(publisher, elsewhere)
        expected[world.publish(publisher)] = sorted(
            (client, handle.id) for client, handle in world.everybody() if client != publisher
        )
    world.run()
    assert {event: world.heard(event) for event in expected} == expected
    assert any(expected.values())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_before_any_transition(new_world: type[World], scheme: str) -> None:
    world = populated(new_world, scheme)
    assert_consistent(world, scheme)
    assert_events_arrive(world)


@pytest.mark.parametrize("grace", [0.0, 1.0])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_events_reach_whom_the_new_scheme_selects(
    new_world: type[World], source: str, target: str, grace: float
) -> None:
    world = populated(new_world, source, grace=grace)
    handles = {
        number: [r.handle for r in client.subscriptions] for number, client in enumerate(world.clients)
    }
    places = [world.broker.table.place(client) for client in range(len(PLACES))]
    record = world.execute(to=target)
    assert (record.kind, record.source, record.target) == ("total", source, target)
    assert (record.outcome, record.error) == ("done", "")
    assert record.members == len(PLACES)
    assert set(record.moved) >= {"table", "grace", "region"}
    assert ("channels" in record.moved) == ({source, target} == {"attract", "multi"})
    assert record.dropped == (
        ("channels",) if source in ("attract", "multi") and "channels" not in record.moved else ()
    )
    # Places and radii are there at once, before any client has heard of it.
    assert [world.broker.table.place(client) for client in range(len(PLACES))] == places
    assert world.schemes()[0].index.members().tolist() == world.broker.table.located().tolist()
    world.run(3.0)
    assert_consistent(world, target)
    assert_events_arrive(world)
    for number, client in enumerate(world.clients):
        assert [r.handle for r in client.subscriptions] == handles[number]
        active = client.engine.active("filter")
        assert isinstance(active, FilterClient)
        assert active.subscriptions is client.subscriptions
        assert client.network.flag == active.scheme.flag == world.broker.flag_of(world.schemes()[0])


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_in_the_midst_of_a_transition_nothing_is_lost(
    new_world: type[World], source: str, target: str
) -> None:
    """People stand, so both schemes know where they are: an event reaches whom both select, at least."""
    world = populated(new_world, source, grace=1.0)
    before = {place: world.selected(0, place) for place in PLACES}
    events: list[tuple[int, tuple[float, float]]] = []

    def publish(times: int) -> None:
        for _ in range(times):
            events.extend((world.publish(0, place), place) for place in PLACES)
            events.append((world.publish_local(0), PLACES[0]))
            world.run(0.05)

    publish(2)
    world.execute(to=target)
    publish(6)
    world.run(3.0)
    after = {place: world.selected(0, place) for place in PLACES}
    for event, place in events:
        heard = world.heard(event)
        assert len(heard) == len(set(heard))
        assert set(heard) >= set(before[place]) & set(after[place])
        assert set(heard) <= set(before[place]) | set(after[place])


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_the_broker_tells_clients(new_world: type[World], source: str, target: str) -> None:
    world = populated(new_world, source)
    before = next((m for _, m in reversed(world.tap.messages) if isinstance(m, Assignment)), None)
    world.tap.messages.clear()
    world.execute(to=target)
    world.run(0.001)
    told = [(client, type(message)) for client, message in world.tap.messages]
    everybody = list(range(len(PLACES)))
    assert [client for client, kind in told if kind is PlanMessage] == everybody
    assignments = [m for _, m in world.tap.messages if isinstance(m, Assignment)]
    if target in CHANNELS:  # everybody's place is known, so everybody is told its channels at once
        assert [client for client, kind in told if kind is Assignment] == everybody
        assert told.index((0, PlanMessage)) < told.index((0, Assignment))
        assert len({m.generation for m in assignments}) == 1
        if {source, target} == {"attract", "multi"}:
            assert before is not None
            assert assignments[0].generation == before.generation
            assert all(m.circles == () for m in assignments)
        elif before is not None:
            assert assignments[0].generation > before.generation
    else:
        assert assignments == []


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_people_who_have_moved_unnoticed_are_found(new_world: type[World], source: str, target: str) -> None:
    """Channel schemes know places only roughly; after the switch clients correct what the broker assumes."""
    world = populated(new_world, source)
    for client in (0, 5):  # within the cell, the circle, or everywhere else
        x, y = PLACES[client]
        world.put(client, (x + 9.0, y + 7.0))
    world.run(3.0)
    world.execute(to=target)
    world.run(3.0)
    for client in (0, 5):
        known = world.broker.table.place(client)
        assert known is not None
        if target in ("radial", "ste") or (target == "multi" and not world.around(world.place(client))):
            assert known[:2] == world.place(client)
        elif target == "attract":
            assert world.around(known[:2]) == world.around(world.place(client))
    assert_consistent(world, target)


def test_a_long_way_round(new_world: type[World]) -> None:
    """Through all pairs, one after the other, with the same subscriptions from beginning to end."""
    world = populated(new_world, "radial")
    remaining = set(PAIRS)
    now = "radial"
    while remaining:
        target = min((t for s, t in remaining if s == now), default=next(t for t in SCHEMES if t != now))
        remaining.discard((now, target))
        assert world.execute(to=target).outcome == "done"
        world.run(1.5)
        now = target
    world.run(3.0)
    assert_consistent(world, now)
    assert_events_arrive(world)
    assert len(world.broker.engine.records) >= len(PAIRS)
