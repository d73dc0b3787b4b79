"""People come late, leave and return: in the simulator and live, they get what is theirs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bypass.testing.worlds.people import assert_events_arrive, gather
from bypass.testing.worlds.world import SmallWorld

pytestmark = pytest.mark.slow

Make = Callable[..., SmallWorld]


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
