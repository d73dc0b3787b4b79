"""Nodes without a broker, on the loopback network: they store each other's objects, and hear each other."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from bypass import Connection, Neighbours, connect
from bypass.errors import NotOwner, UnknownObject
from bypass.live.client.objects.matches import ObjectMatches
from tests.live.devices import KEY, LIMIT
from tests.live.scripted import on_loop

pytestmark = pytest.mark.slow

QUICK: dict[str, dict[str, Any]] = {
    "local": {"settle_s": 0.2, "join_coin": 1.0},
    "cells": {"side": 100.0, "beacon_s": 0.1, "listen_s": 0.3, "settle_s": 0.2},
}
"""Parameters with which little time passes; with `cells` all of these nodes are in one cell."""


@pytest.fixture
def port() -> int:
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def node(number: int, port: int, storage: str = "local", **more: Any) -> Connection:
    more.setdefault("name", f"node {number}")
    more.setdefault("set", QUICK[storage])
    nearby = Neighbours(KEY, (f"127.0.4.{number}/8",), port)
    return connect(None, neighbours=nearby, storage=storage, location=lambda: (10.0 * number, 50.0), **more)


async def met(*nodes: Connection) -> None:
    async with asyncio.timeout(LIMIT):
        for each in nodes:
            await each.until_connected()


async def taken(found: ObjectMatches, count: int) -> list[str]:
    async with asyncio.timeout(LIMIT):
        return [(await anext(found)).key.name for _ in range(count)]


async def past(asker: Connection, formula: str, **more: Any) -> list[str]:
    async with asyncio.timeout(LIMIT), asker.query(formula, until="now", **more) as found:
        return [match.key.name async for match in found]


@pytest.mark.parametrize("storage", ["local", "cells"])
@on_loop
async def test_objects_are_found_fetched_and_deleted(port: int, storage: str) -> None:
    async with node(1, port, storage) as one, node(2, port, storage) as two:
        await met(one, two)
        keys = [await one.insert(b"x" * number, {"a"}, name=f"{number:02}") for number in range(25)]
        async with two.query("a & ~b", since="-1h") as found:
            assert await taken(found, 25) == [f"{number:02}" for number in reversed(range(25))]
            large = bytes(range(250)) * 1000
            await one.insert(large, {"a"}, name="large", summary=b"small")
            match = await anext(found)
            assert (match.key.name, match.summary) == ("large", b"small")
            assert await match.retrieve() == large
            assert await two.retrieve(match.metadata) == large
        with pytest.raises(NotOwner):
            await two.delete(keys[3])
        await one.delete(keys[3])
        assert "03" not in await past(two, "a")
        with pytest.raises(UnknownObject):
            await one.delete(keys[4]._replace(name="never"))
        assert one.mechanisms["storage"] == storage


@pytest.mark.parametrize("storage", ["local", "cells"])
@on_loop
async def test_an_object_that_no_message_can_hold_is_fetched_in_pieces(port: int, storage: str) -> None:
    large = bytes(range(250)) * 5000
    async with node(1, port, storage) as one, node(2, port, storage) as two:
        await met(one, two)
        await one.insert(large, {"a"}, name="large")
        async with asyncio.timeout(LIMIT), two.query("a") as found:
            assert await (await anext(found)).retrieve() == large
