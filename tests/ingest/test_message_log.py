"""The log, in segment files, in JetStream and in a file of one's own: what all of them promise."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from nats.js import JetStreamContext
from nats.js.errors import NoStreamResponseError

from bypass.errors import UnusableMechanism
from bypass.ingest.categories import PARTS
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import DamagedBlock, Records
from bypass.ingest.log.catalogue import choose_log, find_log, log_name, make_log
from bypass.ingest.log.jetstream.connection import NatsConnection
from bypass.ingest.log.jetstream.reader import BlockSearch
from bypass.ingest.log.jetstream.stream import LogStream, StreamPosition, StreamSettings
from bypass.ingest.log.jetstream.writer import divide
from bypass.ingest.log.message_log import InvalidLog, LogFailed, MessageLog
from bypass.testing import LogSuite
from bypass.testing.worlds.broker import until
from tests.ingest.certificates import certificate
from tests.ingest.nats_servers import PROGRAM, NatsServer, free_ports, nats_server

OWN = f"{Path(__file__).parents[2] / 'examples' / 'sqlite_log.py'}:SqliteLog"
EVERYTHING = 1 << 60
ALL_PARTS = frozenset(range(PARTS))
_numbers = count()

Make = Callable[..., tuple[IngestFolder, MessageLog]]


@pytest.fixture(params=["segments", "nats", OWN], ids=["segments", "nats", "own"])
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Makes installations with a log each."""

    def one(**options: object) -> tuple[IngestFolder, MessageLog]:
        folder = IngestFolder(tmp_path_factory.mktemp("ingest") / "folder")
        name = request.param
        if name == "nats":
            name = f"nats://{request.getfixturevalue('nats').address}"
            options["name"] = f"test{next(_numbers)}"
        choose_log(folder, name + "?" * bool(options) + "&".join(f"{k}={v}" for k, v in options.items()))
        return folder, find_log(folder)

    return one


def records(*contents: tuple[str, int, bytes]) -> Records:
    made = Records()
    for number, (device, category, payload) in enumerate(contents):
        made.add(device, category, payload, number)
    return made


def rows(log: MessageLog, start: dict[str, tuple[int, ...]], end: dict[str, tuple[int, ...]]) -> list[bytes]:
    """The payloads between two positions, sorted."""
    return sorted(row["payload"] for _, block in log.read(start, end, ALL_PARTS) for row in block.to_pylist())


@pytest.mark.parametrize("test", [name for name in dir(LogSuite) if name.startswith("test_")])
def test_a_log_keeps_what_all_logs_promise(make: Make, test: str) -> None:
    class Kept(LogSuite):
        examples = 10

        def new(self, **options: object) -> MessageLog:
            return make(**options)[1]

    getattr(Kept(), test)()


@pytest.mark.slow
def test_a_writer_that_is_killed_loses_nothing_that_was_acknowledged(make: Make) -> None:
    folder, log = make()
    acknowledged = -1
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.ingest.log_process", str(folder.path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged == 20:
                break
        process.kill()
        acknowledged = max([acknowledged, *map(int, process.stdout)])
        process.stdout.close()
        process.wait()
    log.open_writer("w").close()
    end = log.ends({}, EVERYTHING, EVERYTHING)
    lives: dict[str, list[tuple[int, int]]] = {}
    for name, block in log.read({}, end, ALL_PARTS):
        lives.setdefault(name, []).extend((row["category"], int(row["payload"])) for row in block.to_pylist())
    assert len(lives) == 2
    for found in lives.values():
        assert len({*found}) == len(found)
        for category in range(4):
            assert {*range(21)} <= {number for each, number in found if each == category}
    assert {(c, n) for c in range(4) for n in range(acknowledged + 1)} <= {*list(lives.values())[-1]}
    assert log.appended({}) == sum(map(len, lives.values()))


def test_a_folder_has_one_log_for_ever(tmp_path: Path) -> None:
    folder = IngestFolder(tmp_path / "f")
    choose_log(folder, "segments")
    assert log_name(folder) == "segments"
    choose_log(folder, "nats://127.0.0.1:4222?replicas=1")
    choose_log(folder, "nats://127.0.0.1:4222?replicas=1")
    with pytest.raises(InvalidLog, match=r"log segments: expected nats://127.0.0.1:4222\?replicas=1, which"):
        choose_log(folder, "segments")
    used = IngestFolder(tmp_path / "g")
    find_log(used).open_writer("w").close()
    with pytest.raises(InvalidLog, match="expected segments, which it has"):
        choose_log(used, "nats://127.0.0.1:4222")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nats://", "nats: server '': expected HOST:PORT"),
        ("nats://here", "nats: server 'here': expected HOST:PORT"),
        ("nats://h:1?replicas=2", "replicas 2: expected 1 or 3"),
        ("nats://h:1?bytes=many", "bytes 'many': expected a number"),
        ("nats://h:1?colour=red", "option colour: expected one of bytes, ca, credentials"),
        ("nats://h:1?name=a.b", "name 'a.b': expected letters, digits, - and _"),
        ("nats://h:1?bytes", "'bytes': expected OPTION=VALUE"),
        ("segments://here", "'here': expected no options but"),
        ("files", "'files': expected one of nats, segments, module:Class, or what is installed"),
        ("bypass.ingest.folder:IngestFolder", "expected a subclass of MessageLog"),
        ("bypass.ingest.log.message_log:MessageLog", "lacks __init__, appended"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_and_nothing_is_changed(
    tmp_path: Path, name: str, expected: str
) -> None:
    folder = IngestFolder(tmp_path / "f")
    with pytest.raises(InvalidLog, match=expected.replace("?", r"\?")):
        choose_log(folder, name)
    assert not folder.path.exists()


def test_a_log_is_brought_in_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counting.py").write_text(
        "from bypass.ingest.log.segment_files import SegmentFiles\n\n\n"
        "class Counting(SegmentFiles):\n"
        "    def __init__(self, folder, address, options):\n"
        "        super().__init__(folder, '', {})\n"
        "        self.address, self.options = address, options\n"
    )
    monkeypatch.chdir(tmp_path)
    folder = IngestFolder(tmp_path / "f")
    choose_log(folder, "counting.py:Counting?a=1")
    monkeypatch.chdir("/")
    log = find_log(folder)
    assert (type(log).__name__, vars(log)["options"]) == ("Counting", {"a": "1"})
    with pytest.raises(UnusableMechanism, match=r"missing\.py:Log"):
        make_log(folder, "missing.py:Log")


# -- in JetStream alone ------------------------------------------------------------------------------------


def test_records_are_divided_by_part_into_blocks_of_bounded_size() -> None:
    given = records(*((f"d{n}", n % 40, b"x" * (n * 7 % 90)) for n in range(200)))
    blocks = list(divide(given, 400))
    for part, block in blocks:
        assert {category % PARTS for category in block.categories} == {part}
        assert len(block) == 1 or sum(map(len, block.payloads)) <= 400
    for part in range(PARTS):
        together = [p for number, block in blocks if number == part for p in block.received]
        assert together == [n for n in range(200) if n % 40 % PARTS == part]


def test_servers_that_are_not_there_are_said_in_one_line() -> None:
    connection = NatsConnection([f"127.0.0.1:{free_ports(1)[0]}"], patience_s=0.3)
    with pytest.raises(LogFailed, match=r"127.0.0.1:\d+: connect: .*: expected an answer in 0.3 s"):
        _ = connection.max_payload
    connection.close()


def test_the_stream_of_another_installation_is_refused(tmp_path: Path, nats: NatsServer) -> None:
    name = f"nats://{nats.address}?name=shared{next(_numbers)}"
    first, second = IngestFolder(tmp_path / "1"), IngestFolder(tmp_path / "2")
    choose_log(first, name)
    find_log(first).open_writer("w").close()
    choose_log(second, name)
    with pytest.raises(InvalidLog, match="is another installation's: expected a name of its own"):
        find_log(second).open_writer("w")
    choose_log(IngestFolder(tmp_path / "3"), f"{name}&bytes=2000000")
    (tmp_path / "3" / "log.json").write_text(
        (tmp_path / "1" / "log.json").read_text().replace(name, f"{name}&bytes=2000000")
    )
    with pytest.raises(InvalidLog, match="bytes 4294967296: expected 2000000"):
        find_log(IngestFolder(tmp_path / "3")).appended({})


def test_servers_without_room_for_the_stream_are_said_at_once(tmp_path: Path, nats: NatsServer) -> None:
    choose_log(IngestFolder(tmp_path / "f"), f"nats://{nats.address}?name=huge&bytes={1 << 42}")
    with pytest.raises(InvalidLog, match=f"stream huge: expected room for {1 << 42} bytes"):
        find_log(IngestFolder(tmp_path / "f")).open_writer("w")


def test_a_block_that_is_gone_is_noticed(tmp_path: Path, nats: NatsServer) -> None:
    folder, name = IngestFolder(tmp_path / "f"), f"gone{next(_numbers)}"
    choose_log(folder, f"nats://{nats.address}?name={name}")
    log = find_log(folder)
    writer = log.open_writer("w")
    for number in range(2):
        writer.append(records(("d", 0, b"%d" % number)))
    end = log.ends({}, EVERYTHING, EVERYTHING)
    writer.append(records(("d", 0, b"2")))

    async def delete(_: object, js: JetStreamContext) -> bool:
        return await js.delete_msg(name, 2)

    connection = NatsConnection([nats.address])
    connection.call("delete", delete)
    connection.close()
    with pytest.raises(DamagedBlock, match="1 blocks before sequence 3 are gone: expected 2 from 1 on"):
        rows(log, {}, end)
    writer.close()


def test_messages_that_no_writer_has_sent_are_left_out(tmp_path: Path, nats: NatsServer) -> None:
    folder, name = IngestFolder(tmp_path / "f"), f"strange{next(_numbers)}"
    choose_log(folder, f"nats://{nats.address}?name={name}")
    log = find_log(folder)
    writer, connection = log.open_writer("w"), NatsConnection([nats.address])

    async def disturb(_: object, js: JetStreamContext) -> None:
        await js.publish(f"{name}.ingest.0", b"?")
        await js.publish(f"{name}.ingest.0", b"?", headers={"Bypass-Log": "w", "Bypass-Records": "many"})
        with pytest.raises(NoStreamResponseError):
            await js.publish(f"{name}.ingest.zz", b"?")

    for number in range(2):
        connection.call("disturb", disturb)
        writer.append(records(("d", 0, b"%d" % number)))
    connection.call("disturb", disturb)
    assert rows(log, {}, log.ends({}, EVERYTHING, EVERYTHING)) == [b"0", b"1"]
    assert log.appended({}) == 2
    connection.close()
    writer.close()


def test_a_block_that_is_not_heard_of_makes_the_search_begin_again(tmp_path: Path, nats: NatsServer) -> None:
    folder = IngestFolder(tmp_path / "f")
    settings = {"name": f"unheard{next(_numbers)}"}
    choose_log(folder, f"nats://{nats.address}?name={settings['name']}")
    writer = find_log(folder).open_writer("w")
    for number in range(3):
        writer.append(records(("d", 0, b"%d" % number)))
    stream = LogStream(folder, StreamSettings.of(nats.address, settings))
    lost = count()

    class Interrupted(BlockSearch):
        async def follow(self, subscription: JetStreamContext.PullSubscription) -> StreamPosition:
            if not next(lost):
                await subscription.fetch(1)  # as if the connection had ended with it under way
            return await super().follow(subscription)

    search = Interrupted(stream, StreamPosition(), 3, EVERYTHING, EVERYTHING, EVERYTHING)
    assert stream.connection.call("find", search.run).records == 3
    assert next(lost) == 2
    until(lambda: stream.connection.call("stream", lambda _, js: js.stream_info(settings["name"]))
          .state.consumer_count == 0)  # fmt: skip
    stream.connection.close()
    writer.close()


def test_a_block_that_is_sent_twice_is_there_once(tmp_path: Path, nats: NatsServer) -> None:
    folder = IngestFolder(tmp_path / "f")
    choose_log(folder, f"nats://{nats.address}?name=twice{next(_numbers)}")
    log = find_log(folder)
    writer = log.open_writer("w")
    writer.append(records(("d", 0, b"1")))
    writer.sequence = 0  # as if the answer had been lost
    writer.append(records(("d", 0, b"1")))
    assert log.appended({}) == 1
    writer.close()


@pytest.mark.slow
def test_a_server_that_ends_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    with nats_server(tmp_path / "server") as server:
        folder = IngestFolder(tmp_path / "f")
        choose_log(folder, f"nats://{server.address}")
        log = find_log(folder)
        writer = log.open_writer("w")
        for number in range(3):
            server.kill()
            server.start()
            writer.append(records(("d", 0, b"%d" % number)))
        assert rows(log, {}, log.ends({}, EVERYTHING, EVERYTHING)) == [b"0", b"1", b"2"]
        server.kill()
        failing = LogStream(folder, StreamSettings.of(server.address, {}))
        failing.connection = NatsConnection([server.address], patience_s=0.3)
        with pytest.raises(LogFailed, match="make the stream"):
            failing.state()
        failing.connection.close()
        writer.close()
        log.close()


def test_the_configuration_that_the_page_shows_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "ingest.md").read_text()
    (shown,) = re.findall(r"```\n(server_name:.*?)```", page, re.DOTALL)
    path = tmp_path / "server.conf"
    cert, key = certificate(tmp_path)
    for written, real in (
        ("/var/lib/nats", tmp_path),
        ("/etc/nats/n1.pem", cert),
        ("/etc/nats/n1.key", key),
    ):
        shown = shown.replace(written, str(real))
    path.write_text(shown)
    assert PROGRAM is not None
    done = subprocess.run([PROGRAM, "-c", str(path), "-t"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "sync_interval: always" in shown
