"""Clients that leave are silent at once; those that join run what all others run."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from bypass.transitions import Action, Plan
from tests.vicinity import MECHANISMS, Vicinity, row


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("mode", ["ad-hoc", "augment"])
def test_who_has_left_sends_and_hears_nothing(mechanism: str, mode: str) -> None:
    world = Vicinity(row(3, 20.0), {"direct": mechanism, "mode": mode})
    world.subscribe_all(200)
    world.run(2.0)
    world.publish_local(0)
    world.run(0.001)
    world.system.leave(1)
    sent, told, up = world.frames()[1], len(world.deliveries), world.system.cellular.up[:, 1].tolist()
    world.run(0.02)
    first = world.publish_local(0)
    world.run(0.02)
    second = world.publish_local(2)
    world.run(3.0)
    assert world.frames()[1] == sent
    assert world.system.cellular.up[:, 1].tolist() == up
    assert all(client != 1 for _, client, _, _ in world.deliveries[told:])
    assert (world.receivers(first), world.receivers(second)) == ([2], [0])


def test_a_closed_client_says_nothing_whatever_it_is_told_to_do() -> None:
    world = Vicinity(row(2, 5.0), {"direct": "broadcast", "mode": "augment"})
    world.subscribe_all(100)
    world.run()
    gone = world.clients[1]
    world.system.leave(1)
    world.run()
    up, sent = world.system.cellular.up[:, 1].tolist(), world.frames()[1]
    world.put(1, (500.0, 400.0))
    world.run(10.0)
    assert world.system.cellular.up[:, 1].tolist() == up
    assert world.frames()[1] == sent
    assert gone.network.silent


def test_the_broker_forgets_who_has_left() -> None:
    world = Vicinity(row(3, 5.0), {"mode": "augment"})
    world.subscribe_all()
    world.run(2.0)
    world.system.leave(1)
    assert 1 not in world.broker.addresses
    assert not any(1 in scheme.clients for scheme in world.schemes())
    world.broker.execute(world.plan("direct", "gossip"))
    world.run(2.0)
    assert world.unanswered() == {}
    assert world.ended("failed") == {}
    assert world.tracker.retries == 0


def test_the_broker_forgets_also_what_was_on_its_way() -> None:
    world = Vicinity(row(2, 5.0), {"mode": "cloud"})
    world.subscribe_all()
    world.run(0.01)  # the subscription takes ten times as long
    world.system.leave(1)
    world.run(2.0)
    assert len(world.broker.table) == 1
    assert 1 not in world.broker.addresses
    assert not any(1 in scheme.clients for scheme in world.schemes())


def test_who_joins_gets_nothing_that_was_meant_for_who_was_there_before() -> None:
    world = Vicinity(row(2, 5.0), {"mode": "cloud"})
    world.subscribe_all()
    world.run(2.0)
    event = world.publish(0)
    world.run(0.12)
    world.system.leave(1)
    world.system.join(1)
    world.subscribe(1, 1000)
    world.run(1.0)
    assert world.receivers(event) == []


def test_plans_that_were_on_their_way_to_it_count_as_failed() -> None:
    world = Vicinity(row(3, 5.0), {"mode": "augment"})
    world.subscribe_all()
    world.run(2.0)
    world.broker.execute(world.plan("direct", "gossip"))
    world.run(0.01)
    world.system.leave(1)
    world.run(2.0)
    assert world.unanswered() == {}
    assert ({*world.ended("done")}, world.ended("failed")) == ({0, 2}, {1: "the client has left"})


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(["publish", "leave", "join"]), min_size=3, max_size=25))
def test_numbers_of_events_are_never_used_again(steps: list[str]) -> None:
    world = Vicinity(row(2, 5.0), {"direct": "flooding"})
    world.subscribe_all(None)
    world.run()
    numbers, here, published = [], True, 0
    for step in steps:
        if step == "publish" and here:
            published += 1
            numbers.append(world.clients[1].publish(world._event({})))
        elif step == "leave" and here:
            world.system.leave(1)
            here = False
        elif step == "join" and not here:
            world.system.join(1)
            here = True
        world.run(0.05)
    world.run()
    assert len(set(numbers)) == len(numbers) == published
    assert len([each for each in world.deliveries if each[1] == 0]) == published


def test_who_joins_again_takes_part_as_before() -> None:
    world = Vicinity(row(3, 20.0), {"direct": "flooding", "mode": "offload"})
    world.subscribe_all(100)
    world.run()
    world.system.leave(1)
    world.run()
    world.system.join(1)
    world.run()
    local, placed = world.publish_local(0), world.publish(0, (60.0, 500.0))
    world.run()
    assert (world.receivers(local), world.receivers(placed)) == ([2], [2])  # it has not subscribed yet
    world.subscribe(1, 100)
    world.run()
    local, placed = world.publish_local(0), world.publish(0, (60.0, 500.0))
    world.run()
    assert (world.receivers(local), world.receivers(placed)) == ([1, 2], [1, 2])
    own = world.publish_local(1)
    world.run()
    assert world.receivers(own) == [0, 2]


# -- what all others were told ----------------------------------------------------------------------------

plans = st.lists(
    st.sampled_from(
        [
            ("direct", "gossip", {"p": 0.7}),
            ("direct", "flooding", {}),
            ("direct", None, {"geofence": False}),
            ("direct", "nothing", {}),
            ("gateway", "unicast", {}),
            ("gateway", "hyperg", {"hello": 0.5}),
            ("gateway", None, {"geofence": False}),
            ("gateway-logic", "relay", {}),
            ("mode", "offload", {}),
            ("mode", "gateway", {}),
            ("transport", "bluetooth", {}),
            ("filter", "grid", {}),
            ("filter", "radial", {"period": 7.0}),
            ("filter", "ste", {}),
        ]
    ),
    min_size=1,
    max_size=6,
)
PROXIES = ("transport", "direct", "gateway", "gateway-logic", "mode", "filter")


@settings(max_examples=25, deadline=None)
@given(plans)
@example([("gateway", "unicast", {}), ("gateway", None, {"geofence": False}), ("gateway", "unicast", {})])
def test_who_joins_late_runs_what_all_others_were_told(
    told: list[tuple[str, str | None, dict[str, JsonValue]]],
) -> None:
    world = Vicinity(row(3, 20.0), {"direct": "broadcast", "gateway": "broadcast", "mode": "augment"})
    world.system.leave(2)
    for client in (0, 1):
        world.subscribe(client, 100)
    world.run(2.0)
    for proxy, to, values in told:
        if to is None and world.clients[0].engine.active(proxy).name == "nothing":
            continue
        action = Action(proxy=proxy, to=to, set=values)
        world.broker.execute(Plan(plan="test", actions=(action,)))
        world.run(2.0)
    world.system.join(2)
    world.subscribe(2, 100)
    world.run(3.0)
    for proxy in PROXIES:
        here, there = (world.clients[n].engine.active(proxy) for n in (0, 2))
        assert here.name == there.name
        assert here.settings() == there.settings()
    for proxy in ("direct", "gateway"):
        assert len(set(world.stamps(proxy))) == 1


def test_who_joins_does_not_turn_back_what_spreads_by_healing() -> None:
    """All were told GOSSIP; a newer decision, for BROADCAST, was told to one only, and is spreading."""
    world = Vicinity(row(4, 20.0), {"direct": "flooding", "mode": "augment"})
    world.system.leave(3)
    for client in range(3):
        world.subscribe(client, 200)
    world.run(2.0)
    world.broker.execute(world.plan("direct", "gossip"))
    world.run(2.0)
    world.broker.execute(world.plan("direct", "broadcast", 0, decision=world.broker.rollout.decide(0)))
    world.run(2.0)
    world.publish_local(0)
    world.run()
    assert [world.clients[n].engine.active("direct").name for n in range(3)] == ["broadcast"] * 3
    world.system.join(3)
    world.subscribe(3, 200)
    world.run(2.0)
    for client in (3, 0, 1, 2, 3):
        world.publish_local(client)
        world.run()
    assert world.active("direct") == ["broadcast"] * 4
    assert len(set(world.stamps())) == 1
