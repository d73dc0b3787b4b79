"""Calls about objects: many at once, of applications that are mistaken, and when the connection ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from bypass import connect
from bypass.errors import BypassError, InvalidObject, InvalidQuery
from bypass.live.client.connection import Connection
from bypass.live.client.errors import NotConnected
from bypass.objects.metadata import ObjectKey
from tests.live.brokers import config, running

NO_RATES = {"client_rate": 0, "client_byte_rate": 0}


def client(service: Any, name: str) -> Connection:
    return connect(service.server.endpoints[0], open=True, name=name)


def test_what_is_asked_for_all_at_once_is_done(tmp_path: Path) -> None:
    """An application need not know how much a broker lets one client have on its way."""

    async def count(me: Connection, formula: str) -> int:
        async with me.query(formula, until="now") as found:
            return len([match async for match in found])

    async def run(service: Any) -> None:
        async with client(service, "one") as one, client(service, "two") as two, asyncio.timeout(60):
            large = [bytes([number]) * 100_000 for number in range(20)]
            small = [b"%d" % number for number in range(150)]
            keys = await asyncio.gather(*(one.insert(data, {"t"}) for data in large + small))
            assert await asyncio.gather(*(two.retrieve(key) for key in keys)) == large + small
            counts = await asyncio.gather(*(count(two, f"t & ~u{number}") for number in range(90)))
            assert {*counts} == {170}

    with running(config(tmp_path, limits=NO_RATES)) as service:
        asyncio.run(run(service))
        assert not service.server.counters["objects_over_waiting"]


def test_the_client_keeps_nothing_that_the_broker_has(tmp_path: Path) -> None:
    async def run(service: Any) -> None:
        async with client(service, "one") as one:
            keys = [await one.insert(bytes(size), {"t"}) for size in (0, 10, 100_000)]
            session = one._exchange
            assert session.client is not None
            assert session.client.objects.store.own == []
            async with one.query("t", until="now") as found:
                assert sorted([len(await match.retrieve()) async for match in found]) == [0, 10, 100_000]
            for key in keys:
                await one.delete(key)

    with running(config(tmp_path, limits=NO_RATES)) as service:
        asyncio.run(run(service))
        assert service.server.objects.store.accounts.objects == 0


def test_who_waits_is_told_that_the_connection_has_ended(tmp_path: Path) -> None:
    async def ended(call: Coroutine[Any, Any, object]) -> None:
        with pytest.raises(NotConnected):
            await call

    async def run() -> None:
        with running(config(tmp_path)) as service:
            one = client(service, "one")
            await one.__aenter__()
            key = await one.insert(b"", {"t"})
            found = await one.query("t").__aenter__()
            await anext(found)
            other = await one.query("t").__aenter__()
        calls = (
            one.insert(b"", {"t"}),
            one.insert(bytes(100_000), {"t"}),
            one.delete(key),
            one.retrieve(ObjectKey(1, "unknown")),
            one.query("t").__aenter__(),
        )
        waiting = [asyncio.create_task(ended(call)) for call in calls]
        coming = asyncio.create_task(anext(found, None))
        async with asyncio.timeout(20):
            await other.__aexit__(None, None, None)  # the broker is gone: there is nothing to wait for
            while one._exchange.objects.waiting < 4:
                await asyncio.sleep(0)
            await one.close()
            await asyncio.gather(*waiting)
            assert await coming is None
            await found.__aexit__(None, None, None)

    asyncio.run(run())


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    insertions: list[tuple[dict[str, Any], str]] = [
        ({"data": "text"}, "object's data 'text': expected bytes"),
        ({"data": bytearray(b"x")}, "expected bytes"),
        ({"tags": "beach"}, "object's tags 'beach': expected several"),
        ({"tags": 3}, "object's tags 3: expected several"),
        ({"summary": "text"}, "object's summary 'text': expected bytes"),
        ({"attributes": {"level": 1}}, "expected an Event"),
        ({"place": (1.0,)}, "expected 2 finite numbers"),
    ]

    async def run(service: Any) -> None:
        async with client(service, "one") as one:
            for given, message in insertions:
                with pytest.raises(InvalidObject, match=message):
                    await one.insert(**{"data": b"", "tags": {"t"}} | given)
            for near in ("abc", 5, (1, 2), (1, 2, "3"), (0, 0, -1)):
                with pytest.raises(InvalidQuery, match="expected x, y and a radius above 0"):
                    await one.query("t", near=near).__aenter__()  # type: ignore[arg-type]
            with pytest.raises(BypassError, match="expected filters"):
                await one.query("t", where="level > 3").__aenter__()  # type: ignore[arg-type]
            calls: list[Any] = [one.delete, one.retrieve, one.kept_by_others]
            for call in calls:
                with pytest.raises(InvalidObject, match="object '7/x': expected the ObjectKey"):
                    await call("7/x")

    with running(config(tmp_path)) as service:
        asyncio.run(run(service))
        assert service.server.objects.store.accounts.objects == 0
