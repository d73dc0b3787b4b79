"""MQTT, against a real mosquitto: what it has acknowledged to devices is in the log, whatever dies."""

import asyncio
import logging
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from paho.mqtt.enums import MQTTErrorCode

from bypass.ingest.categories import Node
from bypass.ingest.connectors.connector import InvalidConnector
from bypass.ingest.connectors.filters import ApplicationFilters
from bypass.ingest.connectors.membership import Membership
from bypass.ingest.connectors.mqtt import MOST_IN_FLIGHT, MqttConnector
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.leases import FileLeases
from bypass.testing.worlds.broker import PATIENCE, until
from bypass.testing.worlds.reception import logged, reception
from bypass.transitions import Action, Plan
from tests.ingest.mosquitto import Mosquitto, Publisher, mosquitto, needs_mosquitto

pytestmark = [pytest.mark.slow, needs_mosquitto]

FILTERS = ApplicationFilters("App")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path / "mosquitto") as running:
        yield running


def members(folder: Path, name: str = "one", lease_s: float = 1.0) -> Membership:
    return Membership(FileLeases(folder / "connectors.db"), FILTERS, Node(name, "host"), lease_s=lease_s)


def in_time(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 3 * PATIENCE))


async def eventually(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(until, condition)


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_messages_are_logged_and_what_is_none_is_refused(
    tmp_path: Path,
    broker: Mosquitto,
    version: Literal["3.1.1", "5"],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "bypass")
    subscribed = f": is subscribed at {broker.address}"

    async def exchange() -> None:
        connector = MqttConnector(broker.address, members(tmp_path), version=version)
        await connector.start(here.intake)
        await eventually(lambda: subscribed in caplog.text)
        assert connector.balance.held == {"App/#"}  # it is alone
        publisher = Publisher(broker)
        for device in ("a", "b/with/slashes"):
            publisher.send(device, b"1")
            publisher.send(device, b"0", qos=0)
        publisher.send("c", b"", topic="App/ff/c")
        for topic in ("App/x", "App/00/"):
            publisher.send("c", b"", topic=topic)
        publisher.send("c" * 300, b"")
        publisher.send("d", b"2", qos=2)
        await eventually(lambda: here.intake.refused.total() == 4 and len(here.logged()) == 5)
        assert Counter(here.logged()) == Counter(
            [("a", b"1"), ("a", b"0"), ("b/with/slashes", b"1"), ("b/with/slashes", b"0"), ("d", b"2")]
        )
        assert here.intake.refused == {"wrong category": 1, "malformed topic": 2, "device id": 1}
        publisher.close()
        await connector.stop()
        await connector_of_next_life(here.intake)

    async def connector_of_next_life(intake: Any) -> None:
        """Everything was acknowledged, also what was refused: nothing comes again."""
        connector = MqttConnector(broker.address, members(tmp_path), version=version)
        await connector.start(intake)
        await eventually(lambda: caplog.text.count(subscribed) == 2)
        publisher = Publisher(broker)
        publisher.send("last", b"")
        await eventually(lambda: ("last", b"") in here.logged())
        assert (len(here.logged()), here.intake.refused.total()) == (6, 4)
        publisher.close()
        await connector.stop()

    with reception(tmp_path) as here:
        in_time(exchange())


def test_a_message_is_acknowledged_only_when_the_log_has_it(tmp_path: Path, broker: Mosquitto) -> None:
    """A log that fails makes the broker send again; the connection is made again by itself."""

    async def exchange() -> None:
        connector = MqttConnector(broker.address, members(tmp_path))
        await connector.start(here.intake)
        await eventually(lambda: connector.balance.held)
        publisher = Publisher(broker)
        here.gate.error = OSError(28, "No space left on device")
        sent = [("d", b"%d" % number) for number in range(50)]
        for message in sent:
            publisher.send(*message)
        await eventually(lambda: connector._connection and here.intake.refused["log failed"])
        assert here.logged() == []
        here.gate.error = None
        await eventually(lambda: set(here.logged()) == set(sent))
        broker.stop()
        broker.start()
        publisher.close()
        publisher = Publisher(broker)
        publisher.send("after", b"a restart of the broker")
        await eventually(lambda: ("after", b"a restart of the broker") in here.logged())
        publisher.close()
        await connector.stop()

    with reception(tmp_path) as here:
        in_time(exchange())


def test_nothing_is_acknowledged_over_another_connection(tmp_path: Path, broker: Mosquitto) -> None:
    """Messages of a connection that is gone are acknowledged when they come again, and not before."""

    async def exchange() -> None:
        connector = MqttConnector(broker.address, members(tmp_path))
        await connector.start(here.intake)
        await eventually(lambda: connector.balance.held)
        acknowledged: list[int] = []
        ack = connector._client.ack

        def note(mid: int, qos: int) -> MQTTErrorCode:
            acknowledged.append(mid)
            return ack(mid, qos)

        connector._client.ack = note  # type: ignore[method-assign]
        publisher = Publisher(broker)
        here.gate.open.clear()
        publisher.send("d", b"1")
        await eventually(here.gate.waiting.is_set)
        connector._break_off("the test wants it")
        await eventually(lambda: len(here.intake._waiting) == 1)  # it has come again
        here.gate.open.set()
        await eventually(lambda: here.logged() == [("d", b"1")] * 2)
        await eventually(lambda: acknowledged)
        publisher.send("d", b"2")
        await eventually(lambda: len(acknowledged) == 2)
        assert len(here.logged()) == 3
        publisher.close()
        await connector.stop()

    with reception(tmp_path) as here:
        in_time(exchange())


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_a_connector_that_is_killed_loses_nothing(tmp_path: Path, broker: Mosquitto, version: str) -> None:
    folder, count = IngestFolder(tmp_path), 4000
    writer = folder.logs / "one"

    def start() -> subprocess.Popen[bytes]:
        program = Path(__file__).with_name("mqtt_process.py")
        return subprocess.Popen([sys.executable, program, tmp_path, broker.address, "one", version])

    def found() -> list[tuple[str, bytes]]:
        return logged(writer) if writer.exists() else []

    def probed() -> bool:
        publisher.send("probe", b"")
        return bool(found())

    process = start()
    publisher = Publisher(broker)
    try:
        until(probed)
        for number in range(count):
            publisher.send(f"d{number % 50}", b"%d" % number)
            if number in (count // 4, count // 2):
                until(lambda: len(found()) > count // 8)
                process.kill()
                process.wait(PATIENCE)
                process = start()
        acknowledged = set(publisher.acknowledged())
        assert len(acknowledged) == count + 1
        until(lambda: acknowledged <= set(found()))
        assert set(found()) == acknowledged  # what came again is the same, to the byte
        again = sum(times - 1 for (device, _), times in Counter(found()).items() if device != "probe")
        assert again <= 2 * MOST_IN_FLIGHT
    finally:
        process.kill()
        process.wait(PATIENCE)
        publisher.close()


def test_the_distribution_is_exchanged_under_load_and_nothing_is_lost(
    tmp_path: Path, broker: Mosquitto
) -> None:
    """Also while a connector joins and another leaves."""

    async def exchange() -> None:
        connectors = {name: MqttConnector(broker.address, members(tmp_path, name, 0.3)) for name in "abc"}
        for name in "ab":
            await connectors[name].start(here[name].intake)
        await eventually(partial(in_step, connectors, "ab", "synchronised"))
        publisher = Publisher(broker)
        sending = asyncio.create_task(asyncio.to_thread(send, publisher))
        for to in ("shared", "synchronised", "shared", "synchronised"):
            for name in "ab":
                plan = Plan(plan=to, actions=(Action(proxy="distribution", to=to),))
                (record,) = connectors[name].balance.execute(plan)
                assert record.outcome == "done"
            await eventually(partial(in_step, connectors, "ab", to))
            await eventually(partial(has_sent, publisher, len(publisher._sent) + 200))
        await connectors["c"].start(here["c"].intake)
        await eventually(partial(in_step, connectors, "abc", "synchronised"))
        await eventually(partial(has_sent, publisher, len(publisher._sent) + 200))
        stop.set()
        await sending
        sent = set(await asyncio.to_thread(publisher.acknowledged))
        await eventually(lambda: sent == set().union(*(each.logged() for each in here.values())))
        assert len(sent) > 1000
        publisher.close()
        for connector in connectors.values():
            await connector.stop()

    def in_step(connectors: dict[str, MqttConnector], names: str, distribution: str) -> bool:
        shares = [connectors[name].balance.held for name in names]
        if distribution == "shared":
            return all(share == {FILTERS.shared} for share in shares)
        return sum(map(len, shares)) == 256 and len(frozenset[str]().union(*shares)) == 256

    def has_sent(publisher: Publisher, messages: int) -> bool:
        return len(publisher._sent) >= messages

    def send(publisher: Publisher) -> None:
        number = 0
        while not stop.wait(0.001):
            publisher.send(f"d{number % 100}", b"%d" % number)
            number += 1

    stop = threading.Event()
    with (
        reception(tmp_path / "a") as first,
        reception(tmp_path / "b") as second,
        reception(tmp_path / "c") as third,
    ):
        here = {"a": first, "b": second, "c": third}
        in_time(exchange())


def test_an_application_that_is_no_topic_is_refused(tmp_path: Path) -> None:
    for bad in ("", "a/b", "+", "$share", "a b"):
        with pytest.raises(InvalidConnector, match=r"application .*: expected 1 to 100 characters"):
            ApplicationFilters(bad)
    with pytest.raises(InvalidConnector, match="mqtt: address 'x': expected HOST:PORT"):
        MqttConnector("x", members(tmp_path))
