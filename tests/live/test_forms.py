"""Forms beyond version 0.1.0: who names them gets them, and who does not goes on as before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bypass import Event, PlanarLocation, attr, connect_blocking
from bypass.events.event import Publisher
from bypass.live import Unsupported
from bypass.live.broker.service import Service
from bypass.live.client.errors import PublicationRefused, SubscriptionRefused
from bypass.protocol.messages import Kind, Notify, Publish, Subscribe
from bypass.protocol.session import CAPABILITIES, EXPRESSIONS, KEPT_PARTS, RICH_EVENTS, Ack, Kept
from tests.live.brokers import Peer, config, peers, running
from tests.live.scripted import Script, connected, leave, notify, on_loop, subscribed, turns, until

Make = Callable[..., Peer]
OPEN = attr("open") == True  # noqa: E712
EITHER = (attr("kind") == "x") | ~attr("level").exists()


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(config(tmp_path)) as service:
        yield service


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def test_a_received_event_says_where_who_when(service: Service) -> None:
    address = endpoint(service)
    with (
        connect_blocking(address, open=True, name="speaker") as speaker,
        connect_blocking(address, open=True, name="listener") as listener,
    ):
        heard = listener.subscribe(EITHER & OPEN)
        number = speaker.publish(Event(kind="x", level=3, open=True), PlanarLocation(3.0, 4.0))
        speaker.publish(Event(kind="y", level=3, open=True))
        speaker.publish(Event(kind="x", open=False))
        speaker.publish(Event(kind="y", open=True))
        first, second = heard.get(20.0), heard.get(20.0)
        assert first.publisher == Publisher(speaker.number, "speaker")
    assert first == Event(kind="x", level=3, open=True)
    assert first["open"] is True
    assert (first.id, first.location) == (number, PlanarLocation(3.0, 4.0))
    assert str(first.publisher) == "speaker"
    assert first.at is not None
    assert second.at is not None
    assert first.at <= second.at
    assert second == Event(kind="y", open=True)
    assert second.location is None
    mine = Event(kind="x")
    assert (mine.id, mine.publisher, mine.at, mine.location) == (None, None, None, None)


def test_names_and_truth_values_are_for_who_knows_them(service: Service, make: Make) -> None:
    new = make(endpoint(service), "new", capabilities=CAPABILITIES)
    old = make(endpoint(service), "old")
    publisher = make(endpoint(service), "publisher")
    for peer in (new, old):
        peer.subscribe()
    event = Event(kind="x", open=True, shut=False)
    for count in (1, 2):
        number = publisher.number << 32 | count
        publisher.send(Publish(number, event, Kind.PLACED, 5, (10.0, 10.0)))
        assert number in publisher.get(Ack).ids
        rich, plain = new.get(Notify).publication, old.get(Notify).publication
        assert (rich.publisher, plain.publisher) == ("publisher", "")
        assert [type(value) for _, value in rich.event.attributes] == [str, bool, bool]
        assert [value for _, value in plain.event.attributes] == ["x", 1, 0]
        assert [type(value) for _, value in plain.event.attributes] == [str, int, int]
    # The same out of the log, for whoever comes again.
    for peer, expected, name in ((new, bool, "publisher"), (old, int, "")):
        peer.close()
        hello = {"capabilities": CAPABILITIES} if peer is new else {}
        again = make(endpoint(service), peer.name, handles=(1,), **hello)
        publication = again.get(Notify).publication
        assert type(publication.event["open"]) is expected
        assert publication.publisher == name


def test_who_cannot_read_a_kept_subscription_is_not_told_of_it(service: Service, make: Make) -> None:
    first = make(endpoint(service), "me", capabilities=CAPABILITIES)
    first.send(Subscribe(7, EITHER))
    assert 7 in first.get(Ack).handles
    first.subscribe(8)
    first.close()
    old = make(endpoint(service), "me", life=2)
    assert [each.handle for each in old.welcome.kept] == [8]
    old.close()
    back = make(endpoint(service), "me", life=3, capabilities=(KEPT_PARTS, EXPRESSIONS, RICH_EVENTS))
    assert back.welcome.kept_parts == 1
    kept = {each.handle: each.subscription for each in back.get(Kept).kept}
    assert kept.keys() == {7, 8}
    assert kept[7] == EITHER


def test_expressions_are_restored_with_the_broker(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        peer = make(endpoint(service), "me", capabilities=CAPABILITIES)
        peer.send(Subscribe(7, EITHER & OPEN))
        assert 7 in peer.get(Ack).handles
        peer.close()
    with running(config(tmp_path)) as service:
        back = make(endpoint(service), "me", handles=(7,), capabilities=CAPABILITIES)
        publisher = make(endpoint(service), "publisher")
        for count, event in enumerate((Event(kind="x", open=False), Event(kind="x", open=True)), 1):
            publisher.send(Publish(publisher.number << 32 | count, event))
        assert back.get(Notify).publication.event == Event(kind="x", open=True)


@on_loop
async def test_what_an_older_broker_cannot_read_is_refused_here() -> None:
    script = Script()
    me = await connected(script)
    for wanted in (EITHER, OPEN, attr("level").exists()):
        with pytest.raises(Unsupported, match="the broker's version does not know"):
            await me.subscribe(wanted)
    for publish in (me.publish, me.publish_soon):
        with pytest.raises(Unsupported, match="the broker's version does not know rich-events"):
            await publish(Event(open=True))
    await turns()
    assert not script.arrived
    await leave(me, script)


@on_loop
async def test_a_broker_that_has_become_older_ends_what_it_cannot_read() -> None:
    script = Script()
    script.welcome.capabilities = CAPABILITIES
    me = await connected(script)
    _, handle = await subscribed(me, script)
    asking = asyncio.ensure_future(me.subscribe(EITHER))
    assert (await script.expect(Subscribe)).subscription == EITHER
    pending = me.publish_soon(Event(open=True))
    await script.expect(Publish)
    await script.restart()
    await script.greet(capabilities=())
    with pytest.raises(SubscriptionRefused, match="does not know expressions"):
        await asking
    with pytest.raises(PublicationRefused, match="does not know rich-events"):
        await pending
    assert (await script.expect(Subscribe)).handle == handle
    await leave(me, script)


@on_loop
async def test_an_exact_subscription_is_not_told_of_what_is_too_far_away() -> None:
    script = Script()
    me = await connected(script)
    me.moved((0.0, 0.0))
    exact, one = await subscribed(me, script, radius=10, exact=True)
    rough, other = await subscribed(me, script, radius=10)
    for number, x in enumerate((5.0, 11.0, 10.0), 1):
        message = notify(number, one)
        message.handles = (one, other)
        message.publication.location = (x, 0.0)
        script.send(message)
    assert [(await anext(exact))["number"] for _ in range(2)] == [1, 3]
    assert [(await anext(rough))["number"] for _ in range(3)] == [1, 2, 3]
    await until(lambda: me.beyond_radius == 1)
    exact.done()
    rough.done()
    assert sorted(await script.receipts(3)) == [9 << 32 | n for n in (1, 2, 3)]
    await leave(me, script)
