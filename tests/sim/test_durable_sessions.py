"""Clients that are cut off and reconnected: nothing is lost, nothing comes twice, and all in order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.churn import OnOff, Presence
from bypass.sim.cellular import CellularModel, Traffic
from bypass.sim.sessions import NotDurable
from tests.conftest import World
from tests.vicinity import Vicinity, row

pytestmark = pytest.mark.slow

HERE = (310.0, 310.0)
CLIENTS = 4


def world(clients: int = CLIENTS, **options: Any) -> World:
    """Everybody is at one place, hears of what happens there, and has subscribed."""
    made = World([HERE] * clients, durable=True, **options)
    for client in range(clients):
        made.subscribe(client)
    made.run(3.0)
    return made


def heard(made: World, client: int) -> list[int]:
    """Events in the order in which a client was told of them."""
    return [event for _, who, _, event in made.deliveries if who == client]


def test_events_wait_for_who_is_cut_off() -> None:
    made = world(2)
    made.system.cut_off(1)
    events = []
    for _ in range(3):
        events.append(made.publish_local(0))
        made.run(10.0)
    assert heard(made, 1) == []
    made.system.reconnect(1)
    made.run()
    assert heard(made, 1) == events


def test_publications_wait_at_who_is_cut_off() -> None:
    made = world(2)
    made.system.cut_off(0)
    events = [made.publish_local(0), made.publish(0, HERE), made.publish(0)]
    made.run(10.0)
    assert heard(made, 1) == []
    made.system.reconnect(0)
    made.run()
    assert heard(made, 1) == events


def test_publications_that_have_waited_do_not_name_channels_of_before() -> None:
    """Without a grace period, a broker discards what names a channel that does not exist any more."""
    made = world(2, scheme="grid", grace=0.0)
    made.system.cut_off(0)
    event = made.publish_local(0)
    made.execute(grid=7)
    made.run()
    made.system.reconnect(0)
    made.run()
    assert heard(made, 1) == [event]


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("after", [0.0, 0.05, 0.1, 0.15, 0.2])
@pytest.mark.parametrize("away", [0.001, 1.0])
def test_what_is_on_its_way_is_not_lost(who: int, after: float, away: float) -> None:
    made = world(2)
    first = made.publish_local(0)
    made.run(after)
    made.system.cut_off(who)
    second = made.publish_local(0)
    made.run(away)
    made.system.reconnect(who)
    third = made.publish_local(0)
    made.run()
    assert heard(made, 1) == [first, second, third]


def test_the_delay_includes_the_waiting() -> None:
    made = world(2)
    made.system.cut_off(0)
    at = made.now
    made.publish_local(0)
    made.run(7.0)
    made.system.cut_off(1)
    made.system.reconnect(0)
    made.run(11.0)
    made.system.reconnect(1)
    made.run()
    ((arrived, *_),) = made.deliveries
    assert arrived - at == pytest.approx(18.0 + 0.1, abs=0.03)


def test_a_mended_link_is_not_busy_with_what_was_on_the_old_one() -> None:
    made = world(2, network=CellularModel(latency=0.0, jitter=0.0, bandwidth=8e4))
    made.publish(0, HERE, payload=bytes(30_000))  # 3 s up, and 3 s down
    made.run(3.1)
    made.system.cut_off(1)
    made.run(0.4)
    made.system.reconnect(1)
    made.run(2.9)
    assert made.deliveries == []
    made.run(0.3)
    assert heard(made, 1) == [1]
    down = made.system.cellular.down[Traffic.EVENTS, 1]
    assert 60_000 < down < 60_500  # it was sent again


def test_nothing_else_is_said_to_or_by_who_is_cut_off() -> None:
    made = world(2)
    made.system.cut_off(1)
    up, down = made.system.cellular.up[:, 1].tolist(), made.system.cellular.down[:, 1].tolist()
    made.put(1, (500.0, 500.0), (1.0, 1.0))
    made.publish_local(0)
    made.publish_local(1)
    made.execute("grid")
    made.run(60.0)
    assert made.system.cellular.up[:, 1].tolist() == up
    assert made.system.cellular.down[:, 1].tolist() == down


def test_who_is_back_has_the_subscriptions_that_it_has_then() -> None:
    made = world(2)
    old = made.subscribe(1, 50)
    made.run()
    made.system.cut_off(1)
    made.clients[1].unsubscribe(old)
    new = made.subscribe(1, 60)
    made.publish_local(0)
    made.run()
    made.system.reconnect(1)
    made.run()
    second = made.publish_local(0)
    made.run()
    assert [handle for _, _, handle, event in made.deliveries if event == second] == [1, new.id]
    assert old.id not in {handle for _, _, handle, _ in made.deliveries}
    assert len(made.broker.table.rows_of(1)) == 2


def test_who_leaves_for_good_leaves_nothing_behind() -> None:
    made = world(2)
    made.system.cut_off(1)
    made.publish_local(0)
    made.publish_local(1)
    made.run()
    made.system.leave(1)
    made.system.join(1)
    made.subscribe(1)
    made.run(3.0)
    assert made.deliveries == []
    event = made.publish_local(0)
    made.run()
    assert heard(made, 1) == [event]


def test_a_gateway_that_is_cut_off_passes_on_when_it_is_back() -> None:
    made = Vicinity(
        row(3, 20.0),
        {"mode": "gateway", "gateway": "broadcast", "gateway_logic": "relay"},
        durable=True,
    )
    made.subscribe_all()
    made.run(3.0)
    made.broker.execute(made.plan("gateway-selection", "cs-wca"))
    made.run(3.0)
    for client in (1, 2):
        made.system.cut_off(client)
    event = made.publish(0, made.place(1))
    made.run(5.0)
    assert made.tap.relays
    assert made.receivers(event) == []
    for client in (1, 2):
        made.system.reconnect(client)
    made.run()
    assert made.receivers(event) == [1, 2]


def test_without_durable_sessions_nobody_is_cut_off() -> None:
    made = World([HERE])
    with pytest.raises(NotDurable, match="client 0 has no durable session: expected a system that keeps"):
        made.system.cut_off(0)
    with pytest.raises(NotDurable):
        made.system.reconnect(0)


# -- whatever happens -------------------------------------------------------------------------------------

clients = st.integers(0, CLIENTS - 1)
SCHEMES = ["radial", "ste", "grid", "egrid", "attract", "multi"]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("switch"), clients),
        st.tuples(st.just("publish"), clients),
        st.tuples(st.just("exchange"), st.sampled_from(SCHEMES)),
        st.tuples(st.just("run"), st.sampled_from([1e-6, 0.01, 0.09, 0.11, 0.3, 2.0])),
        st.tuples(st.just("part"), st.sampled_from(SCHEMES)),
    ),
    min_size=5,
    max_size=40,
)


def act(made: World, script: list[tuple[str, Any]]) -> list[list[int]]:
    """Do it all, then have everybody come back; gives what each client has published."""
    away: set[int] = set()
    published: list[list[int]] = [[] for _ in range(CLIENTS)]
    for do, what in script:
        if do == "switch" and what in away:
            made.run(1e-6)
            made.system.reconnect(what)
            away.remove(what)
        elif do == "switch":
            made.system.cut_off(what)
            away.add(what)
        elif do == "publish":
            number = made.publish_local(what) if len(published[what]) % 2 else made.publish(what, HERE)
            published[what].append(number)
        elif do == "exchange":
            made.execute(what)
        elif do == "part":
            made.execute(what, members=[0, 1])
        else:
            made.run(what)
    made.run(1e-6)
    for client in sorted(away):
        made.system.reconnect(client)
    made.run(5.0)
    return published


@settings(max_examples=60, deadline=None)
@given(steps)
def test_nothing_is_lost_or_doubled_or_out_of_order(script: list[tuple[str, Any]]) -> None:
    made = world()
    published = act(made, script)
    for subscriber in range(CLIENTS):
        told = heard(made, subscriber)
        for publisher in range(CLIENTS):
            expected = published[publisher] if publisher != subscriber else []
            assert [event for event in told if event in published[publisher]] == expected
    serving = {client: made.scheme_of(client).name for client in range(CLIENTS)}
    assert serving == {n: client.engine.active("filter").name for n, client in enumerate(made.clients)}
    assert made.system.waiting == 0


@settings(max_examples=5, deadline=None)
@given(steps)
def test_the_seed_decides(script: list[tuple[str, Any]]) -> None:
    made, again = world(seed=3), world(seed=3)
    act(made, script)
    act(again, script)
    assert made.deliveries == again.deliveries
    assert made.system.cellular.up.tolist() == again.system.cellular.up.tolist()


# -- with a schedule --------------------------------------------------------------------------------------


def next_there(presence: Presence, client: int, at: float) -> float:
    """When a client is there next: at once, or when it comes."""
    own = presence.at_us[presence.offsets[client] : presence.offsets[client + 1]] / 1e6
    return at if presence.active(client, at) else float(min(own[own > at]))


@pytest.mark.parametrize("switched", [(0,), (1,), (0, 1)])
def test_events_take_as_long_as_their_publisher_and_then_their_subscriber_is_away(
    switched: tuple[int, ...],
) -> None:
    made = world(2, network=CellularModel(latency=0.0, jitter=0.0, bandwidth=1e9))
    began, presence = made.now, OnOff(on=2.0, off=3.0).schedule(2, 250.0, 7)
    for client in switched:
        if not presence.active(client, 0.0):
            made.system.cut_off(client)
    moments, numbers, joins = presence.changes()
    for at_us, client, comes in zip(moments.tolist(), numbers.tolist(), joins.tolist(), strict=True):
        if at_us > 0 and client in switched:
            switch = made.system.reconnect if comes else made.system.cut_off
            made.system.clock.at(round(began * 1e6) + at_us, switch, client)
    expected = []
    for second in range(200):
        made.system.run_until(began + second)
        made.publish_local(0)
        at = float(second)
        for client in switched:
            at = next_there(presence, client, at)
        expected.append(began + at)
    made.run(50.0)
    assert [time for time, *_ in made.deliveries] == pytest.approx(expected, abs=1e-3)
    assert len(set(expected)) < 150  # many have waited together
