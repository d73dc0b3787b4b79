"""Objects of live clients: inserted, found in the past and as they come, retrieved, deleted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bypass import attr, connect, connect_blocking
from bypass.errors import (
    BypassError,
    InvalidFormula,
    InvalidObject,
    InvalidWindow,
    NotOwner,
    QuotaExceeded,
    UnknownObject,
)
from bypass.events.event import Event
from bypass.live.broker.objects import live_queries
from bypass.live.client.connection import Connection
from bypass.live.client.objects.matches import ObjectMatches
from tests.live.brokers import config, running


def client(service: Any, name: str) -> Connection:
    return connect(service.server.endpoints[0], open=True, name=name)


async def taken(found: ObjectMatches, count: int) -> list[str]:
    async with asyncio.timeout(20):
        return [(await anext(found)).key.name for _ in range(count)]


def test_past_in_pages_then_what_comes(tmp_path: Path) -> None:
    async def run(service: Any) -> None:
        async with client(service, "one") as one, client(service, "two") as two:
            for number in range(50):
                await one.insert(b"x%d" % number, {"beach", "sunset"}, name=f"{number:02}", summary=b"s")
            await one.insert(b"wet", {"beach", "rain"}, name="wet")
            async with two.query("beach & (sunset | ~rain)", since="-1h") as found:
                assert found.more_past
                names = await taken(found, 50)
                assert names == [f"{number:02}" for number in reversed(range(50))]
                coming = asyncio.create_task(taken(found, 1))
                await one.insert(b"new", {"beach"}, name="new")
                assert await coming == ["new"]
                assert not found.more_past

    with running(config(tmp_path)) as service:
        asyncio.run(run(service))


def test_a_client_does_not_grow_with_what_it_has_stored(tmp_path: Path) -> None:
    async def run(service: Any) -> None:
        async with client(service, "one") as one:
            stored = await one.insert(b"x" * 1000, {"a"})
            kept = one._exchange.usable().objects.store
            assert stored not in kept
            async with one.query("a") as found:
                assert await (await anext(found)).retrieve() == b"x" * 1000
            await one.delete(stored)

    with running(config(tmp_path)) as service:
        asyncio.run(run(service))


def test_bytes_come_back_as_they_were(tmp_path: Path) -> None:
    async def run(service: Any) -> None:
        async with client(service, "one") as one, client(service, "two") as two:
            for size in (0, 1, 65_535, 65_536, 300_000):
                data = bytes(size % 251 for size in range(size))
                key = await one.insert(data, {"size"}, name=str(size), place=(1.0, 2.0))
                assert key.owner == one.number
            async with two.query("size", near=(0.0, 0.0, 5.0), until="+0.1s") as found:
                async for match in found:
                    data = await match.retrieve()
                    assert str(len(data)) == match.key.name
                    assert match.place == (1.0, 2.0)
                    assert data == await two.retrieve(match.key)
            assert len(service.server.objects._transfers) == 0

    with running(config(tmp_path, limits={"client_byte_rate": 0})) as service:
        asyncio.run(run(service))


def test_attributes_and_places_select(tmp_path: Path) -> None:
    async def run(service: Any) -> None:
        async with client(service, "one") as one:
            for level in range(4):
                await one.insert(b"", {"t"}, name=str(level), attributes=Event(level=level))
            async with one.query("t", where=attr("level") > 1, until="now") as found:
                assert [match.key.name async for match in found] == ["3", "2"]

    with running(config(tmp_path)) as service:
        asyncio.run(run(service))


def test_only_the_owner_deletes_in_later_lives_too(tmp_path: Path) -> None:
    async def run(service: Any) -> None:
        async with client(service, "one") as one, client(service, "two") as two:
            first = await one.insert(b"1", {"t"})
            second = await one.insert(b"2", {"t"})
            with pytest.raises(NotOwner, match="expected to be deleted by its owner"):
                await two.delete(first)
            await one.delete(first)
            with pytest.raises(UnknownObject):
                await two.retrieve(first)
        async with client(service, "one") as one:
            await one.delete(second)
            with pytest.raises(UnknownObject):
                await one.delete(second._replace(name="another"))
            async with one.query("t", until="now") as found:
                assert [match async for match in found] == []

    with running(config(tmp_path)) as service:
        asyncio.run(run(service))


def test_bad_input_is_one_line_and_changes_nothing(tmp_path: Path) -> None:
    async def run(service: Any) -> None:
        async with client(service, "one") as one:
            await one.insert(b"1", {"t"}, name="one")
            with pytest.raises(InvalidObject, match="0 tags"):
                await one.insert(b"1", set())
            with pytest.raises(QuotaExceeded, match="object of 101 bytes: expected at most 100"):
                await one.insert(bytes(101), {"t"})
            with pytest.raises(QuotaExceeded, match="2 objects of session one: expected at most 1"):
                await one.insert(b"2", {"t"})
            for formula, error in (("a & ", InvalidFormula), ("", InvalidFormula)):
                with pytest.raises(error, match=r"\^"):
                    async with one.query(formula):
                        pass
            with pytest.raises(InvalidWindow, match="expected a later end"):
                async with one.query("t", since="now", until="-1h"):
                    pass
            async with one.query("t", until="now") as found:
                assert [match.key.name async for match in found] == ["one"]

    limits = {"object_bytes": 100, "objects_per_key": 1}
    with running(config(tmp_path, objects=limits)) as service:
        asyncio.run(run(service))
        assert service.server.objects.store.accounts.objects == 1


def test_a_slow_consumer_holds_nobody_up_and_loses_nothing(tmp_path: Path) -> None:
    many = 3 * live_queries.WINDOW

    async def run(service: Any) -> None:
        async with client(service, "one") as one, client(service, "two") as two:
            async with two.query("t", since="now") as slow, two.query("t", since="now") as fast:
                for number in range(many):
                    await one.insert(b"", {"t"}, name=str(number))
                expected = [str(number) for number in range(many)]
                assert await taken(fast, many) == expected
                assert await taken(slow, many) == expected
            assert service.server.objects.live.held_back > 0

    with running(config(tmp_path, limits={"client_rate": 0})) as service:
        asyncio.run(run(service))


def test_a_flood_meets_its_quota_and_others_go_on(tmp_path: Path) -> None:
    async def run(service: Any) -> None:
        async with client(service, "flood") as flood, client(service, "other") as other:
            refused = 0
            for _ in range(40):
                try:
                    await flood.insert(b"x", {"t"})
                except QuotaExceeded:
                    refused += 1
            assert refused == 20
            await other.insert(b"x", {"t"}, name="other")

    with running(config(tmp_path, objects={"objects_per_key": 20})) as service:
        asyncio.run(run(service))
        assert service.server.counters["objects_over_number"] == 20


def test_the_same_calls_block(tmp_path: Path) -> None:
    with running(config(tmp_path)) as service:
        endpoint = service.server.endpoints[0]
        with connect_blocking(endpoint, open=True, name="one") as one:
            key = one.insert(b"data", {"t"}, summary=b"small")
            with one.query("t", until="now") as found:
                (match,) = found
                assert (match.key, match.summary, match.retrieve()) == (key, b"small", b"data")
                assert not found.more_past
            one.delete(key)
            with pytest.raises(BypassError, match="expected one that"):
                one.retrieve(key)
            with one.query("t") as found:
                with pytest.raises(TimeoutError):
                    found.get(timeout=0.1)
                one.insert(b"more", {"t"}, name="more")
                assert found.get(timeout=20).key.name == "more"
