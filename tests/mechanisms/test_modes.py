"""Hybrid modes: which events go to clients nearby and which to the broker, and changing one's mind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.protocol.messages import Kind, OutcomeMessage, Publish
from bypass.testing.suites.modes import KINDS
from tests.vicinity import Vicinity, row

MODES = ("cloud", "ad-hoc", "offload", "augment", "gateway")
BOTH = {Kind.PLAIN: (False, True), Kind.LOCAL: (True, True), Kind.PLACED: (False, True)}
TABLE = {
    "offload": {Kind.PLAIN: (False, True), Kind.LOCAL: (True, False), Kind.PLACED: (False, True)},
    "augment": BOTH,
    "gateway": BOTH,
    "ad-hoc": dict.fromkeys(KINDS, (True, False)),
    "cloud": dict.fromkeys(KINDS, (False, True)),
}
"""Whether an event goes to clients nearby, and whether to the broker, as in table 7 of the thesis."""


def publish(world: Vicinity, client: int, kind: Kind) -> int:
    if kind is Kind.LOCAL:
        return world.publish_local(client)
    return world.publish(client, world.place(client) if kind is Kind.PLACED else None)


def events_at_the_broker(world: Vicinity) -> int:
    return sum(isinstance(message, Publish) for message in world.up)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_the_ways_of_events(mode: str, kind: Kind) -> None:
    world = Vicinity(row(3, 10.0), {"direct": "broadcast", "mode": mode})
    world.subscribe_all(100)
    world.run()
    event = publish(world, 0, kind)
    world.run(0.05)
    nearby, to_broker = TABLE[mode][kind]
    assert world.frames()[0] == nearby
    assert world.receivers(event) == ([1, 2] if nearby else [])
    world.run()
    assert events_at_the_broker(world) == to_broker
    assert world.receivers(event) == [1, 2]
    assert world.frames() == [int(nearby), 0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_mode_of_the_publisher_decides(kind: Kind) -> None:
    world = Vicinity(row(3, 10.0), {"direct": "broadcast", "mode": "cloud"})
    world.subscribe_all(100)
    world.run()
    world.change(0, "mode", "offload")
    event = publish(world, 0, kind)
    world.run()
    assert world.frames() == [1 if kind is Kind.LOCAL else 0, 0, 0]
    assert world.receivers(event) == [1, 2]


# -- AD HOC -----------------------------------------------------------------------------------------------


def test_in_ad_hoc_mode_the_broker_hears_of_nothing() -> None:
    world = Vicinity(row(3, 10.0), {"direct": "broadcast", "mode": "cloud"})
    world.subscribe_all(100)
    world.run(2.0)
    world.broker.execute(world.plan("mode", "ad-hoc"))
    world.run(2.0)
    assert len(world.broker.table) == 0
    world.up.clear()
    for kind in Kind:
        publish(world, 0, kind)
    world.subscribe(1, 50)
    world.clients[2].unsubscribe(next(iter(world.clients[2].subscriptions)).handle)
    world.run(5.0)
    assert world.up == []
    world.broker.execute(world.plan("direct", "flooding"))
    world.run(5.0)
    assert [type(message) for message in world.up] == [OutcomeMessage] * 3
    assert world.unanswered() == {}
    assert world.active("direct") == ["flooding"] * 3


def test_who_begins_in_ad_hoc_mode_is_not_known_to_the_broker() -> None:
    world = Vicinity(row(3, 10.0), {"direct": "broadcast", "mode": "ad-hoc"})
    world.subscribe_all(100)
    world.run(2.0)
    world.broker.execute(world.plan("mode", "cloud"))
    world.run(2.0)
    assert world.broker.rollout.plans_sent == 0
    assert world.active("mode") == ["ad-hoc"] * 3


SCHEMES = ["radial", "ste", "grid", "egrid", "attract", "multi"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("there", ["cloud", "augment"])
def test_who_leaves_ad_hoc_mode_subscribes_again(scheme: str, there: str) -> None:
    """Also what was subscribed meanwhile, not what was withdrawn, and where the client is by now."""
    world = Vicinity([(100.0, 100.0), (120.0, 100.0)], {"mode": "augment"}, scheme=scheme)
    first = world.subscribe(1, 80)
    kept = world.subscribe(1, 60)
    world.subscribe(0, 60)
    world.run()
    world.change(1, "mode", "ad-hoc")
    world.run()
    lost = world.publish(0, (125.0, 100.0))
    world.clients[1].unsubscribe(first)
    new = world.subscribe(1, None)
    world.put(1, (620.0, 600.0))
    world.run(3.0)
    assert world.heard(lost) == []
    world.change(1, "mode", there)
    world.run(3.0)
    assert len(world.broker.table) == 3
    event = world.publish(0, (625.0, 600.0))
    elsewhere = world.publish(0, (100.0, 150.0))
    world.run(2.0)
    assert world.heard(event) == [(1, kept.id), (1, new.id)]
    if scheme not in ("attract", "multi"):  # outside of all attraction points is one area to them
        assert world.heard(elsewhere) == [(1, new.id)]


# -- nothing is lost --------------------------------------------------------------------------------------

change = st.tuples(
    st.integers(0, 3),
    st.sampled_from(
        [
            ("mode", "augment"),
            ("mode", "gateway"),
            ("mode", "cloud"),
            ("direct", "gossip"),
            ("direct", "hyperg"),
            ("direct", "nothing"),
            ("direct", "plan-b"),
            ("transport", "nothing"),
            ("transport", "bluetooth"),
            ("transport", "wifi"),
        ]
    ),
    st.sampled_from([0.0, 0.001, 0.01, 0.2]),
    st.sampled_from(list(Kind)),
)


@settings(max_examples=15, deadline=None)
@given(st.lists(change, min_size=1, max_size=12), st.integers(0, 30))
def test_whatever_changes_in_augment_nothing_is_lost(
    changes: list[tuple[int, tuple[str, str], float, Kind]], seed: int
) -> None:
    world = Vicinity(row(4, 30.0), {"direct": "flooding", "mode": "augment"}, seed=seed)
    world.subscribe_all(200)
    world.run()
    publishers = {}
    for client, (proxy, to), pause, kind in changes:
        publishers[publish(world, client, kind)] = client
        world.change(client, proxy, to)
        publishers[publish(world, client, kind)] = client
        world.run(pause)
    world.run(2.0)
    for event, publisher in publishers.items():
        assert world.heard(event) == [(n, 1) for n in range(4) if n != publisher]
