"""Whatever a broker sends, the processes of its clients and operators go on."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from bypass import Connection, Event, attr, connect
from bypass.live import operator, unfinished
from bypass.live.client.link import link
from bypass.live.operator import Operator, OperatorFailed
from bypass.mechanisms import Registry
from bypass.mechanisms.families import COMMON_SCHEME, FILTER
from bypass.protocol.messages import Kind, Notify, Publish, Subscribe
from bypass.protocol.session import Ack, Control, Hello, Reply, Welcome
from bypass.protocol.wire import encode
from tests.live.brokers import PATIENCE
from tests.live.zmtp import PING, RawBroker, frame

MORE = 1

CLIENT = """
import asyncio, sys
from bypass import attr, connect

async def main():
    async with connect(sys.argv[1], open=True, name="me", patience=1.0) as me:
        subscription = await me.subscribe(attr("n") >= 0)
        await asyncio.to_thread(sys.stdin.readline)  # nobody looks at events meanwhile
        count = 0
        async for event in subscription:
            count += 1
            if count == 100:
                break
        print("got", count, flush=True)

asyncio.run(main())
"""
OPERATOR = """
import sys
from bypass.live.operator import Operator, OperatorFailed

operator = Operator(sys.argv[1], None, patience=1.0)
print("welcomed", flush=True)
sys.stdin.readline()  # nobody looks at answers meanwhile
try:
    operator.ask("status")
except OperatorFailed:
    print("no answer", flush=True)
operator.close()
"""


def welcome() -> Welcome:
    scheme = Registry().kinds(FILTER)[COMMON_SCHEME].flag
    return Welcome(0, 60.0, (0.0, 0.0, 1000.0, 1000.0), client=7, scheme=scheme)


async def opened(broker: RawBroker) -> Connection:
    """A connection that the broker has welcomed."""
    me = connect(broker.endpoint, open=True, name="me")
    opening = asyncio.ensure_future(me.open())
    await asyncio.to_thread(broker.meet)
    await asyncio.to_thread(broker.get, Hello)
    broker.send(welcome())
    return await opening


def notification(number: int, handle: int) -> Notify:
    event = Publish((9 << 32) | number, Event(n=number), Kind.PLAIN, 0, None, client=9)
    return Notify(event, (handle,))


def flood(broker: RawBroker, handle: int) -> None:
    """More than ZeroMQ would take before it is read, then pings among it, and the connection breaks."""
    packets = [frame(encode(notification(number, handle))) for number in range(1, 2601)]
    broker.socket.sendall(b"".join(packets[:1050]) + b"".join(each + PING for each in packets[1050:]))
    broker.until_sent()
    broker.reset()


@pytest.mark.slow
@pytest.mark.parametrize(("source", "printed"), [(CLIENT, "got 100"), (OPERATOR, "no answer")])
def test_a_broker_that_sends_more_than_is_read_and_is_gone_does_not_end_the_process(
    source: str, printed: str
) -> None:
    """ZeroMQ aborts if it has stopped the input of a connection that breaks, and then finds a ping there."""
    with (
        RawBroker() as broker,
        subprocess.Popen(
            [sys.executable, "-c", source, broker.endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            broker.meet()
            broker.get(Hello)
            broker.send(welcome())
            handle = 1
            if source is CLIENT:
                handle = broker.get(Subscribe).handle
                broker.send(Ack((), (handle,)))
            else:
                assert process.stdout is not None
                assert process.stdout.readline().strip() == "welcomed"
            flood(broker, handle)
            said, _ = process.communicate("go on\n", timeout=3 * PATIENCE)
        finally:
            process.kill()
    assert said.strip() == printed
    assert process.returncode == 0


def test_a_broker_that_does_not_wait_for_what_is_read_is_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Unread messages are bounded, however many come."""
    monkeypatch.setattr(link, "MOST_UNREAD_BYTES", 100_000)
    caplog.set_level(logging.INFO)

    async def go(broker: RawBroker) -> None:
        me = await opened(broker)
        subscribing = asyncio.ensure_future(me.subscribe(attr("n") >= 0))
        handle = (await asyncio.to_thread(broker.get, Subscribe)).handle
        broker.send(Ack((), (handle,)))
        await subscribing
        packets = [notification(number, handle) for number in range(1, 6001)]
        with suppress(ConnectionError):
            await asyncio.to_thread(broker.send, *packets)
        with pytest.raises(ConnectionError):
            await asyncio.to_thread(broker.get, Hello)
        await me.close()

    with RawBroker() as broker:
        asyncio.run(asyncio.wait_for(go(broker), PATIENCE))
    assert "bytes wait to be read: expected at most 100000" in caplog.text


def endless(broker: RawBroker) -> int:
    """Send part after part of one message until the other side has ended the connection: how many bytes."""
    part, sent = frame(bytes(65_536), MORE) * 16, 0
    broker.socket.settimeout(PATIENCE)
    with suppress(ConnectionError):
        while sent < 1 << 28:
            broker.socket.sendall(part)
            sent += len(part)
    return sent


@pytest.mark.slow
def test_a_message_that_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """ZeroMQ shows none of its parts before the last, and keeps them all. The client counts it, and goes on
    with another connection."""
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED_BYTES", 1 << 20)
    monkeypatch.setattr(link, "LOOK_S", 0.01)

    async def go(broker: RawBroker) -> None:
        me = await opened(broker)
        assert me.malformed == 0
        assert await asyncio.to_thread(endless, broker) < 1 << 28
        assert me.malformed == 1
        broker.socket.close()
        await asyncio.to_thread(broker.meet)
        await asyncio.to_thread(broker.get, Hello)
        broker.send(welcome())
        await me.close()

    with RawBroker() as broker:
        asyncio.run(asyncio.wait_for(go(broker), 2 * PATIENCE))
    assert "bytes that does not end: expected at most 1048576" in caplog.text


@pytest.mark.slow
def test_a_message_that_does_not_end_is_no_answer_to_an_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED_BYTES", 1 << 20)
    monkeypatch.setattr(operator, "LOOK_S", 0.01)
    with RawBroker() as broker, ThreadPoolExecutor() as threads:
        waiting = threads.submit(Operator, broker.endpoint, None, patience=PATIENCE)
        broker.meet()
        broker.get(Hello)
        assert endless(broker) < 1 << 28
        with pytest.raises(OperatorFailed, match="bytes that does not end: expected at most 1048576"):
            waiting.result()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(7, True, b"{}"), "no answer in 0.3 s"),  # to another question, again and again
        (Reply(1, True, b"{"), "expected an answer in JSON"),
        (Reply(1, False, b"[]"), "expected an answer in JSON"),
    ],
)
def test_answers_to_an_operator_that_are_none(reply: Reply, reason: str) -> None:
    def ask(endpoint: str) -> None:
        me = Operator(endpoint, None, patience=0.3)
        try:
            me.ask("status")
        finally:
            me.close()

    with RawBroker() as broker, ThreadPoolExecutor() as threads:
        asked = threads.submit(ask, broker.endpoint)
        broker.meet()
        broker.get(Hello)
        broker.send(welcome())
        broker.get(Control)
        ends = time.monotonic() + PATIENCE
        with suppress(ConnectionError):  # it has closed its side
            while not asked.done() and time.monotonic() < ends:
                broker.send(reply)
        in_time = time.monotonic() < ends
        broker.socket.close()  # whoever is still waiting gets nothing more
        assert in_time, "it goes on waiting as long as something comes"
        with pytest.raises(OperatorFailed, match=reason):
            asked.result()
