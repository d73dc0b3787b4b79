"""A live system with types of values of its own: its broker and its clients use the codec of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bypass import Connection, Event, Filter, connect
from bypass.events.attributes import Attribute
from bypass.live import PublicationRefused, SubscriptionRefused
from bypass.live.broker.service import Service
from bypass.protocol.wire import Codec
from bypass.support.extensions import load
from tests.live.brokers import PATIENCE, config, running

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_values.py"
REFERENCE = f"{EXAMPLE}:codec"


@pytest.fixture
def codec(capsys: pytest.CaptureFixture[str]) -> Iterator[Codec]:
    yield load(REFERENCE)
    capsys.readouterr()


def somebody(service: Service, name: str, codec: Codec, **options: Any) -> Connection:
    return connect(service.server.endpoints[0], open=True, name=name, codec=codec, **options)


def paint(codec: Codec, *shades: int) -> Event:
    return Event.of_types(codec.values.attributes, {"paint": load(f"{EXAMPLE}:Colour")(*shades)})


def dark(codec: Codec) -> Filter:
    colour = load(f"{EXAMPLE}:Colour")
    kind = load(f"{EXAMPLE}:COLOUR")
    return Filter(Attribute("paint", kind), colour(90, 90, 90), "darker than", codec.values.operators)


def test_its_values_are_matched_delivered_and_kept(tmp_path: Path, codec: Codec) -> None:
    """Also by a broker that goes on with the store of another, and for a client that was away meanwhile."""
    settings = config(tmp_path, codec=REFERENCE)

    async def subscribe(service: Service) -> None:
        async with somebody(service, "s", codec) as me:
            await me.subscribe(dark(codec))

    async def publish(service: Service) -> list[Event]:
        async with somebody(service, "p", codec) as other:
            for shade in (80, 200, 10):
                await other.publish(paint(codec, shade, 80, 80))
        async with somebody(service, "s", codec) as me:
            (kept,) = me.kept
            assert str(kept.subscription) == str(dark(codec))
            mine = await me.subscribe(dark(codec))
            return [await anext(aiter(mine)) for _ in range(2)]

    with running(settings) as service:
        asyncio.run(asyncio.wait_for(subscribe(service), PATIENCE))
    with running(settings) as service:
        found = asyncio.run(asyncio.wait_for(publish(service), PATIENCE))
    assert [event["paint"].red for event in found] == [80, 10]


def test_a_broker_that_does_not_have_them_refuses_with_the_reason(tmp_path: Path, codec: Codec) -> None:
    async def go(service: Service) -> None:
        async with somebody(service, "s", codec) as me:
            with pytest.raises(SubscriptionRefused, match="colour"):
                await me.subscribe(dark(codec))
            with pytest.raises(PublicationRefused, match="colour"):
                await me.publish(paint(codec, 1, 2, 3))

    with running(config(tmp_path)) as service:
        asyncio.run(asyncio.wait_for(go(service), PATIENCE))
