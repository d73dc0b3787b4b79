"""What the broker sends reaches the application once, and is acknowledged then."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bypass.errors import UnknownHandle
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.live.client.connection import Connection, connect
from bypass.live.client.session import backpressure
from bypass.live.client.subscription import LiveSubscription
from bypass.protocol.messages import (
    Notify,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.session import Ack, Bye
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire import encode
from tests.live.brokers import config, running
from tests.live.scripted import (
    NEWS,
    Script,
    connected,
    leave,
    notify,
    numbers,
    on_loop,
    subscribed,
    turns,
    until,
)


@on_loop
async def test_an_event_is_acknowledged_when_the_callback_has_returned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = Script()
    me = await connected(script)
    got: list[int] = []

    def callback(event: Event, handle: Any) -> None:
        got.append(event["number"])
        if event["number"] == 2:
            raise ValueError("on purpose")

    _, handle = await subscribed(me, script, callback=callback)
    script.send(*[notify(n, handle) for n in (1, 2, 3)])
    assert await script.receipts(3) == [9 << 32 | n for n in (1, 2, 3)]
    assert got == [1, 2, 3]
    assert "the event counts as delivered" in caplog.text
    await leave(me, script)


@on_loop
async def test_an_event_is_acknowledged_when_the_next_one_is_asked_for() -> None:
    script = Script()
    me = await connected(script)
    subscription, handle = await subscribed(me, script)
    script.send(notify(1, handle), notify(2, handle), notify(3, handle))
    assert (await anext(subscription))["number"] == 1
    assert (await anext(subscription))["number"] == 2
    assert await script.receipts(1) == [9 << 32 | 1]
    await me_unsubscribes(me, subscription, script)
    assert await script.receipts(2) == [9 << 32 | 2, 9 << 32 | 3]  # nobody wants them any more
    with pytest.raises(StopAsyncIteration):
        await anext(subscription)
    await leave(me, script)


async def me_unsubscribes(me: Connection, subscription: LiveSubscription, script: Script) -> None:
    withdrawing = asyncio.ensure_future(me.unsubscribe(subscription))
    await script.expect(Unsubscribe)
    script.send(Ack(handles=(subscription.handle.id,)))
    await withdrawing


@on_loop
async def test_events_that_come_again_are_handed_over_once_and_acknowledged_again() -> None:
    script = Script()
    me = await connected(script)
    got: list[int] = []
    _, handle = await subscribed(me, script, callback=lambda event, _: got.append(event["number"]))
    slow, other = await subscribed(me, script)
    both = Notify(notify(3, handle).publication, (handle, other), client=7)
    script.send(notify(1, handle), notify(2, other), both)
    assert await script.receipts(1) == [9 << 32 | 1]
    await script.restart()
    await script.greet()
    script.send(notify(1, handle), notify(2, other), both, notify(4, other))
    assert await script.receipts(1) == [9 << 32 | 1]
    assert numbers([await anext(slow) for _ in range(3)]) == [2, 3, 4]
    assert await script.receipts(2) == [9 << 32 | 2, 9 << 32 | 3]
    assert got == [1, 3]
    await leave(me, script)


@on_loop
async def test_closing_leaves_for_the_next_life_what_was_not_taken() -> None:
    script = Script()
    me = await connected(script)
    subscription, handle = await subscribed(me, script)
    script.send(notify(1, handle), notify(2, handle), notify(3, handle))
    assert numbers([await anext(subscription), await anext(subscription)]) == [1, 2]
    script.obliging = True
    await me.close()
    received = [number for m in script.arrived if isinstance(m, Ack) for number in m.ids]
    assert received == [9 << 32 | 1, 9 << 32 | 2]
    with pytest.raises(StopAsyncIteration):
        await anext(subscription)
    script.close()


@on_loop
async def test_a_consumer_that_fails_gets_its_event_again_in_the_next_life() -> None:
    script = Script()
    script.obliging = True

    async def consume() -> None:
        async with connect(script.endpoint, open=True, name="me") as me:
            subscription = await me.subscribe(NEWS)
            script.send(notify(1, subscription.handle.id), notify(2, subscription.handle.id))
            async for event in subscription:
                if event["number"] == 2:
                    raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        await consume()
    received = [number for m in script.arrived if isinstance(m, Ack) for number in m.ids]
    assert received == [9 << 32 | 1]
    assert any(isinstance(m, Bye) for m in script.arrived)
    script.close()


@on_loop
async def test_kept_subscriptions_wait_to_be_claimed() -> None:
    script = Script()
    wanted = Subscription.of(NEWS)
    kept = (Subscribe(5, wanted, 100), Subscribe(6, wanted), Subscribe(8, Subscription.of(attr("a") == 1)))
    script.welcome.kept = kept
    me = await connected(script)
    assert [(each.id, each.radius) for each in me.kept] == [(5, 100), (6, None), (8, None)]
    both = Notify(notify(2, 5).publication, (5, 6), client=7)
    script.send(notify(1, 6), both, notify(3, 8))
    got: list[int] = []
    claimed, handle = await subscribed(me, script, callback=lambda event, _: got.append(event["number"]))
    assert handle == claimed.handle.id == 6
    await until(lambda: got == [1, 2])
    assert await script.receipts(1) == [9 << 32 | 1]  # the second one waits for handle 5
    await script.restart()
    hello = await script.greet()
    assert hello.handles == (6, 5, 8)
    script.send(notify(3, 8), both, notify(4, 5))
    first, _ = me.kept
    assert first.id == 5
    withdrawing = asyncio.ensure_future(me.unsubscribe(first))
    assert (await script.expect(Unsubscribe)).handle == 5
    script.send(Ack(handles=(5,)))
    await withdrawing
    received: set[int] = set()
    while received != {9 << 32 | 2, 9 << 32 | 4}:  # the former maybe twice, as it came twice
        received.update((await script.expect(Ack)).ids)
    fresh, _ = await subscribed(me, script)
    assert fresh.handle.id not in (5, 6, 8)
    with pytest.raises(UnknownHandle):
        await me.unsubscribe(first)
    assert got == [1, 2]
    await leave(me, script)


@on_loop
async def test_a_subscription_that_is_not_read_stops_the_reading_and_nothing_else() -> None:
    script = Script()
    me = await connected(script)
    subscription, handle = await subscribed(me, script)
    count = 3000
    for n in range(0, count, 100):
        script.send(*[notify(k, handle) for k in range(n, n + 100)])
    await until(lambda: len(subscription) >= 1000)
    await turns()
    assert len(subscription) == 1000  # the others wait in the network
    script.obliging = True
    await me.publish(Event(n=1))  # answers come behind them
    second = await me.subscribe(attr("kind") == "other")
    assert numbers([await anext(subscription) for _ in range(count)]) == list(range(count))
    script.send(notify(count, second.handle.id))
    assert (await anext(second))["number"] == count
    await leave(me, script)


@on_loop
async def test_who_stops_others_by_not_reading_is_named_and_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backpressure, "HELD_UP_S", 0.05)
    script = Script()
    me = await connected(script)
    subscription, handle = await subscribed(me, script, radius=None)
    for n in range(0, 1000, 100):
        script.send(*[notify(k, handle) for k in range(n, n + 100)])
    await until(lambda: len(subscription) == 1000)
    script.obliging = True
    assert me.held_up == 0  # nobody else is there who could be stopped
    got: list[int] = []
    other = await me.subscribe(attr("kind") == "x", callback=lambda event, _: got.append(event["number"]))
    await until(lambda: me.held_up == 1)
    assert "me: 1 subscriptions get no events because those of others are not taken" in caplog.text
    assert f"there wait 1000 of {subscription!r}" in caplog.text
    script.send(notify(1000, other.handle.id))
    await turns()
    assert got == []
    for _ in range(600):
        await anext(subscription)
    await until(lambda: got == [1000])
    assert me.held_up == 1
    await leave(me, script)


@on_loop
async def test_bytes_that_are_not_read_stop_others_which_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backpressure, "HELD_UP_S", 0.05)
    with running(config(tmp_path, limits={"client_rate": 0.0, "client_byte_rate": 0})) as service:
        endpoint = service.server.endpoints[0]
        async with (
            connect(endpoint, open=True, name="a") as a,
            connect(endpoint, open=True, name="b") as b,
        ):
            got: list[int] = []
            await a.subscribe(attr("kind") == "small", callback=lambda event, _: got.append(event["n"]))
            large = await a.subscribe(attr("kind") == "large")
            for n in range(20):
                await b.publish(Event(kind="large", n=n, payload=bytes(60_000)))
            await b.publish(Event(kind="small", n=20))
            await until(lambda: a.held_up == 1)
            assert got == []
            assert f"of {large!r}: iterate over it" in caplog.text
            assert [(await anext(large))["n"] for _ in range(20)] == [*range(20)]
            await until(lambda: got == [20])
            assert a.missed == 0


@pytest.mark.parametrize("changes", [{"scheme": 2}, {"epoch": 3}, {"client": 40}, {"origin": (49.0, 8.0)}])
@on_loop
async def test_a_broker_that_has_forgotten_us_does_not_make_us_forget(changes: dict[str, Any]) -> None:
    script = Script()
    script.welcome.epoch = 4
    me = await connected(script)
    got: list[int] = []
    _, handle = await subscribed(me, script, callback=lambda event, _: got.append(event["number"]))
    slow, other = await subscribed(me, script)
    script.send(notify(1, handle), notify(2, other))
    await script.receipts(1)
    await script.restart()
    hello = await script.greet(**changes)
    assert hello.handles == (handle, other)
    assert {(await script.expect(Subscribe)).handle for _ in range(2)} == {handle, other}
    script.send(notify(1, handle), notify(2, other), notify(3, handle), notify(4, other))
    assert numbers([await anext(slow), await anext(slow)]) == [2, 4]
    await until(lambda: got == [1, 3])
    assert me.number == script.welcome.client
    await leave(me, script)


@on_loop
async def test_an_event_that_cannot_be_read_is_counted_and_not_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = Script()
    me = await connected(script)
    subscription, handle = await subscribed(me, script)
    envelope = pb.Envelope.FromString(encode(notify(1, handle)))
    envelope.notify.publication.attributes.add(name="colour").custom.tag = "unheard-of"
    script.send_bytes(envelope.SerializeToString())
    assert await script.receipts(1) == [9 << 32 | 1]
    assert me.unreadable == 1
    assert "value type 'unheard-of': expected a registered one" in caplog.text
    script.send(notify(2, handle))
    assert (await anext(subscription))["number"] == 2
    await leave(me, script)


@on_loop
async def test_a_forged_event_from_nearby_cannot_take_the_place_of_the_real_one() -> None:
    """Not even while the forged one still waits for the application."""
    script = Script()
    me = await connected(script)
    subscription, handle = await subscribed(me, script)
    real = notify(1, handle)
    network = me._exchange.usable().network
    network.heard(Publish(real.publication.id, Event(number=666), client=9), (handle,))
    script.send(real)
    await until(lambda: network.conflicts == 1)
    assert numbers([await anext(subscription), await anext(subscription)]) == [666, 1]
    await leave(me, script)
