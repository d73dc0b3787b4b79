"""Plans at the broker: who is sent what of them, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from bypass.mechanisms.filters import Egrid, FilterBroker, FilterClient, Grid, Radial
from bypass.protocol.messages import Message, OutcomeMessage, PlanMessage
from bypass.transitions import (
    Action,
    AtomicTransition,
    InvalidParameter,
    InvalidPlan,
    Plan,
    UnknownMechanism,
    UnknownProxy,
)

if TYPE_CHECKING:
    from tests.conftest import World

HERE, NEAR = (500.0, 500.0), (510.0, 500.0)


def plan(*actions: dict[str, Any], **more: Any) -> Plan:
    return Plan.from_data({"plan": "p", "actions": [{"proxy": "filter", **a} for a in actions], **more})


def plans(world: World) -> dict[int, list[Plan]]:
    """What each client was sent."""
    sent: dict[int, list[Plan]] = {}
    for client, message in world.tap.messages:
        if isinstance(message, PlanMessage):
            sent.setdefault(client, []).append(Plan.from_bytes(message.plan))
    return sent


def client_schemes(world: World) -> list[str]:
    return [client.engine.active("filter").name for client in world.clients]


def four(new_world: type[World], **options: Any) -> World:
    world = new_world([HERE, NEAR, NEAR, NEAR], **options)
    for client in range(4):
        world.subscribe(client, 50)
    world.run()
    return world


def test_everybody_concerned_executes_the_plan(new_world: type[World]) -> None:
    world = four(new_world)
    world.execute(to="grid")
    (progress,) = world.rollouts
    assert world.unanswered() == {client: ["pending"] for client in range(4)}
    world.run()
    assert world.unanswered() == {}
    assert world.ended("done").keys() == {0, 1, 2, 3}
    assert (progress.concerned, progress.counts["done"], progress.concluded) == (4, 4, False)
    world.run(2.0)
    assert progress.concluded
    assert client_schemes(world) == ["grid"] * 4
    assert [client.network.epoch for client in world.clients] == [1] * 4
    assert {m.epoch for m in world.up if isinstance(m, OutcomeMessage)} == {1}


def test_members_alone_execute_a_partial_plan(new_world: type[World]) -> None:
    world = four(new_world)
    world.execute(to="grid", members=[1, 3])
    world.run()
    assert sorted(plans(world)) == [1, 3]
    assert all(sent.actions[0].members is None for (sent,) in plans(world).values())
    assert client_schemes(world) == ["radial", "grid", "radial", "grid"]


def test_each_client_is_sent_what_concerns_it(new_world: type[World]) -> None:
    world = four(new_world)
    records = world.broker.execute(plan({"to": "grid", "members": [0, 1]}, {"to": "ste", "members": [1, 2]}))
    world.run()
    assert [record.outcome for record in records] == ["done", "done"]
    assert [world.scheme_of(client).name for client in range(4)] == ["grid", "ste", "ste", "radial"]
    assert client_schemes(world) == ["grid", "ste", "ste", "radial"]
    assert (world.unanswered(), world.ended("failed"), world.tracker.retries) == ({}, {}, 0)


def test_total_and_partial_actions_in_one_plan(new_world: type[World]) -> None:
    world = four(new_world)
    world.broker.execute(plan({"to": "egrid"}, {"to": "ste", "members": [2]}, {"set": {"period": 7.0}}))
    world.run()
    assert client_schemes(world) == ["egrid", "egrid", "ste", "egrid"]
    assert [world.scheme_of(client).name for client in range(4)] == client_schemes(world)
    assert world.clients[2].engine.active("filter").settings()["period"] == 7.0


def test_strangers_are_sent_nothing(new_world: type[World]) -> None:
    """Who has not subscribed is not served here; a plan must not change the scheme that it will come with."""
    world = new_world([HERE, NEAR])
    world.subscribe(0, 50)
    world.run()
    record = world.execute(to="grid", members=[1, 99, -1])
    world.run()
    assert record.outcome == "skipped"
    assert plans(world) == {}
    assert client_schemes(world) == ["radial", "radial"]


def test_parameters_of_the_broker_are_its_own_affair(new_world: type[World]) -> None:
    world = four(new_world, scheme="ste")
    world.execute(alpha=2.0)
    assert plans(world) == {}
    world.execute(to="grid", grid=7, resolver=True)
    world.run()
    ((sent,), *_) = plans(world).values()
    assert sent.actions == (Action(proxy="filter", to="grid"),)


def test_defaults_hold_for_schemes_to_come(new_world: type[World]) -> None:
    world = four(new_world, set={"alpha": 2.5, "grid": 7, "period": 3.0, "threshold": 5.0})
    assert world.schemes()[0].settings() == {"resolver": False, "missing_context": "ignore"}
    world.execute(to="ste")
    world.run()
    assert world.schemes()[0].settings()["alpha"] == 2.5
    assert world.clients[0].engine.active("filter").settings()["period"] == 3.0
    world.execute(to="grid", grid=4)
    assert world.schemes()[0].settings()["grid"] == 4
    world.execute(to="egrid")
    assert world.schemes()[0].settings()["grid"] == 7


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ({"to": "voronoi"}, UnknownMechanism),
        ({"to": "nothing"}, UnknownMechanism),
        ({"to": "grid", "set": {"alpha": 1.0}}, InvalidParameter),
        ({"to": "grid", "set": {"grid": 0}}, InvalidParameter),
        ({"proxy": "radio", "to": "grid"}, UnknownProxy),
    ],
)
def test_a_plan_that_makes_no_sense_changes_nothing(
    new_world: type[World], action: dict[str, Any], error: type[Exception]
) -> None:
    world = four(new_world)
    with pytest.raises(error):
        world.broker.execute(plan(action))
    assert world.broker.rollout.epoch == 0
    assert world.broker.engine.records == []
    assert plans(world) == {}


def test_a_plan_is_executed_once(new_world: type[World]) -> None:
    world = four(new_world)
    first = world.broker.execute(plan({"to": "grid"}, id="once"))
    world.run()
    world.execute(to="radial")
    world.run()
    again = world.broker.execute(plan({"to": "grid"}, id="once"))
    world.run()
    assert [record.outcome for record in (*first, *again)] == ["done", "repeated"]
    assert world.schemes()[0].name == "radial"
    assert client_schemes(world) == ["radial"] * 4


def test_who_comes_after_a_plan_was_repeated_has_what_all_others_have(new_world: type[World]) -> None:
    world = new_world([HERE, NEAR])
    world.subscribe(0, 50)
    world.run()
    once = plan({"proxy": "mode", "to": "augment"}, id="once")
    for each in (once, plan({"proxy": "mode", "to": "cloud"}), once):
        world.broker.execute(each)
        world.run()
    world.subscribe(1, 50)
    world.run()
    assert [client.engine.active("mode").name for client in world.clients] == ["cloud", "cloud"]


def test_a_plan_may_have_a_long_name(new_world: type[World]) -> None:
    world = four(new_world)
    moves = Action(proxy="filter", to="grid", members=(0,)), Action(proxy="filter", to="ste", members=(1,))
    world.broker.execute(Plan(plan="long " * 100, actions=moves))
    world.broker.execute(Plan(plan="id", id="x" * 128, actions=moves[::-1]))
    world.run()
    assert client_schemes(world) == ["grid", "ste", "radial", "radial"]
    assert world.unanswered() == {}


class Stubborn(AtomicTransition[Radial.Client, Grid.Client]):
    def transfer_state(self, a: Radial.Client, b: Grid.Client) -> None:
        raise RuntimeError("no room on this phone")


@pytest.mark.parametrize("to", ["grid", "egrid"])
def test_a_client_that_cannot_follow_is_known_and_goes_on(new_world: type[World], to: str) -> None:
    world = four(new_world, grace=1.0)
    world.clients[1].engine.register_transition("filter", Stubborn())
    handle = next(iter(world.clients[1].subscriptions)).handle
    world.execute(to=to)
    world.run()
    (progress,) = world.rollouts
    assert world.unanswered() == {1: ["retried"]}
    assert world.ended("done").keys() == {0, 2, 3}
    assert "no room on this phone" in world.tracker.pending.of(1)[0].reason
    assert client_schemes(world) == [to, "radial", to, to]
    assert [client.network.epoch for client in world.clients] == [1, 0, 1, 1]
    world.run(3.0)
    there, local = world.publish(0, HERE), world.publish_local(1)
    world.run()
    assert (1, handle.id) in world.heard(there)
    assert world.heard(local) == [(0, 1), (2, 1), (3, 1)]
    world.put(1, (10.0, 10.0))
    world.run(3.0)
    moved = world.publish(0, (15.0, 15.0))
    world.run()
    assert world.heard(moved) == [(1, handle.id)]  # its reports are translated
    assert world.ended("failed").keys() == {1}
    assert (progress.isolated, world.scheme_of(1).name) == (["client-1"], "radial")
    world.execute(to="radial")
    world.run()
    assert client_schemes(world) == ["radial"] * 4


@pytest.mark.parametrize("grace", [0.0, 1.0])
@pytest.mark.parametrize("to", ["ste", "grid", "egrid", "attract", "multi"])
def test_who_comes_after_a_transition_learns_of_it(new_world: type[World], to: str, grace: float) -> None:
    world = new_world([HERE, NEAR, (520.0, 500.0)], grace=grace)
    world.subscribe(0, 50)
    world.run()
    world.execute(to=to)
    world.run()
    world.subscribe(1, 50)
    world.subscribe(2, None)
    world.run(3.0)
    assert client_schemes(world) == [to] * 3
    assert world.broker.late_subscriptions == 2
    event, local = world.publish(0, HERE), world.publish_local(1)
    world.run()
    assert world.heard(event) == [(1, 1), (2, 1)]
    assert world.heard(local) == [(0, 1), (2, 1)]
    late = world.broker.late_context
    world.put(1, (900.0, 100.0))
    world.run(3.0)
    assert world.broker.late_context == late
    away = world.publish(0, (905.0, 100.0))
    world.run()
    assert (1, 1) in world.heard(away)


def test_who_comes_back_after_a_transition_learns_of_it(new_world: type[World]) -> None:
    world = four(new_world, grace=0.0)
    (registered,) = world.clients[1].subscriptions
    world.clients[1].unsubscribe(registered.handle)
    world.run()
    world.broker.disconnect(1)
    world.execute(to="grid")
    world.run()
    handle = world.subscribe(1, 50)
    world.run(3.0)
    event = world.publish_local(0)
    world.run()
    assert (1, handle.id) in world.heard(event)
    assert client_schemes(world) == ["grid"] * 4


def test_subscriptions_under_way_are_not_lost(new_world: type[World]) -> None:
    for grace in (0.0, 1.0):
        world = four(new_world, grace=grace)
        handle = world.subscribe(1, 60)
        world.execute(to="ste")
        world.run()
        event = world.publish_local(0)
        world.run()
        assert (1, handle.id) in world.heard(event)
        assert world.broker.late_subscriptions == 1


def test_without_state_transfer_clients_subscribe_again(new_world: type[World]) -> None:
    world = four(new_world, state_transfer=False)
    before = world.broker.table
    record = world.execute(to="grid")
    assert record.custom == "StartFromNothing"
    assert len(world.broker.table) == 0
    lost = world.publish(0, HERE)
    world.run()
    assert world.heard(lost) == []
    assert world.broker.table is not before
    assert len(world.broker.table) == 4
    event = world.publish_local(0)
    world.run()
    assert world.heard(event) == [(1, 1), (2, 1), (3, 1)]
    world.execute(to="radial")
    world.run()
    event = world.publish_local(0)
    world.run()
    assert world.heard(event) == [(1, 1), (2, 1), (3, 1)]


def test_without_state_transfer_clients_move_together(new_world: type[World]) -> None:
    """Two schemes with a table each would serve nobody right."""
    world = four(new_world, state_transfer=False)
    with pytest.raises(InvalidPlan, match="members"):
        world.execute(to="grid", members=[1])
    world.run()
    assert client_schemes(world) == ["radial"] * 4
    assert len(world.broker.table) == 4


def test_messages_carry_scheme_and_epoch_of_their_sender(new_world: type[World]) -> None:
    world = four(new_world)
    world.execute(to="grid", members=[0])
    world.run()
    world.up.clear()
    for client in (0, 1):
        world.publish_local(client)
    world.run(0.5)
    marks = {m.client: (m.scheme, m.epoch) for m in world.up}
    assert marks == {0: (3, 1), 1: (1, 0)} | {c: (1, 0) for c in (2, 3) if c in marks}


def test_a_client_filter_is_behind_one_proxy_for_ever(new_world: type[World]) -> None:
    world = four(new_world)
    proxy = world.clients[0].filter
    for scheme in ("grid", "multi", "ste"):
        world.execute(to=scheme)
        world.run()
    assert world.clients[0].filter is proxy
    assert isinstance(proxy, FilterClient)
    assert isinstance(world.up[0], Message)


class Unable(AtomicTransition[FilterBroker, Egrid.Broker]):
    def transfer_state(self, a: FilterBroker, b: Egrid.Broker) -> None:
        raise RuntimeError("no memory left")


@pytest.mark.parametrize(
    ("on_error", "expected"),
    [("abort", ["grid", "radial", "radial", "radial"]), ("continue", ["grid", "radial", "ste", "radial"])],
)
def test_clients_are_told_what_of_a_plan_succeeded(
    new_world: type[World], on_error: Literal["abort", "continue"], expected: list[str]
) -> None:
    world = four(new_world)
    world.broker.engine.register_transition("filter", Unable())
    moves = [Action(proxy="filter", to=to, members=(i,)) for i, to in enumerate(("grid", "egrid", "ste"))]
    records = world.broker.execute(Plan(plan="half-way", actions=tuple(moves), on_error=on_error))
    world.run()
    assert [record.outcome for record in records][:2] == ["done", "failed"]
    assert client_schemes(world) == expected
    assert [world.broker.scheme_of(client).name for client in range(4)] == expected
