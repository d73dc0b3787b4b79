"""Subscriptions that a broker refuses for the moment, when a client tells it of them again, are not lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.live.client.connection import connect
from bypass.live.client.errors import PublicationRefused, SubscriptionRefused
from bypass.live.client.session.resubscriptions import MOST_ASKED, UNSAID_PAUSE_S
from bypass.protocol.messages import ContextUpdate, Kind, Publish, Subscribe, Unsubscribe
from bypass.protocol.session import CAPABILITIES, RETRY, Ack, Refused
from tests.live.brokers import Peer, config, in_loop, peers, running
from tests.live.brokers import until as until_so
from tests.live.scripted import NEWS, Script, connected, leave, notify, on_loop, subscribed, until

SOON = 0.01


async def told(**options: Any) -> tuple[Any, Script]:
    """A client of a broker that says when to ask again."""
    script = Script()
    script.welcome.capabilities = CAPABILITIES
    return await connected(script, **options), script


@on_loop
async def test_a_subscription_that_is_refused_for_the_moment_is_asked_for_again() -> None:
    me, script = await told()
    accepted, handle = await subscribed(me, script)
    waiting = asyncio.ensure_future(anext(accepted))
    await script.restart()
    await script.greet()
    for _ in range(3):
        assert (await script.expect(Subscribe)).handle == handle
        assert me.resubscribing == 1
        script.send(Refused("too fast", handle=handle, retry=SOON))
    await script.restart()
    assert (await script.greet()).handles == (handle,)  # it is still wanted
    assert await script.accept() == handle
    await until(lambda: me.resubscribing == 0)
    script.send(notify(1, handle, kind="news"))
    assert (await waiting)["number"] == 1
    assert (me.subscriptions_lost, accepted.error) == (0, None)
    await leave(me, script)


@on_loop
async def test_a_broker_that_never_says_when_to_ask_again_is_asked_again() -> None:
    script = Script()
    me = await connected(script)
    _, handle = await subscribed(me, script, callback=lambda event, handle: None)
    await script.restart()
    await script.greet()
    await script.expect(Subscribe)
    script.send(Refused("more than 20 messages a second", handle=handle))
    refused = asyncio.get_running_loop().time()
    assert await script.accept() == handle
    assert asyncio.get_running_loop().time() >= refused + UNSAID_PAUSE_S / 2
    await until(lambda: me.resubscribing == 0)
    await leave(me, script)


@on_loop
async def test_a_subscription_that_is_refused_for_good_says_so() -> None:
    me, script = await told()
    lost, handle = await subscribed(me, script, callback=lambda event, handle: None)
    await script.restart()
    await script.greet()
    await script.expect(Subscribe)
    script.send(Refused("too many filters", handle=handle))
    await until(lambda: me.subscriptions_lost == 1)
    assert isinstance(lost.error, SubscriptionRefused)
    assert "too many filters" in str(lost.error)
    assert me.resubscribing == 0
    await leave(me, script)


@on_loop
async def test_what_is_asked_for_first_raises_and_says_when_to_try_again() -> None:
    me, script = await told()
    asking = asyncio.ensure_future(me.subscribe(NEWS))
    handle = (await script.expect(Subscribe)).handle
    script.send(Refused("too fast", handle=handle, retry=2.0))
    with pytest.raises(SubscriptionRefused, match="too fast") as refused:
        await asking
    assert refused.value.retry == 2.0
    publishing = asyncio.ensure_future(me.publish(Event(kind="news")))
    script.send(Refused("too fast", id=(await script.expect(Publish)).id, retry=3.0))
    with pytest.raises(PublicationRefused) as unpublished:
        await publishing
    assert unpublished.value.retry == 3.0
    await leave(me, script)


@on_loop
async def test_a_withdrawal_that_is_refused_for_the_moment_is_said_again() -> None:
    me, script = await told()
    accepted, handle = await subscribed(me, script)
    withdrawing = asyncio.ensure_future(me.unsubscribe(accepted))
    for _ in range(2):
        assert (await script.expect(Unsubscribe)).handle == handle
        script.send(Refused("no room", handle=handle, retry=SOON))
    assert (await script.expect(Unsubscribe)).handle == handle
    assert not withdrawing.done()
    script.send(Ack(handles=(handle,)))
    await withdrawing
    await leave(me, script)


@on_loop
async def test_a_withdrawal_is_not_confirmed_by_the_answer_to_what_was_asked_before_it() -> None:
    me, script = await told()
    accepted, handle = await subscribed(me, script)
    await script.restart()
    await script.greet()
    await script.expect(Subscribe)
    withdrawing = asyncio.ensure_future(me.unsubscribe(accepted))
    await script.expect(Unsubscribe)
    script.send(Ack(handles=(handle,)))
    other = asyncio.ensure_future(me.subscribe(attr("other") == 1))
    script.send(Ack(handles=((await script.expect(Subscribe)).handle,)))
    await other
    assert not withdrawing.done()
    script.send(Ack(handles=(handle,)))
    await withdrawing
    await leave(me, script)


@on_loop
async def test_what_was_kept_is_claimed_again_if_that_is_refused_for_the_moment() -> None:
    script = Script()
    script.welcome.capabilities, script.welcome.kept = CAPABILITIES, (Subscribe(5, Subscription.of(NEWS)),)
    me = await connected(script)
    claiming = asyncio.ensure_future(me.subscribe(NEWS))
    assert (await script.expect(Subscribe)).handle == 5
    script.send(Refused("too fast", handle=5, retry=SOON))
    assert await script.accept() == 5
    assert (await claiming).handle.id == 5
    await leave(me, script)


@on_loop
async def test_no_more_are_asked_for_at_a_time_than_a_broker_takes() -> None:
    many = tuple(Subscribe(n, Subscription.of(attr("n") == n)) for n in range(1, 101))
    script = Script()
    script.welcome.capabilities, script.welcome.kept = CAPABILITIES, many
    me = await connected(script, kept="drop")
    withdrawn: set[int] = set()
    while len(withdrawn) < len(many):
        asked = [(await script.expect(Unsubscribe)).handle]
        me.publish_soon(Event(kind="mark"))  # whatever was to be said before this has arrived before it
        await until(lambda: any(isinstance(each, Publish) for each in script.arrived))
        asked += [each.handle for each in script.arrived if isinstance(each, Unsubscribe)]
        script.arrived.clear()
        assert len(asked) <= MOST_ASKED
        refused = asked[-1:] if len(withdrawn) < 50 else []
        withdrawn.update(asked[: len(asked) - len(refused)])
        script.send(
            Ack(handles=tuple(asked[: len(asked) - len(refused)])),
            *[Refused("too fast", handle=each, retry=SOON) for each in refused],
        )
    assert withdrawn == {each.handle for each in many}
    assert me.kept == ()
    await leave(me, script)


@pytest.mark.parametrize("durable", [True, False])
def test_a_client_has_all_its_subscriptions_again_after_a_restart(tmp_path: Path, durable: bool) -> None:
    """The broker's rate is far below what the client has to say."""
    count = 24

    async def stay() -> None:
        got: list[int] = []
        with running(config(tmp_path)) as service:
            endpoint = service.server.config.listen[0]
            me = await connect(endpoint, open=True, name="me", durable=durable).open()
            for n in range(count):
                await me.subscribe(attr("n") == n, callback=lambda event, _: got.append(event["n"]))
        slow = {"client_rate": 6}  # 12 at once
        with running(config(tmp_path, limits=slow)) as service:
            await until(lambda: me.connected)
            await until(lambda: in_loop(service, lambda: service.server.counters["limited"]) > 0)
            async with asyncio.timeout(20.0):
                while me.resubscribing:
                    await asyncio.sleep(0.01)
            session = service.server.sessions.by_name["me"]
            assert in_loop(service, lambda: len(session.own)) == count
            assert me.subscriptions_lost == 0
            await me.close(forget=True)

    asyncio.run(stay())


def test_refusals_say_whether_they_are_for_the_moment(tmp_path: Path) -> None:
    limits = {"client_rate": 5, "filters_per_subscription": 1}
    with running(config(tmp_path, limits=limits)) as service, peers() as make:
        new = make(service.server.config.listen[0], "new", capabilities=(RETRY,))
        old = make(service.server.config.listen[0], "old")
        two = Subscription((attr("a") == 1, attr("b") == 1))
        new.send(Subscribe(1, two))
        assert new.get(Refused).retry == 0.0
        for peer, retry in ((new, 2.0), (old, 0.0)):
            for handle in range(2, 14):
                peer.send(Subscribe(handle, Subscription.of(NEWS)))
            refused = peer.get(Refused)
            assert "messages a second" in refused.reason
            assert refused.retry == retry


def test_where_a_client_is_counts_also_beyond_its_rate(tmp_path: Path) -> None:
    """A client takes the place that it has reported for known, until it has moved on."""

    def where(peer: Peer) -> Any:
        return in_loop(service, lambda: service.server.broker.table.whereabouts(peer.number))

    with running(config(tmp_path, limits={"client_rate": 5})) as service, peers() as make:
        me = make(service.server.config.listen[0], "me")
        me.subscribe()
        for _ in range(12):
            me.publish(wait=False)
        me.send(ContextUpdate((70.0, 80.0)))
        until_so(lambda: where(me)[:2] == (70.0, 80.0))
        riding = Publish(me.number << 32 | 99, Event(kind="x"), Kind.PLACED, 0, (1.0, 1.0))
        riding.piggyback = ContextUpdate((90.0, 95.0))
        me.send(riding)
        until_so(lambda: where(me)[:2] == (90.0, 95.0))
        while me.get(Refused).id != riding.id:
            pass
