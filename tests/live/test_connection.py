"""Connections to a broker that does what the test says: how they begin, break and end."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest

from bypass.events.event import Event
from bypass.live.client.connection import connect
from bypass.live.client.errors import (
    ConnectionRefused,
    InvalidEndpoint,
    NotConnected,
)
from bypass.live.client.link.reconnector import Reconnector
from bypass.live.keys import InvalidKeys
from bypass.protocol.messages import (
    ContextUpdate,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
)
from bypass.protocol.session import Ack, Bye, Hello, Refused, Reply
from bypass.transitions import Action, Outcome, Plan
from tests.live.scripted import (
    NEWS,
    Script,
    connected,
    leave,
    make_keys,
    on_loop,
    subscribed,
    together,
    turns,
    until,
    with_another_broker,
)


@on_loop
async def test_keys_encrypt_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    keys = make_keys(tmp_path, "alice")
    script = Script(keys)
    me = connect(script.endpoint, keys=keys / "alice.key")
    _, hello = await together(me.open(), script.greet(client=3))
    assert (hello.name, hello.client, hello.handles, hello.durable) == ("", 0, (), True)
    assert me.connected
    assert me.number == 3
    other = connect(script.endpoint, keys=with_another_broker(keys / "alice.key"), patience=2.0)
    with pytest.raises(NotConnected, match=r"the broker has not the key that is expected; gave up after 2 s"):
        await other.open()
    without = connect(script.endpoint, open=True, name="x", patience=2.0)
    with pytest.raises(NotConnected, match="only one of the two sides has keys"):
        await without.open()
    await leave(me, script)


def test_no_keys_are_a_decision(tmp_path: Path) -> None:
    with pytest.raises(InvalidKeys, match="no keys: expected either a key file or open=True"):
        connect("tcp://127.0.0.1:1")
    with pytest.raises(InvalidKeys, match="expected either a key file or open=True"):
        connect("tcp://127.0.0.1:1", keys=tmp_path / "alice.key", open=True)
    with pytest.raises(InvalidKeys):
        connect("tcp://127.0.0.1:1", keys=tmp_path / "missing.key")


@on_loop
async def test_patience_ends_and_the_reason_is_told() -> None:
    with pytest.raises(NotConnected, match=r"tcp://127.0.0.1:1: nobody listens there; gave up after 2 s"):
        await connect("tcp://127.0.0.1:1", open=True, name="me", patience=2.0).open()
    script = Script()  # listens, but never answers
    with pytest.raises(NotConnected, match=r"no broker has answered; gave up after 0.3 s"):
        await connect(script.endpoint, open=True, name="me", patience=0.3).open()
    script.close()
    with pytest.raises(
        InvalidEndpoint, match=r"endpoint 'elsewhere': .*: expected tcp://host:port or ipc://path"
    ):
        await connect("elsewhere", open=True, name="me").open()
    unopened = connect("tcp://127.0.0.1:1", open=True, name="me")
    with pytest.raises(NotConnected, match="was not opened"):
        unopened.publish_soon(Event(a=1))


@on_loop
async def test_a_broker_that_comes_later_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    script = Script()
    endpoint = script.endpoint
    script.close()
    me = connect(endpoint, open=True, name="me")
    opening = asyncio.ensure_future(me.open())
    await until(lambda: "nobody listens there; tried again" in caplog.text)
    await script.reopen()
    await script.greet()
    assert await opening is me
    await leave(me, script)


@on_loop
async def test_a_greeting_without_answer_does_not_make_a_life() -> None:
    script = Script()
    me = connect(script.endpoint, open=True, name="me")
    opening = asyncio.ensure_future(me.open())
    first = await script.expect(Hello)
    await script.restart()
    second = await script.greet()
    await opening
    assert first.life != second.life  # else the broker would withdraw what earlier lives have subscribed
    await script.restart()
    assert (await script.greet()).life == second.life
    await leave(me, script)


@on_loop
async def test_a_refused_connection_is_over_for_everybody() -> None:
    script = Script()
    me = await connected(script)
    states: list[str] = []
    me.on_state = states.append
    subscription, _ = await subscribed(me, script)
    unacknowledged = me.publish_soon(Event(kind="a"))
    waiting = asyncio.ensure_future(anext(subscription))
    await script.expect(Publish)
    script.send(Refused("me is connected elsewhere"))
    for waits in (unacknowledged, waiting):
        with pytest.raises(ConnectionRefused, match="me is connected elsewhere"):
            await waits
    for call in (me.publish(Event(a=1)), me.subscribe(NEWS), me.until_connected()):
        with pytest.raises(ConnectionRefused):
            await call
    assert not me.connected
    assert states == ["disconnected"]
    await me.close()
    script.close()


@on_loop
async def test_who_is_refused_for_a_while_comes_again_no_earlier_and_loses_nothing() -> None:
    script = Script()
    me = await connected(script)
    states: list[str] = []
    me.on_state = states.append
    unacknowledged = me.publish_soon(Event(kind="a"))
    await script.expect(Publish)
    loop = asyncio.get_running_loop()
    began = loop.time()
    script.send(Refused("not now", retry=0.3))
    await script.greet()
    assert loop.time() - began >= 0.3
    number = (await script.expect(Publish)).id
    script.send(Ack((number,)))
    assert await unacknowledged == number
    assert states == ["disconnected", "connected"]
    await leave(me, script)


@on_loop
async def test_who_is_refused_for_a_while_says_so_when_it_runs_out_of_patience() -> None:
    script = Script()
    opening = asyncio.ensure_future(connect(script.endpoint, open=True, name="me", patience=0.3).open())
    await script.expect(Hello)
    script.send(Refused("compiling", retry=60.0))
    with pytest.raises(NotConnected, match=r"compiling; gave up after 0\.3 s"):
        await opening
    script.close()


@on_loop
async def test_a_broker_that_says_when_to_come_again_takes_no_patience() -> None:
    script = Script()
    me = connect(script.endpoint, open=True, name="me", patience=2.5)
    opening = asyncio.ensure_future(me.open())
    for _ in range(3):  # longer than its patience, all in all
        await script.expect(Hello)
        script.send(Refused("compiling", retry=0.9))
    await script.greet()
    await opening
    await leave(me, script)


@on_loop
async def test_a_scheme_that_is_not_known_here_is_refused() -> None:
    script = Script()
    me = connect(script.endpoint, open=True, name="me")
    opening = asyncio.ensure_future(me.open())
    await script.greet(scheme=99)
    with pytest.raises(ConnectionRefused, match="filter scheme 99: expected one that is known here"):
        await opening
    script.close()


@on_loop
async def test_who_is_silent_for_three_heartbeats_is_taken_for_lost(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    script = Script()
    script.welcome.heartbeat = 0.2
    me = await connected(script)
    await until(lambda: script.pings >= 5)
    assert me.connected  # for pings are answered
    script.answers_pings = False
    hello = await script.greet()
    assert hello.client == 7
    assert "heard nothing for 0." in caplog.text
    script.answers_pings = True
    await leave(me, script)


@on_loop
async def test_who_got_no_time_has_not_listened_and_asks_first() -> None:
    script = Script()
    script.welcome.heartbeat = 0.2
    me = await connected(script)
    states: list[str] = []
    me.on_state = states.append
    ends = time.monotonic() + 5 * script.welcome.heartbeat
    while time.monotonic() < ends:
        """As if the process was stopped: neither of the two has a turn."""
    await until(lambda: script.pings >= 2)
    assert states == []
    await leave(me, script)


@on_loop
async def test_a_connection_may_break_in_the_moment_in_which_it_is_ended() -> None:
    script = Script()
    me = await connected(script)
    ending = asyncio.ensure_future(me._keeper.end())
    await asyncio.sleep(0)
    assert isinstance(me._keeper, Reconnector)
    assert me._keeper._link is not None  # the end has been asked for, and nothing has come of it yet
    me._keeper._link.lose("the connection broke")
    await ending
    assert not me.connected
    script.close()


@on_loop
async def test_a_goodbye_of_the_broker_is_followed_by_another_connection() -> None:
    script = Script()
    me = await connected(script)
    states: list[str] = []
    me.on_state = states.append
    script.send(Bye())
    await script.greet()
    await until(lambda: me.connected)
    assert states == ["disconnected", "connected"]
    await leave(me, script)


@on_loop
async def test_a_state_callback_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    me = await connected(script)

    def fail(state: str) -> None:
        raise ValueError(state)

    me.on_state = fail
    await script.restart()
    await script.greet()
    await me.until_connected()
    assert "what was to be called when disconnected failed" in caplog.text
    await leave(me, script)


@on_loop
async def test_nonsense_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    me = await connected(script)
    for packet in (b"", b"\x00", b"\xff" * 100, b"\x0a\xff", b"\x08\x07"):
        script.send_bytes(packet)
    script.send(PlanMessage(b"no plan"), Reply(99, True), Ack((1,), (2,)), Refused("?", id=5), Hello("x", 1))
    script.obliging = True
    await me.publish(Event(n=1))
    assert me.connected
    assert "goes on after an error" in caplog.text
    await leave(me, script)


@on_loop
async def test_closing_waits_for_answers_but_not_without_connection() -> None:
    script = Script()
    me = await connected(script, durable=False)
    pending = me.publish_soon(Event(n=1))
    number = (await script.expect(Publish)).id
    closing = asyncio.ensure_future(me.close())
    await turns()
    assert not closing.done()
    script.send(Ack((number,)))
    assert (await script.expect(Bye)).forget is False
    script.send(Bye())
    await closing
    assert await pending == number
    await me.close()  # no effect

    away = await connected(script)
    script.close()
    await until(lambda: not away.connected)
    lost = away.publish_soon(Event(n=2))
    await away.close()
    with pytest.raises(NotConnected, match="the connection is closed"):
        await lost
    with pytest.raises(NotConnected, match="the connection is closed"):
        await away.publish(Event(n=3))


@on_loop
async def test_forgetting_needs_a_broker() -> None:
    script = Script()
    me = await connected(script)
    closing = asyncio.ensure_future(me.close(forget=True))
    assert (await script.expect(Bye)).forget is True
    script.send(Bye())
    await closing
    away = await connected(script)
    script.close()
    await until(lambda: not away.connected)
    with pytest.raises(NotConnected, match="has not forgotten anything"):
        await away.close(forget=True)


@on_loop
async def test_durability_is_said_in_the_greeting() -> None:
    script = Script()
    me = connect(script.endpoint, open=True, name="me", durable=False)
    _, hello = await together(me.open(), script.greet())
    assert hello.durable is False
    await leave(me, script)


@on_loop
async def test_plans_are_carried_out_and_remembered_in_the_greeting() -> None:
    script = Script()
    me = await connected(script, location=lambda: (1.0, 1.0))
    me.moved((1.0, 2.0))
    await subscribed(me, script, radius=10)
    plan = Plan(plan="p", id="p-1", epoch=4, actions=(Action(proxy="filter", to="ste"),))
    script.send(PlanMessage(plan.to_bytes(), client=7, epoch=4))
    await script.expect(OutcomeMessage)
    await script.restart()
    hello = await script.greet(scheme=2, epoch=4)
    assert (hello.scheme, hello.epoch) == (2, 4)
    again = await script.expect(Subscribe)
    assert isinstance(again.piggyback, ContextUpdate)
    assert again.piggyback.vector is not None
    await leave(me, script)


@pytest.mark.parametrize("capabilities", [("obsolete",), ()])
@on_loop
async def test_a_plan_that_a_newer_one_has_overtaken_is_not_done(capabilities: tuple[str, ...]) -> None:
    """A broker that repeats it, as those of version 0.1.0 do, gets an answer that it understands."""
    script = Script()
    me = connect(script.endpoint, open=True, name="me")
    await together(me.open(), script.greet(capabilities=capabilities))

    async def tell(name: str, epoch: int, **values: float) -> Outcome:
        action = Action(proxy="filter", set={**values})
        plan = Plan(plan="p", id=name, epoch=epoch, actions=(action,))
        script.send(PlanMessage(plan.to_bytes(), client=7, epoch=max(epoch, 2)))
        return Outcome.from_bytes((await script.expect(OutcomeMessage)).outcome)

    assert (await tell("slow", 1, period=9.0)).ok
    assert (await tell("quick", 2, period=1.0)).ok
    again = await tell("slow~7.1", 1, period=9.0)
    assert again.ok
    assert [record.outcome for record in again.records] == ["obsolete" if capabilities else "skipped"]
    assert again.obsolete is bool(capabilities)
    assert me._exchange.usable().engine.active("filter").settings()["period"] == 1.0
    await leave(me, script)
