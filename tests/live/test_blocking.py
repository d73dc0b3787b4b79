"""Live clients without asyncio, and with it, at a real broker."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.client.blocking import connect_blocking
from bypass.live.client.connection import connect
from bypass.live.client.errors import ConnectionRefused, NotConnected
from bypass.ports.subscriptions import SubHandle
from tests.live.brokers import config, running
from tests.live.scripted import make_keys, on_loop, until

NEWS = attr("kind") == "news"


def test_threads_publish_and_iterate(tmp_path: Path) -> None:
    with running(config(tmp_path)) as service:
        endpoint = service.server.endpoints[0]
        with (
            connect_blocking(endpoint, open=True, name="a") as a,
            connect_blocking(endpoint, open=True, name="b", location=lambda: (10.0, 10.0)) as b,
        ):
            assert a.connected
            assert a.number != b.number
            everywhere = a.subscribe(NEWS)
            called = threading.Event()
            near: list[int] = []

            def callback(event: Event, handle: SubHandle) -> None:
                near.append(event["n"])
                called.set()

            b.subscribe(NEWS, radius=100, callback=callback)
            threads = [threading.Thread(target=b.publish, args=(Event(kind="news", n=n),)) for n in range(10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(event["n"] for event in everywhere.events(timeout=1.0)) == list(range(10))
            with pytest.raises(TimeoutError):
                everywhere.get(timeout=0.01)
            a.publish(Event(kind="news", n=99))
            assert called.wait(10.0)
            assert near == [99]
            b.publish_local(Event(kind="news", n=100))
            assert everywhere.get(timeout=10.0)["n"] == 100
            a.unsubscribe(everywhere)
            with pytest.raises(NotConnected, match="no more events will come"):
                everywhere.get()
            assert list(everywhere) == []
            assert a.kept == ()
            assert a.missed == 0


def test_the_connection_is_not_used_from_its_own_thread_or_after_its_end(tmp_path: Path) -> None:
    with running(config(tmp_path)) as service:
        endpoint = service.server.endpoints[0]
        me = connect_blocking(endpoint, open=True, name="me")
        other = connect_blocking(endpoint, open=True, name="other")
        failed: list[Any] = []
        called = threading.Event()

        def callback(event: Event, handle: SubHandle) -> None:
            try:
                me.publish(event)
            except NotConnected as error:
                failed.append(str(error))
            called.set()

        me.subscribe(NEWS, callback=callback)
        other.publish(Event(kind="news"))
        assert called.wait(10.0)
        assert failed == ["the connection was used in its own thread: expected neither"]
        me.close(forget=True)
        me.close()
        with pytest.raises(NotConnected, match="after it was closed"):
            me.publish(Event(kind="news"))
        other.close()
        threads = [thread.name for thread in threading.enumerate()]
        assert "bypass connection" not in threads


def test_a_connection_that_fails_leaves_no_thread() -> None:
    with pytest.raises(NotConnected, match="nobody listens there"):
        connect_blocking("tcp://127.0.0.1:1", open=True, name="me", patience=2.0)
    assert "bypass connection" not in [thread.name for thread in threading.enumerate()]


def test_keys_that_are_not_admitted_are_refused_at_once(tmp_path: Path) -> None:
    keys = make_keys(tmp_path, "alice", "bob")
    (keys / "clients" / "bob.pub").unlink()
    settings = config(tmp_path, open=False, keys=keys / "broker.key", clients=keys / "clients")
    with running(settings) as service:
        endpoint = service.server.endpoints[0]
        with connect_blocking(endpoint, keys=keys / "alice.key") as alice:
            assert alice.connected
            with pytest.raises(ConnectionRefused, match="the broker does not admit this key"):
                connect_blocking(endpoint, keys=keys / "bob.key")


@on_loop
async def test_a_broker_that_comes_back_goes_on_where_it_was(tmp_path: Path) -> None:
    settings = config(tmp_path)
    got: list[int] = []
    with running(settings) as service:
        endpoint = service.server.endpoints[0]
        a = await connect(endpoint, open=True, name="a").open()
        b = await connect(endpoint, open=True, name="b").open()
        await a.subscribe(NEWS, callback=lambda event, _: got.append(event["n"]))
        first = await b.publish(Event(kind="news", n=1))
        await until(lambda: got == [1])
    await until(lambda: not a.connected and not b.connected)
    waiting = asyncio.ensure_future(b.publish(Event(kind="news", n=2)))
    with running(settings):
        assert await asyncio.wait_for(waiting, 20.0) == first + 1
        await until(lambda: got == [1, 2])
        await a.close()
        await b.close()


@on_loop
async def test_the_next_life_gets_what_came_in_between(tmp_path: Path) -> None:
    with running(config(tmp_path)) as service:
        endpoint = service.server.endpoints[0]
        async with connect(endpoint, open=True, name="b") as b:
            async with connect(endpoint, open=True, name="a") as a:
                number = a.number
                subscription = await a.subscribe(NEWS)
                await b.publish(Event(kind="news", n=1))
                assert (await anext(subscription))["n"] == 1
            for n in range(2, 30):
                await b.publish(Event(kind="news", n=n))
            async with connect(endpoint, open=True, name="a") as a:
                assert a.number == number
                assert [kept.id for kept in a.kept] == [subscription.handle.id]
                again = await a.subscribe(NEWS)
                assert again.handle.id == subscription.handle.id
                assert [(await anext(again))["n"] for _ in range(2, 30)] == list(range(2, 30))
            async with connect(endpoint, open=True, name="a") as a:
                (kept,) = a.kept
                await a.unsubscribe(kept)
            async with connect(endpoint, open=True, name="a") as a:
                assert a.kept == ()
                await a.close(forget=True)
            async with connect(endpoint, open=True, name="a") as a:
                assert a.number != number
