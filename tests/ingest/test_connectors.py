"""Connectors over TCP, UDP, HTTP and files: what they acknowledge is in the log, what they cannot read is
counted and stops nothing."""

import asyncio
import http.client
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.ingest.connectors.connector import Connector, InvalidConnector
from bypass.ingest.connectors.files import FilesConnector
from bypass.ingest.connectors.frames import (
    DeviceMessage,
    FrameReader,
    FrameTooLarge,
    MalformedFrame,
    decode_message,
    encode_frame,
    encode_message,
)
from bypass.ingest.connectors.http import HttpConnector
from bypass.ingest.connectors.intake import IntakeLimits
from bypass.ingest.connectors.tcp import MOST_UNANSWERED, TcpConnector
from bypass.ingest.connectors.udp import UdpConnector
from bypass.ingest.connectors.web_server import TimedRequests
from bypass.testing.worlds.reception import LoggedIntake, logged, reception

LIMITS = IntakeLimits(message_bytes=1000, id_bytes=16)
PATIENCE = 20


@asynccontextmanager
async def started(connector: Connector, here: LoggedIntake) -> AsyncIterator[None]:
    await connector.start(here.intake)
    try:
        yield
    finally:
        await connector.stop()


def in_time(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE))


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def reply(reader: asyncio.StreamReader) -> str:
    (length,) = await reader.readexactly(1)
    return (await reader.readexactly(length)).decode()


# -- frames --------------------------------------------------------------------------------------------------

messages = st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=30)), max_size=8)


@given(messages, st.lists(st.integers(1, 20)))
def test_frames_are_read_however_the_stream_is_cut(sent: list[tuple[str, bytes]], cuts: list[int]) -> None:
    stream = b"".join(encode_frame(*message) for message in sent)
    reader, found = FrameReader(100), []
    while stream:
        size = cuts.pop() if cuts else len(stream)
        found += [decode_message(frame) for frame in reader.feed(stream[:size])]
        stream = stream[size:]
    assert found == sent
    assert reader.is_complete


@given(st.binary(max_size=30))
def test_bytes_are_a_message_or_refused(data: bytes) -> None:
    try:
        device, payload = decode_message(data)
    except MalformedFrame:
        return
    assert encode_message(device, payload) == data


def test_a_frame_that_is_too_large_is_refused_before_it_has_come() -> None:
    reader = FrameReader(3)
    frames = reader.feed(encode_frame("", b"x") + (4).to_bytes(4, "big"))
    assert decode_message(next(frames)) == DeviceMessage("", b"x")
    with pytest.raises(FrameTooLarge, match="a frame of 4 bytes: expected 3 at most"):
        next(frames)


# -- addresses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["", "localhost", "127.0.0.1:x", "127.0.0.1:70000"])
@pytest.mark.parametrize("kind", [TcpConnector, UdpConnector, HttpConnector])
def test_an_address_that_is_none_is_refused(kind: Callable[[str], Connector], address: str) -> None:
    with pytest.raises(InvalidConnector, match=r"address .*: expected HOST:PORT"):
        kind(address)


def test_an_address_that_is_taken_is_refused() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InvalidConnector, match="Address already in use: expected a free one"),
    ):
        TcpConnector(f"127.0.0.1:{taken.getsockname()[1]}")
    with pytest.raises(InvalidConnector, match="tcp: connections 0: expected at least 1"):
        TcpConnector("127.0.0.1:0", connections=0)


# -- TCP -----------------------------------------------------------------------------------------------------


def test_tcp_replies_in_order_once_messages_are_in_the_log(tmp_path: Path) -> None:
    async def exchange() -> None:
        tcp = TcpConnector("127.0.0.1:0")
        async with started(tcp, here):
            reader, writer = await asyncio.open_connection("127.0.0.1", tcp.port)
            here.gate.open.clear()
            for number in range(5):
                writer.write(encode_frame(f"d{number}", b"x"))
            writer.write(encode_frame("d", b"x" * 1001) + b"\0\0\0\1z" + encode_frame("last", b""))
            await until(here.gate.waiting.is_set)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await reader.read(1)
            here.gate.open.set()
            assert [await reply(reader) for _ in range(8)] == [
                *[""] * 5, "too large", "malformed frame", ""
            ]  # fmt: skip
            writer.write(encode_frame("d", b"x" * 20_000))
            assert await reply(reader) == "too large"
            assert await reader.read() == b""  # what follows such a frame cannot be read
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", tcp.port)
            writer.write(encode_frame("late", b"whole") + b"\0\0\0\7cut")
            writer.write_eof()
            assert await reader.read() == b"\0"
            writer.close()

    with reception(tmp_path, LIMITS) as here:
        in_time(exchange())
        assert [device for device, _ in here.logged()] == ["d0", "d1", "d2", "d3", "d4", "last", "late"]
        assert here.intake.refused == {"too large": 2, "malformed frame": 2}


def test_tcp_does_not_read_on_while_too_many_frames_wait(tmp_path: Path) -> None:
    frames = 3 * MOST_UNANSWERED

    async def flood() -> None:
        tcp = TcpConnector("127.0.0.1:0")
        async with started(tcp, here):
            here.gate.open.clear()
            reader, writer = await asyncio.open_connection("127.0.0.1", tcp.port)
            writer.write(b"".join(encode_frame("d", b"%d" % n) for n in range(frames)))
            await until(here.gate.waiting.is_set)
            for _ in range(100):  # turns of the loop in which it could read on
                await asyncio.sleep(0)
            here.gate.open.set()
            assert await reader.readexactly(frames) == b"\0" * frames
            writer.close()

    with reception(tmp_path, IntakeLimits(messages=frames // 2)) as here:
        in_time(flood())
        assert here.intake.refused == {}
        assert [payload for _, payload in here.logged()] == [b"%d" % n for n in range(frames)]


def test_tcp_closes_what_is_silent_and_what_is_too_much(tmp_path: Path) -> None:
    async def connect() -> None:
        tcp = TcpConnector("127.0.0.1:0", connections=1, idle_s=0.2)
        async with started(tcp, here):
            silent, _ = first = await asyncio.open_connection("127.0.0.1", tcp.port)
            first[1].write(encode_frame("a", b"")[:3])
            other, writer = await asyncio.open_connection("127.0.0.1", tcp.port)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await other.readexactly(1)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await silent.readexactly(1)
            writer.close()
            first[1].close()
            await until(lambda: not tcp._connections)
            reader, writer = await asyncio.open_connection("127.0.0.1", tcp.port)
            writer.write(encode_frame("a", b""))
            assert await reply(reader) == ""
            writer.close()

    with reception(tmp_path) as here:
        in_time(connect())
        assert here.intake.refused == {"too many connections": 1}


# -- UDP -----------------------------------------------------------------------------------------------------


def test_udp_takes_datagrams_and_counts_what_is_none(tmp_path: Path) -> None:
    async def send() -> None:
        udp = UdpConnector("127.0.0.1:0")
        async with started(udp, here):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for datagram in (
                    b"", b"\0\5abcd", b"\0\1\xff", encode_message("", b"no id"),
                    encode_message("a", b"x" * 1001), encode_message("a", b"payload"),
                ):  # fmt: skip
                    sender.sendto(datagram, ("127.0.0.1", udp.port))
            await until(lambda: here.intake.refused.total() == 5 and here.logged())

    with reception(tmp_path, LIMITS) as here:
        in_time(send())
        assert here.logged() == [("a", b"payload")]
        assert here.intake.refused == {"malformed datagram": 3, "device id": 1, "too large": 1}


# -- HTTP ----------------------------------------------------------------------------------------------------


def post(port: int, path: str, body: bytes) -> tuple[int, dict[str, Any], str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("POST", path, body)
        response = connection.getresponse()
        return response.status, json.loads(response.read()), response.getheader("Retry-After")
    finally:
        connection.close()


def test_http_says_200_once_all_messages_are_in_the_log(tmp_path: Path) -> None:
    async def exchange() -> None:
        web = HttpConnector("127.0.0.1:0", body_bytes=2000)
        send = asyncio.to_thread
        async with started(web, here):
            assert await send(post, web.port, "/messages/b%C3%BCs%2F1", b"one") == (200, {"logged": 1}, None)
            frames = b"".join(encode_frame(f"d{n}", b"%d" % n) for n in range(50))
            assert await send(post, web.port, "/messages", frames) == (200, {"logged": 50}, None)
            for path, body, status in (
                ("/messages", frames + b"cut", 400),
                ("/messages", encode_frame("whole", b"") + b"\0\0\0\1z", 400),
                ("/messages/a", b"x" * 1001, 413),
                ("/messages/a", b"x" * 2001, 413),
                ("/messages", b"\0\1\0\0", 413),
                ("/messages/" + "x" * 17, b"", 400),
            ):
                assert (await send(post, web.port, path, body))[0] == status, (path, body)
            here.gate.waiting.clear()
            here.gate.open.clear()
            slow = asyncio.create_task(send(post, web.port, "/messages/slow", b"2"))
            await until(here.gate.waiting.is_set)
            assert not slow.done()
            here.gate.error = OSError(5, "Input/output error")
            here.gate.open.set()
            status, answer, again = await slow
            assert (status, answer["refused"], again) == (503, "log failed", "1")
            here.gate.error = None
            assert (await send(post, web.port, "/messages/slow", b"2"))[0] == 200

    with reception(tmp_path, LIMITS) as here:
        in_time(exchange())
        assert [device for device, _ in here.logged()] == ["büs/1", *(f"d{n}" for n in range(50)), "slow"]
        assert here.intake.refused == {"malformed frame": 2, "too large": 3, "device id": 1, "log failed": 1}


def test_http_tells_those_that_are_too_much_to_come_again(tmp_path: Path) -> None:
    async def exchange() -> None:
        web = HttpConnector("127.0.0.1:0", requests=1, body_s=0.2)
        async with started(web, here):
            reader, writer = await asyncio.open_connection("127.0.0.1", web.port)
            writer.write(b"POST /messages/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\npart")
            await until(lambda: web._busy)
            status, answer, again = await asyncio.to_thread(post, web.port, "/messages/a", b"1")
            assert (status, answer["refused"], again) == (503, "too many requests", "1")
            assert (await reader.readline()).startswith(b"HTTP/1.1 408")
            writer.close()
            for expected in (200, 429):
                status, _, again = await asyncio.to_thread(post, web.port, "/messages/a", b"1")
                assert status == expected
            assert again == "1"

    with reception(tmp_path, IntakeLimits(device_messages_s=1), lambda: 1000.0) as here:
        in_time(exchange())
        assert here.intake.refused == {"too many requests": 1, "slow request": 1, "device rate": 1}


@pytest.mark.parametrize("begun", [b"", b"POST /messages/a HTTP/1.1\r\nHost: x\r\n"])
def test_http_closes_connections_on_which_no_request_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    async def exchange() -> None:
        web = HttpConnector("127.0.0.1:0", requests=1)
        async with started(web, here):
            idle = [await asyncio.open_connection("127.0.0.1", web.port) for _ in range(12)]
            for _, writer in idle:
                writer.write(begun)
            for reader, writer in idle:
                assert await reader.read() == b""
                writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", web.port)
            for _ in range(2):  # the time begins again behind each answer
                writer.write(b"POST /messages/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1")
                assert (await reader.readline()).startswith(b"HTTP/1.1 200")
                await reader.readuntil(b"}")
            writer.write(begun)
            assert await reader.read() == b""
            writer.close()

    monkeypatch.setattr(TimedRequests, "request_s", 0.3)
    with reception(tmp_path, LIMITS) as here:
        in_time(exchange())
        assert len(here.logged()) == 2


# -- files ---------------------------------------------------------------------------------------------------


def drop(folder: Path, name: str, content: bytes) -> None:
    """Write a file elsewhere and rename it into the folder."""
    (folder / ".part").write_bytes(content)
    os.rename(folder / ".part", folder / name)


def test_files_are_taken_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()

    async def take() -> None:
        async with started(FilesConnector(folder, interval_s=0.01), here):
            drop(folder, "a.frames", b"".join(encode_frame("f", b"%d\n" % n) for n in range(2500)))
            drop(folder, "b.lines", b'l\t{"a":1}\nl\tlast')
            drop(folder, "cut.frames", encode_frame("never", b"") + b"\0\0")
            drop(folder, "d.lines", b"never\tx\nno tab\n")
            drop(folder, "e.txt", b"never\tlooked at\n")
            await until(lambda: {path.name for path in folder.iterdir()} == {"e.txt", "taken", "refused"})
            drop(folder, "b.lines", b"again\tx\n" + b"too large\t" + b"x" * 1001 + b"\n")
            await until(lambda: (folder / "taken" / "b-2.lines").exists())

    with reception(tmp_path, LIMITS) as here:
        in_time(take())
        found = here.logged()
    assert [payload for device, payload in found if device == "f"] == [b"%d\n" % n for n in range(2500)]
    assert [each for each in found if each[0] != "f"] == [("l", b'{"a":1}'), ("l", b"last"), ("again", b"x")]
    assert sorted(path.name for path in (folder / "refused").iterdir()) == ["cut.frames", "d.lines"]
    assert here.intake.refused == {"malformed file": 2, "too large": 1}


def test_a_file_is_gone_on_with_where_the_log_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    drop(folder, "a.frames", b"".join(encode_frame("f", b"%d" % n) for n in range(2500)))

    async def take(there: LoggedIntake, fails: bool) -> None:
        settle = there.gate.settle

        def fail_later(segment: Any) -> None:
            if there.log.sequence >= 2000:
                raise OSError(28, "No space left on device")
            settle(segment)

        if fails:
            there.log.settle = fail_later
        async with started(FilesConnector(folder, interval_s=0.01), there):
            if fails:
                await until(lambda: there.intake.refused["log failed"])
            else:
                await until((folder / "taken" / "a.frames").exists)

    with reception(tmp_path) as here:
        in_time(take(here, fails=True))
    first = len(logged(tmp_path / "log"))
    assert first == 2000
    with reception(tmp_path) as here:
        in_time(take(here, fails=False))
    payloads = [int(payload) for _, payload in logged(tmp_path / "log")]
    assert set(payloads) == set(range(2500))
    assert len(payloads) - 2500 <= 1000
    assert [path.name for path in folder.iterdir() if path.is_file()] == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConnector, match="none: expected a folder"):
        FilesConnector(tmp_path / "none")
