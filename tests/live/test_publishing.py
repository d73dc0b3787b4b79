"""What a live client publishes reaches the broker once, whatever happens to the connection."""

from __future__ import annotations

import asyncio

import pytest

from bypass.errors import BypassError, InvalidEvent
from bypass.events.event import Event
from bypass.live.client.errors import (
    PublicationRefused,
)
from bypass.places.geo import GeoLocation, PlanarLocation
from bypass.protocol.messages import (
    Publish,
    Subscribe,
)
from bypass.protocol.session import Ack, Hello, Refused
from bypass.protocol.wire import MalformedMessage
from tests.live.scripted import (
    Script,
    connected,
    leave,
    notify,
    on_loop,
    subscribed,
    until,
)


@on_loop
async def test_unacknowledged_events_are_sent_again_in_order_with_their_numbers() -> None:
    script = Script()
    me = await connected(script)
    pending = [me.publish_soon(Event(n=n)) for n in range(5)]
    ids = [(await script.expect(Publish)).id for _ in range(5)]
    assert ids == [7 << 32 | n for n in (1, 2, 3, 4, 5)]
    script.send(Ack((ids[0], ids[0], 12345)))
    assert await pending[0] == ids[0]
    script.close()
    await until(lambda: not me.connected)
    pending.append(me.publish_soon(Event(n=5)))  # while nobody is there
    await script.reopen()
    await script.greet(published=2)  # it had the second one, but could not say so
    again = [await script.expect(Publish) for _ in range(4)]
    assert [(p.id & 0xFF, p.event["n"]) for p in again] == [(3, 2), (4, 3), (5, 4), (6, 5)]
    assert await pending[1] == ids[1]
    script.send(Ack(tuple(p.id for p in again)), Ack(tuple(ids)))
    assert await asyncio.gather(*pending) == [7 << 32 | n for n in range(1, 7)]
    await leave(me, script)


@on_loop
async def test_a_publication_that_nobody_waits_for_any_more_is_sent_all_the_same() -> None:
    script = Script()
    me = await connected(script)
    waiting = asyncio.ensure_future(me.publish(Event(n=1)))
    await script.expect(Publish)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await script.restart()
    await script.greet()
    again = await script.expect(Publish)
    assert again.event == Event(n=1)
    script.send(Ack((again.id,)))
    script.obliging = True
    assert await me.publish(Event(n=2)) == again.id + 1
    await script.restart()
    await script.expect(Hello)
    await until(lambda: me.connected)
    assert not any(isinstance(m, Publish) for m in script.arrived)  # all were acknowledged
    await leave(me, script)


@on_loop
async def test_a_refused_publication_raises_and_is_not_sent_again() -> None:
    script = Script()
    me = await connected(script)
    waiting = asyncio.ensure_future(me.publish(Event(n=1)))
    number = (await script.expect(Publish)).id
    script.send(Refused("too many", id=number))
    with pytest.raises(PublicationRefused, match=f"event {number}: too many"):
        await waiting
    await script.restart()
    await script.greet()
    script.obliging = True
    await me.publish(Event(n=2))
    assert [m.event["n"] for m in script.arrived if isinstance(m, Publish)] == [2]
    await leave(me, script)


@on_loop
async def test_what_cannot_be_published_raises_at_once_and_takes_no_place() -> None:
    script = Script()
    me = await connected(script)
    with pytest.raises(InvalidEvent):
        await me.publish("no event")  # type: ignore[arg-type]
    with pytest.raises(MalformedMessage):
        me.publish_soon(Event(n=1 << 70))
    with pytest.raises(BypassError, match="expected planar metres"):
        await me.publish(Event(n=1), GeoLocation(49.0, 8.0))
    with pytest.raises(BypassError, match="its location is not known yet"):
        await me.publish_local(Event(n=1))
    script.obliging = True
    await me.publish(Event(n=1), PlanarLocation(1.0, 2.0))
    assert [m.location for m in script.arrived if isinstance(m, Publish)] == [(1.0, 2.0)]
    await leave(me, script)


@on_loop
async def test_degrees_are_metres_around_the_origin_of_the_broker() -> None:
    script = Script()
    script.welcome.origin = (49.0, 8.0)
    me = await connected(script, location=lambda: GeoLocation(49.0, 8.0))
    script.obliging = True
    await me.publish_local(Event(n=1))
    await me.publish(Event(n=2), GeoLocation(49.001, 8.0))
    local, placed = [m for m in script.arrived if isinstance(m, Publish)]
    assert local.location == pytest.approx((0.0, 0.0), abs=1e-6)
    assert placed.location == pytest.approx((0.0, 111.19), abs=0.01)
    await leave(me, script)


@on_loop
async def test_another_number_renumbers_what_was_not_acknowledged(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    me = await connected(script, location=lambda: (5.0, 5.0))
    subscription, handle = await subscribed(me, script, radius=50)
    pending = [me.publish_soon(Event(n=n)) for n in range(3)]
    for _ in pending:
        await script.expect(Publish)
    await script.restart()
    hello = await script.greet(client=40, published=0, scheme=2, epoch=0)
    assert (hello.client, hello.handles) == (7, (handle,))
    again = await script.expect(Subscribe)
    assert (again.client, again.handle, again.radius, again.scheme) == (40, handle, 50, 2)
    events = [await script.expect(Publish) for _ in pending]
    assert [(p.id, p.client, p.event["n"]) for p in events] == [(40 << 32 | n + 1, 40, n) for n in range(3)]
    script.send(Ack(tuple(p.id for p in events)))
    assert await asyncio.gather(*pending) == [p.id for p in events]
    assert me.number == 40
    assert "the broker has forgotten client 7; it is client 40 now" in caplog.text
    script.send(notify(1, handle))
    assert (await anext(subscription))["number"] == 1
    await leave(me, script)


@on_loop
async def test_a_broker_that_has_lost_its_memory_gets_no_number_twice() -> None:
    script = Script()
    me = await connected(script)
    script.obliging = True
    for n in range(3):
        await me.publish(Event(n=n))
    await script.restart()  # and knows nothing: published is 0
    await until(lambda: not me.connected)
    await me.until_connected()
    assert await me.publish(Event(n=3)) == 7 << 32 | 4  # others may remember the numbers before
    await leave(me, script)
