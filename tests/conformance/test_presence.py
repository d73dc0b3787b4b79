"""People come late, leave and return: in the simulator and live, they get what is theirs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bypass.testing.worlds.people import CROWD, SCHEMES, assert_events_arrive, gather
from bypass.testing.worlds.world import SmallWorld

pytestmark = pytest.mark.slow

Make = Callable[..., SmallWorld]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_who_comes_late_does_what_others_were_told(make_world: Make, scheme: str) -> None:
    world = make_world()
    gather(world)
    world.execute(updates="hybrid", threshold=25.0, period=30.0)
    if scheme == "radial":
        world.execute("ste")
    world.execute(scheme)
    if scheme in ("grid", "egrid"):
        world.execute(grid=4)
    world.enter("late", (280.0, 290.0), 80, None)
    world.enter("later", (620.0, 600.0))
    world.settle()
    world.subscribe("later", 120)
    world.settle()
    everybody = ("ann", "late", "later")
    settings = [
        world.at_client(name, lambda client: client.engine.active("filter").settings()) for name in everybody
    ]
    assert settings[0] == settings[1] == settings[2]
    assert {world.running(name) for name in everybody} == {scheme}
    assert_events_arrive(world)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_who_leaves_for_good_is_forgotten(make_world: Make, scheme: str) -> None:
    world = make_world(scheme)
    gather(world)
    numbers = [world.number(name) for name in ("ann", "bob")]
    for name in ("ann", "bob"):
        world.leave(name, for_good=True)
    world.settle()
    event = world.publish("publisher", (260.0, 310.0))
    world.settle()
    assert not {"ann", "bob"} & {name for name, _ in world.heard(event)}
    assert world.heard(event) == world.selected(event)
    rows = world.at_broker(lambda broker: {client: len(broker.table.rows_of(client)) for client in numbers})
    assert rows == dict.fromkeys(numbers, 0)
    for name in ("ann", "bob"):
        world.come_back(name)
    world.settle()
    assert_events_arrive(world)
    assert not {"ann", "bob"} & {name for name, _ in world.heard(event)}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_who_returns_follows_what_has_happened_meanwhile(make_world: Make, scheme: str) -> None:
    """It also gets what was published for it, and nothing twice."""
    world = make_world("radial" if scheme != "radial" else "multi")
    gather(world)
    mine = [("bob", number) for number in world.people["bob"].interests]
    world.leave("bob")
    early = world.publish("publisher", CROWD["bob"][0])
    world.execute(scheme)
    world.settle()
    late = world.publish("publisher", CROWD["bob"][0])
    world.settle()
    assert not set(mine) & set(world.heard(early) + world.heard(late))
    world.come_back("bob")
    world.settle()
    for event in (early, late):
        assert [each for each in world.heard(event) if each in mine] == mine
    assert world.running("bob") == world.serving()["bob"].scheme == scheme
    assert_events_arrive(world)


def test_who_returns_elsewhere_is_served_there(make_world: Make) -> None:
    world = make_world()
    gather(world)
    world.leave("ann")
    world.people["ann"].place = (610.0, 600.0)
    world.come_back("ann")
    world.settle()
    assert_events_arrive(world)


def test_what_everybody_begins_with_holds_for_later_schemes_too(make_world: Make) -> None:
    world = make_world("radial", updates="distance", threshold=40.0)
    gather(world)
    world.execute("ste")
    world.enter("late", (280.0, 290.0), 80)
    world.settle()
    for name in ("ann", "late"):
        settings = world.at_client(name, lambda client: client.engine.active("filter").settings())
        assert (name, settings["updates"], settings["threshold"]) == (name, "distance", 40.0)
