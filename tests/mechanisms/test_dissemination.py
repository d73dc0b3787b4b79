"""Dissemination between clients nearby: whom events reach, who passes them on; nobody gets one twice."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.protocol.messages import Kind, Publish
from tests.conftest import Point
from tests.vicinity import MECHANISMS, REACH, Vicinity, row

metres = st.integers(0, 250).map(float)
places = st.tuples(metres, metres)
few = settings(max_examples=12, deadline=None)


def in_reach(a: Point, b: Point) -> bool:
    return math.dist(a, b) <= REACH


# -- whom it reaches --------------------------------------------------------------------------------------


@few
@given(st.lists(places, min_size=2, max_size=8), st.sampled_from(["broadcast", "unicast"]))
def test_broadcast_reaches_exactly_those_in_reach(where: list[Point], mechanism: str) -> None:
    world = Vicinity(where, {"direct": mechanism})
    world.subscribe_all(None)
    world.run()
    event = world.publish(0)
    world.run()
    assert world.receivers(event) == [n for n in range(1, len(where)) if in_reach(where[0], where[n])]
    assert world.frames() == [1] + [0] * (len(where) - 1)


@few
@given(st.lists(places, min_size=2, max_size=8), st.data())
def test_unicast_reaches_exactly_its_targets(where: list[Point], data: st.DataObject) -> None:
    others = range(1, len(where))
    targets = data.draw(st.lists(st.sampled_from(others), unique=True))
    world = Vicinity(where, {"direct": "unicast"})
    world.subscribe_all(None)
    world.run()
    publication = Publish(7, Event(kind="news", number=1), Kind.PLAIN, client=0)
    world.clients[0].nearby.direct.disseminate_locally(
        publication, [world.system.local.devices[n].address for n in targets]
    )
    world.run()
    assert world.receivers(1) == sorted(n for n in targets if in_reach(where[0], where[n]))


@few
@given(st.lists(places, min_size=2, max_size=9), st.integers(0, 5), st.sampled_from([0.0, 0.4, 1.0]))
def test_who_hears_an_event_passes_it_on_at_most_once(where: list[Point], seed: int, p: float) -> None:
    world = Vicinity(where, {"direct": ("gossip", {"p": p})}, seed=seed)
    world.subscribe_all(None)
    world.run()
    event = world.publish(0)
    world.run()
    sent = world.frames()
    assert sent[0] == 1
    assert set(sent[1:]) <= {0, 1}
    senders = {n for n, frames in enumerate(sent) if frames}
    heard = set(world.receivers(event))
    assert senders - {0} <= heard
    assert all(any(in_reach(where[n], where[s]) for s in senders - {n}) for n in heard)
    if p == 1.0:
        assert senders == heard | {0}
    if p == 0.0:
        assert senders == {0}


def test_flooding_goes_as_far_as_there_is_somebody_in_reach() -> None:
    world = Vicinity([*row(8), (900.0, 100.0)], {"direct": "flooding"})
    world.subscribe_all(None)
    world.run()
    event = world.publish(3)
    world.run()
    assert world.receivers(event) == [0, 1, 2, 4, 5, 6, 7]


# -- gossip and flooding ----------------------------------------------------------------------------------


@few
@given(
    st.lists(places, min_size=2, max_size=10),
    st.integers(0, 1000),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.001, 0.004, 0.3])), max_size=6),
)
def test_certain_gossip_is_flooding(
    where: list[Point], seed: int, publications: list[tuple[int, float]]
) -> None:
    runs = []
    for mechanism in ("flooding", ("gossip", {"p": 1.0})):
        world = Vicinity(where, {"direct": mechanism}, seed=seed)
        world.subscribe_all(200)
        world.run()
        for client, pause in publications:
            world.publish_local(client % len(where))
            world.run(pause)
        world.run()
        runs.append((world.deliveries, world.frames()))
    assert runs[0] == runs[1]


# -- never twice, never back ------------------------------------------------------------------------------

step = st.one_of(
    st.tuples(st.just("publish"), st.integers(0, 5), st.sampled_from(list(Kind))),
    st.tuples(st.just("publish"), st.integers(0, 5), st.sampled_from(list(Kind))),
    st.tuples(st.just("direct"), st.integers(0, 5), st.sampled_from((*MECHANISMS, "nothing"))),
    st.tuples(st.just("gateway"), st.integers(0, 5), st.sampled_from((*MECHANISMS, "nothing"))),
    st.tuples(
        st.just("mode"),
        st.integers(0, 5),
        st.sampled_from(("cloud", "ad-hoc", "offload", "augment", "gateway")),
    ),
    st.tuples(st.just("transport"), st.integers(0, 5), st.sampled_from(("wifi", "bluetooth", "nothing"))),
    st.tuples(
        st.just("gateway-selection"),
        st.booleans(),
        st.sampled_from(("dkc-leach", "skc-leach", "cs-wca", "nothing")),
    ),
    st.tuples(st.just("filter"), st.integers(0, 5), st.sampled_from(("radial", "grid", "attract"))),
    st.tuples(st.just("wait"), st.just(0), st.sampled_from((0.001, 0.05, 0.3))),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(step, min_size=5, max_size=25), st.integers(0, 100))
def test_whatever_ways_it_takes_an_event_comes_once_and_never_back(
    steps: list[tuple[str, int, object]], seed: int
) -> None:
    world = Vicinity(
        row(6, 15.0),
        {"mode": "gateway", "direct": "flooding", "gateway": "broadcast", "gateway_logic": "relay"},
        seed=seed,
        set={"grid": 4},
    )
    for client in range(6):
        world.subscribe(client, 60)
        world.subscribe(client, None)
    world.run()
    publishers = {}
    for what, who, value in steps:
        if what == "publish":
            if value is Kind.LOCAL:
                number = world.publish_local(who)
            else:
                number = world.publish(who, (80.0, 500.0) if value is Kind.PLACED else None)
            publishers[number] = who
        elif what == "wait":
            assert isinstance(value, float)
            world.run(value)
        else:
            assert isinstance(value, str)
            if what == "gateway-selection":
                world.broker.engine.transition(what, value, set=contacts(value, bool(who)))
            elif what == "filter":
                world.execute(value)
            else:
                world.change(who, what, value)
    world.run(3.0)
    told = [(client, handle, event) for _, client, handle, event in world.deliveries]
    assert len(told) == len(set(told))
    assert all(publishers[event] != client for client, _, event in told)


def contacts(selection: str, known: bool) -> dict[str, bool]:
    return {} if selection == "nothing" else {"contacts": known}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_two_ways_at_once_notify_once(mechanism: str) -> None:
    """In AUGMENT a local event comes from nearby and, later, from the broker."""
    world = Vicinity(row(4, 20.0), {"direct": mechanism, "mode": "augment"})
    world.subscribe_all(100)
    world.run()
    events = []
    for n in range(4):
        events.append(world.publish_local(n))
        world.run(0.02)
    world.run()
    for n, event in enumerate(events):
        assert world.heard(event) == [(other, 1) for other in range(4) if other != n]
    assert all(client.network.duplicates >= 3 for client in world.clients)
