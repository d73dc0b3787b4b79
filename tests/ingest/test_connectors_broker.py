"""Events of a live broker, taken in: all, once they are acknowledged, and none that ingestion published."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from bypass import Event, attr, connect
from bypass.cli.group import commands
from bypass.errors import BypassError
from bypass.events.event import Origin, Publisher
from bypass.ingest.connectors.broker import BrokerConnector, message_of
from bypass.ingest.event_mark import MARK
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.lives import appended
from bypass.ingest.parsers.json import JsonParser
from bypass.ingest.parsers.schema import ParserSchema
from bypass.live.broker.service import Service
from bypass.places.geo import PlanarLocation
from bypass.testing.worlds.broker import PATIENCE, config, running, until
from bypass.testing.worlds.reception import reception

WANTED = attr("kind") == "reading"


async def eventually(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(until, condition)


def endpoint(broker: Service) -> str:
    return broker.server.config.listen[0]


@pytest.mark.slow
def test_events_are_logged_once_acknowledged_and_come_again_otherwise(tmp_path: Path) -> None:
    async def exchange(broker: Service) -> None:
        async with connect(endpoint(broker), open=True, name="sensor") as sensor:
            connector = BrokerConnector(endpoint(broker), WANTED, name="ingestion")
            await connector.start(here.intake)
            while not here.logged():  # until it is subscribed
                await sensor.publish(Event(kind="reading", number=0), PlanarLocation(1.0, 2.5))
            await sensor.publish(Event({"kind": "reading", "number": -1, MARK: True}))
            await sensor.publish(Event(kind="other", number=-2))
            here.gate.error = OSError(28, "No space left on device")
            for number in range(1, 101):
                await sensor.publish(Event(kind="reading", number=number))
            await eventually(lambda: here.intake.refused["log failed"])
            await connector.stop()  # what was taken is not logged, and not acknowledged
            here.gate.error = None
            for number in range(101, 201):
                await sensor.publish(Event(kind="reading", number=number))
            connector = BrokerConnector(endpoint(broker), WANTED, name="ingestion")
            await connector.start(here.intake)
            await eventually(lambda: numbers().keys() == set(range(201)))
            await connector.stop()
        assert {device for device, _ in here.logged()} == {"broker:sensor"}
        assert {times for number, times in numbers().items() if number} == {1}

    def numbers() -> Counter[int]:
        contents = [msgspec.json.decode(payload) for _, payload in here.logged()]
        return Counter(
            each["value"]
            for content in contents
            for each in content["telemetries"]
            if each["metric"] == "number"
        )

    with running(config(tmp_path)) as broker, reception(tmp_path) as here:
        asyncio.run(asyncio.wait_for(exchange(broker), 3 * PATIENCE))


@pytest.mark.slow
def test_the_process_of_connectors_takes_all_events(tmp_path: Path) -> None:
    folder = IngestFolder(tmp_path / "ingest")

    async def exchange(broker: Service) -> None:
        async with connect(endpoint(broker), open=True, name="sensor") as sensor:
            while not (folder.logs / "connectors").exists() or not appended(folder.logs / "connectors"):
                await sensor.publish(Event(number=0))
                await asyncio.sleep(0.01)  # until the process is up, and not more than a client may publish

    with running(config(tmp_path)) as broker:
        module = [sys.executable, "-m", "bypass.ingest.service.connector_process", str(folder.path)]
        process = subprocess.Popen([*module, f"--broker={endpoint(broker)}"])
        try:
            asyncio.run(asyncio.wait_for(exchange(broker), 3 * PATIENCE))
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0


def test_keys_are_those_of_a_broker(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch()
    asked = CliRunner().invoke(commands, ["ingest", "start", "--folder", str(tmp_path), "--keys", str(key)])
    assert asked.exit_code == 2
    assert "--keys without --broker" in asked.output


def test_an_event_is_a_message_that_the_pipeline_can_read() -> None:
    event = Event(
        [("n", 7), ("f", 1.5), ("s", "text"), ("b", True), ("tags", {"b", "a"}), ("n", 8)], payload=b"\xff"
    ).published_as(Origin(5, Publisher(3), 1.25, (10.0, 20.0)))
    device, payload = message_of(event)
    assert message_of(event) == (device, payload)
    parsed = JsonParser(ParserSchema()).parse(payload, 99)
    assert device == parsed.device == "broker:client 3"
    assert [(each.metric, each.type, each.value) for each in parsed.measurements] == [
        ("n", "Long", 7), ("f", "Double", 1.5), ("s", "String", "text"), ("b", "Long", 1),
        ("tags", "String", "a,b"), ("n", "Long", 8), ("payload", "Bytes", b"\xff"),
        ("location.x", "Double", 10.0), ("location.y", "Double", 20.0),
    ]  # fmt: skip
    assert {each.time for each in parsed.measurements} == {1250}
    twin = event.published_as(Origin(6, Publisher(3), 1.25, (10.0, 20.0)))
    assert message_of(twin) != message_of(event)  # two events, however equal, are two messages


def test_a_broker_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(BypassError, match="expected"):
        BrokerConnector("nowhere", WANTED, name="x")
