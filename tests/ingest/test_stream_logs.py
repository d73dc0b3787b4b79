"""The stream on both logs: connector, log, tasks, tables; and the equation of the status at every instant."""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bypass.ingest.connectors.frames import encode_frame
from bypass.ingest.connectors.intake import LogIntake, MessageRefused
from bypass.ingest.connectors.tcp import TcpConnector
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import choose_log, close_logs, find_log
from bypass.ingest.log.jetstream.stream_log import JetStreamLog
from bypass.ingest.service.connector_process import run_connectors
from bypass.ingest.service.replay import replay_letters
from bypass.ingest.service.status import read_status
from bypass.ingest.stream.query import start_query
from bypass.models.compute.engines import SparkEngine
from tests.command import bypass, refused
from tests.ingest.nats_servers import NatsServer, nats_server
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000
DEVICES = [f"device{number}" for number in range(6)]
PATIENCE = 20
_numbers = count()

Make = Callable[[], Pipeline]


@pytest.fixture(params=["segments", "nats"])
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Makes pipelines with a log each."""

    def one() -> Pipeline:
        log = "segments"
        if request.param == "nats":
            log = f"nats://{request.getfixturevalue('nats').address}?name=stream{next(_numbers)}"
        path = tmp_path_factory.mktemp("ingest")
        return Pipeline(path, *(Device(id=name) for name in DEVICES), log=log)

    return one


def check_equation(folder: IngestFolder) -> int:
    """Every message has one end, or none yet. Gives how many there were."""
    status = read_status(folder)
    ends = status.stored + status.filtered + status.duplicates + sum(status.dead_letters.values())
    assert status.received == sum(status.refused.values()) + ends + status.lag_messages
    assert status.lag_messages >= 0
    return status.received


def test_messages_go_from_a_connector_through_the_log_into_the_table(make: Make) -> None:
    pipeline = make()
    sent = [(DEVICES[n % 6], message(DEVICES[n % 6], T + n, a=n)) for n in range(60)]

    async def exchange() -> None:
        tcp = TcpConnector("127.0.0.1:0")
        running = asyncio.create_task(run_connectors(pipeline.folder, "connectors", [tcp], "full-sync", 0))
        while not hasattr(tcp, "_server"):
            assert not running.done(), running
            await asyncio.sleep(0.005)
        reader, writer = await asyncio.open_connection("127.0.0.1", tcp.port)
        frames = [encode_frame(*each) for each in (*sent, sent[0], ("stranger", message("stranger", T, a=0)))]
        writer.write(b"".join(frames) + b"\0\0\0\1z")
        assert await reader.readexactly(len(frames)) == b"\0" * len(frames)
        (length,) = await reader.readexactly(1)
        assert (await reader.readexactly(length)).decode() == "malformed frame"
        writer.close()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    asyncio.run(asyncio.wait_for(exchange(), PATIENCE))
    assert check_equation(pipeline.folder) == 63
    progress = pipeline.run()
    assert sorted(row["time"] - T for row in pipeline.rows()) == list(range(60))
    assert (progress.stored, progress.duplicates, progress.dead_letters) == (60, 1, {"unknown device": 1})
    assert check_equation(pipeline.folder) == 63
    with DeviceRegistry(pipeline.folder.registry) as registry:
        registry.register(Device(id="stranger"))
    assert replay_letters(pipeline.folder) == 1
    assert pipeline.run().stored == 61
    assert check_equation(pipeline.folder) == 64


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_each_message_is_stored_once_whatever_breaks_off(make: Make, data: st.DataObject) -> None:
    pipeline, sent = make(), 0
    for step in range(data.draw(st.integers(1, 5))):
        names = data.draw(st.lists(st.sampled_from(DEVICES), max_size=6))
        pipeline.append(*((name, message(name, T + 1000 * step + n, a=n)) for n, name in enumerate(names)))
        sent += len(names)
        assert check_equation(pipeline.folder) == sent
        pipeline.step(data.draw(st.sampled_from(["", "tasks", "commit", "offset"])))
        assert check_equation(pipeline.folder) == sent
        pipeline.restart()
        pipeline.tasks = data.draw(st.integers(1, 4))
    progress = pipeline.run()
    assert progress.stored == progress.read == len(pipeline.rows()) == sent == check_equation(pipeline.folder)
    assert read_status(pipeline.folder).lag_messages == 0
    pipeline.log.close()


@pytest.mark.slow
def test_messages_are_refused_and_counted_while_there_is_no_server(tmp_path: Path) -> None:
    with nats_server(tmp_path / "server") as server:
        folder = IngestFolder(tmp_path / "f")
        choose_log(folder, f"nats://{server.address}")
        log = find_log(folder)
        assert isinstance(log, JetStreamLog)
        writer = log.open_writer("w")
        intake = LogIntake(writer, folder.logs / "w" / "refused.json")
        intake.submit("a", b"1").result(PATIENCE)
        server.kill()
        log._stream.connection._patience_s = 0.3
        with pytest.raises(MessageRefused, match=r"log failed: .*: publish: .*: expected an answer in 0.3 s"):
            intake.submit("a", b"2").result(PATIENCE)
        log._stream.connection._patience_s = PATIENCE
        server.start()
        intake.submit("a", b"3").result(PATIENCE)
        intake.close()
        status = read_status(folder)
        assert status.refused == {"log failed": 1}
        assert status.received == 1 + status.lag_messages  # the one that was refused may be there, too
        writer.close()
        close_logs()


def test_a_sync_that_cannot_be_seen_is_warned_of(
    tmp_path: Path, nats: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    choose_log(IngestFolder(tmp_path / "f"), f"nats://{nats.address}?name=synced{next(_numbers)}")
    with caplog.at_level(logging.WARNING):
        find_log(IngestFolder(tmp_path / "f")).open_writer("w", synced=True).close()
    assert "expected `sync_interval: always`" in caplog.text


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_tasks_of_spark_read_the_stream_by_themselves(
    tmp_path: Path, nats: NatsServer, spark: SparkEngine
) -> None:
    log = f"nats://{nats.address}?name=spark{next(_numbers)}"
    pipeline = Pipeline(tmp_path / "f", *(Device(id=name) for name in DEVICES), log=log)
    for number in range(10):
        pipeline.append(*((name, message(name, T + number, a=number)) for name in DEVICES))
    query = start_query(spark.session, tmp_path / "f", once=True)
    assert query.awaitTermination(120)
    assert len({(row["device"], row["time"]) for row in pipeline.rows()}) == len(pipeline.rows()) == 60
    assert check_equation(pipeline.folder) == 60
    assert read_status(pipeline.folder).lag_messages == 0


def test_the_command_line_uses_the_log_that_a_folder_has(
    tmp_path: Path, nats: NatsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, name = tmp_path / "f", f"nats://{nats.address}?name=cli{next(_numbers)}"
    start = ("ingest", "start", "--folder", folder, "--log")
    assert refused(capsys, *start, "files")[1].startswith("log 'files': expected one of nats, segments")
    assert not folder.exists()
    pipeline = Pipeline(folder, Device(id="device0"), log=name)
    pipeline.append(("device0", message("device0", T, a=1)))
    assert "expected nats://" in refused(capsys, *start, "segments")[1]
    assert bypass("ingest", "status", "--folder", folder, "--json") == 0
    assert json.loads(capsys.readouterr().out)["lag_messages"] == 1
