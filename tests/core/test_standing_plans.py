"""What holds of plans: whoever has missed some of them and is told what is left has what all others have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.client import NODE_PROXIES, Client
from bypass.core.plans.standing_plans import StandingPlans
from bypass.live.host import LiveHost
from bypass.mechanisms import Registry
from bypass.mechanisms.families import CLIENT_PROXIES
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.sim.clock import VirtualClock
from bypass.transitions import Action, Plan

ME, OTHER = 1, 2
SETTINGS = {"threshold": 6.0}
BEGIN = (Action(proxy="direct", to="gossip", set={"p": 0.9}),)
RADIAL, STE = Action(proxy="filter", to="radial"), Action(proxy="filter", to="ste")
PERIOD = Action(proxy="filter", set={"period": 2.0})
ACTIONS = [
    RADIAL,
    STE,
    PERIOD,
    Action(proxy="filter", to="grid"),
    Action(proxy="filter", to="radial", set={"period": 3.0}),
    Action(proxy="filter", set={"period": 7.0, "threshold": 9.0}),
    Action(proxy="filter", of="ste", set={"threshold": 4.0}),
    Action(proxy="direct", to="flooding", set={"jitter": 0.5}),
    Action(proxy="direct", to="gossip"),
    Action(proxy="direct", to="gossip", set={"geofence": False}),
    Action(proxy="direct", to="nothing"),
    Action(proxy="direct", set={"p": 0.5, "jitter": 0.125}),
    Action(proxy="mode", to="augment"),
    Action(proxy="mode", to="cloud"),
]


def client() -> Client:
    host = LiveHost(ME, VirtualClock(), NoSensor(), Monitor())
    return Client(host, lambda message: None, set=SETTINGS, begin=BEGIN)


def configuration(client: Client) -> dict[str, Any]:
    active = {proxy: client.engine.active(proxy) for proxy in CLIENT_PROXIES if proxy not in NODE_PROXIES}
    return {proxy: (each.name, each.settings()) for proxy, each in active.items()}


class World:
    """A client that does everything, and one that misses something."""

    def __init__(self) -> None:
        self.standing = StandingPlans(Registry(), "radial", SETTINGS, BEGIN)
        self.ideal, self.tried = client(), client()
        self.left: list[Plan] = []
        self.epoch = 0

    def plan(self, actions: list[Action], done: bool, named: bool) -> None:
        self.epoch += 1
        plan = Plan(plan="p", id=f"p-{self.epoch}", epoch=self.epoch, actions=tuple(actions))
        members = (ME,) if named else None
        theirs = [action.model_copy(update={"members": members if action.to else None}) for action in actions]
        self.standing.remember(plan, theirs, [{ME, OTHER}])
        self.ideal.carry_out(plan)
        if done:
            self.tried.carry_out(plan)
        else:
            self.left.append(plan)

    def tell(self, plans: list[Plan]) -> None:
        for plan in plans:
            self.epoch += 1
            again = {"id": f"again-{self.epoch}", "epoch": self.epoch}
            assert self.tried.carry_out(plan.model_copy(update=again)).ok

    def repeat(self, which: int) -> None:
        """Tell what is left of one of those that were missed."""
        if self.left:
            share = self.left.pop(which % len(self.left))
            if self.standing.holds(ME, share):
                self.tell(self.standing.left_of(ME, [share]))


PLANS = st.tuples(
    st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=2, unique_by=lambda action: action.proxy),
    st.booleans(),
    st.booleans(),
)
STEPS = st.lists(st.one_of(PLANS, st.integers(0, 5)), min_size=1, max_size=12)


def act(steps: list[Any]) -> World:
    world = World()
    for step in steps:
        if isinstance(step, int):
            world.repeat(step)
        else:
            world.plan(*step)
    return world


@pytest.mark.parametrize(
    "steps",
    [
        [([PERIOD], True, False), ([STE], False, False), ([RADIAL], True, False)],
        [([STE], False, True), ([PERIOD], True, False)],
    ],
)
def test_what_is_left_of_what_was_missed_is_told_alone(steps: list[Any]) -> None:
    leaves_nothing_out(steps)


@settings(max_examples=120, deadline=None)
@given(STEPS)
def test_what_is_left_of_whatever_was_missed_leaves_nothing_out(steps: list[Any]) -> None:
    leaves_nothing_out(steps)


def leaves_nothing_out(steps: list[Any]) -> None:
    world = act(steps)
    while world.left:
        world.repeat(0)
    assert configuration(world.tried) == configuration(world.ideal)


@settings(max_examples=120, deadline=None)
@given(STEPS)
def test_who_is_told_all_that_holds_has_it_whatever_it_had(steps: list[Any]) -> None:
    world = act(steps)
    switch = world.tried.engine.active("filter").name != world.standing.of(ME)["filter"].to
    world.tell(world.standing.plans(ME, new=False, switch=switch))
    assert configuration(world.tried) == configuration(world.ideal)


@settings(max_examples=120, deadline=None)
@given(STEPS)
def test_who_is_new_is_told_what_it_needs(steps: list[Any]) -> None:
    world = act(steps)
    world.tried = client()
    world.tell(world.standing.plans(ME, new=True, switch=world.standing.of(ME)["filter"].to != "radial"))
    assert configuration(world.tried) == configuration(world.ideal)


def test_what_is_overridden_does_not_hold() -> None:
    world = World()
    world.plan([PERIOD], False, False)
    world.plan([ACTIONS[5]], True, False)
    assert not world.standing.holds(ME, world.left[0])
    world.plan([STE], False, False)
    world.plan([ACTIONS[3]], True, False)
    assert not world.standing.holds(ME, world.left[1])  # grid has no parameter that was ever set


def test_who_is_not_named_any_more_by_what_holds_is_like_all_others() -> None:
    world = World()
    world.plan([STE], True, True)
    assert {*world.standing.own} == {ME}
    world.plan([ACTIONS[3]], True, False)
    assert world.standing.own == {}
