"""Objects as large as a broker takes: events of others go on while they come and go."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bypass import Connection, Event, attr, connect
from bypass.objects.metadata import LARGEST_OBJECT
from tests.live.brokers import config, running

LIMITS = {"client_rate": 0, "client_byte_rate": 0}
TRIPS = 30
"""Events that have to get through, each sent when the one before has arrived. If the broker took a whole
object at once, there would be two or three."""


@pytest.mark.slow
def test_events_are_delivered_while_the_largest_object_is_stored_and_fetched(tmp_path: Path) -> None:
    data = b"large..." * (LARGEST_OBJECT // 8)

    async def run(service: Any) -> None:
        def client(name: str) -> Connection:
            return connect(service.server.endpoints[0], open=True, name=name)

        async with (
            client("storer") as storer,
            client("reader") as reader,
            client("speaker") as speaker,
            client("hearer") as hearer,
            asyncio.timeout(300),
        ):
            heard = aiter(await hearer.subscribe(attr("trip") >= 0))

            async def trips_during(transfer: asyncio.Task[Any]) -> int:
                number = 0
                while not transfer.done():
                    await speaker.publish(Event(trip=number))
                    assert (await anext(heard))["trip"] == number
                    number += 1
                return number

            storing = asyncio.create_task(storer.insert(data, {"large"}))
            assert await trips_during(storing) >= TRIPS
            fetching = asyncio.create_task(reader.retrieve(await storing))
            assert await trips_during(fetching) >= TRIPS
            assert await fetching == data

    with running(config(tmp_path, limits=LIMITS)) as service:
        asyncio.run(run(service))
