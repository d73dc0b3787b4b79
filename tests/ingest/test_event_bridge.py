"""Measurements as located events of a real broker, which ingestion does not take in again."""

import asyncio
from pathlib import Path

import pytest

from bypass import attr, connect
from bypass.events.event import Event
from bypass.ingest.connectors.broker import BrokerConnector
from bypass.ingest.devices.device import Device
from bypass.ingest.event_mark import MARK
from bypass.ingest.exposure.event_bridge import EventBridge, place_of
from bypass.ingest.queries.selection import Selection
from bypass.live.broker.service import Service
from bypass.places.geo import GeoLocation, PlanarLocation
from bypass.testing.worlds.broker import PATIENCE, config, running, until
from bypass.testing.worlds.reception import reception
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000


@pytest.mark.slow
def test_devices_that_move_publish_where_they_are(tmp_path: Path) -> None:
    pipeline = Pipeline(
        tmp_path / "installation",
        Device(id="truck", metadata={"kind": "truck"}),
        Device(id="lost", metadata={"kind": "truck"}),
        Device(id="car"),
    )
    pipeline.append(("truck", message("truck", T - 1, x=5.0, y=6.0)))
    pipeline.run()

    def bridge() -> EventBridge:
        return EventBridge(pipeline.folder, Selection("default", "kind = truck"), "fleet")

    async def exchange(broker: Service) -> None:
        endpoint = broker.server.config.listen[0]

        def sender() -> object:
            return connect(endpoint, open=True, name="ingestion")

        async with connect(endpoint, open=True, name="listener", location=lambda: (0.0, 0.0)) as listener:
            news = await listener.subscribe(attr("device").exists(), radius=1000)
            connector = BrokerConnector(endpoint, attr("device").exists(), name="connector")
            await connector.start(here.intake)
            first = bridge()
            running_bridge = asyncio.create_task(first.run(sender))  # type: ignore[arg-type]
            pipeline.append(("truck", message("truck", T, speed=1)), ("lost", message("lost", T, speed=2)))
            pipeline.append(("truck", message("truck", T + 1, speed=3, x=10, y=20.5, note="hi")))
            pipeline.append(("car", message("car", T + 1, speed=3, x=1, y=2)))
            await asyncio.to_thread(pipeline.run)
            events = [await news.__anext__() for _ in range(2)]
            assert [(event["device"], event["time"], event["speed"]) for event in events] == [
                ("truck", T, 1),
                ("truck", T + 1, 3),
            ]
            assert [event.location for event in events] == [PlanarLocation(5, 6), PlanarLocation(10, 20.5)]
            assert all(MARK in event for event in events)
            assert events[1]["note"] == "hi"
            await asyncio.to_thread(until, lambda: first.published == 2)
            assert first.left_out == {"no place": 1}
            running_bridge.cancel()
            await asyncio.gather(running_bridge, return_exceptions=True)
            pipeline.append(("truck", message("truck", T + 2, speed=4)))
            await asyncio.to_thread(pipeline.run)
            second = asyncio.create_task(bridge().run(sender))  # type: ignore[arg-type]
            event = await news.__anext__()  # goes on where the first one was, and knows the place
            assert (event["time"], event.location) == (T + 2, PlanarLocation(10, 20.5))
            async with connect(endpoint, open=True, name="other") as other:
                await other.publish(Event(device="unmarked"))
            await asyncio.to_thread(until, lambda: len(here.logged()) > 0)
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
            await connector.stop()
        assert {device for device, _ in here.logged()} == {"broker:other"}

    with running(config(tmp_path)) as broker, reception(tmp_path) as here:
        asyncio.run(asyncio.wait_for(exchange(broker), 3 * PATIENCE))


def test_places_are_metres_or_degrees() -> None:
    assert place_of([("x", 1), ("y", 2.5)]) == PlanarLocation(1, 2.5)
    assert place_of([("lat", 49.87), ("lon", 8.65)]) == GeoLocation(49.87, 8.65)
    assert place_of([("x", 1), ("lon", 2.5)]) is None
