"""Schemes are exchanged while people publish: in the simulator and live, nothing is lost or comes twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bypass.mechanisms.filters import FilterBroker, Grid
from bypass.testing.worlds.assertions import assert_nothing_lost
from bypass.testing.worlds.people import CROWD, SCHEMES, SPOTS, assert_events_arrive, gather
from bypass.testing.worlds.world import SmallWorld
from bypass.transitions import (
    Action,
    AtomicTransition,
    InvalidParameter,
    Plan,
    TransitionError,
    UnknownMechanism,
    UnknownProxy,
)

pytestmark = pytest.mark.slow

Make = Callable[..., SmallWorld]


@pytest.mark.parametrize("here", SCHEMES[:-1])
def test_every_scheme_to_every_other_and_back(make_world: Make, here: str) -> None:
    world = make_world(here)
    gather(world)
    for there in SCHEMES[SCHEMES.index(here) + 1 :]:
        for source, target in ((here, there), (there, here)):
            before = world.serving()
            with world.publishing("bob", SPOTS) as events:
                record = world.execute(target)
                world.settle()
            world.settle()
            assert (record.kind, record.source, record.target) == ("total", source, target)
            assert (record.outcome, record.error) == ("done", "")
            assert [world.running(name) for name in CROWD] == [target] * len(CROWD)
            assert {each.scheme for each in world.serving().values()} == {target}
            assert_nothing_lost(world, events, before)
    assert_events_arrive(world)


def test_three_schemes_at_once(make_world: Make) -> None:
    world = make_world()
    gather(world)
    world.execute("grid", members=["cid", "gus"])
    world.execute("multi", members=["bob", "eve", "cid"])
    world.settle()
    schemes = {name: serving.scheme for name, serving in world.serving().items() if name in CROWD}
    in_multi = {"bob", "eve", "cid"}
    assert schemes == {
        name: "multi" if name in in_multi else "grid" if name == "gus" else "radial" for name in CROWD
    }
    assert_events_arrive(world)
    world.move("cid", (610.0, 610.0))
    world.move("gus", (290.0, 300.0))
    world.settle()
    assert_events_arrive(world)


@pytest.mark.parametrize("scheme", ["grid", "egrid"])
def test_cells_of_another_size(make_world: Make, scheme: str) -> None:
    world = make_world(scheme)
    gather(world)
    for n in (3, 9):
        before = world.serving()
        with world.publishing("bob", SPOTS) as events:
            record = world.execute(grid=n)
            world.settle()
        world.settle()
        assert (record.kind, record.outcome) == ("self", "done")
        assert_nothing_lost(world, events, before)
        assert world.serving()["ann"].settings["grid"] == n
        assert_events_arrive(world)


def test_clients_are_told_their_parameters(make_world: Make) -> None:
    world = make_world()
    gather(world)
    record = world.execute(updates="distance", threshold=40.0)
    world.settle()
    assert (record.kind, record.outcome) == ("self", "skipped")  # the broker's part has neither
    for name in CROWD:
        settings = world.at_client(name, lambda client: client.engine.active("filter").settings())
        assert (settings["updates"], settings["threshold"]) == ("distance", 40.0)
    (x, y), number = world.people["fay"].place, world.number("fay")
    for dx, known in ((30.0, x), (50.0, x + 50.0)):  # less than the threshold is not reported
        world.move("fay", (x + dx, y))
        world.settle()
        place = world.at_broker(lambda broker: broker.table.place(number))
        assert place is not None
        assert place[:2] == (known, y)


class NoWay(AtomicTransition[FilterBroker, Grid.Broker]):
    def transfer_state(self, a: FilterBroker, b: Grid.Broker) -> None:
        raise OSError("disk full")


@pytest.mark.parametrize("members", [None, ["ann", "bob"]])
def test_a_transition_that_fails_changes_nothing(make_world: Make, members: list[str] | None) -> None:
    world = make_world("ste")
    gather(world)
    world.at_broker(lambda broker: broker.engine.register_transition("filter", NoWay()))
    before = world.serving()
    with world.publishing("publisher", SPOTS) as events:
        record = world.execute("egrid", members=members)
        world.settle()
    world.settle()
    assert (record.outcome, record.error) == ("failed", "OSError: disk full")
    assert world.serving() == before
    assert {world.running(name) for name in CROWD} == {"ste"}
    assert all(world.heard(event) == world.selected(event) for event in events)
    assert world.execute("attract").outcome == "done"
    world.settle()
    assert_events_arrive(world)


@pytest.mark.parametrize(
    ("action", "error"),
    [
        (Action(proxy="filter", to="nonsense"), UnknownMechanism),
        (Action(proxy="nonsense", to="radial"), UnknownProxy),
        (Action(proxy="filter", to="grid", set={"grid": 0}), InvalidParameter),
        (Action(proxy="filter", set={"nonsense": 1}), InvalidParameter),
    ],
)
def test_a_plan_that_cannot_be_is_refused_as_a_whole(
    make_world: Make, action: Action, error: type[TransitionError]
) -> None:
    world = make_world()
    gather(world)
    epoch = world.at_broker(lambda broker: broker.rollout.epoch)
    plan = Plan(plan="test", actions=(Action(proxy="filter", to="ste"), action))
    with pytest.raises(error):
        world.execute_plan(plan)
    world.settle()
    assert world.at_broker(lambda broker: broker.rollout.epoch) == epoch
    assert {each.scheme for each in world.serving().values()} == {"radial"}
    assert {world.running(name) for name in CROWD} == {"radial"}
    assert_events_arrive(world)
