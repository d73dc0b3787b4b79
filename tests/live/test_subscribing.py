"""What a live client has subscribed is known to the broker, whatever happens to the connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from bypass.errors import InvalidInterval, InvalidLocation, UnknownHandle
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.client.connection import connect
from bypass.live.client.errors import (
    SubscriptionRefused,
)
from bypass.live.client.sources.sensor import FRESH_S
from bypass.places.geo import GeoLocation, PlanarLocation
from bypass.protocol.messages import (
    ContextUpdate,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.session import CAPABILITIES, Ack, Refused
from bypass.protocol.wire import MalformedMessage
from tests.live.scripted import (
    NEWS,
    Script,
    connected,
    leave,
    on_loop,
    subscribed,
    turns,
    until,
)


@on_loop
async def test_subscriptions_are_sent_again_with_the_place() -> None:
    script = Script()
    place = [1.0, 2.0]
    me = await connected(script, location=lambda: (place[0], place[1]))
    _, near = await subscribed(me, script, radius=100)
    _, everywhere = await subscribed(me, script)
    place[0] = 500.0
    moved = time.monotonic()
    await until(lambda: time.monotonic() > moved + FRESH_S)  # so long the place before is good enough
    await script.restart()
    hello = await script.greet()
    assert hello.handles == (near, everywhere)
    first, second = await script.expect(Subscribe), await script.expect(Subscribe)
    assert (first.handle, second.handle) == (near, everywhere)
    assert isinstance(first.piggyback, ContextUpdate)
    assert first.piggyback.location == (500.0, 2.0)
    await leave(me, script)


@on_loop
async def test_subscribing_while_nobody_is_there_waits() -> None:
    script = Script()
    me = await connected(script)
    script.close()
    await until(lambda: not me.connected)
    asking = asyncio.ensure_future(me.subscribe(NEWS))
    await script.reopen()
    await script.greet()
    handle = await script.accept()
    assert (await asking).handle.id == handle
    await leave(me, script)


@on_loop
async def test_withdrawing_while_nobody_is_there_is_told_by_silence() -> None:
    script = Script()
    me = await connected(script)
    first, _ = await subscribed(me, script)
    second, handle = await subscribed(me, script)
    script.close()
    await until(lambda: not me.connected)
    withdrawing = asyncio.ensure_future(me.unsubscribe(first))
    await asyncio.sleep(0)
    assert not withdrawing.done()
    with pytest.raises(UnknownHandle):
        await me.unsubscribe(first)
    await script.reopen()
    assert (await script.greet()).handles == (handle,)
    await withdrawing
    assert (await script.expect(Subscribe)).handle == handle
    second.close()
    assert (await script.expect(Unsubscribe)).handle == handle
    second.close()  # no effect
    script.send(Ack(handles=(handle,)))
    await leave(me, script)


@on_loop
async def test_a_refused_subscription_raises() -> None:
    script = Script()
    me = await connected(script)
    asking = asyncio.ensure_future(me.subscribe(NEWS))
    handle = (await script.expect(Subscribe)).handle
    script.send(Refused("too many", handle=handle))
    with pytest.raises(SubscriptionRefused, match=f"handle {handle}: too many"):
        await asking
    accepted, later = await subscribed(me, script)
    waiting = asyncio.ensure_future(anext(accepted))
    await script.restart()
    assert (await script.greet(capabilities=CAPABILITIES)).handles == (later,)
    script.send(Refused("no more", handle=later))
    with pytest.raises(SubscriptionRefused, match="no more"):
        await waiting
    await script.restart()
    assert (await script.greet()).handles == ()
    await leave(me, script)


@on_loop
async def test_who_stops_waiting_for_a_subscription_does_not_have_it() -> None:
    script = Script()
    me = await connected(script)
    asking = asyncio.ensure_future(me.subscribe(NEWS))
    handle = (await script.expect(Subscribe)).handle
    asking.cancel()
    assert (await script.expect(Unsubscribe)).handle == handle
    await script.restart()
    assert (await script.greet()).handles == ()
    script.obliging = True
    await me.close()  # nothing is unanswered, so this does not wait
    script.close()


@on_loop
async def test_callbacks_are_plain_functions() -> None:
    script = Script()
    me = await connected(script)

    async def later(event: Event, handle: Any) -> None: ...

    with pytest.raises(TypeError, match="expected a plain function"):
        await me.subscribe(NEWS, callback=later)  # type: ignore[arg-type]
    subscription, _ = await subscribed(me, script, callback=lambda event, handle: None)
    with pytest.raises(TypeError, match="has a callback"):
        async for _ in subscription:
            pass
    with pytest.raises(MalformedMessage):
        await me.subscribe(attr("n") == 1 << 70)
    assert me.kept == ()
    await leave(me, script)


@on_loop
async def test_a_radius_without_a_place_is_refused_until_there_is_one() -> None:
    script = Script()
    me = await connected(script)
    with pytest.raises(InvalidLocation, match="radius 50: nobody says where this client is"):
        await me.subscribe(NEWS, radius=50)
    me.moved(PlanarLocation(3.0, 4.0))
    asking = asyncio.ensure_future(me.subscribe(NEWS, radius=50))
    message = await script.expect(Subscribe)
    assert isinstance(message.piggyback, ContextUpdate)
    assert message.piggyback.location == (3.0, 4.0)
    script.send(Ack(handles=(message.handle,)))
    await asking
    me.moved((5.0, 4.0))
    assert (await script.expect(ContextUpdate)).location == (5.0, 4.0)
    with pytest.raises(InvalidLocation):
        me.moved("home")  # type: ignore[arg-type]
    await leave(me, script)


@on_loop
async def test_degrees_that_come_before_the_welcome_are_where_the_client_is() -> None:
    async def receiver() -> AsyncIterator[GeoLocation]:
        yield GeoLocation(49.001, 8.0)
        await asyncio.Event().wait()

    script = Script()
    script.welcome.origin = (49.0, 8.0)
    me = connect(script.endpoint, open=True, name="me", location=receiver())
    opening = asyncio.ensure_future(me.open())
    await turns()
    await script.greet()
    await opening
    asking = asyncio.ensure_future(me.subscribe(NEWS, radius=50))
    message = await script.expect(Subscribe)
    assert isinstance(message.piggyback, ContextUpdate)
    assert message.piggyback.location == pytest.approx((0.0, 111.19), abs=0.01)
    script.send(Ack(handles=(message.handle,)))
    await asking
    await leave(me, script)


@on_loop
async def test_the_place_is_reported_at_the_interval_of_the_connection() -> None:
    script = Script()
    steps = count()
    me = await connected(script, location=lambda: (float(next(steps)), 0.0), interval=FRESH_S)
    await subscribed(me, script, radius=50)
    for _ in range(3):
        await script.expect(ContextUpdate)
    await leave(me, script)
    wrong: list[Any] = [0, -1.0, float("inf"), float("nan"), "1", None]
    for interval in wrong:
        with pytest.raises(InvalidInterval, match=r"expected seconds, 0\.001 or more"):
            connect(script.endpoint, open=True, name="me", interval=interval)


@on_loop
async def test_an_event_far_from_the_region_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    me = await connected(script)
    script.obliging = True
    await me.publish(Event(n=1), PlanarLocation(1000.0, 1000.0))
    assert me.places_outside == 0
    await me.publish(Event(n=1), PlanarLocation(1e6, 0.0))
    assert me.places_outside == 1
    assert "999 km outside the broker's region" in caplog.text
    await leave(me, script)
