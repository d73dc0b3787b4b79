"""What a live client has subscribed is known to the broker, whatever happens to the connection."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from bypass.errors import UnknownHandle
from bypass.events import Event
from bypass.filters import attr
from bypass.live.client.errors import (
    SubscriptionRefused,
)
from bypass.live.client.places import FRESH_S
from bypass.messages import (
    ContextUpdate,
    Subscribe,
    Unsubscribe,
)
from bypass.session import Ack, Refused
from bypass.wire import MalformedMessage
from tests.live.scripted import (
    NEWS,
    Script,
    connected,
    leave,
    on_loop,
    subscribed,
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
    assert (await script.greet()).handles == (later,)
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
